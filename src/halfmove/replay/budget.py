"""How much a replay may hold, in moves and in bytes, and where it lives."""

from dataclasses import replace
from typing import Any

import jax

from halfmove.core.types import Step
from halfmove.replay.replay import Replay


def bytes_of(replay: Replay, example: Step) -> int:
    """The bytes of a store of moves like `example`, exactly: the sum over its arrays."""
    return _bytes(jax.eval_shape(replay.empty, example))


def bytes_each(replay: Replay, example: Step) -> int:
    """The bytes that one move takes in the store."""
    longer = replace(replay, length=replay.length + replay.chunk)
    more = bytes_of(longer, example) - bytes_of(replay, example)
    return more // (replay.lanes * replay.chunk)


def fit(example: Step, *, positions: int, nbytes: int, chunk: int, **options: Any) -> Replay:
    """The longest replay of at most `positions` moves and at most `nbytes` bytes.

    `example` is what one `add` will bring, [lanes, chunk] arrays or their shapes; `options` are
    those of `Replay`.
    """
    lanes = example.action.shape[0]
    needed = options["window"] + options.get("context", 0)
    shortest = Replay(lanes=lanes, length=-(-needed // chunk) * chunk, chunk=chunk, **options)
    each = bytes_each(shortest, example) * lanes
    fixed = bytes_of(shortest, example) - each * shortest.length
    longest = min(positions // lanes, (nbytes - fixed) // each)
    length = longest // chunk * chunk
    if length < shortest.length:
        raise ValueError(
            f"a replay of {lanes} lanes needs at least {shortest.capacity:,} positions "
            f"({bytes_of(shortest, example):,} bytes) to hold one window of {needed} moves; "
            f"got a budget of {positions:,} positions and {nbytes:,} bytes"
        )
    return replace(shortest, length=length)


def device_for(nbytes: int, *, budget: int) -> jax.Device:
    """Where a store of `nbytes` goes: the default device if its `budget` allows, else the host.

    Put the empty store there (`jax.device_put`), then the steps before `add` and the samples
    after `sample` are to be moved as well: a computation has all its arrays on one device.
    """
    if nbytes <= budget:
        return jax.local_devices()[0]
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError as error:
        raise ValueError(
            f"the replay needs {nbytes:,} bytes, more than the {budget:,} allowed on the device, "
            "and JAX was told not to use the host; let JAX_PLATFORMS include cpu"
        ) from error


def _bytes(shapes: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
