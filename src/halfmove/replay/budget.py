"""How much a replay may hold, in moves and in bytes, and where it lives."""

from dataclasses import replace
from typing import Any

import jax

from halfmove.core.types import Step
from halfmove.replay.replay import Replay

SHARE = 0.5  # of a device's memory that a replay may take: the search needs some, too


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


def shelf(nbytes: int, place: str = "auto") -> jax.Device | None:
    """The host, if a store of `nbytes` is not to be on the device that computes; else None.

    `place` is "device", "host" or "auto": the device if the store fits into `SHARE` of its
    memory. Steps are moved there before `add` and samples back after `sample`: a computation has
    all its arrays on one device.
    """
    if place == "auto":
        stats = jax.local_devices()[0].memory_stats() or {}
        fits = nbytes <= SHARE * stats.get("bytes_limit", float("inf"))
        place = "device" if fits else "host"
    if place == "device":
        return None
    try:
        return jax.local_devices(backend="cpu")[-1]
    except RuntimeError as error:
        raise ValueError(
            f"the replay of {nbytes:,} bytes goes to the host's memory, which JAX was told not to "
            "use; let JAX_PLATFORMS include cpu, or give replay.gigabytes less"
        ) from error


def _bytes(shapes: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
