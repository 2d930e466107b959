"""A replay in several processes, each with the moves of some lanes.

What updates find out is written back after the last update of an iteration, so that all its
samples can be asked for at once; in one process it is written after each.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.cluster import wire
from halfmove.cluster.answering import Doorkeeper
from halfmove.cluster.door import Door, merged
from halfmove.cluster.forms import (
    actions_of,
    chunk_like,
    first_games,
    parts_of_lanes,
    shapes_of,
    stored,
)
from halfmove.cluster.samples import found_shapes, padded
from halfmove.cluster.wire import Wire
from halfmove.core.types import Array
from halfmove.replay import Store
from halfmove.train.config import TrainConfig


class Shard(Doorkeeper):
    """The moves of the groups `mine`, of so many `groups` in all."""

    def __init__(self, config: TrainConfig, groups: int, mine: Sequence[int]) -> None:
        each = config.selfplay.lanes // groups
        self.parts = parts = parts_of_lanes(config, each * len(mine))
        like = chunk_like(parts_of_lanes(config, each))
        self.door = Door(mine, like, actions_of(parts))
        self._steps = shapes_of(parts)[0]
        self._store: Store = parts.replay.empty(parts.example)
        self._lanes = wire.rows(first_games(config), mine[0] * each, len(mine) * each)
        self.door.reset(0, self._lanes)
        self._found = found_shapes(parts)
        self._draw = jax.jit(parts.draw)
        self._add = jax.jit(functools.partial(stored, parts), donate_argnums=0)
        self._cut = jax.jit(parts.replay.cut_short, donate_argnums=0)
        self._keep = jax.jit(parts.keep, donate_argnums=0)
        self._held = jax.jit(self._count)

    def _count(self, store: Store) -> dict[str, Array]:
        """Eligible moves, and how much mass they have."""
        eligible = self.parts.replay.eligible(store)
        mass = eligible if store.priority is None else jnp.where(eligible, store.priority, 0.0)
        return {"count": jnp.sum(eligible), "mass": jnp.sum(mass, dtype=jnp.float32)}

    def enter(self, number: int) -> dict[str, Any]:
        """Puts the chunks of iteration `number` into the replay; what they tell."""
        chunk, left = self.door.take(number)
        self._lanes = chunk.lanes
        if left.any():
            self._store = self._cut(self._store, left)
        self._store = self._add(self._store, wire.unpacked(self._steps, chunk.steps))
        return {
            "action": chunk.steps["action"][0],
            "last": chunk.steps["last"][0],
            "report": chunk.report,
            "replay": jax.device_get(self.parts.replay.metrics(self._store)),
            "held": jax.device_get(self._held(self._store)),
        }

    def draw(self, key: np.ndarray, rows: int) -> Wire:
        """So many rows of a sample."""
        sample = self._draw(self._store, jax.random.wrap_key_data(jnp.asarray(key)))
        return wire.rows(wire.packed(sample), 0, rows)

    def keep(self, found: Sequence[Wire]) -> float:
        """Writes back what updates found out of its moves; gives the greatest priority."""
        room = wire.empty(self._found)
        for each in found:
            told = wire.unpacked(self._found, padded(each, room))
            self._store = self._keep(self._store, told)
        return 0.0 if self._store.top is None else float(self._store.top)

    def raise_top(self, top: float) -> None:
        """New moves get the greatest priority that any shard has."""
        if self._store.top is not None:
            self._store = replace(self._store, top=jnp.float32(top))

    def tree(self) -> dict[str, Wire]:
        """Its rows of a checkpoint."""
        return {"lanes": self._lanes, "store": wire.packed(self._store)}

    def restore(self, lanes: Wire, store: Wire, number: int) -> None:
        """As it was at iteration `number`; environments begin new episodes."""
        there, key = wire.unpacked(self._store, store), jax.random.key(0)
        _, self._store = self.parts.resumed(key, (), there)
        self._lanes = lanes
        self.door.reset(number, lanes)


def told_by_all(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What one replay would have told, of what all shards told."""
    if len(answers) == 1:
        return dict(answers[0])
    size = np.array([float(x["replay"]["size"]) for x in answers])
    count = np.array([float(x["held"]["count"]) for x in answers])
    age = np.array([float(x["replay"]["age"]) for x in answers])
    replay = {
        "size": int(size.sum()),
        "eligible": count.sum() / max(size.sum(), 1),
        "age": (age * count).sum() / max(count.sum(), 1),
    }
    report = merged([x["report"] for x in answers])
    return {**answers[0], "report": report, "replay": replay}
