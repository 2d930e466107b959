"""Who plays which chunk: work for workers that may die, hang or send nonsense.

A chunk is a group's and has a number. Which worker plays it does not matter: the games before
it, the network and the key are given, so another worker would play the same. So a worker that
is lost costs time and nothing else. It is dropped, with its name in the log, and replaced.

Environments cannot be given: each group has the seat in which they are, and if its worker is lost
new episodes begin.
"""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import ray
from ray import exceptions

from halfmove.cluster.pulse import Pulse
from halfmove.cluster.room import FULL, PAUSE
from halfmove.train.durable import RunError
from halfmove.train.hands import LostError, Order

_log = logging.getLogger(__name__)
REFUSED = 3  # times that one chunk may be refused, by whomever it was played
TRIES = 4  # workers of one seat that are lost in a row, after which it stays empty
QUIET = 60  # seconds without news, after which the log says what there is to wait for
AWAY = 120.0  # seconds, after which others play in the environments of a seat without a worker
LOST = (exceptions.ObjectLostError, exceptions.ObjectFetchTimedOutError)


@dataclass
class Seat:
    """A place for one worker."""

    name: str
    actor: Any
    hello: Any  # a reference; None once the worker has answered
    pulse: Pulse  # while it makes itself ready
    since: float  # when it was asked for
    who: str = ""
    busy: bool = False
    lost: int = 0  # workers in a row


@dataclass
class Group:
    """Some lanes of the run."""

    index: int
    door: Any  # the actor that takes its chunks
    key_at: Callable[[Any], np.ndarray]  # its own key of that of a chunk
    home: str = ""  # the name of the seat that its environments are in; none: it may go anywhere
    first: int = 0  # the chunk that it began with
    number: int = 0  # the chunk to be played next
    lanes: Any = None  # a reference to the games as that chunk is to find them
    accepted: int = 0  # chunks before this are behind the door
    playing: bool = False
    life: int = 0  # of what was begun in another life, nothing is used
    refused: int = 0  # in a row


@dataclass(frozen=True)
class Task:
    """What a reference stands for."""

    seat: Seat
    group: Group
    life: int
    number: int
    began: float
    rest: tuple[Any, ...] = ()


@dataclass
class Figures:
    """Sums since they were last asked for."""

    seconds: float = 0.0  # of playing, in all workers
    bytes: int = 0
    chunks: int = 0


@dataclass
class Crew:
    """The workers of a run and what they are doing."""

    hire: Callable[[str], Any]  # an actor by its name
    patience: float
    settled: bool = False  # whether groups have environments, which stay where they are
    watch: Callable[[], None] = lambda: None  # called from time to time while it waits
    seats: list[Seat] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    figures: Figures = field(default_factory=Figures)
    _orders: dict[int, tuple[Order, int, Any]] = field(default_factory=dict)
    _plays: dict[Any, Task] = field(default_factory=dict)
    _offers: dict[Any, Task] = field(default_factory=dict)
    _pause: float = 0.0  # until then nothing new is begun
    _full: float = -math.inf  # when the log last said that there is no room

    def take_on(self, count: int) -> None:
        """Workers 1 to `count`."""
        self.seats = [self._seated(f"worker-{i + 1}") for i in range(count)]

    def _seated(self, name: str) -> Seat:
        actor = self.hire(name)
        pulse = Pulse({name: actor}, self.patience)
        return Seat(name, actor, actor.ready.remote(), pulse, time.monotonic())

    def forget(self) -> None:
        """Nothing is ordered or under way any more."""
        self._orders.clear()
        self._plays.clear()
        self._offers.clear()
        for seat in self.seats:
            seat.busy = False

    def reset(self, doors: Sequence[Any]) -> None:
        """Begins anew with the games behind the doors, one for each group."""
        self.forget()
        count = len(doors)
        lives = [group.life for group in self.groups] or [0] * count
        names = sorted((seat.name for seat in self.seats), key=lambda name: (len(name), name))
        homes = [names[i % len(names)] if self.settled else "" for i in range(count)]
        self.groups = [
            Group(i, door, key_of(i, count), home, life=life + 1)
            for (i, door), home, life in zip(enumerate(doors), homes, lives, strict=True)
        ]
        for group in self.groups:
            self._recover(group)
            group.first = group.number

    def _recover(self, group: Group) -> None:
        """Goes on from the games that are behind the door."""
        group.life += 1
        group.playing = False
        group.lanes = group.door.after.remote(group.index)
        try:
            due = group.door.due.remote(group.index)
            group.number = group.accepted = ray.get(due, timeout=self.patience)
        except (exceptions.RayActorError, exceptions.GetTimeoutError) as error:
            raise LostError(
                f"the process that holds the replay is gone ({short(error)})"
            ) from error

    def order(self, order: Order, version: int, variables: Any) -> None:
        """Every group is to play this chunk, with those variables."""
        self._orders[order.number] = order, version, variables
        self._begin()

    def finish(self, number: int) -> None:
        """Returns when the chunks of that number are behind their doors."""
        self.serve(lambda: all(group.accepted > number for group in self.groups))
        for old in [n for n in self._orders if n <= number]:
            del self._orders[old]

    def serve(self, done: Callable[[], bool], also: Sequence[Any] = ()) -> None:
        """Hands out work and hears what comes back until `done`; wakes for `also` too."""
        told = time.monotonic()
        while not done():
            self._begin()
            seats = {seat.hello: seat for seat in self.seats if seat.hello is not None}
            waiting = [*self._plays, *self._offers, *seats, *also]
            ready, _ = ray.wait(waiting, num_returns=1, timeout=1.0) if waiting else ([], [])
            for ref in ready:
                told = time.monotonic()
                if ref in self._plays:
                    self._played(ref, self._plays.pop(ref))
                elif ref in self._offers:
                    self._answered(ref, self._offers.pop(ref))
                elif ref in seats:
                    self._greeted(seats[ref])
            self._look_after()
            self.watch()
            if time.monotonic() - told > QUIET:
                told = time.monotonic()
                there = f"{self.present()} of {len(self.seats)} workers are there"
                _log.warning("nothing for %d seconds; %s; %s", QUIET, there, resources())

    # -- work ------------------------------------------------------------------

    def _begin(self) -> None:
        """Gives every idle worker the group that is furthest behind."""
        if time.monotonic() < self._pause:
            return
        idle = [
            group for group in self.groups if not group.playing and group.number in self._orders
        ]
        idle.sort(key=lambda group: group.number)
        for seat in self.seats:
            if not seat.busy and seat.hello is None:
                mine = [group for group in idle if self._may_play(seat, group)]
                if mine:
                    idle.remove(mine[0])
                    self._start(seat, mine[0])

    def _may_play(self, seat: Seat, group: Group) -> bool:
        if group.home in ("", seat.name):
            return True
        homes = [x for x in self.seats if x.name == group.home]
        return all(x.hello is not None and time.monotonic() - x.since > AWAY for x in homes)

    def _start(self, seat: Seat, group: Group) -> None:
        order, version, variables = self._orders[group.number]
        figures, chunk, lanes = seat.actor.play.options(num_returns=3).remote(
            version, [variables], group.lanes, group.key_at(order.key), order.heat, order.resign,
            (group.index, group.life),
        )  # fmt: skip
        now = time.monotonic()
        self._plays[figures] = Task(seat, group, group.life, group.number, now, (chunk, lanes))
        seat.busy = group.playing = True

    def _played(self, ref: Any, task: Task) -> None:
        """A worker has finished a chunk, or failed."""
        seat, group = task.seat, task.group
        current = task.life == group.life
        if current:
            group.playing = False
        seat.busy = False
        try:
            told = ray.get(ref)
        except LOST as error:
            _log.warning("what group %d needs is gone: %s", group.index, short(error))
            if current:
                self._recover(group)
        except FULL as error:
            self._wait(group if current else None, error)
        except exceptions.RayActorError as error:
            self._drop(seat, f"died ({short(error)})")
        except Exception as error:  # whatever a worker raises
            self._refuse(seat, group if current else None, f"failed: {short(error)}")
        else:
            if not current:
                return
            seat.lost = 0
            self.figures.seconds += told["seconds"]
            self.figures.bytes += told["bytes"]
            self.figures.chunks += 1
            if told["fresh"] and task.number > group.first:
                _log.warning(
                    "%s begins new episodes for group %d: those that went on before chunk %d are "
                    "lost, and count as cut short", seat.who, group.index, task.number,
                )  # fmt: skip
            chunk, group.lanes = task.rest
            offer = group.door.offer.remote(group.index, task.number, chunk)
            self._offers[offer] = task
            group.number = task.number + 1

    def _answered(self, ref: Any, task: Task) -> None:
        """A door has taken a chunk, or not."""
        group = task.group
        try:
            wrong = ray.get(ref)
        except exceptions.RayActorError as error:
            raise LostError(f"the process that holds the replay died ({short(error)})") from error
        except LOST as error:
            _log.warning("a chunk of %s is gone: %s", task.seat.who, short(error))
            if task.life == group.life:
                self._recover(group)
            return
        except FULL as error:
            self._wait(group if task.life == group.life else None, error)
            return
        if task.life != group.life:
            return
        if wrong:
            self._refuse(task.seat, group, f"sent what cannot be used: {wrong}")
            self._recover(group)
        else:
            group.accepted, group.refused = task.number + 1, 0

    def _wait(self, group: Group | None, error: BaseException) -> None:
        """There was no room for a chunk: nothing is begun for a while, then it is played again."""
        now = time.monotonic()
        if now - self._full > QUIET:
            self._full = now
            _log.warning("the object store has no room for a chunk, all wait: %s", short(error))
        self._pause = now + PAUSE
        if group is not None:
            self._recover(group)

    # -- workers -----------------------------------------------------------------

    def _greeted(self, seat: Seat) -> None:
        ref, seat.hello = seat.hello, None
        try:
            seat.who = f"{seat.name} {ray.get(ref)}"
            _log.info("%s plays", seat.who)
        except exceptions.RayActorError as error:
            self._drop(seat, f"died ({short(error)})")
        except Exception as error:
            self._drop(seat, f"could not begin: {short(error)}")

    def _look_after(self) -> None:
        """Drops who has not answered for too long."""
        quiet = f"has not answered for {self.patience:g} seconds"
        for seat in list(self.seats):
            if seat.hello is not None and seat.pulse.stuck():
                self._drop(seat, quiet)
        late = time.monotonic() - self.patience
        for ref, task in list(self._plays.items()):
            if task.began < late:
                del self._plays[ref]
                if task.life == task.group.life:
                    task.group.playing = False
                self._drop(task.seat, quiet)

    def _refuse(self, seat: Seat, group: Group | None, why: str) -> None:
        self._drop(seat, why)
        if group is not None:
            group.refused += 1
            if group.refused >= REFUSED:
                raise RunError(
                    f"a chunk of moves could not be played: {REFUSED} workers in a row failed, "
                    f"the last, {seat.who or seat.name}, {why}"
                )

    def _drop(self, seat: Seat, why: str) -> None:
        """Puts another worker into its seat, or none after many."""
        if seat not in self.seats:
            return
        lost = seat.lost + 1
        _log.warning("%s %s and was dropped", seat.who or seat.name, why)
        ray.kill(seat.actor, no_restart=True)
        at = self.seats.index(seat)
        if lost < TRIES:
            self.seats[at] = self._seated(seat.name)
            self.seats[at].lost = lost
            return
        del self.seats[at]
        _log.warning("%s is not replaced: %d were lost in a row", seat.name, lost)
        if not self.seats:
            raise RunError(f"no worker is left; the last one {why}")

    def present(self) -> int:
        """Workers that have answered."""
        return sum(seat.hello is None for seat in self.seats)

    def dismiss(self) -> None:
        """Ends all workers."""
        for seat in self.seats:
            ray.kill(seat.actor, no_restart=True)
        self.seats = []


def key_of(index: int, count: int) -> Callable[[Any], np.ndarray]:
    """How a group gets its key from that of a chunk: a lone one has it whole."""

    def data(key: Any) -> np.ndarray:
        own = key if count == 1 else jax.random.fold_in(key, index)
        return np.asarray(jax.random.key_data(own))

    return data


def resources() -> str:
    """What the cluster has, and what of it is free."""
    has, free = ray.cluster_resources(), ray.available_resources()
    wanted = [name for name in ("CPU", "GPU") if has.get(name)]
    said = [f"{free.get(name, 0):g} of {has[name]:g} {name}" for name in wanted]
    return f"free in the cluster: {', '.join(said) or 'nothing'}"


def short(error: BaseException) -> str:
    """What happened, in one line."""
    cause: Mapping[str, Any] | Any = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {lines[0][:200] if lines else ''}"
