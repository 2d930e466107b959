"""The moves of chess, on sets of squares as bits, always seen by the player to move.

For black the board is turned upside down and the colours exchanged, so that every
function knows only "mine" (moving up the board) and "theirs".

A move is one of 64 x 73 actions (Silver et al. 2018, "A general reinforcement learning
algorithm ...", table S2): action = 73 * from + plane, from = 8 * rank + file. Planes:

    0 to 55    queen moves: 7 * direction (N, NE, E, SE, S, SW, W, NW) + distance - 1;
               a pawn that reaches the last rank becomes a queen; castling moves the king two
    56 to 63   knight moves, clockwise from the one two up and one right
    64 to 72   underpromotions: 64 + 3 * (knight, bishop, rook) + (NW, N, NE)
"""

import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, pytree
from halfmove.games.chess_bits import (
    COMPASS,
    KNIGHT,
    Shift,
    Squares,
    column,
    constant,
    flip,
    single,
    stack,
)

PLANES = 73
PAWN, HORSE, BISHOP, ROOK, QUEEN, KING = range(1, 7)
UNDER = (HORSE, BISHOP, ROOK)
FORWARD = ((1, -1), (1, 0), (1, 1))  # NW, N, NE: the directions of a pawn


def planes_of(size: int) -> tuple[np.ndarray, np.ndarray]:
    """[P, 2] ranks and files that each plane of a board moves, [P] what a pawn becomes."""
    queen = [(k * rank, k * file) for rank, file in COMPASS for k in range(1, size)]
    straight, under = [*queen, *KNIGHT], [(p, step) for p in UNDER for step in FORWARD]
    steps = [*straight, *(step for _, step in under)]
    return np.array(steps), np.array([QUEEN] * len(straight) + [piece for piece, _ in under])


STEPS, PROMOTES = planes_of(8)

ONWARD = Shift(COMPASS)  # from the king along its eight lines
BACK = Shift((-rank, -file) for rank, file in COMPASS)  # from a target to where a move began
BACK_ONE, BACK_TWO = Shift([(-1, 0)]), Shift([(-2, 0)])
BACK_KNIGHT = Shift((-rank, -file) for rank, file in KNIGHT)
STRAIGHT = np.array([0 in step for step in COMPASS])  # which of the eight a rook uses
N, NE, E, W, NW = 0, 1, 2, 6, 7

ALL = constant(range(64))
NONE = constant(())
SECOND, SEVENTH = (constant(range(8 * r, 8 * r + 8)) for r in (1, 6))
SHORT, LONG = 1, 2  # bits of castling rights; theirs are four times these
# [64] u8: the rights that stay when a piece leaves or enters a square.
KEEPS_RIGHTS = np.full(64, 15, np.uint8)
for _square, _lost in ((4, SHORT | LONG), (7, SHORT), (0, LONG)):
    KEEPS_RIGHTS[_square] &= ~np.uint8(_lost)
    KEEPS_RIGHTS[_square + 56] &= ~np.uint8(4 * _lost)


@pytree
class Board:
    """Where the pieces are: each set is a word of bits per square, [] each."""

    theirs: Squares  # squares with a piece of the player who is not to move
    kind: tuple[Squares, Squares, Squares]  # the bits of PAWN ... KING, lowest first; 0 is empty

    @property
    def occupied(self) -> Squares:
        return self.kind[0] | self.kind[1] | self.kind[2]

    def of(self, piece: int) -> Squares:
        """Squares with such a piece, of either side."""
        found = ALL
        for bit, plane in enumerate(self.kind):
            found = found & (plane if piece >> bit & 1 else ~plane)
        return found


def unpack(words: Array) -> Board:
    """A board from its eight words, [4, 2] u32."""
    theirs, *kind = [Squares(words[i, 0], words[i, 1]) for i in range(4)]
    return Board(theirs, (kind[0], kind[1], kind[2]))


def pack(board: Board) -> Array:
    """[4, 2] u32, the inverse of `unpack`."""
    sets = (board.theirs, *board.kind)
    return jnp.stack([word for s in sets for word in (s.lo, s.hi)]).reshape(4, 2)


def turned(board: Board) -> Board:
    """The board as the other player sees it."""
    theirs = flip(board.occupied & ~board.theirs)
    return Board(theirs, tuple(flip(plane) for plane in board.kind))  # type: ignore[arg-type]


@pytree
class Threat:
    """What stands between the king and a loss."""

    checks: Array  # [] i32, pieces that give check
    block: Squares  # [], where a move of another piece answers the check; everything if none
    free: Squares  # [8], pieces that no pin keeps from moving along a direction
    pinned: Squares  # []
    passant: Array  # [2] bool, whether capturing en passant NE, NW leaves the king safe


@pytree
class Moves:
    """What may be played."""

    mask: Array  # [2, 73] u32: bit `from % 32` of [from // 32, plane]
    check: Array  # [] bool
    passant: Array  # [] bool, whether one of them captures en passant


def moves(board: Board, rights: Array, file: Array) -> Moves:
    """Every legal move. `rights`: castling bits; `file`: of the pawn that moved two, or -1."""
    mine = board.occupied & ~board.theirs
    king = mine & board.of(KING)
    pawns = mine & board.of(PAWN)
    target = single(jnp.where(file >= 0, 40 + file, -1))
    takers = pawns & BACK(target)  # [8]: pawns from which a direction leads to the target
    takers = stack([takers[NE], takers[NW]])
    threat = _threat(board, mine, king, target, takers)
    hits, attacked = _lines(board, mine, king, threat)

    steps = BACK(_near_targets(board, mine, attacked, threat.block))  # [2, 8]
    pawn_steps = pawns & threat.free & steps[1]
    passant = takers.where(threat.passant)
    double = hits[1][N] & pawns & SECOND & threat.free[N] & BACK_TWO(~board.occupied)[0]
    short, long = _castling(board, king, attacked, rights)

    rider = _riders(board, mine) & threat.free
    planes = [rider & hit for hit in hits]
    single_steps = planes[0] | (king & steps[0]) | pawn_steps
    planes[0] = single_steps | _at({NE: passant[0], NW: passant[1]})
    planes[1] = planes[1] | _at({N: double, E: short, W: long})
    # A pinned knight has no move at all.
    knights = mine & board.of(HORSE) & ~threat.pinned & BACK_KNIGHT(~mine & threat.block)
    promoted = stack([pawn_steps[d] & SEVENTH for d in (NW, N, NE)])
    words = [
        jnp.concatenate(
            [jnp.stack(queen, axis=1).reshape(56), knight, jnp.tile(under, 3)],
        )
        for queen, knight, under in (
            ([p.lo for p in planes], knights.lo, promoted.lo),
            ([p.hi for p in planes], knights.hi, promoted.hi),
        )
    ]
    return Moves(jnp.stack(words), threat.checks > 0, passant.union().some())


def _threat(board: Board, mine: Squares, king: Squares, target: Squares, takers: Squares) -> Threat:
    """Checks and pins, by walking from the king along its eight lines.

    Three walks side by side: over the board as it is, and as it is after each of the two
    captures en passant, which empties two squares of a rank at once and so is no plain pin.
    """
    empty = ~board.occupied
    captured = BACK_ONE(target)[0]
    after = [(empty | captured | takers[i]) & ~target for i in (0, 1)]
    open_ = column([empty, *after])
    riders = _riders(board, board.theirs)

    walk, beyond = column([king] * 3), NONE
    seen, behind = NONE, NONE
    for _ in range(7):
        reached, further = ONWARD(walk), ONWARD(beyond)
        seen, behind = seen | reached, behind | further
        walk = reached & open_
        beyond = (reached[0] & mine) | (further & empty)

    lines = seen[0]
    attackers = (seen & riders).some()  # [3, 8]
    knights = BACK_KNIGHT(king).union() & board.theirs & board.of(HORSE)
    ahead = ONWARD(king)
    pawns = (ahead[NE] | ahead[NW]) & board.theirs & board.of(PAWN)
    checks = jnp.sum(attackers[0], dtype=jnp.int32) + knights.count() + pawns.count()
    block = lines.where(attackers[0]).union() | knights | pawns

    pinned = (lines & mine).where((behind & riders).some())  # [8]
    along = pinned | Squares(jnp.roll(pinned.lo, 4), jnp.roll(pinned.hi, 4))
    safe = ~jnp.any(attackers[1:], axis=1) & ~knights.some() & ~(pawns & ~captured).some()
    return Threat(
        checks=checks,
        block=(ALL.where(checks == 0)) | block.where(checks == 1),
        free=~pinned.union() | along,
        pinned=pinned.union(),
        passant=safe,
    )


def _lines(
    board: Board, mine: Squares, king: Squares, threat: Threat
) -> tuple[list[Squares], Squares]:
    """Where sliding leads, and the squares that they attack.

    The first: for each distance 1 to 7, [8], the squares from which a piece of mine may go
    that far in a direction. The king does not hide what lies behind it from their attack.
    """
    empty = ~board.occupied
    theirs = board.theirs
    riders = _riders(board, theirs)
    goal = stack([(~mine & threat.block) | NONE, riders])  # [2, 8]
    open_ = column([empty, empty | king])
    between, hits = ALL, []
    for _ in range(7):
        goal, open_ = BACK(goal), BACK(open_)
        hits.append(between & goal)
        between = between & open_
    attacked = NONE
    for hit in hits:
        attacked = attacked | hit[1]
    diagonal = _at({NE: theirs & board.of(PAWN), NW: theirs & board.of(PAWN)})
    near = BACK((theirs & board.of(KING)) | diagonal)
    knights = BACK_KNIGHT(theirs & board.of(HORSE))
    return [hit[0] for hit in hits], (attacked | near | knights).union()


def _near_targets(board: Board, mine: Squares, attacked: Squares, block: Squares) -> Squares:
    """[2, 8]: where a single step of the king, and of a pawn, may end."""
    quiet, capture = ~board.occupied & block, board.theirs & block
    return stack([~mine & ~attacked, _at({N: quiet, NE: capture, NW: capture})])


def _castling(
    board: Board, king: Squares, attacked: Squares, rights: Array
) -> tuple[Squares, Squares]:
    """The king's square where it may castle short and long, else nothing."""
    short = ~(constant((5, 6)) & board.occupied).some() & ~(constant((4, 5, 6)) & attacked).some()
    long = ~(constant((1, 2, 3)) & board.occupied).some() & ~(constant((2, 3, 4)) & attacked).some()
    return king.where(short & (rights & SHORT > 0)), king.where(long & (rights & LONG > 0))


def _riders(board: Board, side: Squares) -> Squares:
    """[8]: the pieces of one side that slide in each direction."""
    rooks, bishops, queens = (side & board.of(piece) for piece in (ROOK, BISHOP, QUEEN))
    straight = jnp.asarray(STRAIGHT)
    return queens | rooks.where(straight) | bishops.where(~straight)


def _at(sets: dict[int, Squares]) -> Squares:
    """[8], a set for some directions and nothing for the rest."""
    return stack([sets.get(direction, NONE) for direction in range(8)])


@pytree
class Played:
    """A board after a move, seen by the player who moves next."""

    board: Board
    rights: Array  # [] u8
    file: Array  # [] i8: of a pawn that just moved two squares, or -1
    final: Array  # [] bool, whether it captured or moved a pawn: nothing before can come back


def played(board: Board, rights: Array, file: Array, action: Array) -> Played:
    """The board after a move that is legal."""
    origin, plane = action // PLANES, action % PLANES
    shift = jnp.asarray(8 * STEPS[:, 0] + STEPS[:, 1])[plane]
    target = origin + shift
    leaves, enters = single(origin), single(target)
    pawn, king = ((board.of(piece) & leaves).some() for piece in (PAWN, KING))

    passant = pawn & (target == jnp.where(file >= 0, 40 + file, -1))
    taken = enters | BACK_ONE(enters)[0].where(passant)
    captures = (taken & board.theirs).some()
    promotes = pawn & (target >= 56)
    promoted = jnp.asarray(PROMOTES)[plane]
    kind = []
    for bit, squares in enumerate(board.kind):
        on = jnp.where(promotes, promoted >> bit & 1 > 0, (squares & leaves).some())
        kind.append((squares & ~(leaves | taken)) | enters.where(on))
    castles = king & (jnp.abs(shift) == 2)
    rook = constant((5, 7)).where(castles & (shift > 0)) | constant((0, 3)).where(
        castles & (shift < 0)
    )
    kind[2] = kind[2] ^ rook  # ROOK has only this bit

    kept = rights & jnp.asarray(KEEPS_RIGHTS)[origin] & jnp.asarray(KEEPS_RIGHTS)[target]
    moved = Board(board.theirs & ~taken, (kind[0], kind[1], kind[2]))
    return Played(
        board=turned(moved),
        rights=(kept >> 2) | ((kept & 3) << 2),
        file=jnp.where(pawn & (shift == 16), origin % 8, -1).astype(jnp.int8),
        final=pawn | captures,
    )


def action_planes(action: Array, size: int, steps: np.ndarray) -> Array:
    """[size, size, 8] f32: from, to, to is on the board, promotion to queen, knight, bishop,
    rook, none. Queen is marked for every single step forward from the last rank but one.
    """
    origin, plane = action // len(steps), action % len(steps)
    rank, file = jnp.stack([origin // size, origin % size]) + jnp.asarray(steps)[plane]
    valid = (rank >= 0) & (rank < size) & (file >= 0) & (file < size)
    squares = jnp.arange(size * size).reshape(size, size)
    queens, first = 8 * (size - 1), len(steps) - 9
    queen = (origin // size == size - 2) & (rank == size - 1) & (plane < queens)
    under = jnp.where(plane >= first, (plane - first) // 3, -1)
    flags = [valid, queen, under == 0, under == 1, under == 2, (under < 0) & ~queen]
    ends = [squares == origin, valid & (squares == size * rank + file)]
    rest = jnp.broadcast_to(jnp.stack(flags), (size, size, 6))
    return jnp.concatenate([jnp.stack(ends, -1), rest], -1).astype(jnp.float32)
