"""A search that answers when it is told to: sliced by time, looked at from the host.

thinker = Thinker(mind)
thinking = thinker.begin(state, budget=800)
while not thinking.done and not stopped():
    thinking.go_on(0.05)  # seconds, about
print(thinking.opinion().action)
"""

import functools
import math
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.arena.players import Mind
from halfmove.arena.timed import read_by, room
from halfmove.core.game import Game, State, timestep
from halfmove.core.types import Array, TimeStep
from halfmove.play.minds import search_of
from halfmove.play.opinion import Opinion, opinion_of
from halfmove.search.anytime import Anytime

SLICE = 0.05  # seconds between two moments at which a search can be stopped
LEAST = 64  # simulations that a tree has room for, at least
MOST = 2**14  # and at most: looking at a tree takes the host longer, the larger it is
MEMORY = 2**28  # bytes of a tree at most


class Thinker:
    """A mind, its compiled searches, and how fast it is."""

    def __init__(self, mind: Mind, *, seed: int | None = None, memory: int = MEMORY) -> None:
        self.mind = mind
        self._key = jax.random.key(secrets.randbits(32) if seed is None else seed)
        self._searches = 0
        self._memory = memory
        self._made: list[Anytime] = []
        self.timed: set[Anytime] = set()  # those that have been compiled
        self.speed = 0.0  # turns a second; 0: not known yet

    @functools.cached_property
    def most(self) -> int:
        """The simulations that one search may have: a power of two, by the memory it takes."""
        mind, state = self.mind, self.mind.game.init(jax.random.key(0))
        seen = _seen(mind.game, state, self._mask(None))
        features = read_by(search_of(mind, LEAST), mind.model, mind.variables, seen)
        return room(mind.game, self._memory, least=LEAST, most=MOST, features=features)

    def begin(
        self,
        state: State,
        *,
        budget: int | None = None,
        only: Collection[int] | None = None,
        memory: Any = None,
    ) -> "Thinking":
        """A search of `state`, which must not be over. `only`: the moves to choose from.

        `memory` is that of the last search of the same game, for a planner that carries it along.
        """
        slices = self._slices(self.most if budget is None else budget)
        budget = slices.capacity if budget is None else min(budget, slices.capacity)
        seen = _seen(self.mind.game, state, self._mask(only))
        self._searches += 1
        key = jax.random.fold_in(self._key, self._searches)
        return Thinking(self, slices, seen, key, budget, memory)

    def warm(self, state: State, *, budget: int | None = None) -> None:
        """Compiles what a search of that budget needs, and finds out how fast it is."""
        if self._slices(self.most if budget is None else budget) in self.timed:
            return
        thinking = self.begin(state, budget=budget)
        for _ in range(3):  # the first compiles, the second is one turn, the third tells
            thinking.go_on(SLICE)
        thinking.opinion()

    def budget_for(self, seconds: float) -> int:
        """The simulations that fit into so many seconds, as far as is known."""
        leaves = self._made[-1].search.leaves if self._made else 1
        expected = self.speed * seconds * leaves if self.speed else self.most
        return max(1, min(self.most, int(expected)))

    def _slices(self, budget: int) -> Anytime:
        """The smallest search that is compiled already and has room; else a new one."""
        wanted = max(LEAST, min(budget, self.most))
        fitting = [made for made in self._made if made.capacity >= wanted]
        if fitting:
            return min(fitting, key=lambda made: made.capacity)
        capacity = int(2 ** np.ceil(np.log2(wanted)))
        made = Anytime(search_of(self.mind, capacity), self.mind.model, capacity)
        self._made.append(made)
        return made

    def _mask(self, only: Collection[int] | None) -> np.ndarray:
        mask = np.full(self.mind.game.actions, only is None)
        if only is not None:
            mask[list(only)] = True
        return mask


class Thinking:
    """One search under way."""

    def __init__(
        self,
        thinker: Thinker,
        slices: Anytime,
        seen: TimeStep,
        key: Array,
        budget: int,
        memory: Any = None,
    ) -> None:
        self._thinker, self._slices = thinker, slices
        self._variables = thinker.mind.variables
        self._going = slices.begin(key, self._variables, seen, budget=budget, memory=memory)
        self._turns, self._turn = slices.turns(budget), 0

    @property
    def done(self) -> bool:
        """Whether its budget is spent."""
        return self._turn >= self._turns

    @property
    def memory(self) -> Any:
        """What the search of the game's next position takes up; None: nothing is carried along."""
        return self._slices.memory(self._going)

    @property
    def pace(self) -> float:
        """Seconds that a turn takes, as far as is known."""
        return 1.0 / self._thinker.speed if self._thinker.speed else 0.0

    def go_on(self, seconds: float) -> None:
        """Searches on for about so long: at least one turn, unless it is done."""
        if self.done:
            return
        stop = min(self._turn + max(1, int(self._thinker.speed * seconds)), self._turns)
        began = time.monotonic()
        self._going = self._slices.go_on(self._variables, self._going, self._turn, stop)
        jax.block_until_ready(self._going)
        took = max(time.monotonic() - began, 1e-6)
        if self._slices in self._thinker.timed:  # else it has compiled
            self._thinker.speed = (stop - self._turn) / took
        self._thinker.timed.add(self._slices)
        self._turn = stop

    def opinion(self) -> Opinion:
        """What it has found so far."""
        return opinion_of(jax.device_get(self._slices.look(self._going)))


def opinions(
    thinking: Thinking,
    *,
    stopped: Callable[[], bool] = lambda: False,
    deadline: Callable[[], float | None] = lambda: None,
    every: float = 1.0,
) -> Iterator[Opinion]:
    """What it thinks, every so many seconds, and what it thinks in the end.

    The end is when the budget is spent, or the deadline (of `time.monotonic`) is near, or it is
    `stopped`; never before it has searched at all.
    """
    said = time.monotonic()
    left = math.inf
    while not thinking.done:
        thinking.go_on(min(SLICE, left, every))
        now, end = time.monotonic(), deadline()
        left = math.inf if end is None else end - now
        if stopped() or left < thinking.pace:
            break
        if now - said >= every:
            said = now
            yield thinking.opinion()
    yield thinking.opinion()


@functools.partial(jax.jit, static_argnums=0)
def _seen(game: Game, state: State, mask: Array) -> TimeStep:
    """One position as a batch, with only the moves of the mask [A] allowed."""
    shown = timestep(game, state)
    shown = replace(shown, legal=shown.legal & mask)
    return jax.tree.map(lambda x: jnp.asarray(x)[None], shown)
