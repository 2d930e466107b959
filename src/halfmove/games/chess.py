"""Chess, with the actions and inputs of AlphaZero.

The rules are written here on bits (`chess_moves.py`), the notation in `chess_text.py`.
Everything is seen by the player to move: for black the board is turned upside down
(a8 is where a1 was) and the colours exchanged, in observations and in actions alike.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, pytree
from halfmove.games import chess_moves as rules
from halfmove.games import chess_text as text_of
from halfmove.games.chess_bits import constant
from halfmove.games.chess_moves import ALL, BISHOP, HORSE, KING, PLANES, STEPS, Board
from halfmove.games.chess_past import FIFTY, GOES_ON, MATED, key_of, remembered, verdict
from halfmove.games.chess_text import Setup

DARK = constant(square for square in range(64) if (square // 8 + square % 8) % 2 == 0)
PIECES = range(1, 7)


@pytree
class State:
    """A position, its past as far as the rules and the inputs need it, and its legal moves."""

    boards: Array  # [history, 4, 2] u32, newest first, each as its own player to move saw it
    repeats: Array  # [history] u8: how often each of them had been on the board before
    keys: Array  # [100, 2] u32: of the positions since the last capture or pawn's move
    mask: Array  # [2, 73] u32: the legal moves as bits, none when the game is over
    rights: Array  # [] u8: castling: 1, 2 mine short, long; 4, 8 theirs
    file: Array  # [] i8: of a pawn that just moved two squares, or -1
    clock: Array  # [] u8: plies since the last capture or pawn's move
    ply: Array  # [] i32: plies since the first move of the game, as FEN counts
    steps: Array  # [] i32: plies since `init` or `parse_position`
    status: Array  # [] u8: 0 goes on, 1 drawn, 2 the player to move is checkmated
    earned: Array  # [] bool: whether the last move gave mate


@dataclass(frozen=True)
class Chess(Game):
    """Chess. A position that comes up for the third time, 50 moves without progress,
    material that cannot mate and stalemate are draws, and so is move `max_plies`."""

    name: ClassVar[str] = "chess"
    position_forgets: ClassVar[str] = "the positions before"
    history: int = 8  # boards in the observation; MuZero uses 100
    max_plies: int = 512  # AlphaZero's limit

    def __post_init__(self) -> None:
        if not 1 <= self.history <= 100:
            raise ValueError(f"history must be from 1 to 100 boards, got {self.history}")
        if self.max_plies < 1:
            raise ValueError(f"max_plies must be at least 1, got {self.max_plies}")

    @property
    def actions(self) -> int:
        return 64 * PLANES

    def init(self, key: Array) -> State:
        return jax.tree.map(jnp.asarray, _first(self))

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, key: Array, state: State, action: Array) -> State:
        action = jnp.asarray(action, jnp.int32)
        origin, plane = action // PLANES, action % PLANES
        allowed = state.mask[origin >> 5, plane] >> (origin & 31).astype(jnp.uint32) & 1 > 0
        allowed &= (action >= 0) & (action < self.actions)
        before = rules.unpack(state.boards[0])
        move = rules.played(before, state.rights, state.file, action)
        after = self._settled(state, move, state.ply + 1, state.steps + 1)
        kept = jax.tree.map(lambda new, old: jnp.where(allowed, new, old), after, state)
        return dataclasses.replace(kept, earned=allowed & after.earned)

    def legal(self, state: State) -> Array:
        bits = np.arange(32, dtype=np.uint32)[:, None]
        return (state.mask[:, None, :] >> bits & 1).astype(bool).reshape(self.actions)

    def to_play(self, state: State) -> Array:
        return state.ply & 1

    def reward(self, state: State) -> Array:
        signs = jnp.where(jnp.arange(2) == self.to_play(state), -1.0, 1.0)
        return jnp.where(state.earned, signs, 0.0)

    def terminated(self, state: State) -> Array:
        return state.status != GOES_ON

    def observe(self, state: State) -> Array:
        """[8, 8, 14 * history + 7] f32; row 0 is the first rank of the player to move.

        For each board, newest first: my pawns, knights, bishops, rooks, queens, king, theirs,
        whether the position was new, whether it had been there before (all zero before the
        first move). Then: 1 for black, plies / 512, castling (mine short and long, theirs),
        plies without progress / 100.
        """
        other = jnp.arange(self.history) % 2 > 0
        boards = jax.vmap(_as_seen)(state.boards, other)
        mine = boards.occupied & ~boards.theirs
        there, again = boards.occupied.some(), state.repeats > 0
        sets = [side & boards.of(piece) for side in (mine, boards.theirs) for piece in PIECES]
        sets += [ALL.where(there & ~again), ALL.where(there & again)]
        values = [
            self.to_play(state).astype(jnp.float32),
            state.ply / 512,
            *[(state.rights >> bit & 1).astype(jnp.float32) for bit in range(4)],
            state.clock / FIFTY,
        ]
        past = 14 * self.history
        # One set of squares and one number for each plane: [2, C] and [C].
        planes = jnp.stack(
            [
                jnp.append(jnp.stack(words, axis=1).reshape(past), np.full(7, 2**32 - 1, np.uint32))
                for words in ([s.lo for s in sets], [s.hi for s in sets])
            ]
        )
        numbers = jnp.append(jnp.ones(past), jnp.stack(values))
        bits = np.arange(32, dtype=np.uint32).reshape(4, 8, 1)
        seen = jnp.where(planes[:, None, None, :] >> bits & 1 > 0, numbers, 0.0)
        return seen.reshape(8, 8, past + 7)

    def passed(self, planes: Array) -> Array:
        """From the other end: a file stays where it is."""
        return planes[::-1]

    def action_planes(self, action: Array) -> Array:
        """[8, 8, 8] f32: from, to, to is on the board, promotion to queen, knight, bishop,
        rook, none.

        The action alone does not say which piece moves: queen is marked for every single
        step forward from the seventh rank, which promotes if it is a pawn's.
        """
        return rules.action_planes(action, 8, STEPS)

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        return text_of.drawn(_setup(state))

    def move_name(self, state: State, action: int) -> str:
        """UCI: `e2e4`, `e7e8q`; castling is the king's move, `e1g1`."""
        return text_of.uci(_setup(state), int(action))

    def san(self, state: State, action: int) -> str:
        """Standard algebraic notation of a legal move: `Nf3`, `exd8=Q+`, `O-O#`."""
        legal = self._legal(state)
        if int(action) not in legal:
            raise ValueError(f"{self.move_name(state, action)} is not legal here")
        after = self.step(jax.random.key(0), state, jnp.int32(action))
        check = bool(_check(rules.unpack(after.boards[0])))
        mark = "#" if int(after.status) == MATED else "+" if check else ""
        return text_of.san(_setup(state), int(action), legal) + mark

    def parse_move(self, state: State, text: str) -> int:
        """The action behind a move in UCI (`g1f3`) or algebraic notation (`Nf3`)."""
        setup = _setup(state)
        if text_of.is_uci(text):
            return text_of.parse_uci(setup, text)
        return text_of.parse_san(setup, text, self._legal(state))

    def position(self, state: State) -> str:
        """FEN, all six fields."""
        return text_of.fen(_setup(state))

    def parse_position(self, text: str) -> State:
        """The state of a FEN. What was on the board before it is not known."""
        setup = text_of.parse_fen(text)
        board = rules.unpack(jnp.asarray(_words(setup)))
        if bool(_check(rules.turned(board))):
            waits = "white" if setup.black else "black"
            raise ValueError(f"FEN {text!r}: the side to move could take the king of {waits}")
        return _begin(self, _words(setup), *_counters(setup))

    def _legal(self, state: State) -> list[int]:
        return [int(action) for action in np.flatnonzero(jax.device_get(self.legal(state)))]

    def _settled(self, state: State, move: rules.Played, ply: Array, steps: Array) -> State:
        """The state once a move has been made: its legal moves, and whether it ends the game."""
        found = rules.moves(move.board, move.rights, move.file)
        clock = jnp.where(move.final, 0, state.clock + 1).astype(jnp.uint8)
        words = rules.pack(move.board)
        key = _key(words, move.rights, jnp.where(found.passant, move.file, -1), ply & 1)
        repeats, keys = remembered(state.keys, key, clock)
        drawn = (clock >= FIFTY) | (repeats >= 2) | _cannot_mate(move.board)
        drawn |= steps >= self.max_plies
        status = verdict(~jnp.any(found.mask != 0), found.check, drawn)
        return State(
            boards=jnp.concatenate([words[None], state.boards[:-1]]),
            repeats=jnp.concatenate([repeats[None], state.repeats[:-1]]),
            keys=keys,
            mask=jnp.where(status == GOES_ON, found.mask, 0),
            rights=move.rights,
            file=move.file,
            clock=clock,
            ply=ply,
            steps=steps,
            status=status,
            earned=status == MATED,
        )


@functools.partial(jax.jit, static_argnums=0)
def _begin(
    game: Chess, words: Array, rights: Array, file: Array, clock: Array, ply: Array
) -> State:
    """The state of a position without a past."""
    nothing = State(
        boards=jnp.zeros((game.history, 4, 2), jnp.uint32),
        repeats=jnp.zeros(game.history, jnp.uint8),
        keys=jnp.zeros((FIFTY, 2), jnp.uint32),
        mask=jnp.zeros((2, PLANES), jnp.uint32),
        rights=rights,
        file=file,
        clock=clock - jnp.uint8(1),  # wraps at 0, and back: `_settled` counts a ply
        ply=ply,
        steps=jnp.int32(0),
        status=jnp.uint8(GOES_ON),
        earned=jnp.zeros((), bool),
    )
    made = rules.Played(rules.unpack(words), rights, file, jnp.zeros((), bool))
    return dataclasses.replace(
        game._settled(nothing, made, ply, jnp.int32(0)), earned=nothing.earned
    )


@functools.cache
def _first(game: Chess) -> State:
    """The first state, as numbers, so that no caller's trace computes it again."""
    with jax.ensure_compile_time_eval():
        setup = text_of.parse_fen(text_of.START)
        return jax.device_get(_begin(game, _words(setup), *_counters(setup)))


@jax.jit
def _check(board: Board) -> Array:
    """[] bool, whether the player to move is in check."""
    return rules.moves(board, jnp.uint8(0), jnp.int8(-1)).check


def _cannot_mate(board: Board) -> Array:
    """[] bool: bare kings, one knight or bishop, or bishops on squares of one colour."""
    bishops, knights = board.of(BISHOP), board.of(HORSE)
    minor = ~(board.occupied & ~(board.of(KING) | bishops | knights)).some()
    one_colour = ~(bishops & DARK).some() | ~(bishops & ~DARK).some()
    few = board.occupied.count() <= 3
    return minor & (few | (~knights.some() & one_colour))


def _key(words: Array, rights: Array, file: Array, black: Array) -> Array:
    """[2] u32, a hash of all that makes two positions the same for the rule of repetition.

    `file` is that of a pawn that may be taken en passant by a legal move, or -1.
    """
    extra = rights.astype(jnp.uint32) | (file + 1).astype(jnp.uint32) << 4
    extra |= black.astype(jnp.uint32) << 8
    return key_of(jnp.append(words.reshape(8), extra))


def _as_seen(words: Array, other: Array) -> Board:
    """A board as the player to move sees it; `other`: it was the opponent's turn on it."""
    board = rules.unpack(words)
    return jax.tree.map(lambda a, b: jnp.where(other, a, b), rules.turned(board), board)


def _words(setup: Setup) -> np.ndarray:
    """[4, 2] u32, the board of a set-up as the player to move sees it."""
    sets = [0, 0, 0, 0]
    for square, mark in enumerate(setup.squares):
        if mark != ".":
            bit = 1 << (square ^ 56 if setup.black else square)
            kind = text_of.MARKS.index(mark.lower()) + 1
            sets[0] |= bit * (mark.islower() != setup.black)
            for plane in range(3):
                sets[1 + plane] |= bit * (kind >> plane & 1)
    return np.array([(word & 0xFFFFFFFF, word >> 32) for word in sets], np.uint32)


def _counters(setup: Setup) -> tuple[Any, ...]:
    """Castling rights, file of the pawn that moved two, clock and ply of a set-up."""
    order = "kqKQ" if setup.black else "KQkq"
    rights = sum(1 << bit for bit, mark in enumerate(order) if mark in setup.rights)
    ply = 2 * (setup.move - 1) + setup.black
    return np.uint8(rights), np.int8(setup.file), np.uint8(setup.clock), np.int32(ply)


def _setup(state: State) -> Setup:
    """A state as plain Python values, seen by white."""
    words, rights, file, clock, ply = jax.device_get(
        (state.boards[0], state.rights, state.file, state.clock, state.ply)
    )
    black = bool(ply & 1)
    planes = [int(low) | int(high) << 32 for low, high in words]
    squares = ["."] * 64
    for square in range(64):
        theirs, *bits = [plane >> square & 1 for plane in planes]
        kind = bits[0] + 2 * bits[1] + 4 * bits[2]
        if kind:
            mark = text_of.MARKS[kind - 1]
            white = bool(theirs) == black
            squares[square ^ 56 if black else square] = mark.upper() if white else mark
    order = "kqKQ" if black else "KQkq"
    held = {mark for bit, mark in enumerate(order) if int(rights) >> bit & 1}
    return Setup(
        squares="".join(squares),
        black=black,
        rights="".join(mark for mark in "KQkq" if mark in held),
        file=int(file),
        clock=int(clock),
        move=int(ply) // 2 + 1,
    )


GAMES: dict[str, Any] = {"chess": Chess}
