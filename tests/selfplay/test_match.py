"""Matches, replayed by referees in plain Python."""

import math
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.game import Game
from halfmove.core.types import pytree
from halfmove.games import make
from halfmove.games.tic_tac_toe import TicTacToe
from halfmove.selfplay.boards import Searcher
from halfmove.selfplay.match import match, mcts, score
from halfmove.selfplay.rating import distinct, rate, results_of
from tests.selfplay import solver

GAME = TicTacToe()


def key(seed=0):
    return jax.random.key(seed)


def plan(action, timestep, memory=()):
    """What a match looks at in a plan."""
    visits = jnp.zeros(timestep.legal.shape, jnp.int32)
    value = jnp.zeros(timestep.legal.shape[0])
    stats = SimpleNamespace(visits=visits)
    return SimpleNamespace(action=action, value=value, stats=stats, memory=memory)


@dataclass(frozen=True)
class Random:
    """Any legal move."""

    def __call__(self, key, model, variables, timestep):
        legal = jnp.where(timestep.legal, 0.0, -1e9)
        return plan(jax.random.categorical(key, legal), timestep)


@dataclass(frozen=True)
class Constant:
    """The legal action nearest to its variable: no chance at all."""

    traces: list = field(default_factory=list, compare=False)

    def __call__(self, key, model, variables, timestep):
        self.traces.append(timestep.legal.shape)
        far = jnp.abs(jnp.arange(timestep.legal.shape[1]) - variables)
        return plan(jnp.argmin(jnp.where(timestep.legal, far, 99.0), axis=1), timestep)


@dataclass(frozen=True)
class Perfect:
    """Any move that gives nothing away; the variables are the solver's table."""

    def __call__(self, key, model, variables, timestep):
        return plan(solver.Perfect()(key, variables, timestep), timestep)


@dataclass(frozen=True)
class Counting:
    """Carries the number of its moves along a game, and is wrong if that is not so."""

    def begin(self, model, variables, games):
        return jnp.zeros(games, jnp.int32)

    def __call__(self, key, model, variables, timestep, memory=None):
        own = (jnp.sum(~timestep.legal, axis=1) - variables) // 2  # squares taken since the start
        first = jnp.argmax(timestep.legal, axis=1)
        return plan(jnp.where(memory == own, first, -1), timestep, memory + 1)


RANDOM = Searcher("random", Random(), None)
OTHER = Searcher("other", Random(), None)


def test_a_perfect_player_never_loses_and_a_referee_agrees():
    perfect = Searcher("perfect", Perfect(), None, jnp.asarray(solver.table()))
    plain = Searcher("plain", *mcts(GAME, 20))
    played = match(key(), GAME, perfect, plain, games=72, opening=1)
    assert len(played) == 72
    best = solver.table()
    for number, record in enumerate(played):
        board, seat = (0,) * 9, record.players.index("perfect")
        assert seat == number % 2
        assert not record.reason
        for ply, move in enumerate(record.moves):
            assert not solver.winner(board)
            assert board[move] == 0
            if ply >= 1 and ply % 2 == seat:
                assert best[solver.number(board), move]
            board = solver.after(board, move)
            visits = record.notes[ply].visits
            assert sum(visits.values()) == (20 if ply >= 1 and ply % 2 != seat else 0)
        won = solver.winner(board)
        assert won or 0 not in board
        mine = 0.0 if not won else 1.0 if (len(record.moves) - 1) % 2 == seat else -1.0
        assert record.result[seat] == mine >= 0
        assert record.result[1 - seat] == -mine
    assert score(played, "perfect") == 1 - score(played, "plain") > 0.5
    # Pairs begin alike, with sides changed; each of the nine first moves as often.
    first = [record.moves[0] for record in played]
    assert first[0::2] == first[1::2]
    assert set(Counter(first).values()) == {8}


def test_sides_are_told_apart():
    """Of random games the first player wins 58.49%, 12.70% are drawn."""
    played = match(key(1), GAME, RANDOM, OTHER, games=1000, opening=0)
    for side, wanted in ((0, 0.5849 + 0.0635), (1, 0.2881 + 0.0635)):
        mine = [record for record in played if record.players[side] == "random"]
        assert len(mine) == 500
        assert abs(score(mine, "random") - wanted) < 4 * 0.5 / math.sqrt(500)


def test_no_opening_comes_twice_while_there_are_others():
    one, other = Searcher("one", Constant(), None, 2.0), Searcher("other", Constant(), None, 6.0)
    played = match(key(2), GAME, one, other, games=144, opening=2)
    assert len({record.moves[:2] for record in played}) == 72  # 9 x 8, all there are
    assert len(distinct(played)) == 144
    # With one opening more than there are, games repeat, and that can be seen.
    again = match(key(3), GAME, one, other, games=144, opening=0)
    assert len(distinct(again)) == 2


def test_new_variables_compile_nothing():
    one, other = Constant(), Constant()

    def played(x, y):
        first, second = Searcher("one", one, None, x), Searcher("other", other, None, y)
        return match(key(), GAME, first, second, games=6)

    played(1.0, 7.0)
    seen = len(one.traces), len(other.traces)
    # Each player sees only half of the games, those in which it moves, however few are left.
    assert {shape[0] for shape in one.traces + other.traces} == {3}
    assert played(1.0, 7.0) == played(1.0, 7.0)
    assert played(1.0, 7.0) != played(5.0, 0.0)
    assert (len(one.traces), len(other.traces)) == seen


def test_what_a_planner_carries_stays_with_its_game():
    """Both sides carry their own; games of an opening of two begin with two squares taken."""
    sides = [Searcher(name, Counting(), None, 2) for name in ("one", "other")]
    played = match(key(7), GAME, *sides, games=8, opening=2)
    assert all(len(record.moves) > 4 for record in played)


@pytree
class Held:
    """Who moves, the stones taken by each, and what the last move earned player 0."""

    turn: jax.Array  # [] i32
    taken: jax.Array  # [2] i32
    earned: jax.Array  # [] f32


@dataclass(frozen=True)
class Grab(Game):
    """Take a stone of twelve; action 0 passes the turn, 1 keeps it. Who has more wins."""

    name: ClassVar[str] = "grab"

    actions = property(lambda self: 2)

    def init(self, key):
        return Held(jnp.int32(0), jnp.zeros(2, jnp.int32), jnp.float32(0))

    def step(self, key, state, action):
        legal = self.legal(state)[action]
        taken = state.taken + (legal & (jnp.arange(2) == state.turn))
        won = jnp.sign(taken[0] - taken[1]).astype(jnp.float32)
        earned = jnp.where(legal & (jnp.sum(taken) == 12), won, 0.0)
        return Held(jnp.where(legal & (action == 0), 1 - state.turn, state.turn), taken, earned)

    def legal(self, state):
        return jnp.broadcast_to(~self.terminated(state), 2)

    def to_play(self, state):
        return state.turn

    def reward(self, state):
        return jnp.stack([state.earned, -state.earned])

    def terminated(self, state):
        return jnp.sum(state.taken) == 12

    def observe(self, state):
        return jnp.concatenate([state.taken, state.turn[None]])[None, None].astype(jnp.float32)

    show = position = parse_position = None


def test_players_may_move_as_often_as_the_rules_say():
    """`one` keeps the turn as long as it can: many games wait for it, and all are played."""
    one = Searcher("one", Constant(), None, 1.0)
    played = match(key(4), Grab(), one, OTHER, games=20, opening=3)
    for record in played:
        assert len(record.moves) == 12
        seat, turn, taken = record.players.index("one"), 0, [0, 0]
        for ply, action in enumerate(record.moves):
            if ply >= 3 and turn == seat:
                assert action == 1
            taken[turn] += 1
            turn = turn if action else 1 - turn
        assert record.result[seat] == np.sign(taken[seat] - taken[1 - seat])


def test_games_that_are_not_over_count_half():
    played = match(key(5), GAME, RANDOM, OTHER, games=6, opening=1, limit=3)
    assert all(len(record.moves) == 3 for record in played)
    assert all(record.reason == "adjudicated: 3 moves were made" for record in played)
    assert score(played, "other") == 0.5


def test_an_illegal_move_is_named():
    def stuck(key, model, variables, timestep):
        return plan(jnp.full(timestep.legal.shape[0], 4), timestep)

    with pytest.raises(ValueError, match=r"stuck chose action 4, which is not legal after \["):
        match(key(), GAME, RANDOM, Searcher("stuck", stuck, None), games=4, opening=0)


@pytest.mark.parametrize(
    ("game", "options", "message"),
    [
        ("tic_tac_toe", {"games": 5}, "games must be even, every opening is played twice; got 5"),
        ("tic_tac_toe", {"games": 0}, "games must be even"),
        ("tic_tac_toe", {"games": 2, "opening": -1}, "opening must be at least 0, got -1"),
        ("tic_tac_toe", {"games": 2, "limit": 0}, "limit must be at least 1, got 0"),
        ("tic_tac_toe", {"games": 2, "opening": 9}, "9 random moves always ended the game"),
        ("2048", {"games": 2}, "a match is for two players, 2048 has 1"),
    ],
)
def test_errors_say_what_is_wrong(game, options, message):
    with pytest.raises(ValueError, match=message):
        match(key(), make(game), RANDOM, OTHER, **options)
    with pytest.raises(ValueError, match="two names"):
        match(key(), GAME, RANDOM, RANDOM, games=2)


def test_more_simulations_are_stronger():
    strong, weak = (Searcher(f"mcts@{n}", *mcts(GAME, n)) for n in (20, 2))
    played = match(key(6), GAME, strong, weak, games=72)
    found = rate(results_of(distinct(played)), anchors={"mcts@2": 0.0})
    assert found.interval("mcts@20")[0] > 0
