"""The sequential test beside exact ratios, a plain optimiser, and its stated errors."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from halfmove.arena.sprt import SPRT, expected, log_ratio


def test_without_draws_it_is_the_ratio_of_wald():
    for wins, losses in ((13, 10), (40, 2), (0, 5)):
        p0, p1 = expected(5.0), expected(40.0)
        exact = wins * math.log(p1 / p0) + losses * math.log((1 - p1) / (1 - p0))
        assert log_ratio((losses, 0, wins), 5.0, 40.0) == pytest.approx(exact, abs=2e-3)


def most_likely(counts, mean):
    """The greatest log-likelihood of probabilities with that mean, by a plain optimiser."""
    points = np.linspace(0, 1, len(counts))
    shares = np.array(counts) / sum(counts)

    def minus(p):
        return -float(shares @ np.log(p))

    found = minimize(
        minus, np.full(len(counts), 1 / len(counts)), method="SLSQP",
        bounds=[(1e-9, 1)] * len(counts), options={"ftol": 1e-15, "maxiter": 1000},
        constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1},
                     {"type": "eq", "fun": lambda p: p @ points - mean}],
    )  # fmt: skip
    assert found.success
    return -found.fun * sum(counts)


@pytest.mark.parametrize("counts", [(7, 20, 31, 25, 9), (30, 40, 45), (50, 3, 2, 1, 60)])
def test_each_hypothesis_stands_for_its_most_likely_probabilities(counts):
    exact = most_likely(counts, expected(30.0)) - most_likely(counts, expected(-10.0))
    assert log_ratio(counts, -10.0, 30.0) == pytest.approx(exact, abs=5e-3)


def pairs(rng, elo, alike, count):
    """Points [count] of pairs; `alike`: the share of openings that the first side wins."""
    s = expected(elo)
    chances = rng.random((count, 2))
    points = (chances < s).sum(axis=1)  # no draws
    return np.where(rng.random(count) < alike, 1, points)


def run(rng, elo, alike, test):
    counts, (low, high) = [0] * 5, test.bounds
    for points in pairs(rng, elo, alike, 5000):
        counts[2 * points] += 1
        ratio = log_ratio(counts, test.elo0, test.elo1)
        if ratio <= low or ratio >= high:
            return ratio >= high, sum(counts)
    raise AssertionError("5000 pairs did not decide")


@pytest.mark.parametrize("alike", [0.0, 0.5])
def test_errors_are_as_rare_as_stated(alike):
    """Also with pairs that hang together, which games taken one by one would not survive."""
    rng, runs = np.random.default_rng(3), 250
    # Openings that one side wins whoever plays it bring the mean score nearer to a half.
    means = [alike / 2 + (1 - alike) * expected(elo) for elo in (0.0, 120.0)]
    shrunk = [400 * math.log10(mean / (1 - mean)) for mean in means]
    test = SPRT(shrunk[0], shrunk[1], alpha=0.05, beta=0.1)
    wrong = sum(run(rng, 0.0, alike, test)[0] for _ in range(runs))
    missed = sum(not run(rng, 120.0, alike, test)[0] for _ in range(runs))
    assert wrong <= binom.ppf(0.999, runs, 0.06)
    assert missed <= binom.ppf(0.999, runs, 0.11)
    assert wrong + missed > 0  # it does not wait for certainty


def test_a_match_goes_on_until_it_is_decided():
    test = SPRT(0.0, 100.0)
    assert (test.llr, test.verdict) == (0.0, "")
    while not test.verdict:
        test = test.add(1, 0.5)
    assert test.verdict == "H1"
    assert test.counts == (0, 0, 0, sum(test.counts), 0)
    assert 5 < sum(test.counts) < 40
    assert "more than +0 stronger" in str(test)
    lost = SPRT(0.0, 100.0, games=1)
    while not lost.verdict:
        lost = lost.add(0)
    assert lost.verdict == "H0"
    assert "not +100 stronger" in str(lost)


def test_the_bounds_are_walds():
    assert SPRT(alpha=0.05, beta=0.05).bounds == pytest.approx((-2.944438979, 2.944438979))
    assert SPRT(alpha=0.01, beta=0.1).bounds == pytest.approx((math.log(0.1 / 0.99), math.log(90)))


def test_both_sides_are_treated_alike():
    counts = (4, 9, 13, 20, 11)
    assert log_ratio(counts, 0, 30) == pytest.approx(-log_ratio(counts[::-1], -30, 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"elo0": 5.0, "elo1": 5.0}, "elo0 must be less than elo1, got 5.0 and 5.0"),
        ({"alpha": 0.0}, "alpha"),
        ({"beta": 0.5}, "beta"),
        ({"games": 3}, "1 or 2"),
        ({"counts": (1, 2, 3)}, "5 numbers"),
    ],
)
def test_errors_say_what_is_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        SPRT(**options)


@pytest.mark.parametrize("scores", [(1,), (1, 0.7), (1, 1, 1)])
def test_a_trial_that_is_none(scores):
    with pytest.raises(ValueError, match="2 scores"):
        SPRT().add(*scores)
