"""Ratings beside closed forms, a published example, a plain optimiser, and simulated leagues."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, norm

from halfmove.games.records import Record
from halfmove.selfplay.rating import Result, rate, results_of, table

ELO = 400 / math.log(10)


def elo_of(ratings):
    return dict(zip(ratings.names, ratings.elo.tolist(), strict=True))


def deviation(ratings, name):
    low, high = ratings.interval(name)
    return (high - low) / 2 / norm.ppf(0.975)


# -- closed forms ------------------------------------------------------------


@pytest.mark.parametrize(("wins", "losses", "prior"), [(7, 3, 2.0), (40, 40, 1.0), (9, 0, 2.0)])
def test_two_players_without_draws(wins, losses, prior):
    """The prior's draws are a win and a loss each, so odds are (w + prior) : (l + prior)."""
    ratings = rate([Result("a", "b", wins, 0, losses)], prior=prior, advantage=0.0)
    elo = elo_of(ratings)
    odds = (wins + prior) / (losses + prior)
    assert elo["a"] - elo["b"] == pytest.approx(400 * math.log10(odds), abs=1e-6)
    assert elo["a"] + elo["b"] == pytest.approx(0, abs=1e-6)
    games, p = wins + losses + 2 * prior, odds / (1 + odds)
    spread = ELO / math.sqrt(games * p * (1 - p))  # of the difference: half of it is a's
    assert deviation(ratings, "a") == pytest.approx(spread / 2, rel=1e-6)
    assert ratings.superiority("a", "b") == pytest.approx(norm.cdf((elo["a"] - elo["b"]) / spread))


@pytest.mark.parametrize(
    "results",
    [
        [Result("a", "b", 1, 0, 0), Result("b", "a", 0, 1, 0)],
        [Result("a", "b", 0, 5, 0)],
        [Result("a", "b", 3, 0, 0), Result("b", "a", 0, 0, 2)],
        [Result("a", "b", 5, 1, 0), Result("b", "a", 0, 1, 5)],
    ],
)
def test_a_handful_of_games_can_be_rated(results):
    found = rate(results)
    assert np.isfinite(found.elo).all()
    assert np.abs(found.elo).max() < 600
    assert found.superiority("a", "b") >= 0.5
    assert all(np.isfinite(found.interval(name)).all() for name in "ab")


def test_an_even_match_tells_the_advantage_and_the_draws():
    """Without a prior the shares of wins, draws and losses are met exactly."""
    counts = (50, 30, 20)
    ratings = rate([Result("a", "b", *counts), Result("b", "a", *counts)], prior=0.0)
    assert elo_of(ratings)["a"] == pytest.approx(0, abs=1e-6)
    x, d = ratings.advantage, ratings.draw
    assert 1 / (1 + 10 ** ((d - x) / 400)) == pytest.approx(0.5)
    assert 1 / (1 + 10 ** ((d + x) / 400)) == pytest.approx(0.2)


# -- a published example -----------------------------------------------------

# Agresti, Categorical Data Analysis, 2nd edition (2002), table 10.10: seven baseball teams of
# 1987, games won and lost at home (rows) against each other. No game is drawn.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
AT_HOME = """
 -  4-3 4-2 4-3 6-1 4-2 6-0
3-3  -  4-2 4-3 6-0 6-1 4-3
2-5 4-3  -  2-4 4-3 4-2 6-0
3-3 5-1 2-5  -  4-3 4-2 6-1
5-1 2-5 3-3 4-2  -  5-2 6-0
2-5 3-3 3-4 4-3 4-2  -  2-4
2-5 1-5 1-6 2-4 1-6 3-4  -
"""


def baseball():
    for home, row in zip(TEAMS, AT_HOME.strip().splitlines(), strict=True):
        for away, cell in zip(TEAMS, row.split(), strict=True):
            if home != away:
                won, lost = map(int, cell.split("-"))
                yield Result(home, away, won, 0, lost)


def test_baseball_without_home_advantage_as_published():
    ratings = rate(baseball(), prior=0.0, advantage=0.0, anchors={"Baltimore": 0.0})
    found = [round(elo_of(ratings)[team] / ELO, 2) for team in TEAMS]
    assert found == [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]
    errors = [round(deviation(ratings, team) / ELO, 1) for team in TEAMS[:-1]]
    assert errors == [0.3] * 6


def test_baseball_with_home_advantage_as_published():
    ratings = rate(baseball(), prior=0.0)
    assert round(ratings.advantage / ELO, 3) == 0.302
    worth = np.exp(np.array([elo_of(ratings)[team] for team in TEAMS]) / ELO)
    assert (worth / worth.sum()).round(3).tolist() == [
        0.22,
        0.19,
        0.164,
        0.157,
        0.137,
        0.088,
        0.044,
    ]


# -- a plain optimiser, from the probabilities as BayesElo states them --------------


def plain(results, prior, names):
    """Minus the log posterior in Elo: strengths, advantage, draw width."""
    met = dict.fromkeys(itertools.permutations(names, 2), 0.0)
    for r in results:
        games = r.wins + r.draws + r.losses
        met[r.first, r.second] += games
        met[r.second, r.first] += games
    each = {a: sum(met[a, b] for b in names if b != a) for a in names}

    def log_chances(x, d):
        win, loss = 1 / (1 + 10 ** ((d - x) / 400)), 1 / (1 + 10 ** ((d + x) / 400))
        return np.log([win, 1 - win - loss, loss])

    def minus(at):
        elo, advantage, draw = dict(zip(names, at, strict=False)), at[-2], at[-1]
        total = 0.0
        for r in results:
            chances = log_chances(elo[r.first] - elo[r.second] + advantage, draw)
            total += chances @ (r.wins, r.draws, r.losses)
        for (a, b), games in met.items():
            share = prior * games / 4 * (1 / each[a] + 1 / each[b]) if games else 0.0
            total += share * log_chances(elo[a] - elo[b] + advantage, draw)[1]
        if prior:
            total -= (advantage**2 + draw**2) / (2 * 1000**2)
        return -total + np.mean(at[:-2]) ** 2

    return minus


LEAGUE = [
    Result("a", "b", 6, 3, 2), Result("b", "a", 3, 4, 5), Result("a", "c", 9, 1, 0),
    Result("c", "b", 2, 2, 2), Result("d", "c", 3, 0, 4), Result("c", "d", 5, 1, 1),
]  # fmt: skip


def test_the_maximum_and_its_curvature_are_those_of_the_stated_model():
    ratings = rate(LEAGUE)
    names = list("abcd")
    minus = plain(LEAGUE, 2.0, names)
    found = minimize(minus, [0, 0, 0, 0, 10, 80], method="Nelder-Mead",
                     options={"xatol": 1e-5, "fatol": 1e-12, "maxiter": 20000,
                              "maxfev": 20000, "adaptive": True}).x  # fmt: skip
    mine = [*(elo_of(ratings)[name] for name in names), ratings.advantage, ratings.draw]
    assert mine == pytest.approx(found.tolist(), abs=0.01)
    step, six = 2.0, np.eye(6)
    at = np.array(mine)
    curve = np.array([
        [(minus(at + step * (u + v)) - minus(at + step * (u - v))
          - minus(at - step * (u - v)) + minus(at - step * (u + v))) / (4 * step**2)
         for v in six] for u in six
    ])  # fmt: skip
    centre = np.eye(4) - 0.25  # the same added to all is no difference
    expected = centre @ np.linalg.inv(curve)[:4, :4] @ centre
    for i, one in enumerate(names):
        assert deviation(ratings, one) == pytest.approx(math.sqrt(expected[i, i]), rel=1e-3)
        for j, other in enumerate(names):
            row, column = ratings.names.index(one), ratings.names.index(other)
            assert ratings.covariance[row, column] == pytest.approx(expected[i, j], rel=2e-3, abs=1)


# -- simulated leagues -------------------------------------------------------


def season(rng, elo, advantage, draw, games):
    for i, j in itertools.permutations(range(len(elo)), 2):
        x = elo[i] - elo[j] + advantage
        win, loss = 1 / (1 + 10 ** ((draw - x) / 400)), 1 / (1 + 10 ** ((draw + x) / 400))
        won, drawn, lost = rng.multinomial(games, [win, max(0.0, 1 - win - loss), loss])
        yield Result(str(i), str(j), won, drawn, lost)


@pytest.mark.parametrize(("draw", "games", "anchored"), [(0.0, 10, False), (80.0, 6, True)])
def test_intervals_cover_what_is_true_at_95_percent(draw, games, anchored):
    rng = np.random.default_rng(7)
    elo = np.array([0.0, 60.0, -90.0, 150.0, -120.0])
    inside, seasons = 0, 400
    for _ in range(seasons):
        known = {"0": 0.0} if anchored else None
        ratings = rate(season(rng, elo, 40.0, draw, games), anchors=known)
        for i, name in enumerate("01234"):
            low, high = ratings.interval(name)
            true = elo[i] - (0.0 if anchored else elo.mean())
            inside += (low <= true <= high) and not (anchored and i == 0)
    count = seasons * (4 if anchored else 5)
    # Ratings of one season depend on each other: twice the spread of as many coins.
    assert abs(inside / count - 0.95) < 3 * 2 * binom.std(count, 0.95) / count


def test_superiority_is_as_likely_as_it_says():
    rng = np.random.default_rng(11)
    said, held = [], []
    for _ in range(600):
        elo = rng.normal(0, 60, 2)
        ratings = rate(season(rng, elo, 0.0, 50.0, 8))
        said.append(ratings.superiority("0", "1"))
        held.append(elo[0] > elo[1])
    said, held = np.array(said), np.array(held)
    for low, high in ((0.1, 0.4), (0.4, 0.6), (0.6, 0.9)):
        rows = (said > low) & (said < high)
        assert rows.sum() > 60
        assert abs(held[rows].mean() - said[rows].mean()) < 0.15


# -- what must not matter, and the edges -----------------------------------------


def test_order_and_splitting_of_results_do_not_matter():
    whole = rate(LEAGUE)
    games = [Result(r.first, r.second, *row) for r in LEAGUE
             for row, n in zip(np.eye(3), (r.wins, r.draws, r.losses), strict=True)
             for _ in range(n)]  # fmt: skip
    parts = rate([games[i] for i in np.random.default_rng(0).permutation(len(games))])
    assert parts.names == whole.names
    np.testing.assert_allclose(parts.elo, whole.elo, atol=1e-6)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-6)


def test_exchanging_sides_and_results_turns_the_advantage():
    turned = [Result(r.second, r.first, r.losses, r.draws, r.wins) for r in LEAGUE]
    one, other = rate(LEAGUE), rate(turned)
    np.testing.assert_allclose(other.elo, one.elo, atol=1e-6)
    assert other.advantage == pytest.approx(-one.advantage)


def test_an_anchor_moves_all_and_is_known_exactly():
    free, tied = rate(LEAGUE), rate(LEAGUE, anchors={"b": 1000.0})
    assert tied.names == free.names
    np.testing.assert_allclose(np.diff(tied.elo), np.diff(free.elo), atol=1e-6)
    assert tied.interval("b") == (1000.0, 1000.0)
    i, j = free.names.index("a"), free.names.index("b")
    spread = free.covariance[i, i] + free.covariance[j, j] - 2 * free.covariance[i, j]
    assert deviation(tied, "a") == pytest.approx(math.sqrt(spread))
    assert tied.superiority("a", "b") == pytest.approx(free.superiority("a", "b"))


def test_two_anchors_are_both_kept():
    ratings = rate(LEAGUE, anchors={"a": 500.0, "d": 100.0})
    elo = elo_of(ratings)
    assert (elo["a"], elo["d"]) == pytest.approx((500.0, 100.0))
    assert 100 < elo["b"] < 500
    assert ratings.superiority("a", "d") == 1.0
    assert ratings.superiority("d", "a") == 0.0


def test_more_games_of_the_same_kind_give_narrower_intervals():
    widths = []
    for n in (1, 4, 16):
        games = [Result(r.first, r.second, n * r.wins, n * r.draws, n * r.losses) for r in LEAGUE]
        low, high = rate(games).interval("a")
        widths.append(high - low)
    assert widths[0] > 1.6 * widths[1] > 1.6 * 1.6 * widths[2]


@pytest.mark.parametrize("games", [1, 1000])
def test_players_who_won_or_lost_everything_are_finite(games):
    results = [Result("best", "b", games, 0, 0), Result("b", "best", 0, 0, games),
               Result("b", "worst", games, 0, 0), Result("worst", "b", 0, 0, games)]  # fmt: skip
    ratings = rate(results)
    assert ratings.names == ("best", "b", "worst")
    assert np.isfinite(ratings.elo).all()
    assert np.isfinite(ratings.covariance).all()
    with pytest.raises(ValueError, match="no finite ratings"):
        rate(results, prior=0.0)


def test_groups_that_never_met_are_compared_by_the_prior_alone():
    apart = [Result("a", "b", 30, 5, 20), Result("b", "a", 20, 3, 30),
             Result("c", "d", 35, 5, 20), Result("d", "c", 20, 3, 30)]  # fmt: skip
    ratings = rate(apart)
    assert sorted(map(sorted, ratings.groups)) == [["a", "b"], ["c", "d"]]
    across = ratings.covariance
    i, j, k = (ratings.names.index(name) for name in "abc")
    near = across[i, i] + across[j, j] - 2 * across[i, j]
    far = across[i, i] + across[k, k] - 2 * across[i, k]
    assert far > 5 * near
    alone = elo_of(rate(apart[:2]))
    assert elo_of(ratings)["a"] - elo_of(ratings)["b"] == pytest.approx(
        alone["a"] - alone["b"], abs=5
    )
    assert "never met" in table(ratings)
    with pytest.raises(ValueError, match="nothing compares a, b with the others"):
        rate(apart, prior=0.0)
    rate(apart, prior=0.0, anchors={"a": 0.0, "d": 10.0})  # now something does


def test_the_table_says_it_all():
    lines = table(rate(LEAGUE, anchors={"c": 0.0})).splitlines()
    assert lines[0].split()[:3] == ["rank", "name", "rating"]
    first = lines[1].split()
    assert first[:2] == ["1", "a"]
    assert first[6] == "33"  # games
    assert lines[4].split()[0] == "4"
    c = next(line.split() for line in lines if line.split()[1] == "c")
    assert c[2:6] == ["+0", "+0", "to", "+0"]
    assert "advantage" in lines[5]


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ([], {}, "no results"),
        ([Result("a", "a", 1, 0, 0)], {}, "played itself"),
        ([Result("a", "b", -1, 0, 3)], {}, "at least 0"),
        ([Result("a", "b", 0, 0, 0)], {}, "some games"),
        ([Result("a", "b", 1, 1, 0)], {"draw": 0.0}, "more than 0 where games were drawn"),
        ([Result("a", "b", 1, 0, 0)], {"prior": -1.0}, "prior"),
        ([Result("a", "b", 1, 0, 0)], {"anchors": {"c": 0.0}}, "'c' did not play; a, b did"),
        ([Result("a", "b", 1, 0, 0)], {"anchors": {"a": math.inf}}, "finite"),
    ],
)
def test_errors_say_what_is_wrong(results, options, message):
    with pytest.raises(ValueError, match=message):
        rate(results, **options)


def test_results_of_records():
    def record(first, second, result):
        return Record("go", (first, second), (), result)

    records = [record("a", "b", (1.0, -1.0)), record("a", "b", (0.0, 0.0)), record("b", "a", None),
               record("b", "a", (1.0, -1.0)), record("a", "a", (1.0, -1.0)),
               Record("2048", ("a",), (), (12.0,))]  # fmt: skip
    assert results_of(records) == [Result("a", "b", 1, 1, 0), Result("b", "a", 1, 0, 0)]
