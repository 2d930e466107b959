"""The game under examination: its random games, some positions of them, and how to tell of them."""

import functools
import textwrap
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game, State
from halfmove.core.types import Array
from halfmove.games.check.play import (
    FAULTS,
    Run,
    Sight,
    every_action,
    key_of,
    random_games,
    sight,
)

WIDTH = 16  # games that are walked through position by position, and the batch of all that
WALK = 512  # moves of them at most
POSITIONS = 48  # positions of them that are looked at closely


class BrokenError(Exception):
    """A property does not hold: what was found, and how to see it again."""

    def __init__(self, found: str, *story: str):
        super().__init__(found)
        self.found, self.story = found, story


@dataclass(frozen=True)
class Place:
    """One position of one random game."""

    row: int  # which game
    ply: int  # after how many moves


class Subject:
    """A game, played at random. Everything is made when it is first asked for."""

    def __init__(self, game: Game, *, games: int, seed: int, plies: int):
        self.game, self.games, self.seed, self.plies = game, games, seed, plies
        self.steps_per_second: float | None = None
        self.move = jax.jit(jax.vmap(game.step))  # keys, states, actions -> states
        self.move_one = jax.jit(game.step)
        self.see = jax.jit(jax.vmap(lambda state: sight(game, state)))
        self.see_one = jax.jit(lambda state: sight(game, state))
        self.observe = jax.jit(jax.vmap(game.observe))
        self.observe_one = jax.jit(game.observe)
        self.try_all = jax.jit(lambda key, state: every_action(game, key, state))

    @functools.cached_property
    def run(self) -> Run:
        """All the random games."""
        return random_games(self.game, self.seed, self.games, self.plies)

    @functools.cached_property
    def rows(self) -> np.ndarray:
        """[WIDTH], which of the random games are walked through."""
        return np.arange(WIDTH) % self.games

    def keys(self, rows: np.ndarray, ply: int) -> Array:
        """The keys that move `ply` of those games had."""
        return _keys(jnp.int32(self.seed), jnp.asarray(rows, jnp.int32), jnp.int32(ply))

    @functools.cached_property
    def start(self) -> State:
        """The first positions of the walked games."""
        return jax.jit(jax.vmap(self.game.init))(self.keys(self.rows, 0))

    @functools.cached_property
    def walk(self) -> tuple[list[State], list[Sight]]:
        """The walked games again: after each move, the states [WIDTH, ...] and their sights."""
        length = min(int(self.run.length[self.rows].max()), WALK)
        states, sights = [self.start], [jax.device_get(self.see(self.start))]
        for ply in range(length):
            action = jnp.asarray(self.run.actions[ply, self.rows])
            states.append(self.move(self.keys(self.rows, ply + 1), states[-1], action))
            sights.append(jax.device_get(self.see(states[-1])))
        return states, sights

    def reached(self, row: int) -> int:
        """How many moves of a walked game were made."""
        return min(int(self.run.length[self.rows[row]]), len(self.walk[0]) - 1)

    @functools.cached_property
    def ends(self) -> list[Place]:
        """The last positions of some games."""
        return [Place(row, self.reached(row)) for row in range(min(6, self.games))]

    @functools.cached_property
    def places(self) -> list[Place]:
        """Positions to look at closely: the first, some last ones, and some between."""
        all_places = [
            Place(row, ply)
            for row in range(min(WIDTH, self.games))
            for ply in range(self.reached(row) + 1)
        ]
        picked = np.random.default_rng(self.seed).permutation(len(all_places))[:POSITIONS]
        some = [Place(0, 0), *self.ends, *(all_places[i] for i in picked)]
        return sorted(dict.fromkeys(some), key=_when)

    def few(self, count: int) -> list[Place]:
        """At most so many of the places, last ones among them, spread over the games' stages."""
        others = [place for place in self.places if place not in self.ends]
        left = min(max(count - len(self.ends), 1), len(others))
        picked = np.linspace(0, len(others) - 1, left).round().astype(int)
        return sorted([*self.ends, *(others[i] for i in picked)], key=_when)

    def going(self, count: int = WIDTH) -> list[Place]:
        """That many places where a move is legal, some more than once if there are few."""
        found = [place for place in self.places if self.seen(place).legal.any()]
        if not found:
            raise BrokenError("no position with a legal move was reached", *self.told(Place(0, 0)))
        return (found * count)[:count]

    def state(self, place: Place) -> State:
        """The state there."""
        return jax.tree.map(lambda leaf: leaf[place.row], self.walk[0][place.ply])

    def seen(self, place: Place) -> Sight:
        """The sight there."""
        return jax.tree.map(lambda leaf: leaf[place.row], self.walk[1][place.ply])

    def batch(self, places: list[Place]) -> State:
        """The states of those places, stacked."""
        states = [self.state(place) for place in places]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)

    # -- telling -----------------------------------------------------------

    def expect_no(self, *faults: str) -> None:
        """Raises if any of those faults was seen in any of the random games."""
        for fault in faults:
            where = self.run.earliest(fault)
            if where is not None:
                count = int((self.run.first[fault] <= self.plies).sum())
                many = f" ({count} of {self.games} games)" if count > 1 else ""
                raise BrokenError(FAULTS[fault] + many, *self.story(*where))

    def story(self, row: int, ply: int) -> list[str]:
        """How random game `row` came to its position after `ply` moves."""
        game = self.game
        state = game.init(self.keys(np.array([row]), 0)[0])
        moves = []
        for turn in range(ply):
            action = self.run.actions[turn, row]
            moves.append(self.name(state, int(action)))
            key = self.keys(np.array([row]), turn + 1)[0]
            state = self.move_one(key, state, jnp.int32(action))
        return [_moves(moves), *self.picture(state)]

    def told(self, place: Place) -> list[str]:
        """The same of a place."""
        return self.story(int(self.rows[place.row]), place.ply)

    def picture(self, state: State) -> list[str]:
        """A position as its own text and as the game shows it."""
        lines = []
        for label, how in (("position", self.game.position), ("", self.game.show)):
            text = _attempt(how, state)
            lines.append(f"{label} {text}".strip() if label else textwrap.indent(text, "  "))
        return lines

    def name(self, state: State, action: int) -> str:
        """An action by name and number, by its number alone if the name fails."""
        name = _attempt(self.game.move_name, state, action)
        return str(action) if name == str(action) else f"{name} (action {action})"


def _when(place: Place) -> tuple[int, int]:
    return place.ply, place.row


def _attempt(how: Any, *arguments: Any) -> str:
    # Only for showing: the properties of the texts are checked elsewhere.
    try:
        return str(how(*arguments))
    except Exception as error:
        return f"{error.__class__.__name__}: {error}"


def _moves(moves: list[str]) -> str:
    if not moves:
        return "in the first position"
    short = [move.split(" (action")[0] for move in moves]
    if len(short) > 40:
        return f"after {len(short)} moves, the last of them: {' '.join(short[-12:])}"
    return f"after the moves: {' '.join(short)}"


@jax.jit
def _keys(seed: Array, rows: Array, ply: Array) -> Array:
    return jax.vmap(lambda row: key_of(seed, row, ply))(rows)
