"""What every position of a small game is worth with best play, found by looking at all of them."""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game, State, edge, over

ROOM = 200_000  # positions of one length, at most
PART = 4096  # positions that are stepped at once


@dataclass(frozen=True)
class Solution:
    """Values from -1 to 1, as seen by the player to move."""

    best: dict[bytes, np.ndarray]  # a position -> its best actions

    def moves(self, state: State) -> np.ndarray:
        """The best actions of one position."""
        return self.best[_bytes(state)]


@functools.lru_cache(maxsize=4)
def solve(game: Game) -> Solution:
    """The solution of a game for two without chance; ValueError if it is too large."""
    if game.players != 2 or game.chance:
        raise ValueError(f"only games for two without chance are solved, not {game.name}")
    start = jax.device_get(game.init(jax.random.key(0)))
    levels: list[dict[bytes, State]] = [{_bytes(start): start}]
    moves: list[list[tuple[bytes, int, bytes, float, float]]] = []
    while levels[-1]:
        following: dict[bytes, State] = {}
        edges = []
        for before, action, state, gain, factor, ended in _stepped(game, levels[-1]):
            after = b"" if ended else _bytes(state)
            edges.append((before, action, after, gain, factor))
            if not ended:
                following.setdefault(after, state)
        if len(following) > ROOM:
            raise ValueError(f"{game.name} is too large to be solved here")
        levels.append(following)
        moves.append(edges)
    return Solution(_best(moves))


def _best(moves: list[list[tuple[bytes, int, bytes, float, float]]]) -> dict[bytes, np.ndarray]:
    value: dict[bytes, float] = {b"": 0.0}
    best: dict[bytes, np.ndarray] = {}
    for edges in reversed(moves):
        choices: dict[bytes, list[tuple[int, float]]] = {}
        for before, action, after, gain, factor in edges:
            choices.setdefault(before, []).append((action, gain + factor * value[after]))
        for position, found in choices.items():
            most = max(q for _, q in found)
            value[position] = most
            best[position] = np.array([a for a, q in found if q == most])
    return best


def _stepped(game: Game, level: dict[bytes, State]) -> Any:
    """Every legal move: (position, action, state after it, reward, discount, whether it ended)."""
    names, states = list(level), list(level.values())
    for at in range(0, len(states), PART):
        part = states[at : at + PART]
        size = 1 << (len(part) - 1).bit_length()
        rows = [*part, *[part[-1]] * (size - len(part))]
        many = jax.tree.map(lambda *x: np.stack(x), *rows)
        legal, after, reward, discount, ended = jax.device_get(_all_moves(game, many))
        for i in range(len(part)):
            for a in np.flatnonzero(legal[i]):
                state = jax.tree.map(lambda x, i=i, a=a: x[i, a], after)
                yield names[at + i], int(a), state, reward[i, a], discount[i, a], ended[i, a]


@functools.partial(jax.jit, static_argnums=0)
def _all_moves(game: Game, states: State) -> Any:
    def one(state: State) -> Any:
        def move(action: Any) -> Any:
            after = game.step(jax.random.key(0), state, action)
            earned = edge(game, state, after)
            return after, earned.reward, earned.discount, over(game, after)

        return game.legal(state), *jax.vmap(move)(jnp.arange(game.actions))

    return jax.vmap(one)(states)


def _bytes(state: State) -> bytes:
    return b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(state))
