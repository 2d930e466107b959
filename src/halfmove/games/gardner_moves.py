"""The moves of Gardner's minichess, on sets of squares as bits of one word.

Square 5 * rank + file is bit 0 to 24. Everything is seen by the player to move, as in
`chess_moves.py`; this is the same method on a board without castling, double steps and
en passant. A move is one of 25 x 49 actions: action = 49 * from + plane. Planes:

    0 to 31    queen moves: 4 * direction (N, NE, E, SE, S, SW, W, NW) + distance - 1;
               a pawn that reaches the last rank becomes a queen
    32 to 39   knight moves, clockwise from the one two up and one right
    40 to 48   underpromotions: 40 + 3 * (knight, bishop, rook) + (NW, N, NE)
"""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, pytree
from halfmove.games.chess_bits import COMPASS, KNIGHT
from halfmove.games.chess_moves import (
    BISHOP,
    HORSE,
    KING,
    NE,
    NW,
    PAWN,
    QUEEN,
    ROOK,
    STRAIGHT,
    N,
    planes_of,
)

SIZE, PLANES = 5, 49
STEPS, PROMOTES = planes_of(SIZE)
FULL = np.uint32(2**25 - 1)
FOURTH = np.uint32(31 << 15)
DARK = np.uint32(sum(1 << square for square in range(0, 25, 2)))
ZERO = np.uint32(0)


class Shift:
    """Moves sets by one step in each of N directions, given as (ranks, files)."""

    def __init__(self, steps: Iterable[tuple[int, int]]) -> None:
        steps = tuple(steps)
        offsets = np.array([SIZE * rank + file for rank, file in steps])
        self.up = np.maximum(offsets, 0).astype(np.uint32)
        self.down = np.maximum(-offsets, 0).astype(np.uint32)
        inside = range(SIZE)
        self.keep = np.array(
            [
                sum(
                    1 << (SIZE * rank + file)
                    for rank in inside
                    for file in inside
                    if rank - dr in inside and file - df in inside
                )
                for dr, df in steps
            ],
            np.uint32,
        )

    def __call__(self, sets: Array) -> Array:
        """Sets [..., N] or [..., 1], moved; a square that would leave the board is dropped."""
        return sets << self.up >> self.down & self.keep


ONWARD = Shift(COMPASS)
BACK = Shift((-rank, -file) for rank, file in COMPASS)
BACK_KNIGHT = Shift((-rank, -file) for rank, file in KNIGHT)


@pytree
class Moves:
    """What may be played."""

    mask: Array  # [49] u32: bit `from` of a plane
    check: Array  # [] bool


def of(board: Array, piece: int) -> Array:
    """[] u32, the squares with such a piece. `board`: [4] u32, theirs, then the bits of a kind."""
    found = jnp.asarray(FULL)
    for bit in range(3):
        plane = board[1 + bit]
        found = found & (plane if piece >> bit & 1 else ~plane)
    return found


def occupied(board: Array) -> Array:
    """[] u32, the squares with a piece."""
    return board[1] | board[2] | board[3]


def turned(board: Array) -> Array:
    """[4] u32, the board as the other player sees it."""
    sets = board.at[0].set(occupied(board) & ~board[0])
    rank = np.uint32(31)
    return sum(
        (((sets >> 5 * r & rank) << 5 * (SIZE - 1 - r)) for r in range(SIZE)),
        jnp.zeros(4, jnp.uint32),
    )


def moves(board: Array) -> Moves:
    """Every legal move of a board [4] u32."""
    theirs, empty = board[0], FULL & ~occupied(board)
    mine = occupied(board) & ~theirs
    king, pawns = mine & of(board, KING), mine & of(board, PAWN)
    checks, block, pinned = _threat(board, mine, king, empty)
    along = pinned | jnp.roll(pinned, 4)
    free = ~_any(pinned) | along  # [8]: pieces that no pin keeps from moving in a direction
    hits, attacked = _lines(board, mine, king, block)

    quiet, capture = empty & block, theirs & block
    near = jnp.stack([_at({}) | (~mine & ~attacked), _at({N: quiet, NE: capture, NW: capture})])
    steps = BACK(near)
    pawn_steps = pawns & free & steps[1]
    planes = [_riders(board, mine) & free & hit for hit in hits]
    planes[0] = planes[0] | (king & steps[0]) | pawn_steps
    knights = mine & of(board, HORSE) & ~_any(pinned) & BACK_KNIGHT(~mine & block)
    promoted = jnp.stack([pawn_steps[direction] & FOURTH for direction in (NW, N, NE)])
    mask = [jnp.stack(planes, axis=1).reshape(32), knights, jnp.tile(promoted, 3)]
    return Moves(jnp.concatenate(mask), checks > 0)


def _threat(board: Array, mine: Array, king: Array, empty: Array) -> tuple[Array, Array, Array]:
    """Pieces that give check, squares that answer it (all if none), pinned pieces by line [8]."""
    riders = _riders(board, board[0])
    zero = jnp.asarray(ZERO)
    walk, beyond, seen, behind = king, zero, zero, zero
    for _ in range(SIZE - 1):
        reached, further = ONWARD(walk), ONWARD(beyond)
        seen, behind = seen | reached, behind | further
        walk, beyond = reached & empty, (reached & mine) | (further & empty)
    attackers = (seen & riders) != 0
    ahead = ONWARD(king)
    near = _any(BACK_KNIGHT(king)) & board[0] & of(board, HORSE)
    near |= (ahead[NE] | ahead[NW]) & board[0] & of(board, PAWN)
    checks = jnp.sum(attackers, dtype=jnp.int32)
    checks += jax.lax.population_count(near).astype(jnp.int32)
    answers = _any(jnp.where(attackers, seen, ZERO)) | near
    block = jnp.where(checks == 0, FULL, jnp.where(checks == 1, answers, ZERO))
    return checks, block, jnp.where((behind & riders) != 0, seen & mine, ZERO)


def _lines(board: Array, mine: Array, king: Array, block: Array) -> tuple[list[Array], Array]:
    """For each distance, [8], where a piece of mine may start to go so far; what they attack."""
    theirs, empty = board[0], FULL & ~occupied(board)
    goal = jnp.stack([_at({}) | (~mine & block), _riders(board, theirs)])
    open_ = jnp.stack([empty, empty | king])[:, None]
    between, hits = jnp.asarray(FULL), []
    for _ in range(SIZE - 1):
        goal, open_ = BACK(goal), BACK(open_)
        hits.append(between & goal)
        between = between & open_
    pawns = theirs & of(board, PAWN)
    near = BACK((theirs & of(board, KING)) | _at({NE: pawns, NW: pawns}))
    attacked = near | BACK_KNIGHT(theirs & of(board, HORSE))
    for hit in hits:
        attacked = attacked | hit[1]
    return [hit[0] for hit in hits], _any(attacked)


def played(board: Array, action: Array) -> tuple[Array, Array]:
    """The board after a legal move, seen by the next player; whether it captured or moved a
    pawn, so that nothing before can come back."""
    origin, plane = action // PLANES, action % PLANES
    target = origin + jnp.asarray(SIZE * STEPS[:, 0] + STEPS[:, 1])[plane]
    leaves, enters = (jnp.uint32(1) << (s & 31).astype(jnp.uint32) for s in (origin, target))
    pawn = (of(board, PAWN) & leaves) != 0
    promoted = jnp.asarray(PROMOTES)[plane] >> np.arange(3) & 1 > 0
    kind = jnp.where(pawn & (target >= 20), promoted, (board[1:] & leaves) != 0)
    rest = board & ~(leaves | enters)
    moved = rest.at[1:].set(rest[1:] | jnp.where(kind, enters, ZERO))
    return turned(moved), pawn | ((board[0] & enters) != 0)


def cannot_mate(board: Array) -> Array:
    """[] bool: bare kings, one knight or bishop, or bishops on squares of one colour."""
    bishops, knights = of(board, BISHOP), of(board, HORSE)
    minor = occupied(board) & ~(of(board, KING) | bishops | knights) == 0
    one_colour = (bishops & DARK == 0) | (bishops & ~DARK == 0)
    few = jax.lax.population_count(occupied(board)) <= 3
    return minor & (few | ((knights == 0) & one_colour))


def _riders(board: Array, side: Array) -> Array:
    """[8] u32: the pieces of one side that slide in each direction."""
    rooks, bishops, queens = (side & of(board, piece) for piece in (ROOK, BISHOP, QUEEN))
    return queens | jnp.where(STRAIGHT, rooks, bishops)


def _any(sets: Array) -> Array:
    """[] u32, the squares that are in any of the sets [N]."""
    return jax.lax.reduce(sets, ZERO, jax.lax.bitwise_or, (0,))


def _at(sets: dict[int, Array]) -> Array:
    """[8] u32, a set for some directions and nothing for the rest."""
    return jnp.stack([jnp.asarray(sets.get(d, ZERO), jnp.uint32) for d in range(8)])
