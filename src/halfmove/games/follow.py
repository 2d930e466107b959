"""Games followed on the host, move by move, by the rules of this package.

For one at a time, and for many side by side, a program is compiled for each game, whatever the
number of threads and of games.
"""

import dataclasses
import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from halfmove.core.game import Game, State, over
from halfmove.core.types import Array

TOGETHER = 64  # games that are followed side by side


@dataclass(frozen=True)
class Spot:
    """Where a game stands, in numpy."""

    state: State
    legal: np.ndarray  # [A] bool
    player: int  # who moves
    over: bool
    reward: np.ndarray  # [P] f32, what the move before earned each player


def begin(game: Game, position: str = "") -> Spot:
    """The first position, or the one of that text; ValueError if the game cannot read it."""
    if position:
        return at(game, game.parse_position(position))
    with jax.default_device(_host()):
        return _programs(_plain(game)).first


def at(game: Game, state: State) -> Spot:
    """What is to be known of a state."""
    with jax.default_device(_host()):
        return _programs(_plain(game)).look(jax.device_get(state))


def moved(game: Game, spot: Spot, action: int) -> Spot:
    """Where the game stands after a move; ValueError if it is not legal."""
    if not (0 <= action < len(spot.legal) and spot.legal[action]):
        raise ValueError(f"action {action} is not legal in {game.position(spot.state)}")
    with jax.default_device(_host()):
        return _programs(_plain(game)).step(spot.state, np.int32(action))


def moved_together(game: Game, spots: Sequence[Spot], actions: Sequence[int]) -> list[Spot]:
    """Where many games stand after legal moves, one in each: `TOGETHER` of them a call."""
    found: list[Spot] = []
    with jax.default_device(_host()):
        step = _side_by_side(_plain(game))
        for at in range(0, len(spots), TOGETHER):
            part = spots[at : at + TOGETHER]
            rows = [*range(len(part)), *[0] * (TOGETHER - len(part))]
            states = jax.tree.map(lambda *x: np.stack(x), *(part[i].state for i in rows))
            made = np.array([actions[at + i] for i in rows], np.int32)
            found += step(states, made)[: len(part)]
    return found


class Programs(NamedTuple):
    """What is compiled for a game, and its first position."""

    look: Callable[[State], Spot]
    step: Callable[[State, np.int32], Spot]
    first: Spot


_compiling = threading.Lock()
_ready: dict[Game, Programs] = {}


def _programs(game: Game) -> Programs:
    if game not in _ready:  # who follows a game that is compiled does not wait for another
        with _compiling:  # or every thread would compile for itself
            _ready[game] = _compiled(game)
    return _ready[game]


@functools.cache
def _compiled(game: Game) -> Programs:
    first = jax.device_get(game.init(jax.random.key(0)))
    shows = jax.jit(functools.partial(_seen, game)).lower(first).compile()
    steps = jax.jit(functools.partial(_stepped, game)).lower(first, np.int32(0)).compile()

    def look(state: State) -> Spot:
        return _spot(*jax.device_get(shows(state)))

    def step(state: State, action: np.int32) -> Spot:
        return _spot(*jax.device_get(steps(state, action)))

    return Programs(look, step, look(first))


@functools.cache
def _side_by_side(game: Game) -> Callable[[State, np.ndarray], list[Spot]]:
    steps = jax.jit(jax.vmap(functools.partial(_stepped, game)))

    def step(states: State, actions: np.ndarray) -> list[Spot]:
        state, *rest = jax.device_get(steps(states, actions))
        leaves, form = jax.tree.flatten(state)
        rows = zip(zip(*leaves, strict=True), *rest, strict=True)
        return [_spot(jax.tree.unflatten(form, x), *others) for x, *others in rows]

    return step


def _seen(game: Game, state: State) -> tuple[Any, ...]:
    return state, game.legal(state), game.to_play(state), over(game, state), game.reward(state)


def _stepped(game: Game, state: State, action: Array) -> tuple[Any, ...]:
    # Who follows a game of chance brings its states: nothing else is drawn from this key.
    return _seen(game, game.step(jax.random.key(0), state, action))


def _spot(state: State, legal: Any, player: Any, ended: Any, reward: Any) -> Spot:
    return Spot(state, legal, int(player), bool(ended), reward)


def _plain(game: Game) -> Game:
    """The same game without a GPU's program for its moves: one game is not worth a launch."""
    if getattr(game, "engine", "xla") == "xla":
        return game
    return dataclasses.replace(game, engine="xla")  # type: ignore[type-var]


@functools.cache
def _host() -> Any:
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # a JAX that was told to have none
        return jax.local_devices()[0]
