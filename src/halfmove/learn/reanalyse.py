"""Old positions searched again with what the network knows now.

    fresh = search_again(key, model, planner, variables, view, sample, rows=205, steps=6)
    store = replay.rewrite(store, **found(fresh, rows=205, steps=6))
    fresh = value_again(key, model, target_variables, view, fresh, rows=205, start=5)

in this order, so that the store gets values of searches. All of it runs under `jit` with the
update. MuZero, appendix H.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Model, Planner
from halfmove.learn.views import View, narrowed
from halfmove.replay import Sample
from halfmove.selfplay.play import taught


def rows_of(n: int, share: float) -> int:
    """How many of n windows are searched again: the whole number nearest to `share` of them."""
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, got {share}")
    return round(n * share)


def search_again(
    key: Array,
    model: Model,
    planner: Planner,
    variables: Any,
    view: View,
    sample: Sample,
    *,
    rows: int,
    steps: int = 1,
    simple: bool = False,
) -> Sample:
    """The sample with new policies and values in its first `rows` windows, of `steps` moves each.

    Windows are drawn independently, so the first are as good as any. One search for each move,
    those past a game's end too (a batch has one size), but only those of the game are used.
    `simple`: see `selfplay.play.taught`.
    """
    _check(sample, rows, 0, steps)
    if not rows:
        return sample
    part = narrowed(sample, rows, 0, steps)
    plan = planner(key, model, variables, view(part))
    old = part.window
    policy = taught(plan, simple).reshape(rows, steps, -1)
    window = replace(
        old,
        policy=jnp.where(part.mask[..., None], policy, old.policy),
        value=jnp.where(part.mask, plan.value.reshape(rows, steps), old.value),
        weight=jnp.where(part.mask, 1.0, old.weight),
    )
    return _put(sample, window, rows, 0)


def value_again(
    key: Array, model: Model, variables: Any, view: View, sample: Sample, *, rows: int, start: int
) -> Sample:
    """The sample with the network's values from move `start` on, in its first `rows` windows.

    With the variables of a target network and start = n these are what n-step targets bootstrap
    from. No search.
    """
    stop = sample.mask.shape[1]
    _check(sample, rows, start, stop)
    if not rows:
        return sample
    part = narrowed(sample, rows, start, stop)
    _, prediction = model.root(variables, key, view(part))
    value = jax.lax.stop_gradient(prediction.value).reshape(part.mask.shape)
    window = replace(part.window, value=jnp.where(part.mask, value, part.window.value))
    return _put(sample, window, rows, start)


def found(sample: Sample, *, rows: int, steps: int = 1) -> dict[str, Array]:
    """What `search_again` found, as `Replay.rewrite` takes it, for samples to come."""
    _check(sample, rows, 0, steps)
    part = narrowed(sample, rows, 0, steps)
    times = part.time[:, None] + jnp.arange(steps)
    return {
        "lane": jnp.repeat(part.lane, steps),
        "time": jnp.where(part.mask, times, -1).reshape(-1),
        "policy": part.window.policy.reshape(rows * steps, part.window.policy.shape[-1]),
        "value": part.window.value.reshape(-1),
    }


def _put(sample: Sample, window: Any, rows: int, start: int) -> Sample:
    """`sample` with the policies, values and weights of `window`, [rows, ...] from `start` on."""

    def put(whole: Array, part: Array) -> Array:
        return whole.at[:rows, start : start + part.shape[1]].set(part)

    old = sample.window
    new = replace(
        old,
        policy=put(old.policy, window.policy),
        value=put(old.value, window.value),
        weight=put(old.weight, window.weight),
    )
    return replace(sample, window=new)


def _check(sample: Sample, rows: int, start: int, stop: int) -> None:
    n, length = sample.mask.shape
    if not 0 <= rows <= n:
        raise ValueError(f"rows must be from 0 to the {n} of the sample, got {rows}")
    if not 0 <= start < stop <= length:
        raise ValueError(
            f"moves {start} to {stop - 1} are not all in windows of {length}; "
            "ask for fewer, or make the replay with a longer window"
        )
