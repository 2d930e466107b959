"""Who plays, learns and measures: this process (`Local`), or many (cluster/remote.py).

The loop (train/loop.py) counts, writes and decides what is done when; it does not know who
does it.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from halfmove.core.types import Array
from halfmove.selfplay import Report
from halfmove.train.devices import divided, everywhere, mesh_of, using
from halfmove.train.parts import Parts
from halfmove.train.rating import Rating


class LostError(RuntimeError):
    """What was done since the last checkpoint is gone, but not the run."""


@dataclass(frozen=True, eq=False)
class Order:
    """A chunk of moves to be played."""

    number: int  # the iteration that it belongs to
    key: Array
    heat: float  # temperature
    resign: float  # the bound


class Played(NamedTuple):
    """What one chunk of moves brought."""

    action: np.ndarray  # [T] of the first lane
    last: np.ndarray  # [T] of the first lane
    report: Report  # numpy
    replay: Mapping[str, Any]  # what `Replay.metrics` says after it


class Rated(Protocol):
    """Metrics of a rating, now or later."""

    def done(self) -> bool:
        """Whether `result` is there."""
        ...

    def result(self) -> dict[str, Any]:
        """The metrics, once they are there."""
        ...


class Hands(Protocol):
    """The work of a run, which `begin` begins. After a LostError: `begin`, and `restore`."""

    lag: int  # chunks that may be ordered before the one that is played next has been learned from

    def begin(self) -> None:
        """A new network, new games, an empty replay; nothing is under way."""
        ...

    def who(self) -> str:
        """Who does the work, for the log; nothing, if it is this process."""
        ...

    def order(self, order: Order) -> None:
        """Plays it with the network as it is now, after those ordered before."""
        ...

    def play(self) -> Played:
        """The oldest chunk ordered, once it is in the replay."""
        ...

    def learn(self, keys: Array, before: int) -> dict[str, float]:
        """An update for each key; sums of their metrics. `before`: updates made so far.

        `broken` is the last one's `skipped` alone.
        """
        ...

    def rate(self, key: Array) -> Rated:
        """The strength of the network as it is now, as metrics."""
        ...

    def figures(self) -> dict[str, float | str]:
        """What the progress display shows of the rating."""
        ...

    def heard(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Is told the metrics of an iteration; gives its figures that depend on the machines."""
        ...

    def like(self) -> dict[str, Any]:
        """The structure of `tree`."""
        ...

    def tree(self) -> dict[str, Any]:
        """All arrays of a checkpoint, once every rating has ended."""
        ...

    def meta(self) -> dict[str, Any]:
        """The results of the ratings so far; call it after `tree`."""
        ...

    def restore(self, tree: Mapping[str, Any], meta: dict[str, Any], number: int) -> None:
        """As it was at iteration `number`, when these were saved."""
        ...

    def start(self, tree: Mapping[str, Any]) -> None:
        """Goes on with those variables instead of new ones, and the optimiser if there is one."""
        ...


@jax.jit
def _added(sums: Any, metrics: Any) -> Any:
    """In one call: one for every number took a quarter of a small network's update on a GPU."""
    return jax.tree.map(jnp.add, sums, metrics)


class Local:
    """One process that does everything."""

    lag = 0

    def __init__(self, parts: Parts, mesh: Mesh | None = None) -> None:
        self.parts, self._mesh = parts, mesh
        self._orders: deque[Order] = deque()

    def begin(self) -> None:
        """A new network, new games, an empty replay."""
        config = self.parts.config
        variables, state, lanes, store = self.parts.begin(first_key(config.seed))
        self.variables, self.optimiser = everywhere(self._mesh, (variables, state))
        self.lanes, self.store = divided(self._mesh, (lanes, store), config.selfplay.lanes)
        self._follow()
        self._orders.clear()

    def who(self) -> str:
        """Nothing."""
        return ""

    def _follow(self) -> None:
        """The network that returns bootstrap from, and the one that is rated 0, are this one."""
        self.target = self._copied()
        self._rating = Rating(self.parts, self.variables)

    def _copied(self) -> Any:
        config = self.parts.config
        bootstraps = config.reanalyse.part and config.learn.steps
        return jax.tree.map(jnp.copy, self.variables) if bootstraps else {}

    def order(self, order: Order) -> None:
        """Notes it: the network does not change before it is played."""
        self._orders.append(order)

    def play(self) -> Played:
        """Plays the chunk ordered."""
        order = self._orders.popleft()
        self.lanes, self.store, steps, report = self.parts.play(
            self.variables, self.lanes, self.store, order.key,
            jnp.float32(order.heat), jnp.float32(order.resign),
        )  # fmt: skip
        report, action, last = jax.device_get((report, steps.action[0], steps.last[0]))
        return Played(action, last, report, self.parts.replay.metrics(self.store))

    def learn(
        self, keys: Iterable[Any], before: int, update: Callable[[Any], Any] | None = None
    ) -> dict[str, float]:
        """The updates, each with a sample of its own; `update` makes one, given its key."""
        sums: Any = {}
        for number, key in enumerate(keys, before + 1):
            metrics = (update or self.update)(key)
            if self.target and number % self.parts.config.reanalyse.target_every == 0:
                self.target = self._copied()
            sums = metrics if not sums else _added(sums, metrics)
            last = metrics["skipped"]
        return {name: float(x) for name, x in jax.device_get({**sums, "broken": last}).items()}

    def update(self, key: Array) -> dict[str, Array]:
        """One update; its metrics."""
        self.variables, self.optimiser, self.store, metrics = self.parts.learn(
            self.variables, self.optimiser, self.target, self.store, key
        )
        return dict(metrics)

    def rate(self, key: Array) -> Rated:
        """Plays the matches now."""
        done: Future[dict[str, Any]] = Future()
        done.set_result(self._rating.measure(key, self.variables))
        return done

    def figures(self) -> dict[str, float | str]:
        """What the progress display shows of the rating."""
        return self._rating.figures()

    def heard(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Nothing: the loop measures what there is."""
        return {}

    def like(self) -> dict[str, Any]:
        """The arrays themselves."""
        return self.tree()

    def tree(self) -> dict[str, Any]:
        """All arrays of a checkpoint."""
        return {
            "variables": self.variables,
            "optimiser": self.optimiser,
            "target": self.target,
            "lanes": self.lanes,
            "store": self.store,
            "rating": self._rating.tree(),
        }

    def meta(self) -> dict[str, Any]:
        """The results of the ratings so far."""
        return self._rating.meta()

    def restore(self, tree: Mapping[str, Any], meta: dict[str, Any], number: int) -> None:
        """As it was; environments begin new episodes."""
        self.variables, self.optimiser = tree["variables"], tree["optimiser"]
        self.target, self.lanes, self.store = tree["target"], tree["lanes"], tree["store"]
        self._rating.restore(tree["rating"], meta)
        again = jax.random.fold_in(first_key(self.parts.config.seed), number)
        self.lanes, self.store = self.parts.resumed(again, self.lanes, self.store)

    def start(self, tree: Mapping[str, Any]) -> None:
        """Goes on with those variables instead of new ones, and the optimiser if there is one."""
        self.variables = tree["variables"]
        self.optimiser = tree.get("optimiser", self.optimiser)
        self._follow()


def first_key(seed: int) -> Array:
    """Of what a run begins with."""
    return jax.random.fold_in(jax.random.key(seed), 0)


def mesh_for(parts: Parts) -> Mesh | None:
    """The devices that games and replay are divided among; None: one has them all."""
    config = parts.config
    mesh = mesh_of(config.devices, config.selfplay.lanes, config.learn.batch)
    if mesh is not None and parts.game is None:
        raise ValueError(f"environments on the host use one device, not {config.devices}")
    if mesh is not None and parts.shelf is not None:
        raise ValueError(
            f"a replay in the host's memory is for one device, not {config.devices}: give "
            "--replay.gigabytes less"
        )
    return mesh


@contextlib.contextmanager
def local(parts: Parts) -> Iterator[Local]:
    """This process, with the devices that the configuration asks for."""
    mesh = mesh_for(parts)
    with using(mesh):
        yield Local(parts, mesh)
