"""Othello on 8x8: a move turns every disc between itself and another of its colour.

Boards are 64 bits in two words, bit i of the first word square i, bit i of the second
square 32 + i; square 8 * row + column, a1 at the top left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, pytree
from halfmove.games.board import parse_square, square_name, symmetries, turned

PASS = 64
MARKS = "-XO"

# A step along a row, a diagonal, a column, the other diagonal, and which discs it may pass:
# beyond one on the left or right side of the board only a column goes on.
STEPS = ((1, 0x7E7E7E7E), (7, 0x7E7E7E7E), (8, 0xFFFFFFFF), (9, 0x7E7E7E7E))

# The other four symmetries of the square lead to a start with the colours exchanged, and so
# to positions that no game reaches.
MAPS = np.stack([to for to in symmetries(8) if {to[28], to[35]} == {28, 35}])

Words = tuple[Array, Array]


@pytree
class State:
    """The discs of the player to move and of the other, and where the mover may play."""

    mine: Array  # [2] u32
    theirs: Array  # [2] u32
    moves: Array  # [2] u32
    turn: Array  # [] i8, the player to move
    over: Array  # [] bool: whether neither player can move
    earned: Array  # [] bool: whether the last move ended the game


def _shift(board: Words, by: int) -> Words:
    """Every square moved on by `by`, or back if that is negative."""
    low, high = board
    if by < 0:
        return (low >> -by) | (high << 32 + by), high >> -by
    return low << by, (high << by) | (low >> 32 - by)


def _lines(start: Words, through: Words) -> Iterator[tuple[Words, Words]]:
    """In each of eight directions the discs of `through` next to `start`, and what follows."""
    for step, passable in STEPS:
        inner = through[0] & jnp.uint32(passable), through[1] & jnp.uint32(passable)
        for by in (step, -step):
            ahead = _shift(start, by)
            line = ahead[0] & inner[0], ahead[1] & inner[1]
            for _ in range(5):
                ahead = _shift(line, by)
                line = line[0] | (ahead[0] & inner[0]), line[1] | (ahead[1] & inner[1])
            yield line, _shift(line, by)


def moves(mine: Words, theirs: Words) -> Words:
    """The squares where `mine` may play."""
    low = high = jnp.uint32(0)
    for _, ahead in _lines(mine, theirs):
        low, high = low | ahead[0], high | ahead[1]
    return low & ~(mine[0] | theirs[0]), high & ~(mine[1] | theirs[1])


def flips(disc: Words, mine: Words, theirs: Words) -> Words:
    """The discs of `theirs` that turn when `mine` plays `disc`."""
    low = high = jnp.uint32(0)
    for line, ahead in _lines(disc, theirs):
        closed = ((ahead[0] & mine[0]) | (ahead[1] & mine[1])) != 0
        low, high = low | jnp.where(closed, line[0], 0), high | jnp.where(closed, line[1], 0)
    return low, high


def _state(mine: Array, theirs: Array, turn: Array, moved: Array) -> State:
    """The state of these boards; `moved`: whether a move has just led there."""

    def for_the_next(_turn: Array, boards: tuple[Words, ...]) -> tuple[Words, ...]:
        mine, theirs, _, after = boards
        return theirs, mine, after, moves(mine, theirs)

    # A loop, not two calls: what it gives is kept, where XLA on a CPU would compute the moves
    # again for each of 65 actions.
    here, there = (mine[0], mine[1]), (theirs[0], theirs[1])
    boards = jax.lax.fori_loop(0, 2, for_the_next, (here, there, here, there))
    (low, high), (low_after, high_after) = boards[2:]
    over = (low | high | low_after | high_after) == 0
    return State(mine, theirs, jnp.stack([low, high]), turn, over, over & moved)


_state_now = jax.jit(_state)


@dataclass(frozen=True)
class Othello(Game):
    """Action 0 to 63 a square, 64 a pass, legal only where there is no other move."""

    name: ClassVar[str] = "othello"

    @property
    def actions(self) -> int:
        return 65

    def init(self, key: Array) -> State:
        words = [1 << 28, 1 << 3], [1 << 27, 1 << 4], [1 << 19 | 1 << 26, 1 << 5 | 1 << 12]
        black, white, first = (jnp.asarray(pair, jnp.uint32) for pair in words)
        no = jnp.zeros((), bool)
        return State(black, white, first, jnp.int8(0), no, no)

    def step(self, key: Array, state: State, action: Array) -> State:
        bit = jnp.uint32(1) << (action & 31).astype(jnp.uint32)
        words = jnp.stack([action >> 5 == 0, action >> 5 == 1])
        disc = jnp.where(words, bit, 0) & state.moves
        placed = jnp.any(disc != 0)
        passed = (action == PASS) & ~jnp.any(state.moves != 0) & ~state.over
        flipped = jnp.stack(flips(*((x[0], x[1]) for x in (disc, state.mine, state.theirs))))
        mine, theirs = state.mine | disc | flipped, state.theirs & ~flipped
        moved = placed | passed
        mine, theirs = jnp.where(moved, theirs, mine), jnp.where(moved, mine, theirs)
        return _state(mine, theirs, state.turn ^ moved.astype(jnp.int8), moved)

    def legal(self, state: State) -> Array:
        none = ~jnp.any(state.moves != 0) & ~state.over
        return jnp.append(_bits(state.moves) != 0, none)

    def to_play(self, state: State) -> Array:
        return state.turn.astype(jnp.int32)

    def reward(self, state: State) -> Array:
        mine, theirs = (
            jnp.sum(jax.lax.population_count(discs).astype(jnp.int32))
            for discs in (state.mine, state.theirs)
        )
        sign = jnp.sign(jnp.where(state.turn == 0, mine - theirs, theirs - mine))
        return jnp.where(state.earned, jnp.stack([sign, -sign]), 0).astype(jnp.float32)

    def terminated(self, state: State) -> Array:
        return state.over

    def observe(self, state: State) -> Array:
        """[8, 8, 2]: my discs and theirs."""
        planes = jnp.stack([_bits(state.mine), _bits(state.theirs)], axis=-1)
        return planes.reshape(8, 8, 2).astype(jnp.float32)

    def ownership(self, state: State) -> Array:
        """[8, 8] f32: the discs."""
        mine, theirs = (_bits(discs).astype(jnp.float32) for discs in (state.mine, state.theirs))
        return (jnp.where(state.turn == 0, 1.0, -1.0) * (mine - theirs)).reshape(8, 8)

    def action_planes(self, action: Array) -> Array:
        """[8, 8, 1]: the disc; nothing for a pass."""
        return (jnp.arange(64) == action).reshape(8, 8, 1).astype(jnp.float32)

    def action_maps(self) -> np.ndarray:
        """[4, 65]: the symmetries that keep the start as it is; a pass stays one."""
        return np.concatenate([MAPS, np.full((len(MAPS), 1), PASS)], axis=1)

    def turn(self, observation: Array, s: Array) -> Array:
        return turned(observation, MAPS, s)

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        squares, side = self.position(state).split()
        rows = [f"{row + 1} {' '.join(squares[8 * row : 8 * row + 8])}" for row in range(8)]
        counts = f"X {squares.count('X')}, O {squares.count('O')}"
        return "\n".join(["  a b c d e f g h", *rows, f"{counts}, {side} to move"])

    def move_name(self, state: State, action: int) -> str:
        """Column and row, a1 at the top left; `pass`."""
        return "pass" if int(action) == PASS else square_name(int(action), 8)

    def parse_move(self, state: State, text: str) -> int:
        return PASS if text.strip().lower() == "pass" else parse_square(text, 8, 8)

    def position(self, state: State) -> str:
        """64 squares from a1 along the rows, X black (moves first), and who is to move."""
        mine, theirs = (np.asarray(_bits(discs)) for discs in (state.mine, state.theirs))
        turn = int(state.turn)
        board = (mine + 2 * theirs) if turn == 0 else (theirs + 2 * mine)
        return f"{''.join(MARKS[mark] for mark in board)} {MARKS[1 + turn]}"

    def parse_position(self, text: str) -> State:
        squares, _, side = text.strip().partition(" ")
        if len(squares) != 64 or set(squares) - set(MARKS) or side not in ("X", "O"):
            raise ValueError(
                f"a position of Othello is 64 of {MARKS!r}, a space, and X or O to move, "
                f"not {text!r}"
            )
        if "-" in squares[27:29] + squares[35:37]:
            raise ValueError(f"{text!r}: the four squares in the middle are never empty")
        x, o = (
            jnp.asarray([sum((squares[i] == m) << (i % 32) for i in w) for w in WORDS], jnp.uint32)
            for m in "XO"
        )
        mine, theirs = (x, o) if side == "X" else (o, x)
        return _state_now(mine, theirs, jnp.int8(side == "O"), jnp.zeros((), bool))


WORDS = (range(32), range(32, 64))


def _bits(words: Array) -> Array:
    """[64] u32, 0 or 1, of a board [2] u32."""
    return (words[:, None] >> jnp.arange(32, dtype=jnp.uint32) & 1).reshape(64)


GAMES: dict[str, Any] = {"othello": Othello}
