"""Fair samples of a replay that is in several processes, and the way back of what they taught.

Every position of a batch is drawn first among the shards, by what they hold that is eligible, and
then in its shard: all eligible moves are as likely as in one replay.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.cluster import wire
from halfmove.cluster.wire import Wire
from halfmove.replay import Sample
from halfmove.train.parts import Found, Parts

Held = Mapping[str, Any]  # of a shard: `count` eligible moves, and their `mass`


def shares(chance: np.random.Generator, held: Sequence[Held], n: int) -> np.ndarray:
    """[shards]: how many of n independent draws fall on each, in proportion to its mass."""
    mass = np.array([float(x["mass"]) for x in held])
    total = mass.sum()
    return chance.multinomial(n, mass / total if total > 0 else np.full(len(mass), 1 / len(mass)))


def factors(held: Sequence[Held], beta: float) -> list[float]:
    """What makes the importance weights of each shard those of the whole.

    A weight is (N P)^-beta, with N moves of the whole and P a chance in the whole.
    """
    count = np.array([float(x["count"]) for x in held])
    mass = np.array([float(x["mass"]) for x in held])
    if len(held) == 1 or not count.sum() or not mass.sum():
        return [1.0] * len(held)
    ratio = count.sum() / np.maximum(count, 1) * mass / mass.sum()
    return [float(x**-beta) if x > 0 else 1.0 for x in ratio]


def assembled(rows: Sequence[Wire], scales: Sequence[float], order: np.ndarray) -> Wire:
    """One sample of the rows of all shards, in that order."""
    scaled = [
        {**each, "weight": (each["weight"] * scale).astype(np.float32)}
        for each, scale in zip(rows, scales, strict=True)
    ]
    return {name: x[order] for name, x in wire.joined(scaled).items()}


def split_among(found: Wire, owner: np.ndarray, shards: int, steps: int) -> list[Wire]:
    """What is each shard's of what an update found out.

    `owner` [n] has the shard of each row of the sample. What was searched again are `steps` moves
    of each of the first rows.
    """
    moves = np.repeat(owner, steps)

    def of(shard: int) -> Wire:
        return {
            name: x[(moves[: len(x)] if name.startswith("again/") else owner) == shard]
            for name, x in found.items()
        }

    return [of(shard) for shard in range(shards)]


def padded(found: Wire, like: Wire) -> Wire:
    """As many rows as `like` has, the rest for moves that no replay has."""

    def grown(name: str, x: np.ndarray) -> np.ndarray:
        fill = -1 if name in ("time", "again/time") else 0
        more = np.full((len(like[name]) - len(x), *x.shape[1:]), fill, x.dtype)
        return np.concatenate([x, more])

    return {name: grown(name, x) for name, x in found.items()}


def sample_shapes(parts: Parts) -> Sample:
    """Of a batch."""
    found: Sample = jax.eval_shape(
        lambda: parts.draw(parts.replay.empty(parts.example), jax.random.key(0))
    )
    return found


def found_shapes(parts: Parts) -> Found:
    """Of what an update finds out."""
    again = None
    if parts.config.reanalyse.part:
        net = jax.eval_shape(parts.model.init, jax.random.key(0))
        key = jax.eval_shape(lambda: jax.random.key(0))
        again = jax.eval_shape(parts.again, net, net, sample_shapes(parts), key)[1]
    n = (parts.config.learn.batch,)
    number = jax.ShapeDtypeStruct(n, jnp.int32)
    wrong: Any = jax.ShapeDtypeStruct(n, jnp.float32)
    place: Any = number
    return Found(lane=place, time=place, wrong=wrong, again=again)
