"""What shogi and animal shogi share: the state of a game, how it goes on, its picture."""

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, pytree
from halfmove.games.shogi_moves import other_side


@pytree
class State:
    """A game on S squares with K kinds of pieces in hand, its arrays seen by the player to move."""

    boards: Array  # [H, S] i8, the last positions, newest first
    hands: Array  # [H, 2, K] i8, the mover's and the opponent's pieces in hand
    repeats: Array  # [H] i8, how often each of these positions had stood before
    moves: Array  # [W] u32, the legal actions, packed; zero once the game is over
    words: Array  # [max_moves] u32, every position of the game, for repetition
    ply: Array  # [] i16, moves made
    turn: Array  # [] i8, who moves: 0 is black (sente), 1 white
    over: Array  # [] bool
    won: Array  # [] i8, what the last move earned black: 1, 0 or -1


def check_limits(history: int, max_moves: int) -> None:
    """Raises unless a state can be made so large."""
    if not 1 <= history <= 100:
        raise ValueError(f"history must be 1 to 100 boards, got {history}")
    if not 1 <= max_moves <= 4096:
        raise ValueError(f"max_moves must be 1 to 4096, got {max_moves}")


def cells(board: Array, hands: Array) -> Array:
    """A position as numbers, for `repetition.word`."""
    return jnp.concatenate([board, hands.ravel()])


def begun(
    board: Array, hands: Array, turn: Array, ply: Array, moves: Array, word: Array, over: Array,
    *, history: int, max_moves: int,
) -> State:  # fmt: skip
    """The state of a position without a past; arrays as in `State`, unstacked."""
    first = (jnp.arange(history) == 0).astype(jnp.int8)
    return State(
        boards=first[:, None] * board,
        hands=first[:, None, None] * hands,
        repeats=jnp.zeros(history, jnp.int8),
        moves=jnp.where(over, jnp.uint32(0), moves),
        words=jnp.where(jnp.arange(max_moves) == ply, word, jnp.uint32(0)),
        ply=ply.astype(jnp.int16),
        turn=turn.astype(jnp.int8),
        over=over,
        won=jnp.int8(0),
    )


def gone_on(
    state: State, legal: Array, board: Array, hands: Array, moves: Array, word: Array,
    count: Array, over: Array, won: Array,
) -> State:  # fmt: skip
    """The state one move later, as its new mover sees it; unchanged if the move was not legal.

    `count` is how often the position stood before, `won` [] what the move earned its mover.
    """
    ply = state.ply + 1
    after = State(
        boards=jnp.concatenate([board[None], other_side(state.boards[:-1])]),
        hands=jnp.concatenate([hands[None], state.hands[:-1, ::-1]]),
        repeats=jnp.concatenate([count[None], state.repeats[:-1]]),
        moves=jnp.where(over, jnp.uint32(0), moves),
        words=jnp.where(jnp.arange(state.words.shape[0]) == ply, word, state.words),
        ply=ply,
        turn=1 - state.turn,
        over=over,
        won=jnp.where(state.turn == 0, won, -won).astype(jnp.int8),
    )
    kept = jax.tree.map(lambda new, old: jnp.where(legal, new, old), after, state)
    return State(**{**vars(kept), "won": jnp.where(legal, after.won, jnp.int8(0))})


def rewards(state: State) -> Array:
    """[2] f32, what the last move earned black and white."""
    won = state.won.astype(jnp.float32)
    return jnp.stack([won, -won])


def planes(
    state: State, picture: np.ndarray, pieces: np.ndarray, repeats: int, most: np.ndarray
) -> Array:
    """[S, H * C + 2] f32, squares in the order of `picture`.

    For every board, newest first: a plane for each of `pieces`, one for having stood once, twice,
    ... `repeats` times before, and the hands as shares of the `most` [K] there are of a kind. Then
    the colour (1: white) and the share of the most moves there may be.
    """
    boards = state.boards[:, picture].T[:, :, None]
    again = state.repeats[:, None] >= np.arange(1, repeats + 1)
    hands = (state.hands / most).reshape(len(state.hands), -1)
    told = jnp.pad(jnp.concatenate([again, hands], axis=1), ((0, 0), (len(pieces), 0)))
    is_piece = boards == np.pad(pieces, (0, told.shape[1] - len(pieces)))
    shown = jnp.where(np.arange(told.shape[1]) < len(pieces), is_piece, told)
    more = jnp.stack([state.turn.astype(jnp.float32), state.ply / state.words.shape[0]])
    more = jnp.broadcast_to(more, (len(picture), 2))
    return jnp.concatenate([shown.reshape(len(picture), -1), more], axis=1)
