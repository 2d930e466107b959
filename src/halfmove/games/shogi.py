"""Shogi."""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array
from halfmove.games import repetition, shogi_text
from halfmove.games.shogi_moves import (
    ACTIONS,
    COMES_FROM,
    KINDS,
    OFF,
    PROMOTION,
    SQUARES,
    legal_moves,
    origin,
    other_side,
    unpack,
)
from halfmove.games.shogi_state import (
    State,
    begun,
    cells,
    check_limits,
    gone_on,
    planes,
    rewards,
)

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
MOST = np.array([18, 4, 4, 4, 2, 2, 4], np.float32)  # of each kind there are
PIECES = np.array([*range(1, 15), *range(-1, -15, -1)], np.int8)  # in the order of planes
# Row and column of the picture: ranks downwards, file 9 at the left.
PICTURE = (9 * (8 - np.arange(9))[None, :] + np.arange(9)[:, None]).ravel()


@functools.partial(jax.jit, static_argnames=("history", "max_moves"))
def _start(
    board: Array, hands: Array, turn: Array, ply: Array, *, history: int, max_moves: int
) -> State:
    moves, check = legal_moves(board, hands[0])
    word = repetition.word(cells(board, hands), turn, check)
    over = ~jnp.any(moves != 0) | (ply >= max_moves)
    limits = {"history": history, "max_moves": max_moves}
    return begun(board, hands, turn, ply, moves, word, over, **limits)


@jax.jit
def _in_check(board: Array) -> Array:
    return legal_moves(board, jnp.zeros(KINDS, jnp.int8))[1]


@dataclass(frozen=True)
class Shogi(Game):
    """Shogi. Black (player 0) moves first; a player without a legal move has lost.

    Actions are pgx's 27 * 81 (`shogi_moves.unpack`). The fourth time a position stands, with
    the same hands and mover, is a draw, unless one side has done nothing but give check since
    the first time: it loses. After `max_moves` the game is drawn, mate aside. That is all that
    pgx knows of impasse, so it is all there is here: no points are counted for kings that have
    entered. (pgx knows neither repetition nor history.) The rules are the same seen in a
    mirror, but the first position is not, and no game from it reaches the mirror images of
    others: shogi has no symmetries here, as in AlphaZero.
    """

    name: ClassVar[str] = "shogi"
    position_forgets: ClassVar[str] = "the positions before"
    history: int = 8
    max_moves: int = 512

    def __post_init__(self) -> None:
        check_limits(self.history, self.max_moves)

    @property
    def actions(self) -> int:
        return ACTIONS

    def init(self, key: Array) -> State:
        return self._state(*shogi_text.read_sfen(START))

    def _state(self, board: np.ndarray, hands: np.ndarray, turn: int, ply: int) -> State:
        arrays = jnp.asarray(board), jnp.asarray(hands), jnp.int8(turn), jnp.int32(ply)
        return _start(*arrays, history=self.history, max_moves=self.max_moves)

    def step(self, key: Array, state: State, action: Array) -> State:
        legal = jnp.any(unpack(state.moves) & (jnp.arange(ACTIONS) == action))
        board, hands = _moved(state.boards[0], state.hands[0], action)
        board, hands = other_side(board), hands[::-1]
        turn, ply = 1 - state.turn, state.ply + 1
        moves, check = legal_moves(board, hands[0])
        now = repetition.word(cells(board, hands), turn, check)
        same = repetition.earlier(state.words, now, ply)
        count = jnp.sum(same, dtype=jnp.int8)
        mine, theirs = repetition.perpetual(state.words, same, now, ply)

        mate, fourth = ~jnp.any(moves != 0), count >= 3
        over = mate | fourth | (ply >= self.max_moves)
        won = jnp.where(mate, 1, jnp.where(fourth, theirs.astype(jnp.int8) - mine, 0))
        return gone_on(state, legal, board, hands, moves, now, count, over, won)

    def legal(self, state: State) -> Array:
        return unpack(state.moves)

    def to_play(self, state: State) -> Array:
        return state.turn.astype(jnp.int32)

    def reward(self, state: State) -> Array:
        return rewards(state)

    def terminated(self, state: State) -> Array:
        return state.over

    def observe(self, state: State) -> Array:
        """[9, 9, 45 * history + 2]: AlphaZero's planes, the mover below, file 9 at the left.

        For every board, newest first: 14 of the mover's pieces, 14 of the opponent's, 3 for
        having stood once, twice, three times before, 7 and 7 for the hands (the share of all
        pieces of the kind). Then the colour (1: white) and the share of `max_moves` made.
        """
        return planes(state, PICTURE, PIECES, 3, MOST).reshape(9, 9, -1)

    def passed(self, planes: Array) -> Array:
        """Turned by half a circle."""
        return planes[::-1, ::-1]

    def action_planes(self, action: Array) -> Array:
        """[9, 9, 11]: where from (one plane), seven drops, where to, to-is-valid, promotion.

        As in MuZero, but an action here is a direction and a target: the first plane marks
        every square on the line it may come from, and valid says that there is one (or a drop).
        """
        kind, to = action // SQUARES, action % SQUARES
        squares = jnp.asarray(PICTURE)[:, None]
        drop = kind >= 20
        line = jnp.where(drop, OFF, jnp.asarray(COMES_FROM)[kind % 10, to])
        flags = [kind - 20 == k for k in range(KINDS)]
        flags += [drop | jnp.any(line < OFF), (kind >= 10) & ~drop]
        rest = jnp.broadcast_to(jnp.stack(flags), (SQUARES, 9))
        start = jnp.any(squares == line, axis=1, keepdims=True)
        parts = [start, rest[:, :7], squares == to, rest[:, 7:]]
        return jnp.concatenate(parts, axis=1).reshape(9, 9, 11).astype(jnp.float32)

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        """The board from black's side, capital letters black, with the hands."""
        return shogi_text.picture(*self._position(state))

    def move_name(self, state: State, action: int) -> str:
        """USI: 7g7f, 8h2b+, P*5e."""
        return shogi_text.usi(np.asarray(state.boards[0]), int(state.turn), int(action))

    def parse_move(self, state: State, text: str) -> int:
        return shogi_text.read_usi(np.asarray(state.boards[0]), int(state.turn), text)

    def position(self, state: State) -> str:
        """SFEN. It tells nothing of earlier positions: repetition starts anew from it."""
        return shogi_text.sfen(*self._position(state))

    def parse_position(self, text: str) -> State:
        board, hands, turn, ply = shogi_text.read_sfen(text)
        if ply > self.max_moves:
            raise ValueError(
                f"SFEN {text!r}: move {ply + 1} is beyond the limit of {self.max_moves} moves; "
                f"a larger max_moves allows it"
            )
        if _in_check(other_side(jnp.asarray(board))):
            raise ValueError(f"SFEN {text!r}: the side to move could take the king")
        return self._state(board, hands, turn, ply)

    def _position(self, state: State) -> tuple[np.ndarray, np.ndarray, int, int]:
        board, hands = np.asarray(state.boards[0]), np.asarray(state.hands[0])
        return board, hands, int(state.turn), int(state.ply)


def _moved(board: Array, hands: Array, action: Array) -> tuple[Array, Array]:
    """The board [81] and hands [2, 7] after a move, still seen by the player who made it."""
    kind, to, at = action // SQUARES, action % SQUARES, jnp.arange(SQUARES)
    drop = kind >= 20
    start = jnp.where(drop, OFF, origin(board, action))
    piece = jnp.where(drop, kind - 19, jnp.append(board, jnp.int8(0))[start])
    piece += jnp.where((kind >= 10) & ~drop, PROMOTION, 0)
    taken = -board[to].astype(jnp.int32)
    hand = jnp.arange(KINDS)
    gained = ((taken > 0) & (hand == (taken - 1) % PROMOTION)).astype(jnp.int8)
    spent = (drop & (hand == kind - 20)).astype(jnp.int8)
    board = jnp.where(at == to, piece.astype(jnp.int8), jnp.where(at == start, 0, board))
    return board.astype(jnp.int8), hands.at[0].add(gained - spent)


GAMES: dict[str, Any] = {"shogi": Shogi}
