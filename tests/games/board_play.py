"""Random games of many boards at once, and what every board game must keep to."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _random(game: Game, key: Any, games: int, length: int) -> tuple[Any, Any]:
    def move(states: Any, key: Any) -> tuple[Any, Any]:
        legal = jax.vmap(game.legal)(states)
        pick, step = jax.random.split(key)
        score = jnp.where(legal, jax.random.uniform(pick, legal.shape), -1.0)
        action = jnp.argmax(score, axis=1).astype(jnp.int32)
        keys = jax.random.split(step, games)
        return jax.vmap(game.step)(keys, states, action), (states, action)

    start, play = jax.random.split(key)
    states = jax.vmap(game.init)(jax.random.split(start, games))
    last, (states, actions) = jax.lax.scan(move, states, jax.random.split(play, length))
    return jax.tree.map(lambda xs, x: jnp.concatenate([xs, x[None]]), states, last), actions


def random_games(game: Game, seed: int, games: int, length: int) -> tuple[Any, np.ndarray]:
    """States [length + 1, games, ...] and actions [length, games]; 0 after a game's end."""
    states, actions = _random(game, jax.random.key(seed), games, length)
    return states, np.asarray(actions)


@functools.partial(jax.jit, static_argnums=0)
def _shown(game: Game, states: Any) -> dict[str, Any]:
    ask = {
        "legal": game.legal,
        "over": game.terminated,
        "reward": game.reward,
        "to_play": game.to_play,
    }
    return {name: jax.vmap(jax.vmap(function))(states) for name, function in ask.items()}


def shown(game: Game, states: Any) -> dict[str, np.ndarray]:
    """What the game says of states [T, games, ...], by name, as numpy arrays."""
    return jax.tree.map(np.asarray, _shown(game, states))


@functools.partial(jax.jit, static_argnums=0)
def observe(game: Game, states: Any) -> Any:
    """The observations of states [T, games, ...]."""
    return jax.vmap(jax.vmap(game.observe))(states)


@functools.partial(jax.jit, static_argnums=0)
def replay(game: Game, states: Any, actions: Any) -> Any:
    """The states [T + 1, games, ...] from states [games, ...] by actions [T, games]."""

    def move(states: Any, action: Any) -> tuple[Any, Any]:
        after = jax.vmap(functools.partial(game.step, jax.random.key(0)))(states, action)
        return after, after

    _, rest = jax.lax.scan(move, states, actions)
    return jax.tree.map(lambda first, xs: jnp.concatenate([first[None], xs]), states, rest)


def stack(states: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def pick(states: Any, *index: Any) -> Any:
    """Some of the states: `index` is taken of every leaf."""
    return jax.tree.map(lambda leaf: leaf[index], states)


def assert_same(one: Any, other: Any, message: str = "") -> None:
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b, message), one, other)


def assert_illegal_changes_nothing(game: Game, states: Any) -> None:
    """For states [N, ...]: every action out of those that are legal, or out of range."""
    actions = jnp.asarray([*range(game.actions), -1, -9, game.actions, game.actions + 40])

    @jax.jit
    @jax.vmap
    def after(state: Any) -> tuple[Any, Any]:
        step = functools.partial(game.step, jax.random.key(0), state)
        return jax.vmap(step)(actions), jax.vmap(lambda a: game.reward(step(a)))(actions)

    legal = np.asarray(jax.vmap(game.legal)(states))
    legal = np.pad(legal, [(0, 0), (0, 4)])
    moved, rewards = after(states)
    assert (np.asarray(rewards)[~legal] == 0).all()
    changed = np.zeros(legal.shape, bool)
    for name in vars(states):
        if name != "earned":
            before, now = np.asarray(getattr(states, name)), np.asarray(getattr(moved, name))
            different = now != before[:, None]
            changed |= different.reshape(*legal.shape, -1).any(-1)
    np.testing.assert_array_equal(changed, legal)


def assert_symmetric(game: Game, states: Any, actions: np.ndarray) -> int:
    """Turned games are games: observations, legal actions and results turn with the moves.

    Takes states [T + 1, games, ...] and actions [T, games]; gives the number of symmetries.
    """
    maps = np.asarray(game.action_maps())
    assert len({tuple(row) for row in maps}) == len(maps)
    np.testing.assert_array_equal(maps[0], np.arange(game.actions))
    turn = jax.jit(jax.vmap(jax.vmap(game.turn, (0, None)), (0, None)))
    seen, first = observe(game, states), shown(game, states)
    for s, row in enumerate(maps):
        assert sorted(row) == list(range(game.actions))
        others = replay(game, pick(states, 0), row[actions].astype(np.int32))
        there = shown(game, others)
        np.testing.assert_array_equal(there["legal"][..., row], first["legal"])
        for name in ("over", "reward", "to_play"):
            np.testing.assert_array_equal(there[name], first[name])
        np.testing.assert_array_equal(turn(seen, jnp.int32(s)), observe(game, others))
    return len(maps)


def assert_positions_go_on(game: Game, states: Any, actions: np.ndarray, at: int) -> None:
    """Written and read again after `at` moves, games go on as if nothing had happened."""
    length, games = actions.shape
    texts = [game.position(pick(states, at, b)) for b in range(games)]
    read = [game.parse_position(text) for text in texts]
    assert [game.position(state) for state in read] == texts
    # As long as the whole game: one shape, compiled once.
    again = replay(game, stack(read), np.concatenate([actions[at:], actions[:at]]))
    left = slice(0, length + 1 - at)
    before, after = shown(game, states), shown(game, again)
    for name in before:
        # What the last move earned is not part of a position.
        skip = int(name == "reward")
        np.testing.assert_array_equal(before[name][at:][skip:], after[name][left][skip:], name)
    np.testing.assert_array_equal(observe(game, states)[at:], observe(game, again)[left])


def perft(game: Game, depth: int, chunk: int = 8192) -> list[int]:
    """How many ways there are to play 1, 2, ... depth moves."""
    legal = jax.jit(jax.vmap(game.legal))
    step = jax.jit(jax.vmap(functools.partial(game.step, jax.random.key(0))))
    frontier = [np.asarray(leaf)[None] for leaf in jax.tree.leaves(game.init(jax.random.key(0)))]
    shape = jax.tree.structure(game.init(jax.random.key(0)))
    counts: list[int] = []

    def chunks(leaves: list[np.ndarray]) -> Any:
        for start in range(0, len(leaves[0]), chunk):
            some = [leaf[start : start + chunk] for leaf in leaves]
            size = len(some[0])
            yield size, [np.resize(leaf, (chunk, *leaf.shape[1:])) for leaf in some]

    while True:
        masks = [np.asarray(legal(shape.unflatten(some)))[:size] for size, some in chunks(frontier)]
        node, action = np.nonzero(np.concatenate(masks))
        counts.append(len(node))
        if len(counts) == depth:
            return counts
        grown = []
        for size, some in chunks([*(leaf[node] for leaf in frontier), action.astype(np.int32)]):
            after = step(shape.unflatten(some[:-1]), some[-1])
            grown.append([np.asarray(leaf)[:size] for leaf in jax.tree.leaves(after)])
        frontier = [np.concatenate(leaves) for leaves in zip(*grown, strict=True)]
