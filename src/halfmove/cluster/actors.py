"""Who does what, each in a process of its own: thin shells around what one process uses.

    Worker      plays chunks of moves               SelfPlay.play, HostPlay.play (players.py)
    Learner     holds the network, makes updates    train.hands.Local
    Reanalyser  searches old positions again        Parts.again
    Rater       plays matches                       train.rating.Rating
    Shard       holds a part of the replay          Replay.add, Parts.draw, Parts.keep (shards.py)

Arguments and results are named arrays (cluster/wire.py). Workers, reanalysers and raters keep
nothing that is not given to them again: whoever takes their place does the same. Only
environments stay where they are.
"""

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import ray

from halfmove import envs
from halfmove.cluster import wire
from halfmove.cluster.answering import Answering, Doorkeeper
from halfmove.cluster.door import Chunk, Door
from halfmove.cluster.far import Far
from halfmove.cluster.forms import (
    actions_of,
    chunk_like,
    elsewhere,
    parts_of_lanes,
    shapes_of,
    stored,
    whereabouts,
)
from halfmove.cluster.players import Boards, Hosts, Place
from halfmove.cluster.samples import assembled, sample_shapes
from halfmove.cluster.wire import Wire
from halfmove.train.config import TrainConfig
from halfmove.train.devices import divided, mesh_of, using
from halfmove.train.hands import Local, mesh_for
from halfmove.train.parts import parts_of
from halfmove.train.rating import Rating


class Worker(Answering):
    """Plays chunks of moves of any group."""

    def __init__(self, config: TrainConfig, lanes: int) -> None:
        self._config, self._lanes = config, lanes
        self._version = -1
        self._variables: Any = None

    def ready(self) -> str:
        """Compiles; says who this is."""
        host = self._config.game.split(":")[0] in envs.ROOMS
        self._player: Boards | Hosts = (Hosts if host else Boards)(self._config, self._lanes)
        self._like = jax.eval_shape(self._player.model.init, jax.random.key(0))
        return whereabouts()

    def play(
        self,
        version: int,
        variables: Sequence[Any],
        due: tuple[int, Wire],
        key: np.ndarray,
        heat: float,
        resign: float,
        place: tuple[int, int],
    ) -> tuple[dict[str, Any], Chunk, tuple[int, Wire]]:
        """The chunk that is due: (figures, the chunk, the number and the games after it).

        `variables` is a list of one reference, so that they are fetched once a version.
        """
        began = time.perf_counter()
        if version != self._version:
            self._variables = wire.unpacked(self._like, ray.get(variables[0]))
            self._version = version
        moves = self._player.play(
            self._variables,
            jax.random.wrap_key_data(jnp.asarray(key)),
            jnp.float32(heat),
            jnp.float32(resign),
            due,
            Place(*place),
        )
        steps, after, report, fresh = moves
        chunk = Chunk(wire.packed(steps), wire.packed(after), wire.packed(report), fresh)
        figures = {
            "seconds": time.perf_counter() - began, "bytes": chunk.bytes, "fresh": fresh
        }  # fmt: skip
        return figures, chunk, (due[0] + 1, chunk.lanes)


class Learner(Doorkeeper):
    """The network and its optimiser; and the replay, if there are no `shards`."""

    def __init__(
        self,
        config: TrainConfig,
        groups: int,
        shards: Sequence[Any] = (),
        reanalysers: Sequence[Any] = (),
    ) -> None:
        rating = replace(config.rating, every=0)
        self.parts = elsewhere(parts_of(replace(config, rating=rating)))
        # Whoever has no replay keeps one of a single game, with nothing in it.
        own = parts_of_lanes(config, 1) if shards else self.parts
        count = config.devices
        self._mesh = mesh_of(count, count, config.learn.batch) if shards else mesh_for(self.parts)
        with using(self._mesh):
            self._local = Local(own, None if shards else self._mesh)
            self._local.begin()
        self._far = Far(self.parts, shards, reanalysers, self._mesh) if shards else None
        if not shards:
            each = parts_of_lanes(config, config.selfplay.lanes // groups)
            self._add = jax.jit(functools.partial(stored, self.parts), donate_argnums=0)
            self._cut = jax.jit(self.parts.replay.cut_short, donate_argnums=0)
            self._steps = shapes_of(self.parts)[0]
            self.door = Door(range(groups), chunk_like(each), actions_of(self.parts))
            self._open(0)

    def _open(self, number: int) -> None:
        self.door.reset(number, wire.packed(self._local.lanes))

    def enter(self, number: int) -> dict[str, Any]:
        """Puts the chunks of iteration `number` into the replay; what they tell."""
        (chunk, left), local = self.door.take(number), self._local
        with using(self._mesh):
            if left.any():
                local.store = self._cut(local.store, left)
            local.lanes = wire.unpacked(local.lanes, chunk.lanes)
            steps = wire.unpacked(self._steps, chunk.steps)
            local.store = self._add(local.store, divided(self._mesh, steps, len(steps.action)))
            replay = jax.device_get(self.parts.replay.metrics(local.store))
        return {
            "action": chunk.steps["action"][0],
            "last": chunk.steps["last"][0],
            "report": chunk.report,
            "replay": replay,
        }

    def learn(
        self, keys: np.ndarray, before: int, held: Sequence[Any], variables: Sequence[Any]
    ) -> dict[str, float]:
        """Updates with these keys; sums of their metrics.

        `held` and `variables` (a list of one reference) are for a replay elsewhere.
        """
        wrapped = jax.random.wrap_key_data(jnp.asarray(keys))
        with using(self._mesh):
            if self._far is None:
                return self._local.learn(wrapped, before)
            return self._far.learn(self._local, wrapped, before, held, variables)

    def weights(self) -> list[Any]:
        """A reference to the network as it is.

        No result but a reference: if the object store has no room, this fails, and not whoever
        wants the network.
        """
        return [ray.put(wire.packed(self._local.variables))]

    def tree(self) -> dict[str, Wire]:
        """What it has of a checkpoint."""
        tree = self._local.tree()
        parts = ("variables", "optimiser", "target") + ("lanes", "store") * (self._far is None)
        return {part: wire.packed(tree[part]) for part in parts}

    def restore(self, tree: Mapping[str, Wire], number: int) -> None:
        """As it was at iteration `number`, when these were saved."""
        local, now = self._local, self._local.tree()
        filled = {part: wire.unpacked(now[part], tree[part]) for part in tree}
        with using(self._mesh):
            local.restore({**now, **filled}, {}, number)
        if self._far is None:
            self._open(number)

    def start(self, tree: dict[str, Wire]) -> None:
        """Goes on with that network, and that optimiser if there is one."""
        now = self._local.tree()
        with using(self._mesh):
            self._local.start({part: wire.unpacked(now[part], tree[part]) for part in tree})


class Reanalyser(Answering):
    """Searches old positions again. It keeps nothing but the last networks it was given."""

    def __init__(self, config: TrainConfig) -> None:
        self._parts = parts = parts_of_lanes(config, 1)
        self._sample = sample_shapes(parts)
        self._like = jax.eval_shape(parts.model.init, jax.random.key(0))
        self._again = jax.jit(parts.again)
        self._known: dict[str, tuple[Any, Any]] = {}

    def again(
        self,
        variables: Sequence[Any],
        target: Sequence[Any],
        key: np.ndarray,
        scales: Sequence[float],
        order: np.ndarray,
        *rows: Wire,
    ) -> tuple[Wire, Wire]:
        """The sample of these rows, with new policies and values, and what was found."""
        sample = wire.unpacked(self._sample, assembled(rows, scales, order))
        fresh, found = self._again(
            self._network("newest", variables),
            self._network("target", target),
            sample,
            jax.random.wrap_key_data(jnp.asarray(key)),
        )
        return wire.packed(fresh), wire.packed(found)

    def _network(self, name: str, ref: Sequence[Any]) -> Any:
        if not ref:
            return {}
        if self._known.get(name, (None,))[0] != ref[0]:
            self._known[name] = ref[0], wire.unpacked(self._like, ray.get(ref[0]))
        return self._known[name][1]


class Rater(Answering):
    """Measures strength. What it knows is given to it, and given back."""

    def __init__(self, config: TrainConfig) -> None:
        self._parts = elsewhere(parts_of(replace(config, devices=1)))
        self._like = self._parts.model.init(jax.random.key(0))

    def first(self, variables: Wire) -> dict[str, Any]:
        """What is known of a run that begins with this network."""
        return _known(Rating(self._parts, wire.unpacked(self._like, variables)))

    def again(self, tree: Wire, meta: dict[str, Any]) -> dict[str, Any]:
        """What was known when these were saved."""
        return _known(self._restored(tree, meta))

    def _restored(self, tree: Wire, meta: dict[str, Any]) -> Rating:
        rating = Rating(self._parts, self._like)
        rating.restore(wire.unpacked(rating.tree(), tree), meta)
        return rating

    def measure(
        self, key: np.ndarray, variables: Wire, before: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """(metrics, what is known then), given what was known before."""
        rating = self._restored(before["tree"], before["meta"])
        metrics = rating.measure(
            jax.random.wrap_key_data(jnp.asarray(key)), wire.unpacked(self._like, variables)
        )
        return jax.device_get(metrics), _known(rating)


def _known(rating: Rating) -> dict[str, Any]:
    return {
        "tree": wire.packed(rating.tree()), "meta": rating.meta(), "figures": rating.figures()
    }  # fmt: skip
