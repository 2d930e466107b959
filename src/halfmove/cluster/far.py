"""Updates by samples from replay shards, searched again by others if there are any."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
import ray
from jax.sharding import Mesh

from halfmove.cluster import wire
from halfmove.cluster.room import patiently
from halfmove.cluster.samples import (
    assembled,
    factors,
    sample_shapes,
    shares,
    split_among,
)
from halfmove.core.types import Array
from halfmove.train.devices import divided
from halfmove.train.hands import Local
from halfmove.train.parts import Parts, parts_of


@dataclass(frozen=True, eq=False)
class Turn:
    """One update: its sample is on the way."""

    keys: Array  # [3], for `Parts.learn_from`
    rows: list[Any]  # references, one a shard
    order: np.ndarray  # [n] of the rows of all shards, one after the other
    owner: np.ndarray  # [n] the shard of each, in that order
    searched: Any = None  # a reference: what a reanalyser gives


class Far:
    """Where the samples of a learner come from, if it does not hold the replay."""

    def __init__(
        self, parts: Parts, shards: Sequence[Any], reanalysers: Sequence[Any], mesh: Mesh | None
    ) -> None:
        config = parts.config
        self._parts, self._shards, self._reanalysers = parts, shards, reanalysers
        self._mesh = mesh
        self._sample = sample_shapes(parts)
        if reanalysers:  # what they have searched is not searched again here
            parts = parts_of(replace(config, reanalyse=replace(config.reanalyse, share=0.0)))
        self._learn = jax.jit(parts.learn_from, donate_argnums=(0, 1))

    def learn(
        self,
        local: Local,
        keys: Array,
        before: int,
        held: Sequence[Any],
        variables: Sequence[Any],
    ) -> dict[str, float]:
        """The updates of one iteration; sums of their metrics."""
        config = self._parts.config
        scales = factors(held, config.replay.beta if config.replay.kind == "prioritised" else 0.0)
        known = self._put(local)

        def ask(key: Array) -> Turn:
            return self._ask(key, held, scales, variables, known)

        turns = [(key, ask(key)) for key in keys]
        found: list[list[wire.Wire]] = [[] for _ in self._shards]

        def update(asked: Any) -> dict[str, Array]:
            """What there was no room for is asked for again: the same comes back."""
            key, first = asked
            waiting = [first]

            def rows() -> Any:
                turn = waiting.pop() if waiting else ask(key)
                return turn, *self._rows(turn, scales)

            return self._update(local, found, *patiently(rows))

        sums = local.learn(turns, before, update)
        pairs = zip(self._shards, found, strict=True)
        # The arguments are what may not find room; what is written is written once.
        tops = ray.get([patiently(partial(shard.keep.remote, x)) for shard, x in pairs])
        if len(tops) > 1 and max(tops) > 0:
            ray.get([shard.raise_top.remote(max(tops)) for shard in self._shards])
        return sums

    def _put(self, local: Local) -> list[Any]:
        """The network that returns bootstrap from, for reanalysers: a reference, or none."""
        if not self._reanalysers or not local.target:
            return []
        target = wire.packed(local.target)
        return [patiently(lambda: ray.put(target))]

    def _ask(
        self,
        key: Array,
        held: Sequence[Any],
        scales: Sequence[float],
        variables: Sequence[Any],
        target: Sequence[Any],
    ) -> Turn:
        draw_key, *rest = jax.random.split(key, 4)
        count = len(self._shards)
        alone = count == 1
        chance = np.random.default_rng(np.asarray(jax.random.key_data(draw_key)))
        n = self._parts.config.learn.batch
        each = np.array([n]) if alone else shares(chance, held, n)
        order = np.arange(n) if alone else chance.permutation(n)
        own = [draw_key if alone else jax.random.fold_in(draw_key, i) for i in range(count)]
        rows = [
            shard.draw.remote(np.asarray(jax.random.key_data(k)), int(x))
            for shard, k, x in zip(self._shards, own, each, strict=True)
        ]
        searched = None
        if self._reanalysers:
            helper = self._reanalysers[int(chance.integers(len(self._reanalysers)))]
            data = np.asarray(jax.random.key_data(rest[0]))
            searched = helper.again.remote(
                list(variables), list(target), data, list(scales), order, *rows
            )
        owner = np.repeat(np.arange(count), each)[order]
        return Turn(jax.numpy.stack(rest), rows, order, owner, searched)

    def _rows(self, turn: Turn, scales: Sequence[float]) -> tuple[wire.Wire, Any]:
        """A sample, and what was searched again by others."""
        if turn.searched is None:
            return assembled(ray.get(turn.rows), scales, turn.order), None
        rows, again = ray.get(turn.searched)
        return rows, again

    def _update(
        self, local: Local, found: list[list[wire.Wire]], turn: Turn, rows: wire.Wire, again: Any
    ) -> dict[str, Array]:
        sample = divided(self._mesh, wire.unpacked(self._sample, rows), len(turn.order))
        local.variables, local.optimiser, told, metrics = self._learn(
            local.variables, local.optimiser, local.target, sample, turn.keys
        )
        if again is not None:
            told = replace(told, again=again)
        steps = self._parts.config.learn.unroll + 1
        split = split_among(wire.packed(told), turn.owner, len(self._shards), steps)
        for mine, each in zip(found, split, strict=True):
            mine.append(each)
        return dict(metrics)
