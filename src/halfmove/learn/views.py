"""What stored moves showed: the time steps that a model reads, rebuilt from a sample."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core import game as core
from halfmove.core.game import Game
from halfmove.core.types import Array, TimeStep
from halfmove.envs.history import History
from halfmove.replay import Context, Sample

View = Callable[[Sample], TimeStep]  # windows [n, L] -> time steps [n * L], row after row


def of_game(game: Game) -> View:
    """The states are the game's own."""

    def view(sample: Sample) -> TimeStep:
        return jax.vmap(functools.partial(core.timestep, game))(_merged(sample.window.state))

    return view


def of_observations(sample: Sample) -> TimeStep:
    """The states are observations of an environment."""
    return _shown(_merged(sample.window.state), sample)


def of_frames(sample: Sample) -> TimeStep:
    """The states are single frames [H, W, C] u8; the observation is the last T of them.

    T is the replay's `context`: T - 1 frames before, and one more for the action that led to the
    oldest. The ring so keeps each frame once, not T times.
    """
    before = sample.context
    if before is None:
        raise ValueError("frames need a replay with context=T, as many as an observation has")
    frames, led, valid = _frames(sample, before)
    length, history = sample.mask.shape[1], before.mask.shape[1]
    starts = range(1, history + 1)
    stacked = [
        jnp.stack([x[:, i : i + length] for i in starts], axis=2).reshape(-1, history)
        for x in (led, valid)
    ]
    observation = History(
        frames=tuple(_merged(frames[:, i : i + length]) for i in starts),
        actions=jnp.where(stacked[1], stacked[0], 0),
        valid=stacked[1],
    )
    return _shown(observation, sample)


def narrowed(sample: Sample, rows: int, start: int, stop: int) -> Sample:
    """The first `rows` windows of `sample`, of their moves `start` to `stop` - 1 only.

    Its mask says whether a move belongs to the game that the whole window began in.
    """
    cut = jax.tree.map(lambda x: x[:rows], sample)
    columns = slice(start, stop)
    context = cut.context
    if context is not None:
        length = context.mask.shape[1]
        whole = Context(cut.window.state, cut.window.action, cut.mask)
        context = jax.tree.map(
            lambda a, b: jnp.concatenate([a, b[:, :start]], axis=1)[:, start : start + length],
            context,
            whole,
        )
    return replace(
        cut,
        time=cut.time + start,
        window=jax.tree.map(lambda x: x[:, columns], cut.window),
        mask=cut.mask[:, columns],
        outcome=cut.outcome[:, columns],
        age=cut.age - start,
        context=context,
    )


def _frames(sample: Sample, before: Context) -> tuple[Array, Array, Array]:
    """Of context and window together, [n, T + L]: the frames, what led to each, which are valid."""

    def both(a: Array, b: Array) -> Array:
        return jnp.concatenate([a, b], axis=1)

    valid = both(before.mask, sample.mask)
    action = jnp.where(valid, both(before.action, sample.window.action), 0)
    led = jnp.pad(action[:, :-1], ((0, 0), (1, 0)))
    return both(before.state, sample.window.state), led, valid


def _shown(observation: Any, sample: Sample) -> TimeStep:
    count = sample.mask.size
    never = jnp.zeros(count, bool)
    return TimeStep(
        state=observation,
        observation=observation,
        legal=_merged(sample.window.legal),
        to_play=jnp.zeros(count, jnp.int32),
        reward=jnp.zeros((count, 1)),
        terminated=never,
        truncated=never,
    )


def _merged(tree: Any) -> Any:
    """[n, L, ...] -> [n * L, ...]."""
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), tree)
