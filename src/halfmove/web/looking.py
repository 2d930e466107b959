"""A search that is looked at while it runs, in slices, and its tree node by node."""

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.arena.players import Mind
from halfmove.arena.timed import room
from halfmove.core.game import Game, timestep
from halfmove.core.types import Array, Model, NodeStats, TimeStep
from halfmove.games.follow import Spot
from halfmove.models.rollouts import Rollouts
from halfmove.play.minds import search_of
from halfmove.search import RolloutSearch, TreeSearch
from halfmove.search.anytime import Anytime, Going, Look, tree_of
from halfmove.search.halving import Halving
from halfmove.search.planners import options_of, planner
from halfmove.search.tree import stats_of
from halfmove.selfplay.match import mcts
from halfmove.train.rating import QUIET
from halfmove.train.trained import trained
from halfmove.web.settings import Settings
from halfmove.web.who import PLAIN, wanted

LEAST = 64  # simulations that every search has room for, so that few programs are compiled
MEMORY = 2**27  # bytes of one tree
MOST = 2**13


@dataclass(frozen=True)
class Looked:
    """What is searched, and how."""

    mind: Mind
    budget: int
    name: str  # the planner's


def looked(line: str, game: Game, settings: Settings, *, noise: bool) -> Looked:
    """The search of a visitor's line; ValueError or RunError if there is none to be seen.

    `noise`: at the root, as in training; without it, as in play.
    """
    found = wanted(line, settings)
    if not isinstance(found.budget, int):
        raise ValueError("a search that is looked at has simulations, such as @64; stop it at will")
    if found.who == PLAIN:
        return Looked(_plain(game, found.planner, noise), found.budget, found.planner or PLAIN)
    net = trained(found.who, found.number, game=game)
    name = found.planner or net.config.search.planner
    options = (*(_noisy(name) if noise else ()), *found.options)
    planner_for = functools.partial(net.planner, name=found.planner, options=options)
    return Looked(Mind(game, net.model, net.variables, planner_for), found.budget, name)


def _plain(game: Game, name: str | None, noise: bool) -> Mind:
    """No network: equal priors and random playouts, under any planner."""
    if name is None:
        return Mind(game, Rollouts(game), None, lambda simulations: mcts(game, simulations)[0])
    if name == "prior":
        raise ValueError("prior does not search: there is nothing to look into")
    if name.startswith("pgs"):
        raise ValueError(f"{name} learns while it searches, which needs a network; mcs does not")
    known = options_of(name)
    quiet = {} if noise else {option: x for option, x in QUIET.items() if option in known}

    def planner_for(simulations: int) -> Any:
        return planner(name, simulations=simulations, **quiet)

    return Mind(game, Rollouts(game), None, planner_for)


def _noisy(name: str) -> list[str]:
    """The options that make a planner as noisy as it is in training."""
    known = options_of(name)
    return [f"{option}={known[option]}" for option in QUIET if option in known]


class Looking:
    """One search under way. All but the first call are quick; none is for two threads at once."""

    def __init__(self, what: Looked, spot: Spot, seed: int) -> None:
        game = what.mind.game
        most = room(game, MEMORY, most=MOST)
        if what.budget > most:
            raise ValueError(f"at most {most} simulations of {game.name} can be looked into")
        if spot.over:
            raise ValueError("the game is over: there is nothing to search")
        capacity = max(LEAST, 1 << (what.budget - 1).bit_length())
        self.what, self.spot, self.game = what, spot, game
        search = search_of(what.mind, capacity)
        self._slices = Anytime(search, what.mind.model, capacity)
        self.turn, self.turns = 0, self._slices.turns(what.budget)
        self._going = self._slices.begin(
            jax.random.key(seed), what.mind.variables, _seen(game, spot.state), budget=what.budget
        )
        self.seconds = 0.0  # searched so far
        self._pace = 0.0  # seconds a turn

    @property
    def done(self) -> bool:
        """Whether its budget is spent."""
        return self.turn >= self.turns

    @property
    def considered(self) -> int | None:
        """How many moves Sequential Halving begins with; None: another planner."""
        schedule = self._slices.search.rule.schedule
        if not isinstance(schedule, Halving):
            return None
        return min(schedule.considered, self.what.budget, int(self.spot.legal.sum()))

    def go_on(self, seconds: float) -> None:
        """Searches for about so long, at least one turn."""
        if self.done:
            return
        count = max(1, int(seconds / self._pace)) if self._pace else 1
        stop = min(self.turn + count, self.turns)
        began = time.monotonic()
        variables = self.what.mind.variables
        self._going = self._slices.go_on(variables, self._going, self.turn, stop)
        jax.block_until_ready(self._going)
        took = time.monotonic() - began
        if self.turn:  # the first one has compiled
            self._pace = max(took / (stop - self.turn), 1e-6)
            self.seconds += took
        self.turn = stop

    def look(self) -> Look:
        """What it has found, on the host."""
        found: Look = jax.device_get(self._slices.look(self._going))
        return found

    def node(self, number: int) -> tuple[NodeStats, np.ndarray] | None:
        """A node's statistics, rows [A], and the nodes below it [A]; None: there is no tree."""
        search = self._slices.search
        if isinstance(search, RolloutSearch):
            return None
        capacity = self._slices.capacity
        # As the programs were compiled: for no schedule, and for the capacity.
        plain = replace(search, rule=replace(search.rule, schedule=None), simulations=capacity)
        found = _node(plain, self.what.mind.model, self._going, np.int32(number))
        return jax.device_get(found)


def path(look: Look, node: int) -> list[int]:
    """The actions from the root to a node."""
    actions: list[int] = []
    while node > 0:
        actions.append(int(look.action[0, node]))
        node = int(look.parent[0, node])
    return actions[::-1]


def below(look: Look, node: int) -> dict[int, int]:
    """Action -> node, of the nodes that hang below one."""
    rows: Sequence[int] = np.flatnonzero((look.parent[0] == node) & (look.count[0] > 0)).tolist()
    return {int(look.action[0, row]): row for row in rows if row}


@functools.partial(jax.jit, static_argnums=0)
def _seen(game: Game, state: Any) -> TimeStep:
    return jax.tree.map(lambda x: jnp.asarray(x)[None], timestep(game, state))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _node(search: TreeSearch, model: Model, going: Going, node: Array) -> tuple[Any, Array]:
    tree = tree_of(search, model, going)
    stats = stats_of(tree, node[None], going.noise.seed)
    return jax.tree.map(lambda x: x[0], stats), tree.child[0, node]
