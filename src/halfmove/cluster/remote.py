"""The work of a run, spread over the processes of a Ray cluster (train/hands.py).

The learner holds the network and the replay, workers play, a rater measures strength. This, in
the process that was started, only counts and hands references around; arrays go straight from who
has them to who needs them. docs/cluster.md draws it.
"""

import functools
import itertools
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import ray
from ray import exceptions

from halfmove.cluster import wire
from halfmove.cluster.config import ClusterConfig
from halfmove.cluster.crew import Crew, Figures, short
from halfmove.cluster.door import told
from halfmove.cluster.forms import elsewhere
from halfmove.cluster.pulse import Pulse
from halfmove.cluster.roles import Roles
from halfmove.cluster.room import patiently, wait_for_room
from halfmove.cluster.shards import told_by_all
from halfmove.cluster.watch import Gauges
from halfmove.core.types import Array
from halfmove.train.durable import RunError
from halfmove.train.hands import LostError, Order, Played, Rated
from halfmove.train.parts import Parts

_log = logging.getLogger(__name__)
_VERSIONS = itertools.count()  # of the network: never the same twice, so that workers may keep one


ROOM = 10_000_000  # bytes that a disk must have beside a checkpoint


class Remote:
    """Hands that are actors. Lose the learner, and the loop goes back to its checkpoint."""

    def __init__(self, parts: Parts, cluster: ClusterConfig, path: Path) -> None:
        self.parts, self.lag, self._path = elsewhere(parts), cluster.lag, path
        self._gauges = Gauges(path.name)
        self._groups = cluster.divided(parts.config)
        self._roles = Roles(parts.config, cluster, self._groups)
        self._crew = Crew(
            self._roles.worker, cluster.patience, settled=parts.game is None, watch=self._watch
        )
        self._workers, self._patience = cluster.workers, cluster.patience
        self._pulse = Pulse({}, cluster.patience)

    def begin(self) -> None:
        """A new learner, and all that depends on it; the workers stay."""
        if not self._crew.seats:
            self._crew.take_on(self._workers)
        self._crew.forget()
        self._pulse = Pulse({}, self._patience)
        self._roles.dismiss()
        self._core = self._roles.core()
        self._learner, self._rater = self._core.learner, self._core.rater
        self._orders: deque[tuple[int, int]] = deque()  # numbers, and versions of the network
        self._rated: _Measured | None = None
        self._staleness = 0
        self._needed = ROOM
        self._held: list[Any] = []
        names = {f"replay-{i}": x for i, x in enumerate(self._core.shards, 1)}
        names |= {f"reanalyser-{i}": x for i, x in enumerate(self._core.reanalysers, 1)}
        names |= {"learner": self._learner} | ({"rater": self._rater} if self._rater else {})
        self._names = names
        asked = {name: actor.hello.remote() for name, actor in names.items()}
        self._who = ", ".join(f"{name} {self._get(ref)}" for name, ref in asked.items())
        self._pulse = Pulse(names, self._patience)
        self._known: dict[str, Any] = {"tree": {}, "meta": {}, "figures": {}}
        self._follow()

    def _watch(self) -> None:
        """Looks for who is stuck: it is ended, as if it had died."""
        for name in self._pulse.stuck():
            why = f"{name} has not answered for {self._patience:g} seconds"
            if self._roles.again(self._names[name]):
                _log.warning("%s and is started again", why)
                self._pulse.forgive(name)
            else:
                raise LostError(why)

    def who(self) -> str:
        """Where all but the workers are."""
        seats, groups = len(self._crew.seats), self._groups
        return f"{self._who}; workers: {seats}, groups of games: {groups}"

    def _follow(self) -> None:
        """Takes the network, and the games, that the learner has."""
        self._take_weights()
        shards = self._core.shards or [self._learner]
        self._crew.reset([shards[i * len(shards) // self._groups] for i in range(self._groups)])
        if self._rater is not None:
            self._known = self._ask(lambda: self._rater.first.remote(self._weights))

    def _get(self, ref: Any) -> Any:
        """What the learner or the rater answers, while the workers are served."""
        done: list[Any] = []

        def arrived() -> bool:
            done[:], _ = ray.wait([ref], timeout=0)
            return bool(done)

        self._crew.serve(arrived, [ref])
        try:
            return ray.get(ref)
        except (exceptions.RayActorError, exceptions.ObjectLostError) as error:
            if "creation task" in str(error):  # it would die again
                raise RunError(
                    f"the learner could not begin: {str(error).splitlines()[-1]}"
                ) from error
            raise LostError(f"the learner died ({short(error)})") from error

    def _ask(self, call: Callable[[], Any]) -> Any:
        """The same of a call that changes nothing, or that may be made twice."""
        return patiently(lambda: self._get(call()))

    def _all(self, refs: list[Any]) -> list[Any]:
        return [self._get(ref) for ref in refs]

    def order(self, order: Order) -> None:
        """Given to the workers at once, with the newest network, if the disk has room."""
        wait_for_room(self._path, self._needed)
        self._orders.append((order.number, self._version))
        self._crew.order(order, self._version, self._weights)

    def play(self) -> Played:
        """The oldest chunk ordered, once it is in the replay."""
        number, version = self._orders.popleft()
        self._crew.finish(number)
        self._staleness = self._version - version
        if self._core.shards:
            answers = self._all([shard.enter.remote(number) for shard in self._core.shards])
            self._held = [answer["held"] for answer in answers]
            found = told_by_all(answers)
        else:
            found = self._get(self._learner.enter.remote(number))
        return Played(found["action"], found["last"], told(found["report"]), found["replay"])

    def learn(self, keys: Array, before: int) -> dict[str, float]:
        """The learner's updates."""
        data = np.asarray(jax.random.key_data(keys))
        asked = self._learner.learn.remote(data, before, self._held, [self._weights])
        found: dict[str, float] = self._get(asked)
        self._take_weights()
        return found

    def _take_weights(self) -> None:
        """A reference to the newest network, which is another version."""
        (self._weights,) = self._ask(self._learner.weights.remote)
        self._version = next(_VERSIONS)

    def rate(self, key: Array) -> Rated:
        """Begins to measure the network as it is now, once the one before is measured."""
        if self._rated is not None:
            self._rated.result()
        data = np.asarray(jax.random.key_data(key))
        weights, known = self._weights, self._known

        def measure() -> Any:
            return self._rater.measure.remote(data, weights, known)

        waiting = [patiently(measure)]

        def take() -> dict[str, Any]:
            # There may have been no room for the answer: then it is asked for again.
            metrics, self._known = self._ask(lambda: waiting.pop() if waiting else measure())
            return dict(metrics)

        self._rated = _Measured(waiting[0], take)
        return self._rated

    def figures(self) -> dict[str, float | str]:
        """What the progress display shows."""
        return {**self._known["figures"], "workers": self._crew.present()}

    def heard(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Figures of the cluster."""
        found, self._crew.figures = self._crew.figures, Figures()
        positions = self.parts.chunk_positions / self._groups * found.chunks
        clock = {
            "cluster/workers": self._crew.present(),
            "cluster/staleness": self._staleness,
            "cluster/worker_seconds": found.seconds,
        }
        if positions:
            clock["cluster/bytes_per_position"] = found.bytes / positions
        self._gauges.show({**metrics, **clock})
        return clock

    # -- checkpoints -------------------------------------------------------

    def like(self) -> dict[str, Any]:
        """The structure of `tree`."""
        parts, config = self.parts, self.parts.config
        shapes = jax.eval_shape(parts.begin, jax.random.key(0))
        names = ("variables", "optimiser", "lanes", "store")
        found = {name: wire.empty(tree) for name, tree in zip(names, shapes, strict=True)}
        bootstraps = config.reanalyse.part and config.learn.steps
        target = wire.empty(shapes[0]) if bootstraps else {}
        return {**found, "target": target, "rating": self._known["tree"]}

    def tree(self) -> dict[str, Any]:
        """All arrays of a checkpoint, once every rating has ended."""
        if self._rated is not None:
            self._rated.result()
        found = self._ask(self._learner.tree.remote)
        if self._core.shards:
            each = [self._ask(shard.tree.remote) for shard in self._core.shards]
            found |= {part: wire.joined([x[part] for x in each]) for part in ("lanes", "store")}
        self._needed = 2 * sum(map(wire.size, found.values())) + ROOM
        return {**found, "rating": self._known["tree"]}

    def meta(self) -> dict[str, Any]:
        """The results of the ratings so far."""
        return dict(self._known["meta"])

    def restore(self, tree: Mapping[str, Any], meta: dict[str, Any], number: int) -> None:
        """As it was at iteration `number`."""
        shards = self._core.shards
        elsewhere = ("rating", "lanes", "store") if shards else ("rating",)
        kept = {part: tree[part] for part in tree if part not in elsewhere}
        each = self.parts.config.selfplay.lanes // max(len(shards), 1)
        self._ask(lambda: self._learner.restore.remote(kept, number))
        for i, shard in enumerate(shards):
            rows = [wire.rows(tree[part], i * each, each) for part in ("lanes", "store")]
            self._ask(functools.partial(shard.restore.remote, *rows, number))
        self._follow()
        if self._rater is not None:
            self._known = self._ask(lambda: self._rater.again.remote(tree["rating"], meta))

    def start(self, tree: Mapping[str, Any]) -> None:
        """Goes on with those variables instead of new ones, and the optimiser if there is one."""
        self._ask(lambda: self._learner.start.remote(dict(tree)))
        self._follow()

    def close(self) -> None:
        """Ends all processes of the run."""
        self._crew.dismiss()
        self._roles.dismiss()


@dataclass
class _Measured:
    """A rating under way."""

    ref: Any
    take: Callable[[], dict[str, Any]]
    found: dict[str, Any] | None = None

    def done(self) -> bool:
        return self.found is not None or bool(ray.wait([self.ref], timeout=0)[0])

    def result(self) -> dict[str, Any]:
        if self.found is None:
            self.found = self.take()
        return self.found
