"""A game played again from its moves, one compiled step for all records of a game."""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game, State, over
from halfmove.games.records.record import Record


@dataclass(frozen=True)
class Turn:
    """A position of a game and, but at the end, the move made in it; all on the host."""

    state: State
    player: int  # who moves
    legal: np.ndarray  # [A] bool
    over: bool
    reward: np.ndarray  # [P] f32, what the move before earned each player
    action: int | None = None


@functools.partial(jax.jit, static_argnums=0)
def _shown(game: Game, state: State) -> Any:
    return state, game.to_play(state), game.legal(state), over(game, state), game.reward(state)


@functools.partial(jax.jit, static_argnums=0)
def _after(game: Game, state: State, action: Any) -> Any:
    return _shown(game, game.step(jax.random.key(0), state, action))


@functools.lru_cache(maxsize=16)
def _beginning(game: Game) -> State:
    return jax.device_get(game.init(jax.random.key(0)))


def beginning(game: Game, position: str = "") -> State:
    """The state before the first move; ValueError if there is no such position."""
    return game.parse_position(position) if position else _beginning(game)


def replay(game: Game, record: Record) -> Iterator[Turn]:
    """Every turn of a record, then the end without a move; ValueError at an illegal move."""
    if game.chance and record.moves:
        raise ValueError(f"{game.name} is a game of chance: its moves alone do not tell it")
    return follow(game, beginning(game, record.position), record.moves)


def follow(
    game: Game, state: State, moves: Iterable[int | Callable[[Turn], int]]
) -> Iterator[Turn]:
    """The turns of `moves` from `state`: actions, or what chooses one in the turn it is given.

    A move that is not legal is a ValueError, which names it.
    """
    turn = _turn(_shown(game, state))
    number = 0
    for number, move in enumerate(moves, 1):
        action = move(turn) if callable(move) else int(move)
        if not (0 <= action < game.actions and turn.legal[action]):
            name = f"action {action}"
            if 0 <= action < game.actions:
                name = game.move_name(turn.state, action)
            why = "the game was over" if turn.over else "not legal"
            raise ValueError(f"move {number}, {name}: {why}")
        yield Turn(turn.state, turn.player, turn.legal, turn.over, turn.reward, action)
        turn = _turn(_after(game, turn.state, jnp.int32(action)))
    yield turn


def _turn(shown: Any) -> Turn:
    state, player, legal, ended, reward = jax.device_get(shown)
    return Turn(state, int(player), legal, bool(ended), reward)
