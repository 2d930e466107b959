"""Matches, replayed by referees in plain Python; ratings, against scipy and by sampling."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from halfmove.core.game import Game
from halfmove.core.types import pytree
from halfmove.games import make
from halfmove.games.tic_tac_toe import TicTacToe
from halfmove.models.rollouts import Rollouts
from halfmove.search import planner
from halfmove.selfplay.match import Contender, MatchResult, elo, match, mcts, moves_of
from tests.selfplay import solver

GAME = TicTacToe()


def key(seed=0):
    return jax.random.key(seed)


@dataclass(frozen=True)
class Random:
    """Any legal move."""

    def __call__(self, key, variables, timestep):
        return jax.random.categorical(key, jnp.where(timestep.legal, 0.0, -1e9))


@dataclass(frozen=True)
class Constant:
    """The legal action nearest to its variable: no chance at all."""

    traces: list = field(default_factory=list, compare=False)

    def __call__(self, key, variables, timestep):
        self.traces.append(timestep.legal.shape)
        far = jnp.abs(jnp.arange(timestep.legal.shape[1]) - variables)
        return jnp.argmin(jnp.where(timestep.legal, far, 99.0), axis=1)


RANDOM = Contender(Random())


def test_a_perfect_player_never_loses_and_a_referee_agrees():
    perfect = Contender(solver.Perfect(), jnp.asarray(solver.table()))
    plain = Contender(moves_of(*mcts(GAME, 20)))
    result = match(key(), GAME, perfect, plain, games=72, opening=1)
    assert result.score.min() >= 0.5
    assert result.score.max() == 1
    assert result.finished.all()
    best = solver.table()
    for row in range(72):
        board, moves = (0,) * 9, result.moves[row, : result.plies[row]].tolist()
        ours = [(ply - result.opening) % 2 == (0 if result.first[row] else 1) for ply in range(9)]
        for ply, move in enumerate(moves):
            assert not solver.winner(board)
            assert board[move] == 0
            if ply >= result.opening and ours[ply]:
                assert best[solver.number(board), move]
            board = solver.after(board, move)
        won = solver.winner(board)
        assert won or 0 not in board
        assert result.score[row] == (0.5 if not won else float(ours[len(moves) - 1]))
        assert (result.moves[row, len(moves) :] == -1).all()
    # Pairs begin alike, with sides changed; each of the nine first moves as often.
    np.testing.assert_array_equal(result.first, [True, False] * 36)
    np.testing.assert_array_equal(result.moves[0::2, 0], result.moves[1::2, 0])
    assert set(Counter(result.moves[:, 0].tolist()).values()) == {8}


def test_sides_are_told_apart():
    """Of random games the first player wins 58.49%, 12.70% are drawn."""
    result = match(key(1), GAME, RANDOM, RANDOM, games=4000, opening=0)
    for first, wanted in ((True, 0.5849 + 0.0635), (False, 0.2881 + 0.0635)):
        mean = result.score[result.first == first].mean()
        assert abs(mean - wanted) < 4 * 0.5 / math.sqrt(2000)


def test_no_opening_comes_twice_while_there_are_others():
    one, other = Contender(Constant(), 2.0), Contender(Constant(), 6.0)
    result = match(key(2), GAME, one, other, games=144, opening=2)
    assert len({tuple(row) for row in result.moves[:, :2].tolist()}) == 72  # 9 x 8, all there are
    assert result.distinct == 144
    assert result.fresh.all()
    # With one opening more than there are, games repeat, and the result says so.
    result = match(key(3), GAME, one, other, games=144, opening=0)
    assert result.distinct == 2
    np.testing.assert_array_equal(np.flatnonzero(result.fresh), [0, 1])


def test_new_variables_compile_nothing():
    one, other = Constant(), Constant()
    match(key(), GAME, Contender(one, 1.0), Contender(other, 7.0), games=6)
    seen = len(one.traces), len(other.traces)
    assert seen[0] >= 1
    # Each player sees only half of the games, those in which it moves.
    assert {shape[0] for shape in one.traces + other.traces} == {3}
    results = [
        match(key(), GAME, Contender(one, x), Contender(other, y), games=6)
        for x, y in ((1.0, 7.0), (5.0, 0.0))
    ]
    assert (len(one.traces), len(other.traces)) == seen
    assert (
        results[0].moves.shape != results[1].moves.shape
        or (results[0].moves != results[1].moves).any()
    )


def test_the_same_planner_and_model_are_the_same_moves():
    search = planner("prior", temperature=0.5)
    moves = moves_of(search, Rollouts(GAME))
    assert moves == moves_of(planner("prior", temperature=0.5), Rollouts(TicTacToe()))
    assert hash(moves) == hash(moves_of(search, Rollouts(GAME)))
    assert moves_of(*mcts(GAME, 7)) == moves_of(*mcts(GAME, 7))
    assert moves_of(*mcts(GAME, 7)) != moves_of(*mcts(GAME, 8))


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
    result = match(key(4), Grab(), Contender(Constant(), 1.0), RANDOM, games=20, opening=3)
    assert (result.plies == 12).all()
    assert result.finished.all()
    for row in range(20):
        turn, taken, seat = 0, [0, 0], None
        for ply, action in enumerate(result.moves[row].tolist()):
            if ply == 3:
                seat = turn if result.first[row] else 1 - turn
            if ply >= 3 and turn == seat:
                assert action == 1
            taken[turn] += 1
            turn = turn if action else 1 - turn
        assert result.score[row] == 0.5 + 0.5 * np.sign(taken[seat] - taken[1 - seat])


def test_games_that_are_not_over_count_half():
    result = match(key(5), GAME, RANDOM, RANDOM, games=6, opening=1, limit=2)
    assert (result.plies == 3).all()
    assert not result.finished.any()
    np.testing.assert_array_equal(result.score, 0.5)


def test_an_illegal_move_is_named():
    def stuck(key, variables, timestep):
        return jnp.full(timestep.legal.shape[0], 4)

    with pytest.raises(ValueError, match=r"other chose action 4, which is not legal after \["):
        match(key(), GAME, RANDOM, Contender(stuck), games=4, opening=0)


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
        match(key(), make(game), RANDOM, RANDOM, **options)


def test_more_simulations_are_stronger():
    strong, weak = (Contender(moves_of(*mcts(GAME, n))) for n in (64, 2))
    result = match(key(6), GAME, strong, weak, games=72)
    assert elo(result.score).low > 0


# -- ratings -----------------------------------------------------------------


def scores(wins, draws, losses):
    return np.repeat([1.0, 0.5, 0.0], [wins, draws, losses])


@pytest.mark.parametrize(("wins", "losses"), [(7, 3), (50, 50), (40, 0), (0, 1), (900, 100)])
def test_without_draws_the_interval_is_jeffreys(wins, losses):
    posterior = scipy.stats.beta(wins + 0.5, losses + 0.5)
    found = elo(scores(wins, 0, losses))
    for rating, p in ((found.low, posterior.ppf(0.025)), (found.high, posterior.ppf(0.975))):
        assert rating == pytest.approx(400 * math.log10(p / (1 - p)), rel=1e-6)
    odds = (wins + 0.5) / (losses + 0.5)
    assert found.difference == pytest.approx(400 * math.log10(odds))
    assert found.low < found.difference < found.high


@pytest.mark.parametrize("record", [(30, 40, 30), (10, 80, 4), (0, 25, 0), (3, 6, 0)])
def test_with_draws_it_is_close_to_the_sampled_one(record):
    wins, draws, losses = record
    rng = np.random.default_rng(0)
    p = rng.dirichlet([wins + 0.5, draws, losses + 0.5], 200_000) @ [1.0, 0.5, 0.0]
    low, high = np.quantile(400 * np.log10(p / (1 - p)), [0.025, 0.975])
    found = elo(scores(*record))
    assert found.low == pytest.approx(low, abs=0.1 * (high - low))
    assert found.high == pytest.approx(high, abs=0.1 * (high - low))


def test_a_rating_by_hand():
    """75.9% is 200 points; draws tell more than wins and losses do."""
    assert elo(scores(7597, 0, 2403)).difference == pytest.approx(200, abs=0.5)
    assert elo(scores(0, 100, 0)).high < elo(scores(50, 0, 50)).high / 2
    even = elo(scores(5, 1, 5))
    assert even.difference == pytest.approx(0)
    assert even.low == pytest.approx(-even.high)
    assert str(elo(scores(10, 0, 0))).startswith("+529 Elo (+")
    for wrong in ([], [0.3], [2.0]):
        with pytest.raises(ValueError, match=r"games of 0, 0\.5 or 1"):
            elo(np.array(wrong))


def test_games_from_the_other_side_are_not_the_same():
    result = MatchResult(
        score=np.array([1, 0, 1, 0.5]), first=np.array([True, False, True, False]),
        plies=np.array([2, 2, 2, 1]), finished=np.ones(4, bool),
        moves=np.array([[1, 2], [1, 2], [1, 2], [1, -1]]), opening=0,
    )  # fmt: skip
    np.testing.assert_array_equal(result.fresh, [True, True, False, True])
    assert result.distinct == 3
