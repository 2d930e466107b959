"""Hex: join your two sides of a rhombus before the other player joins theirs.

Player 0, black, joins top and bottom; player 1, white, joins left and right. A state is
kept as its mover sees it: for white the board is transposed, so that whoever moves joins
top and bottom, and a network learns one task. Actions are cells of the board SEEN, too;
`move_name` and `position` speak of the real board. The swap rule ("pie rule") is an
option: white may answer the first move by taking it over, and the stone becomes white's,
on the cell transposed. Seen by its mover that changes nothing but whose turn it is.
"""

import functools
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, pytree
from halfmove.games.board import parse_square, square_name, turned

# The six neighbours in a circle: two that follow each other touch.
RING = ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))
SWAP = "swap-pieces"
COLOURS = ("black", "white")
STONES = ("AB", "AW")


@pytree
class State:
    """Stones labelled by the chain they are in, as the player to move sees them."""

    chains: Array  # [size, size] i8 (i16 above 15): > 0 mine, < 0 theirs
    ply: Array  # [] i16, moves so far; a swap is one
    won: Array  # [] bool: whether the player who does not move has won
    earned: Array  # [] bool: whether the last move did it


@functools.cache
def _around(size: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """For each cell its ring: cells [size², 6] (-1 off the board), and the labels out there."""
    cells = np.full((size * size, 6), -1, np.int32)
    edges = np.zeros((size * size, 6), np.int32)
    for cell in range(size * size):
        for k, (down, right) in enumerate(RING):
            row, column = cell // size + down, cell % size + right
            if 0 <= row < size and 0 <= column < size:
                cells[cell, k] = row * size + column
            elif not 0 <= row < size:
                edges[cell, k] = first if row < 0 else last
    return cells, edges


@dataclass(frozen=True)
class Hex(Game):
    """Size 2 to 19; played without the swap rule unless asked for."""

    name: ClassVar[str] = "hex"
    size: int = 11
    swap: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 19:
            raise ValueError(f"Hex is played on sizes 2 to 19, not {self.size}")

    @property
    def cells(self) -> int:
        """The number of cells; with the swap rule, also the action that swaps."""
        return self.size * self.size

    @property
    def actions(self) -> int:
        return self.cells + self.swap

    @property
    def edges(self) -> tuple[int, int, int]:
        """The labels of chains joined to their player's first side, to the last, to both."""
        most = self.cells // 2 + 1  # the label of the last stone on the board
        return most + 1, most + 2, most + 3

    @property
    def _dtype(self) -> Any:
        return jnp.int8 if self.edges[2] <= 127 else jnp.int16

    def init(self, key: Array) -> State:
        no = jnp.zeros((), bool)
        return State(jnp.zeros((self.size, self.size), self._dtype), jnp.int16(0), no, no)

    def step(self, key: Array, state: State, action: Array) -> State:
        on_board = (action >= 0) & (action < self.cells)
        cell = jnp.clip(action, 0, self.cells - 1)
        chains = state.chains.reshape(-1)
        placed = on_board & (chains[cell] == 0) & ~state.won
        joined, through = self._place(chains, state.ply, cell)
        joined = joined.reshape(state.chains.shape)
        moved = placed
        if self.swap:
            moved |= (action == self.cells) & (state.ply == 1)
        return State(
            chains=jnp.where(placed, -joined.T, state.chains),
            ply=state.ply + moved.astype(jnp.int16),
            won=state.won | (placed & through),
            earned=placed & through,
        )

    def _place(self, chains: Array, ply: Array, cell: Array) -> tuple[Array, Array]:
        """The labels [size²] with a stone of the mover's on `cell`, and whether it wins."""
        first, last, _ = self.edges
        cells, edges = _around(self.size, first, last)
        ring, beyond = jnp.asarray(cells)[cell], jnp.asarray(edges, chains.dtype)[cell]
        ring = jnp.where(ring < 0, beyond, chains[ring])
        none = jnp.iinfo(chains.dtype).min  # a label that no cell has
        # Neighbours that touch are one chain, so the ring holds three of the mover's at most.
        three = jnp.max(jnp.where(ring > 0, ring, none).reshape(3, 2), axis=1)
        through = jnp.any(three == first) & jnp.any(three == last)
        # Greater than those of the mover's other stones: nobody places two in two plies.
        new = (ply // 2 + 1).astype(chains.dtype)
        label = jnp.maximum(jnp.max(three), new) + through.astype(chains.dtype)
        joins = (chains == three[0]) | (chains == three[1]) | (chains == three[2])
        joins |= jnp.arange(self.cells) == cell
        return jnp.where(joins, label, chains), through

    def legal(self, state: State) -> Array:
        empty = (state.chains == 0).reshape(-1)
        if self.swap:
            empty = jnp.append(empty, state.ply == 1)
        return empty & ~state.won

    def to_play(self, state: State) -> Array:
        return state.ply.astype(jnp.int32) % 2

    def reward(self, state: State) -> Array:
        sign = jnp.where(state.ply % 2 == 1, 1.0, -1.0)
        return jnp.where(state.earned, jnp.stack([sign, -sign]), 0.0)

    def terminated(self, state: State) -> Array:
        return state.won

    def observe(self, state: State) -> Array:
        """[size, size, 6 or 7]: my stones, theirs, those in a chain with each of the sides.

        The sides are my top, my bottom, their left and their right. With the swap rule a
        seventh plane says whether swapping is possible.
        """
        first, last, both = self.edges
        label = np.arange(-both, both + 1)
        sides = [(x == side) | (x == both) for x in (label, -label) for side in (first, last)]
        # A row of a table for each cell: stacking planes is slow on a CPU.
        table = np.stack([label > 0, label < 0, *sides], axis=1)
        row = state.chains.astype(jnp.int32) + both
        if self.swap:
            no, yes = np.zeros((len(table), 1)), np.ones((len(table), 1))
            table = np.block([[table, no], [table, yes]])
            row += len(label) * (state.ply == 1)
        return jnp.asarray(table, jnp.float32).at[row].get(mode="promise_in_bounds")

    def action_planes(self, action: Array) -> Array:
        """[size, size, 1]: the stone; nothing for a swap."""
        stone = jnp.arange(self.cells) == action
        return stone.reshape(self.size, self.size, 1).astype(jnp.float32)

    def passed(self, planes: Array) -> Array:
        """Transposed."""
        return jnp.swapaxes(planes, 0, 1)

    def action_maps(self) -> np.ndarray:
        """[2, A]: as it is, and turned by half a circle."""
        maps = np.tile(np.arange(self.actions), (2, 1))
        maps[1, : self.cells] = maps[1, : self.cells][::-1]
        return maps

    def turn(self, observation: Array, s: Array) -> Array:
        back = turned(observation, self.action_maps()[:, : self.cells], s)
        sides = np.array([0, 1, 3, 2, 5, 4, 6][: observation.shape[-1]])
        return jnp.where(s == 1, back[..., sides], back)

    # -- on the host -----------------------------------------------------

    def _board(self, state: State) -> np.ndarray:
        """[size, size]: 1 black, -1 white, 0 empty, on the real board."""
        seen = np.sign(np.asarray(jax.device_get(state.chains)).astype(int))
        return -seen.T if int(state.ply) % 2 else seen

    def _flip(self, cell: int, state: State) -> int:
        """A cell as seen by the mover on the real board, or the other way round."""
        row, column = divmod(cell, self.size)
        return column * self.size + row if int(state.ply) % 2 else cell

    def show(self, state: State) -> str:
        """The rhombus, black (B) from top to bottom, white (W) from left to right."""
        letters = " ".join(chr(ord("a") + i) for i in range(self.size))
        lines = [f"   {letters}"]
        for row, stones in enumerate(self._board(state)):
            marks = " ".join(".BW"[stone] for stone in stones)
            lines.append(f"{' ' * row}{row + 1:2d} {marks} {row + 1}")
        lines.append(f"{' ' * (self.size + 3)}{letters}")
        mover = int(state.ply) % 2
        lines.append(f"{COLOURS[1 - mover]} has won" if state.won else f"{COLOURS[mover]} to move")
        return "\n".join(lines)

    def move_name(self, state: State, action: int) -> str:
        """Column and row, a1 at the top left, as in HTP; `swap-pieces`."""
        if int(action) == self.cells:
            return SWAP
        return square_name(self._flip(int(action), state), self.size)

    def parse_move(self, state: State, text: str) -> int:
        if text.strip().lower() in (SWAP, "swap"):
            if not self.swap:
                raise ValueError(f"{text!r}: this Hex is played without the swap rule")
            return self.cells
        return self._flip(parse_square(text, self.size, self.size), state)

    def position(self, state: State) -> str:
        """An SGF node, e.g. `(;FF[4]GM[11]SZ[5]AB[a1][c3]AW[b2]PL[W])`."""
        board = self._board(state).reshape(-1)
        stones = ""
        for colour, key in zip((1, -1), STONES, strict=True):
            names = [square_name(int(cell), self.size) for cell in np.flatnonzero(board == colour)]
            stones += "".join([key, *(f"[{name}]" for name in names)]) if names else ""
        return f"(;FF[4]GM[11]SZ[{self.size}]{stones}PL[{'BW'[int(state.ply) % 2]}])"

    def parse_position(self, text: str) -> State:
        black, white, turn = self._read(text)
        swapped = self.swap and len(white) > 0 and len(black) == len(white) + turn - 1
        if not swapped and len(black) != len(white) + turn:
            raise ValueError(
                f"{len(black)} black and {len(white)} white stones with {COLOURS[turn]} to move: "
                "black moves first, then the players take turns"
            )
        # Each player's stones as that player sees them.
        white = {cell % self.size * self.size + cell // self.size for cell in white}
        mine, theirs = (white, black) if turn else (black, white)
        seen, through = self._label(mine)
        if through:
            raise ValueError(f"{COLOURS[turn]} is to move but has joined both sides already")
        unseen, won = self._label(theirs)
        if won and all(self._label(theirs - {last})[1] for last in theirs):
            raise ValueError(f"{COLOURS[1 - turn]} has joined both sides twice: no move did it")
        chains = seen - unseen.T
        return State(
            chains=jnp.asarray(chains, self._dtype),
            ply=jnp.int16(len(black) + len(white) + swapped),
            won=jnp.bool_(won),
            earned=jnp.zeros((), bool),
        )

    def _read(self, text: str) -> tuple[set[int], set[int], int]:
        """The cells of black, those of white, and who moves, from an SGF node."""
        form = f"(;FF[4]GM[11]SZ[{self.size}]AB[a1]AW[b2]PL[B])"
        node = re.fullmatch(r"\(;((?:\s*[A-Z]+(?:\[[^\[\]]*\])+)*)\s*\)", text.strip())
        if node is None:
            raise ValueError(f"{text!r} is not a position of Hex, e.g. {form}")
        found: dict[str, list[str]] = {"AB": [], "AW": [], "FF": ["4"]}
        for key, values in re.findall(r"([A-Z]+)((?:\[[^\[\]]*\])+)", node[1]):
            found[key] = found.get(key, []) * (key in ("AB", "AW")) + values[1:-1].split("][")
        needed = {"FF": ["4"], "GM": ["11"], "SZ": [str(self.size)]}
        for key, value in needed.items():
            if found.get(key) != value:
                raise ValueError(f"{text!r} needs {key}[{value[0]}], as in {form}")
        if found.get("PL") not in (["B"], ["W"]):
            raise ValueError(f"{text!r} needs PL[B] or PL[W], who is to move")
        if other := set(found) - {"AB", "AW", "PL", *needed}:
            raise ValueError(f"{text!r}: {', '.join(sorted(other))} has no meaning here: {form}")
        sides = [[parse_square(name, self.size, self.size) for name in found[k]] for k in STONES]
        if len(set(sides[0] + sides[1])) < len(sides[0] + sides[1]):
            raise ValueError(f"{text!r} names a cell twice")
        return set(sides[0]), set(sides[1]), int(found["PL"] == ["W"])

    def _label(self, stones: set[int]) -> tuple[np.ndarray, bool]:
        """The labels [size, size] of one player's stones, seen by that player; whether it won."""
        first, last, both = self.edges
        around, _ = _around(self.size, first, last)
        labels, through = np.zeros(self.cells, int), False
        left, number = set(stones), 0
        while left:
            chain = [left.pop()]
            for cell in chain:  # grows as it is walked
                near = left.intersection(around[cell].tolist())
                left -= near
                chain += near
            number += 1
            top, bottom = min(chain) < self.size, max(chain) >= self.cells - self.size
            labels[chain] = last if bottom else first if top else number
            through |= top and bottom
        if through:
            labels[labels >= first] = both
        return labels.reshape(self.size, self.size), through


GAMES: dict[str, Any] = {"hex": Hex}
