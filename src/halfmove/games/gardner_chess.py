"""Gardner's minichess: chess on five files and ranks.

No castling, no double step of a pawn. The rules are written here on bits
(`gardner_moves.py`, which also numbers the actions); pgx's are slower. Everything is
seen by the player to move: for black the board is turned upside down.
"""

import dataclasses
import functools
import re
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, pytree
from halfmove.games import chess_text
from halfmove.games import gardner_moves as rules
from halfmove.games.chess_moves import action_planes
from halfmove.games.chess_past import FIFTY, GOES_ON, MATED, key_of, remembered, verdict
from halfmove.games.gardner_moves import FULL, PLANES, PROMOTES, SIZE, STEPS

START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
MARKS = chess_text.MARKS
FILES = "abcde"
PLANE_OF = {(int(r), int(f)): plane for plane, (r, f) in enumerate(STEPS) if plane < 40}
MOVE = re.compile(r"([a-e])([1-5])([a-e])([1-5])([qrbn])?")
HISTORY = 8


@pytree
class State:
    """A position, its past as far as the rules and the inputs need it, and its legal moves."""

    boards: Array  # [8, 4] u32, newest first, each as its own player to move saw it
    repeats: Array  # [8] u8: how often each of them had been on the board before
    keys: Array  # [100, 2] u32: of the positions since the last capture or pawn's move
    mask: Array  # [49] u32: the legal moves as bits, none when the game is over
    clock: Array  # [] u8: plies since the last capture or pawn's move
    ply: Array  # [] i32: plies since the first move of the game, as FEN counts
    steps: Array  # [] i32: plies since `init` or `parse_position`
    status: Array  # [] u8: 0 goes on, 1 drawn, 2 the player to move is checkmated
    earned: Array  # [] bool: whether the last move gave mate


@dataclass(frozen=True)
class GardnerChess(Game):
    """Chess on a board of five by five, with the same draws; so is move `max_plies`."""

    name: ClassVar[str] = "gardner_chess"
    position_forgets: ClassVar[str] = "the positions before"
    max_plies: int = 256  # as pgx has it

    def __post_init__(self) -> None:
        if self.max_plies < 1:
            raise ValueError(f"max_plies must be at least 1, got {self.max_plies}")

    @property
    def actions(self) -> int:
        return SIZE * SIZE * PLANES

    def init(self, key: Array) -> State:
        return jax.tree.map(jnp.asarray, _first(self))

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, key: Array, state: State, action: Array) -> State:
        action = jnp.asarray(action, jnp.int32)
        origin, plane = action // PLANES, action % PLANES
        allowed = state.mask[plane] >> (origin & 31).astype(jnp.uint32) & 1 > 0
        allowed &= (action >= 0) & (action < self.actions)
        board, final = rules.played(state.boards[0], action)
        clock = jnp.where(final, 0, state.clock + 1).astype(jnp.uint8)
        after = self._settled(state, board, clock, state.ply + 1, state.steps + 1)
        kept = jax.tree.map(lambda new, old: jnp.where(allowed, new, old), after, state)
        return dataclasses.replace(kept, earned=allowed & after.earned)

    def legal(self, state: State) -> Array:
        bits = np.arange(SIZE * SIZE, dtype=np.uint32)[:, None]
        return (state.mask >> bits & 1).astype(bool).reshape(self.actions)

    def to_play(self, state: State) -> Array:
        return state.ply & 1

    def reward(self, state: State) -> Array:
        signs = jnp.where(jnp.arange(2) == self.to_play(state), -1.0, 1.0)
        return jnp.where(state.earned, signs, 0.0)

    def terminated(self, state: State) -> Array:
        return state.status != GOES_ON

    def observe(self, state: State) -> Array:
        """[5, 5, 115] f32; row 0 is the first rank of the player to move.

        For each of 8 boards, newest first: my pawns, knights, bishops, rooks, queens, king,
        theirs, whether the position was new, whether it had been there before (all zero
        before the first move). Then: 1 for black, plies / 256, plies without progress / 100.
        """
        other = (np.arange(HISTORY) % 2 > 0)[:, None]
        boards = jnp.where(other, jax.vmap(rules.turned)(state.boards), state.boards).T  # [4, 8]
        theirs, there = boards[0], rules.occupied(boards)
        sides = (there & ~theirs, theirs)
        sets = [side & rules.of(boards, piece) for side in sides for piece in range(1, 7)]
        again = state.repeats > 0
        sets += [jnp.where((there != 0) & seen, FULL, np.uint32(0)) for seen in (~again, again)]
        values = [self.to_play(state).astype(jnp.float32), state.ply / 256, state.clock / FIFTY]
        past = 14 * HISTORY
        # One set of squares and one number for each plane.
        planes = jnp.append(jnp.stack(sets, axis=1).reshape(past), jnp.full(3, FULL))
        numbers = jnp.append(jnp.ones(past), jnp.stack(values))
        bits = np.arange(SIZE * SIZE, dtype=np.uint32).reshape(SIZE, SIZE, 1)
        return jnp.where(planes >> bits & 1 > 0, numbers, 0.0)

    def passed(self, planes: Array) -> Array:
        """From the other end: a file stays where it is."""
        return planes[::-1]

    def action_planes(self, action: Array) -> Array:
        """[5, 5, 8] f32: from, to, to is on the board, promotion to queen, knight, bishop,
        rook, none. Queen is marked for every single step forward from the fourth rank."""
        return action_planes(action, SIZE, STEPS)

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        rows = zip(range(SIZE, 0, -1), _rows(state), strict=True)
        lines = [f"{rank} " + " ".join(row) for rank, row in rows]
        return "\n".join([*lines, "  " + " ".join(FILES), f"{_side(_black(state))} to move"])

    def move_name(self, state: State, action: int) -> str:
        """As in UCI: `b2b3`, `a4a5q`; `-` for a second square off the board."""
        if not 0 <= action < self.actions:
            raise ValueError(f"{action} is not a move of {self.name}: 0 to {self.actions - 1}")
        origin, plane = divmod(int(action), PLANES)
        rank, file = divmod(origin, SIZE)
        end_rank, end_file = rank + int(STEPS[plane][0]), file + int(STEPS[plane][1])
        promotes = plane >= 40 or (_pawn(state, origin) and end_rank == SIZE - 1)
        letter = MARKS[int(PROMOTES[plane]) - 1] if promotes else ""
        ends = (rank, file), (end_rank, end_file)
        return "".join(_square(*end, _black(state)) for end in ends) + letter

    def parse_move(self, state: State, text: str) -> int:
        match = MOVE.fullmatch(text)
        if not match:
            raise ValueError(
                f"{text!r} is not a move of {self.name}: two squares from a1 to e5 and what a "
                "pawn becomes, as in b2b3 or a4a5q"
            )
        file, end_file = (FILES.index(mark) for mark in match.group(1, 3))
        rank, end_rank = (int(mark) - 1 for mark in match.group(2, 4))
        if _black(state):
            rank, end_rank = SIZE - 1 - rank, SIZE - 1 - end_rank
        step, letter = (end_rank - rank, end_file - file), match[5]
        if step not in PLANE_OF:
            raise ValueError(f"{text!r} is not a move of {self.name}: no piece goes there")
        origin = SIZE * rank + file
        last = _pawn(state, origin) and end_rank == SIZE - 1
        if last != (letter is not None):
            why = "does not say what the pawn becomes: q, r, b or n" if last else "promotes no pawn"
            raise ValueError(f"{text!r} {why}")
        if letter in (None, "q"):
            return origin * PLANES + PLANE_OF[step]
        if abs(step[1]) > 1 or step[0] != 1:
            raise ValueError(f"{text!r} is not a move of {self.name}: no pawn goes there")
        return origin * PLANES + 40 + 3 * (MARKS.index(letter) - 1) + step[1] + 1

    def position(self, state: State) -> str:
        """FEN; castling and en passant are always `-`."""
        side = "b" if _black(state) else "w"
        move = int(state.ply) // 2 + 1
        return f"{chess_text.write_rows(_rows(state))} {side} - - {int(state.clock)} {move}"

    def parse_position(self, text: str) -> State:
        """The state of a FEN. What was on the board before it is not known."""

        def wrong(field: str, why: str) -> NoReturn:
            raise ValueError(f"FEN {text!r}: {field}: {why}")

        fields = text.split()
        if len(fields) != 6:
            raise ValueError(f"FEN {text!r} has {len(fields)} fields; it needs 6, as in {START!r}")
        pieces, side, castling, passant, plies, number = fields
        rows = chess_text.parse_rows(pieces, SIZE, wrong)
        if "p" in (rows[0] + rows[-1]).lower():
            wrong("pieces", "a pawn stands on the first or the last rank")
        if side not in ("w", "b"):
            wrong("side to move", f"{side!r} is neither w nor b")
        if castling != "-" or passant != "-":
            wrong("castling and en passant", "this game has neither: - -")
        black = side == "b"
        clock, move = chess_text.parse_counters(plies, number, wrong)
        board = jnp.asarray(_board(rows, black))
        if bool(_check(rules.turned(board))):
            wrong("side to move", f"it could take the king of {_side(not black)}")
        return _begin(self, board, np.uint8(clock), np.int32(2 * (move - 1) + black))

    def _settled(self, state: State, board: Array, clock: Array, ply: Array, steps: Array) -> State:
        """The state with a new board: its legal moves, and whether the game is over."""
        found = rules.moves(board)
        key = key_of(jnp.append(board, (ply & 1).astype(jnp.uint32)))
        repeats, keys = remembered(state.keys, key, clock)
        drawn = (clock >= FIFTY) | (repeats >= 2) | rules.cannot_mate(board)
        drawn |= steps >= self.max_plies
        status = verdict(~jnp.any(found.mask != 0), found.check, drawn)
        return State(
            boards=jnp.concatenate([board[None], state.boards[:-1]]),
            repeats=jnp.concatenate([repeats[None], state.repeats[:-1]]),
            keys=keys,
            mask=jnp.where(status == GOES_ON, found.mask, 0),
            clock=clock,
            ply=ply,
            steps=steps,
            status=status,
            earned=status == MATED,
        )


@functools.partial(jax.jit, static_argnums=0)
def _begin(game: GardnerChess, board: Array, clock: Array, ply: Array) -> State:
    """The state of a position without a past."""
    nothing = State(
        boards=jnp.zeros((HISTORY, 4), jnp.uint32),
        repeats=jnp.zeros(HISTORY, jnp.uint8),
        keys=jnp.zeros((FIFTY, 2), jnp.uint32),
        mask=jnp.zeros(PLANES, jnp.uint32),
        clock=clock,
        ply=ply,
        steps=jnp.int32(0),
        status=jnp.uint8(GOES_ON),
        earned=jnp.zeros((), bool),
    )
    state = game._settled(nothing, board, clock, ply, nothing.steps)
    return dataclasses.replace(state, earned=nothing.earned)


@functools.cache
def _first(game: GardnerChess) -> State:
    """The first state, as numbers, so that no caller's trace computes it again."""
    with jax.ensure_compile_time_eval():
        return jax.device_get(game.parse_position(START))


@jax.jit
def _check(board: Array) -> Array:
    """[] bool, whether the player to move is in check."""
    return rules.moves(board).check


def _board(rows: list[str], black: bool) -> np.ndarray:
    """[4] u32, the board of some ranks, the last first, as the player to move sees it."""
    sets = np.zeros(4, np.uint32)
    for rank, row in enumerate(rows if black else reversed(rows)):
        for file, mark in enumerate(row):
            if mark != ".":
                bit = np.uint32(1 << (SIZE * rank + file))
                kind = MARKS.index(mark.lower()) + 1
                sets[0] |= bit * (mark.islower() != black)
                for plane in range(3):
                    sets[1 + plane] |= bit * np.uint32(kind >> plane & 1)
    return sets


def _rows(state: State) -> list[str]:
    """The ranks as white sees them, the last first."""
    board, black = [int(word) for word in jax.device_get(state.boards)[0]], _black(state)
    rows = []
    for rank in range(SIZE):
        row = ""
        for square in range(SIZE * rank, SIZE * rank + SIZE):
            theirs, *bits = [word >> square & 1 for word in board]
            kind = bits[0] + 2 * bits[1] + 4 * bits[2]
            mark = MARKS[kind - 1] if kind else "."
            row += mark.upper() if bool(theirs) == black else mark
        rows.append(row)
    return rows if black else rows[::-1]


def _pawn(state: State, square: int) -> bool:
    """Whether a pawn of the player to move stands there."""
    theirs, *bits = [int(word) >> square & 1 for word in jax.device_get(state.boards)[0]]
    return not theirs and bits == [1, 0, 0]


def _square(rank: int, file: int, black: bool) -> str:
    if not (0 <= file < SIZE and 0 <= rank < SIZE):
        return "-"
    return FILES[file] + str(SIZE - rank if black else rank + 1)


def _black(state: State) -> bool:
    return bool(int(state.ply) & 1)


def _side(black: bool) -> str:
    return "black" if black else "white"


GAMES: dict[str, Any] = {"gardner_chess": GardnerChess}
