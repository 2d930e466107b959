"""A player at a board: the position with its past, who thinks about it, and for how long."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from halfmove import games
from halfmove.arena.players import Mind, budget_of
from halfmove.core.game import Game, State, over
from halfmove.play.clock import Clock, seconds
from halfmove.play.minds import Source
from halfmove.play.opinion import Opinion
from halfmove.play.thinking import MEMORY, Thinker, Thinking, opinions

USUAL = 800  # simulations of a move if nobody says anything


@dataclass(frozen=True)
class Limits:
    """How much a player may think about one move; both count if both are given."""

    simulations: int | None = None  # None: what time allows, or the usual
    seconds: float | None = None

    def of(self, player: str) -> "Limits":
        """These, and for what they leave open what the player's line says."""
        said = budget_of(player)
        if isinstance(said, int):
            return Limits(self.simulations or said, self.seconds)
        return Limits(self.simulations, self.seconds or said)


class Seat:
    """A player at a board."""

    def __init__(
        self, source: Source, game: Game, limits: Limits, *, seed: int | None = None
    ) -> None:
        self._source, self._seed = source, seed
        self.limits = limits
        self.game = game
        self._memory = MEMORY
        self._thinker = Thinker(source(game), seed=seed)
        self.past = [self.fresh()]
        self._last: tuple[list[State], Thinking] | None = None  # what was searched, and the search
        self._kept: list[tuple[list[State], Any]] = []  # what earlier searches left for the next

    @property
    def mind(self) -> Mind:
        """Who thinks."""
        return self._thinker.mind

    @property
    def state(self) -> State:
        """The position."""
        return self.past[-1]

    @property
    def to_play(self) -> int:
        """Whose turn it is."""
        return int(self.game.to_play(self.state))

    @property
    def over(self) -> bool:
        """Whether no move follows."""
        return bool(over(self.game, self.state))

    def fresh(self) -> State:
        """The first position."""
        return self.game.init(jax.random.key(0))

    def change(self, game: Game) -> None:
        """Another game for the same player; ValueError, and no change, if it cannot play that."""
        if game != self.game:
            mind = self._source(game)
            self._thinker = Thinker(mind, seed=self._seed, memory=self._memory)
            self.game = game
            self.forget()

    def remember(self, memory: int) -> None:
        """A tree may take so many bytes from now on."""
        if memory != self._memory:
            self._memory = memory
            self._thinker = Thinker(self._thinker.mind, seed=self._seed, memory=memory)

    def forget(self) -> None:
        """A new game begins: nothing is carried along from the one before."""
        self._last, self._kept = None, []

    def begin_again(self) -> None:
        """A new game, from its first position."""
        self.past = [self.fresh()]
        self.forget()

    def legal(self) -> list[int]:
        """The legal actions."""
        return [int(a) for a in np.flatnonzero(jax.device_get(self.game.legal(self.state)))]

    def play(self, action: int | str) -> None:
        """Makes a move, ours or theirs; ValueError if it is not legal."""
        # A new list: whoever kept the old one can go back to it.
        self.past = [*self.past, games.play(self.game, self.state, action)]

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """If something fails inside, the game is as it was."""
        before = self.past
        try:
            yield
        except BaseException:
            self.past = before
            raise

    def names(self, moves: Collection[int], most: int = 12) -> list[str]:
        """The names of moves that follow each other, as far as they can."""
        state, found = self.state, []
        for action in list(moves)[:most]:
            found.append(self.game.move_name(state, action))
            try:
                state = games.play(self.game, state, action)
            except ValueError:  # a learned model may think of moves that are none
                return found[:-1]
        return found

    # -- thinking --------------------------------------------------------

    def warm(self) -> None:
        """Compiles what a search here needs, so that no clock has to wait for it."""
        if not self.over:
            self._thinker.warm(self.state, budget=self.limits.simulations)

    def begin(self, *, budget: int | None = None, only: Collection[int] | None = None) -> Thinking:
        """A search of this position; without a budget as large as there is room.

        It begins with what the last search of an earlier position has learned: one that looks at
        a position again begins as the first did.
        """
        if self._last is not None:
            past, thinking = self._last
            # One more than the last: the last may have been of a move that was not played.
            self._kept = [*self._kept[-1:], (past, thinking.memory)]
        while self._kept and not _goes_on(self._kept[-1][0], self.past):
            self._kept.pop()
        memory = self._kept[-1][1] if self._kept else None
        thinking = self._thinker.begin(self.state, budget=budget, only=only, memory=memory)
        # A tree has nothing for the next move, and is not kept.
        self._last = (self.past, thinking) if jax.tree.leaves(thinking.memory) else None
        return thinking

    def time_for(self, clock: Clock | None, moves: int) -> float | None:
        """Seconds for this move, if about `moves` more will follow; None: no matter how long."""
        given = [self.limits.seconds] if self.limits.seconds is not None else []
        if clock is not None:
            given.append(seconds(clock, moves))
        return min(given, default=None)

    def budget_for(self, time: float | None) -> int:
        """Simulations for a move that may take so many seconds."""
        if self.limits.simulations is not None:
            return self.limits.simulations
        return USUAL if time is None else self._thinker.budget_for(time)

    def think(
        self,
        clock: Clock | None = None,
        *,
        moves: int = 30,
        only: Collection[int] | None = None,
        stopped: Callable[[], bool] = lambda: False,
        every: float = 1.0,
    ) -> Iterator[Opinion]:
        """Opinions about this position, the last one that to act on."""
        began = time.monotonic()
        spare = self.time_for(clock, moves)
        thinking = self.begin(budget=self.budget_for(spare), only=only)
        deadline = None if spare is None else began + spare
        return opinions(thinking, stopped=stopped, deadline=lambda: deadline, every=every)


def _goes_on(before: list[State], now: list[State]) -> bool:
    """Whether a game that had come to the end of `before` has gone on to the end of `now`.

    It began alike and was in the same state after as many moves. A program may tell it from the
    start every time, so the states need not be the same objects.
    """
    last = len(before) - 1
    return last < len(now) - 1 and _same(before[0], now[0]) and _same(before[last], now[last])


def _same(one: State, other: State) -> bool:
    return one is other or all(
        map(np.array_equal, *(jax.tree.leaves(jax.device_get(x)) for x in (one, other)))
    )
