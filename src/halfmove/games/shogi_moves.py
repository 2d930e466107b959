"""Which moves are legal in shogi, seen by the player to move.

A board is 81 squares, `9 * file + rank`: file 0 is the file written 1 (to the right of the
mover), rank 0 the far edge, written a. Pieces are 1 to 14, the mover's positive and the
opponent's negative, so that `-board[::-1]` is the same board from the other side.
"""

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array

SQUARES = 81
OFF = 81  # the index of "no square" in the tables below
KINDS = 7  # that can be in hand: pawn, lance, knight, silver, bishop, rook, gold
PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, KING = range(1, 9)
PROMOTION = 8  # added to a piece's number; gold and king have none
ACTIONS = 27 * SQUARES  # 10 directions, the same with promotion, 7 drops; by target square

# (files, ranks) that a move goes; towards file 9 is to the mover's left. Then two knight moves.
DIRECTIONS = ((0, -1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1))
JUMPS = ((1, -2), (-1, -2))
BACK = (5, 7, 6, 4, 3, 0, 2, 1)  # the opposite of each direction

_GOLD = (0, 1, 2, 3, 4, 5)
STEPS = {PAWN: (0,), KNIGHT: (8, 9), SILVER: (0, 1, 2, 6, 7), GOLD: _GOLD, KING: tuple(range(8))}
STEPS |= {piece + PROMOTION: _GOLD for piece in (PAWN, LANCE, KNIGHT, SILVER)}
STEPS |= {BISHOP + PROMOTION: (0, 3, 4, 5), ROOK + PROMOTION: (1, 2, 6, 7)}
SLIDES = {LANCE: (0,), BISHOP: (1, 2, 6, 7), ROOK: (0, 3, 4, 5)}
SLIDES |= {BISHOP + PROMOTION: SLIDES[BISHOP], ROOK + PROMOTION: SLIDES[ROOK]}

# A piece as bits: bit d, it steps in direction d; bit 10 + d, it slides there; and these.
SLIDE = 10
MINE, THEIRS, ROYAL, PROMOTES, IN_ZONE, FORCED = (1 << bit for bit in range(18, 24))


def _square(file: int, rank: int) -> int:
    return 9 * file + rank if 0 <= file < 9 and 0 <= rank < 9 else OFF


def _lines(sign: int) -> np.ndarray:
    """[82, 8, 8]: from each square along each direction (times `sign`), near to far."""
    table = np.full((SQUARES + 1, 8, 8), OFF, np.int32)
    for square in range(SQUARES):
        for d, (file, rank) in enumerate(DIRECTIONS):
            for j in range(8):
                n = sign * (j + 1)
                table[square, d, j] = _square(square // 9 + n * file, square % 9 + n * rank)
    return table


def _jumps(sign: int) -> np.ndarray:
    """[82, 2]: a knight's jump away from each square, or (`sign` -1) back to where it began."""
    table = np.full((SQUARES + 1, 2), OFF, np.int32)
    for square in range(SQUARES):
        for d, (file, rank) in enumerate(JUMPS):
            table[square, d] = _square(square // 9 + sign * file, square % 9 + sign * rank)
    return table


def _bits() -> np.ndarray:
    """[29]: the bits of each piece, at its number + 14."""
    table = np.zeros(29, np.int32)
    for piece in range(1, 15):
        bits = sum(1 << d for d in STEPS.get(piece, ()))
        bits |= sum(1 << (SLIDE + d) for d in SLIDES.get(piece, ()))
        table[14 - piece] = bits | THEIRS
        table[14 + piece] = bits | MINE | (ROYAL if piece == KING else 0)
        table[14 + piece] |= PROMOTES if piece < GOLD else 0
        table[14 + piece] |= FORCED if piece in (PAWN, LANCE) else 0
    return table


AHEAD, BEHIND = _lines(1), _lines(-1)
JUMP_TO, JUMP_FROM = _jumps(1), _jumps(-1)
BITS = _bits()
RANK = np.arange(SQUARES) % 9
ZONE = RANK < 3
# What a pinned piece may still do: go along the line, towards the king or away.
ALONG = np.array([sum(1 << b for e in (d, BACK[d]) for b in (e, SLIDE + e)) for d in range(8)])
ALONG = (ALONG | ~((1 << 18) - 1)).astype(np.int32)
# Where each square is in a king's 64 squares of sight and two jumps: [81, 81], 66 if nowhere.
SEEN = np.full((SQUARES, SQUARES + 1), 66, np.int32)
for _king in range(SQUARES):
    SEEN[_king, AHEAD[_king].ravel()] = np.arange(64)
    SEEN[_king, JUMP_TO[_king]] = (64, 65)
SEEN = SEEN[:, :SQUARES]
# A piece must be able to move again from where it lands.
STAYS = np.stack([{PAWN: 1, LANCE: 1, KNIGHT: 2}.get(p, 0) <= RANK for p in range(1, 8)])
_D = np.arange(8, dtype=np.int32)
# The squares a move by direction and target may come from, near to far: [10, 81, 8].
COMES_FROM = np.full((10, SQUARES, 8), OFF, np.int32)
COMES_FROM[:8] = BEHIND[:SQUARES].transpose(1, 0, 2)
COMES_FROM[8:, :, 0] = JUMP_FROM[:SQUARES].T
GOES = np.array([1 << d | (1 << SLIDE + d if d < 8 else 0) for d in range(10)], np.int32)[:, None]
NO_JUMP_OUT = np.where(np.arange(10)[:, None] >= 8, STAYS[KNIGHT - 1], True)
# Where each action's flag is in the packed words: moves by twos, 16 a word; then drops.
_MOVE = np.arange(20 * SQUARES) % (10 * SQUARES)
_DROP = np.arange(KINDS * SQUARES)
_WORD = np.concatenate([_MOVE // 16, 51 + _DROP // 32]).astype(np.int32)
_BIT = np.concatenate([_MOVE % 16 * 2 + (np.arange(1620) >= 810), _DROP % 32]).astype(np.uint32)
_NEAR = np.where(np.arange(8) == 0, ~0, ~((1 << SLIDE) - 1)).astype(np.int32)  # beyond 1: slides


def other_side(board: Array) -> Array:
    """The board [..., squares] as the opponent sees it."""
    return -board[..., ::-1]


def origin(board: Array, action: Array) -> Array:
    """[] i32, the square a move (not a drop) starts from: the first piece on its line."""
    d, to = action // SQUARES % 10, action % SQUARES
    line = jnp.asarray(BEHIND)[to, jnp.minimum(d, 7)]
    first = line[jnp.argmax(jnp.append(board, jnp.int8(0))[line] != 0)]
    return jnp.where(d < 8, first, jnp.asarray(JUMP_FROM)[to, jnp.maximum(d - 8, 0)])


def _attacked(bits: Array, square: Array) -> Array:
    """[] bool, whether an opponent's piece among `bits` [82] reaches `square`."""
    seen = bits[jnp.asarray(AHEAD)[square]]
    near = (seen != 0) & (jnp.cumsum(seen != 0, axis=1) == 1) & (seen & THEIRS != 0)
    reach = _reaches(seen)
    jumps = bits[jnp.asarray(JUMP_TO)[square]]
    return jnp.any(near & reach) | jnp.any(_jumper(jumps))


def _reaches(seen: Array) -> Array:
    """[8, 8] bool: pieces seen from a square, in lines, that could move to it if theirs."""
    seen = seen & _NEAR
    return ((seen >> _D[:, None]) | (seen >> (SLIDE + _D[:, None]))) & 1 != 0


def _jumper(bits: Array) -> Array:
    """[2] bool: which of two squares holds an opponent's knight that jumps here."""
    return (bits & THEIRS != 0) & ((bits >> np.array([8, 9])) & 1 != 0)


def _guard(bits: Array, king: Array) -> tuple[Array, Array, Array, Array]:
    """What the safety of a king asks: (checks, pinned, landing, steps).

    checks [] i32: how many pieces attack it; pinned [8] i32: the square of the piece pinned
    in each direction, or `OFF`; landing [81] bool: where another piece may land;
    steps [8] bool: the king's own safe steps. `bits` [82] are the pieces.
    """
    squares = jnp.asarray(AHEAD)[king]
    seen = bits[squares]
    full = seen != 0
    count = jnp.cumsum(full, axis=1)
    reach = _reaches(seen) & (seen & THEIRS != 0)
    check = jnp.any(reach & (count == 1), axis=1)
    pin = jnp.any(full & (count == 1) & (seen & MINE != 0), axis=1)
    pin &= jnp.any(reach & full & (count == 2), axis=1)
    held = jnp.min(jnp.where(full & (count == 1), squares, OFF), axis=1)
    jumps = _jumper(bits[jnp.asarray(JUMP_TO)[king]])
    checks = jnp.sum(check, dtype=jnp.int32) + jnp.sum(jumps, dtype=jnp.int32)

    line = check[:, None] & (count - full == 0)
    answer = jnp.concatenate([line.ravel(), jumps, jnp.zeros(1, bool)])[jnp.asarray(SEEN)[king]]
    landing = jnp.where(checks == 0, True, (checks == 1) & answer)

    # Without the king on the board: it cannot hide in its own shadow.
    lifted = jnp.where(jnp.arange(OFF + 1) == king, 0, bits)
    steps = ~jax.vmap(_attacked, (None, 0))(lifted, squares[:, 0])
    steps &= (squares[:, 0] < OFF) & (seen[:, 0] & MINE == 0)
    return checks, jnp.where(pin, held, OFF), landing, steps


def _mates(bits: Array, king: Array, front: Array, guard: tuple[Array, ...]) -> Array:
    """[] bool, whether the pawn just dropped on `front`, before this king, is mate."""
    _, pinned, _, steps = guard
    squares = jnp.asarray(AHEAD)[front]
    seen = bits[squares] & _NEAR
    first = (seen != 0) & (jnp.cumsum(bits[squares] != 0, axis=1) == 1) & (seen & MINE != 0)
    back = np.array(BACK)[:, None]
    reach = ((seen >> back) | (seen >> (SLIDE + back))) & 1 != 0
    free = jnp.all(squares[:, :, None] != pinned, axis=2) & (squares != king)
    jumps = jnp.asarray(JUMP_FROM)[front]
    knights = (bits[jumps] & MINE != 0) & ((bits[jumps] >> np.array([8, 9])) & 1 != 0)
    knights &= jnp.all(jumps[:, None] != pinned, axis=1)
    return ~(jnp.any(steps) | jnp.any(first & reach & free) | jnp.any(knights))


@jax.jit
def legal_moves(board: Array, hand: Array) -> tuple[Array, Array]:
    """([69] u32, [] bool): the legal actions, packed, and whether the mover is in check.

    `board` [81] i8 and `hand` [7] i8 are the mover's view. `unpack` gives the mask.
    """
    theirs = other_side(board)
    their_king = jnp.argmax(theirs == KING).astype(jnp.int32)
    front = jnp.asarray(AHEAD)[their_king, 0, 0]
    theirs = jnp.where(jnp.arange(SQUARES) == front, jnp.int8(-PAWN), theirs)
    views = jnp.stack([board, theirs]).astype(jnp.int32)
    bits = jnp.pad(jnp.asarray(BITS)[views + 14], ((0, 0), (0, 1)))
    kings = jnp.stack([jnp.argmax(board == KING).astype(jnp.int32), their_king])
    guard = jax.vmap(_guard)(bits, kings)
    checks, pinned, landing, steps = jax.tree.map(lambda x: x[0], guard)
    mate = _mates(bits[1], their_king, front, jax.tree.map(lambda x: x[1], guard))

    moves = pack(_piece_moves(bits[0], kings[0], pinned, landing, steps), 2)
    drops = (hand > 0)[:, None] & (board == 0) & landing & STAYS
    pawns = jnp.any((board == PAWN).reshape(9, 9), axis=1)
    mated = mate & (jnp.arange(SQUARES) == SQUARES - 1 - front)
    no_pawn = (jnp.arange(KINDS)[:, None] == 0) & (jnp.repeat(pawns, 9) | mated)
    return jnp.concatenate([moves, pack(drops & ~no_pawn, 1)]), checks > 0


def _piece_moves(bits: Array, king: Array, pinned: Array, landing: Array, steps: Array) -> Array:
    """[10, 81] u32, by direction and target: 1 for a move, 2 for one with promotion, or both."""
    at, bits = jnp.arange(SQUARES), bits[:SQUARES]
    power = bits | jnp.where((bits & PROMOTES != 0) & ZONE, IN_ZONE, 0)
    for d in range(8):
        power &= jnp.where(at == pinned[d], ALONG[d], -1)
    unsafe = jnp.sum(jnp.where(steps, 0, 1 << _D), dtype=jnp.int32)
    power = jnp.append(jnp.where(at == king, power & ~unsafe, power), 0)

    near = power[COMES_FROM[:, :, 0]]
    for j in range(1, 8):
        near = jnp.where(near == 0, power[COMES_FROM[:, :, j]] & _NEAR[j], near)
    able = (near & MINE != 0) & (near & GOES != 0) & (bits & MINE == 0)
    able &= landing | (near & ROYAL != 0)
    promotes = (near & IN_ZONE != 0) | ((near & PROMOTES != 0) & ZONE)
    stays = NO_JUMP_OUT & ((near & FORCED == 0) | STAYS[PAWN - 1])
    return jnp.where(able, stays + 2 * promotes.astype(jnp.uint32), jnp.uint32(0))


def pack(flags: Array, width: int) -> Array:
    """Small numbers of `width` bits as u32 words.

    A sum, so that the flags are computed once: XLA on a CPU repeats a fusion of gathers for
    every consumer of its result.
    """
    each = 32 // width
    flags = flags.ravel().astype(jnp.uint32)
    rows = jnp.pad(flags, (0, -len(flags) % each)).reshape(-1, each)
    return jnp.sum(rows << (width * np.arange(each, dtype=np.uint32)), axis=1, dtype=jnp.uint32)


def unpack(words: Array) -> Array:
    """[2187] bool: the mask behind the words of `legal_moves`.

    Actions are numbered as pgx does: 81 * kind + target, kinds 0 to 9 the directions, 10 to
    19 the same with promotion, 20 to 26 drops. A direction and a target name one move: only
    the nearest piece can come that way.
    """
    return (words[_WORD] >> _BIT) & 1 != 0
