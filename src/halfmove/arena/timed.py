"""Many games' moves as one search that ends when its time is up, not after so many simulations.

timed = TimedSearch(net.planner, net.model, net.variables, seconds=2.0)
found = timed(key, game, states)  # [B] positions on the host: about two seconds, whatever B is
found = timed(key, game, later, found.memory)  # of the same games

The games of a batch share the machine and the time, so more of them means fewer simulations for
each; `found.simulations` says how many there were. What compiles does so before the clock runs.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from halfmove.core.game import Game, State, timestep
from halfmove.core.types import Array, Model, Plan, Planner, TimeStep
from halfmove.search import RolloutSearch, TreeSearch
from halfmove.search.anytime import Anytime

SLICE = 0.05  # seconds between two looks at the clock
LEAST = 64  # simulations that a search has room for, at least
MOST = 2**16  # and at most
MEMORY = 2**30  # bytes of all searches of a batch
TRIAL = 0.02  # seconds that a measurement of speed takes, at least


@dataclass(frozen=True)
class Found:
    """What a batch of searches came to, on the host."""

    action: np.ndarray  # [B] i32
    value: np.ndarray  # [B] f32, for the player to move
    visits: np.ndarray  # [B, A] i32
    simulations: np.ndarray  # [B] i32, made in the time there was
    memory: Any  # [B, ...], for the next move of the same games; None: nothing is carried along


class TimedSearch:
    """A planner of any budget, its compiled searches, and how fast they are."""

    def __init__(
        self,
        planner_for: Callable[[int], Planner],
        model: Model,
        variables: Any = None,
        *,
        seconds: float,
        memory: int = MEMORY,
    ) -> None:
        self.seconds = seconds
        self._planner_for, self.model, self.variables = planner_for, model, variables
        self._memory = memory
        self._speed: dict[int, float] = {}  # turns a second, by the size of the batch
        self._rest: dict[tuple[int, int], float] = {}  # what is not searching; by size, capacity
        self.planner = self._slices(LEAST).search  # of any budget

    def __call__(self, key: Array, game: Game, states: State, memory: Any = None) -> Found:
        """Searches every position of a batch, none of which may be over.

        `memory` is what these games' last searches left; None: they are new.
        """
        seen = _seen(game, states)
        rows = seen.legal.shape[0]
        features = read_by(self.planner, self.model, self.variables, seen)
        most = room(game, self._memory // rows, most=MOST, features=features)
        slices, budget = self._planned(rows, most)
        while (rows, slices.capacity) not in self._rest:  # once, or again where it is faster
            self._warm(seen, slices.capacity)
            slices, budget = self._planned(rows, most)
        return self._search(key, slices, seen, budget, memory)

    def _planned(self, rows: int, most: int) -> tuple[Anytime, int]:
        """The searches, and the simulations that the time is expected to be enough for."""
        expected = max(1, int(self._expected(rows) * self.seconds * self.planner.leaves))
        wanted = min(most, max(expected, LEAST))
        compiled = [size for games, size in self._rest if games == rows and size >= wanted]
        capacity = min(compiled, default=min(most, 1 << (wanted - 1).bit_length()))
        slices = self._slices(capacity)
        # Halving must know its end before it begins; other rules go on until they are stopped.
        halves = slices.search.rule.schedule is not None
        return slices, min(expected, capacity) if halves else capacity

    def _expected(self, rows: int) -> float:
        """Turns a second; of a new size as if the games of others were searched one by one."""
        near = min(self._speed, key=lambda known: abs(math.log(known / rows)), default=None)
        return 0.0 if near is None else self._speed[near] * near / rows

    def _search(
        self, key: Array, slices: Anytime, seen: TimeStep, budget: int, memory: Any
    ) -> Found:
        rows = seen.legal.shape[0]
        began = time.monotonic()
        going = slices.begin(key, self.variables, seen, budget=budget, memory=memory)
        jax.block_until_ready(going)
        first = time.monotonic()
        end = began + self.seconds - self._rest[rows, slices.capacity]
        turn, turns, now = 0, slices.turns(budget), first
        while turn < turns and (turn == 0 or end - now >= 1 / self._speed[rows]):
            count = max(1, int(min(SLICE, end - now) * self._speed[rows]))
            going = self._go_on(slices, going, turn, stop := min(turn + count, turns))
            turn, now = stop, time.monotonic()
            self._speed[rows] = turn / max(now - first, 1e-6)
        found = _found(slices, going)
        self._rest[rows, slices.capacity] = time.monotonic() - now
        return found

    def _warm(self, seen: TimeStep, capacity: int) -> None:
        """Compiles what a search of that size needs, and measures it."""
        rows, slices = seen.legal.shape[0], self._slices(capacity)
        going = slices.begin(jax.random.key(0), self.variables, seen, budget=capacity)
        self._go_on(slices, going, 0, 1)  # compiles
        going = slices.begin(jax.random.key(0), self.variables, seen, budget=capacity)
        turn, turns, size, took = 0, slices.turns(capacity), 1, 0.0
        while turn < turns and took < TRIAL:
            size = min(2 * size, turns - turn)
            began = time.monotonic()
            going = self._go_on(slices, going, turn, turn + size)
            took, turn = max(time.monotonic() - began, 1e-6), turn + size
            self._speed[rows] = size / took
        _found(slices, going)
        began = time.monotonic()
        _found(slices, going)
        self._rest[rows, capacity] = time.monotonic() - began

    def _go_on(self, slices: Anytime, going: Any, start: int, stop: int) -> Any:
        going = slices.go_on(self.variables, going, start, stop)
        jax.block_until_ready(going)
        return going

    def _slices(self, capacity: int) -> Anytime:
        search = self._planner_for(capacity)
        if not isinstance(search, TreeSearch | RolloutSearch) or search.simulations != capacity:
            raise ValueError(f"only a search of simulations is ended by a clock, got {search!r}")
        return Anytime(search, self.model, capacity)


def room(game: Game, memory: int, *, least: int = LEAST, most: int, features: int = 0) -> int:
    """The simulations that a search in so many bytes may have: a power of two from `least` on.

    With every state so many bytes of `features` are kept (`read_by`).
    """
    start = jax.eval_shape(game.init, jax.random.key(0))
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(start))
    # Five numbers an action (search/tree.py) and the model's node, taken as large as a state.
    node = 20 * game.actions + state + features
    return min(most, 1 << (max(least, memory // node).bit_length() - 1))


def read_by(planner: Planner, model: Model, variables: Any, seen: TimeStep) -> int:
    """Bytes of what an adapted policy head reads of a position; 0 if none is adapted."""
    adapt = planner.adapt if isinstance(planner, RolloutSearch) else None
    if adapt is None or adapt.everything:
        return 0
    _, said = jax.eval_shape(model.root, variables, jax.random.key(0), seen)
    return sum(x.size * x.dtype.itemsize // x.shape[0] for x in jax.tree.leaves(said.features))


def _found(slices: Anytime, going: Any) -> Found:
    look = slices.look(going)
    plan: Plan = look.plan
    figures = (plan.action, plan.value, plan.stats.visits, look.count[:, 0] - 1)
    return Found(*jax.device_get((*figures, slices.memory(going))))


@partial(jax.jit, static_argnums=0)
def _seen(game: Game, states: State) -> TimeStep:
    return jax.vmap(partial(timestep, game))(states)
