"""2048: one player slides numbered tiles together; chance adds one after every move."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, pytree
from halfmove.games.board import symmetries, turned

MOVES = ("left", "up", "right", "down")
LARGEST = 17  # 2 ** 17 = 131072 is the largest tile that 16 cells allow
FOUR = 0.1  # the share of new tiles that are a 4

_CELLS = np.arange(16).reshape(4, 4)
# [4, 4, 4]: for each action, the cells of its four lines, from the side that tiles slide to.
LINES = np.stack([_CELLS, _CELLS.T, _CELLS[:, ::-1], _CELLS.T[:, ::-1]])


@pytree
class State:
    """The board and what the last move earned."""

    board: Array  # [16] i8, by rows: 0 empty, n for the tile 2 ** n
    gained: Array  # [] i32, the sum of the tiles that the last move made


def _slid(lines: Array) -> tuple[Array, Array]:
    """Lines [..., 4] after sliding towards cell 0, and what each earned [...].

    Every tile merges at most once, and those nearest the side first.
    """
    a, b, c, d = (lines[..., i].astype(jnp.int32) for i in range(4))
    for _ in range(2):  # close the gaps: d's, then those that closing c and b leaves
        c, d = jnp.where(c == 0, d, c), jnp.where(c == 0, 0, d)
        b, c = jnp.where(b == 0, c, b), jnp.where(b == 0, 0, c)
        a, b = jnp.where(a == 0, b, a), jnp.where(a == 0, 0, b)
    c, d = jnp.where(c == 0, d, c), jnp.where(c == 0, 0, d)

    first = (a == b) & (a > 0)
    second = (b == c) & (b > 0) & ~first
    third = (c == d) & (c > 0) & ~second
    gained = (first << (a + 1)) + (second << (b + 1)) + (third << (c + 1))
    last = c + third
    slid = jnp.stack(
        [
            a + first,
            jnp.where(first, last, b + second),
            jnp.where(first, jnp.where(third, 0, d), jnp.where(second, d, last)),
            jnp.where(first | second | third, 0, d),
        ],
        axis=-1,
    )
    return slid.astype(jnp.int8), gained


def _towards(board: Array, action: Array) -> Array:
    """The lines [4, 4] of a board [4, 4], from the side that tiles slide to."""
    lines = jnp.where(action % 2 == 0, board, board.T)
    return jnp.where(action < 2, lines, lines[:, ::-1])


def _back(lines: Array, action: Array) -> Array:
    """The board of such lines."""
    lines = jnp.where(action < 2, lines, lines[:, ::-1])
    return jnp.where(action % 2 == 0, lines, lines.T)


def _with_tile(key: Array, board: Array) -> Array:
    """The board with a 2, or one time in ten a 4, on an empty cell (all equally likely)."""
    where, which = jax.random.uniform(key, (2,))
    empty = board == 0
    # Not cumsum, which XLA does slowly on a CPU.
    before = jnp.tril(jnp.ones((16, 16), bool), -1)
    rank = jnp.sum(jnp.where(before, empty, False), axis=1, dtype=jnp.int32)
    wanted = jnp.floor(where * jnp.sum(empty)).astype(jnp.int32)
    tile = jnp.where(which < FOUR, jnp.int8(2), jnp.int8(1))
    return jnp.where(empty & (rank == wanted), tile, board)


@dataclass(frozen=True)
class TwentyFortyEight(Game):
    """2048. Actions are left, up, right, down, as pgx numbers them.

    The reward of a move is the sum of the tiles it made. A move that changes nothing is
    illegal, and the game is over when none is left. Symmetries turn the board before the
    new tile: where that falls is up to the key.
    """

    name: ClassVar[str] = "2048"
    players: ClassVar[int] = 1
    chance: ClassVar[bool] = True

    @property
    def actions(self) -> int:
        return 4

    def init(self, key: Array) -> State:
        first, second = jax.random.split(key)
        board = _with_tile(second, _with_tile(first, jnp.zeros(16, jnp.int8)))
        return State(board, jnp.int32(0))

    def step(self, key: Array, state: State, action: Array) -> State:
        slid, gained = _slid(_towards(state.board.reshape(4, 4), action))
        board = _back(slid, action).ravel()
        legal = jnp.any(board != state.board) & (action >= 0) & (action < 4)
        return State(
            board=jnp.where(legal, _with_tile(key, board), state.board),
            gained=jnp.where(legal, jnp.sum(gained, dtype=jnp.int32), 0),
        )

    def legal(self, state: State) -> Array:
        board = state.board.reshape(4, 4)

        def movable(near: Array, far: Array) -> Array:
            return jnp.any((far > 0) & ((near == 0) | (near == far)))

        left, right, up, down = board[:, :3], board[:, 1:], board[:3], board[1:]
        sides = (movable(left, right), movable(up, down), movable(right, left), movable(down, up))
        return jnp.stack(sides)

    def to_play(self, state: State) -> Array:
        return jnp.int32(0)

    def reward(self, state: State) -> Array:
        return state.gained.astype(jnp.float32)[None]

    def terminated(self, state: State) -> Array:
        return ~jnp.any(self.legal(state))

    def observe(self, state: State) -> Array:
        """[4, 4, 18]: a plane for empty cells, then one for each tile, 2 to 2 ** 17."""
        planes = state.board[:, None] == jnp.arange(LARGEST + 1, dtype=jnp.int8)
        return planes.reshape(4, 4, LARGEST + 1).astype(jnp.float32)

    def action_maps(self) -> np.ndarray:
        """[8, 4]: the symmetries of a square, and where they turn each direction."""
        maps = symmetries(4)
        # A direction is its four lines, each with its cells in order.
        sets = [{tuple(line) for line in lines} for lines in LINES]
        turned_to = [[{tuple(m[line]) for line in lines} for lines in LINES] for m in maps]
        return np.array([[sets.index(found) for found in row] for row in turned_to])

    def turn(self, observation: Array, s: Array) -> Array:
        return turned(observation, symmetries(4), s)

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        tiles = [str(2**n) if n else "." for n in np.asarray(state.board).tolist()]
        return "\n".join("".join(f"{t:>7}" for t in tiles[row : row + 4]) for row in (0, 4, 8, 12))

    def move_name(self, state: State, action: int) -> str:
        return MOVES[action]

    def parse_move(self, state: State, text: str) -> int:
        if text not in MOVES:
            raise ValueError(f"{text!r} is not a move of 2048: {', '.join(MOVES)}")
        return MOVES.index(text)

    def position(self, state: State) -> str:
        """The tiles by rows, 0 for none: `2,0,0,4/0,0,0,0/0,0,0,0/0,0,0,0`."""
        tiles = [str(2**n) if n else "0" for n in np.asarray(state.board).tolist()]
        return "/".join(",".join(tiles[row : row + 4]) for row in (0, 4, 8, 12))

    def parse_position(self, text: str) -> State:
        rows = [row.split(",") for row in text.strip().split("/")]
        if len(rows) != 4 or any(len(row) != 4 for row in rows):
            raise ValueError(
                f"a position of 2048 is four rows of four tiles, such as "
                f"'2,0,0,4/0,0,0,0/0,0,0,0/0,0,0,0', not {text!r}"
            )
        board = [_read_tile(tile) for row in rows for tile in row]
        # Sixteen cells hold 2 ** 18 - 4 at most before a tile would have to come from nowhere.
        if sum(2**n for n in board if n) > 2 ** (LARGEST + 1) - 4:
            raise ValueError(
                f"the tiles of {text!r} are too many: no game reaches more than 262140"
            )
        return State(jnp.array(board, jnp.int8), jnp.int32(0))


def _read_tile(text: str) -> int:
    tile = int(text) if re.fullmatch(r"\d{1,6}", text.strip(), re.ASCII) else -1
    if tile == 0:
        return 0
    if tile not in [2**n for n in range(1, LARGEST + 1)]:
        raise ValueError(f"{text!r} is no tile: 0 or a power of two from 2 to {2**LARGEST}")
    return tile.bit_length() - 1


GAMES: dict[str, Any] = {"2048": TwentyFortyEight}
