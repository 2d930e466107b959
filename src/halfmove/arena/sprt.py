"""Is A stronger than B? Wald's sequential test, which stops a match when the answer is known.

H0 says that A is `elo0` stronger, H1 that it is `elo1`. A trial is a pair of games that begin
alike, with sides changed: two games of one opening are not independent, and a pair has five
results (0, ½, 1, 1½ or 2 points), so the test is "pentanomial". It needs fewer games than one
that takes the games one by one, and its errors are the stated ones. Where games do not come in
pairs a trial is one game, with three results.

What is tested is the mean score; the other parameters of the five probabilities are unknown, so
each hypothesis stands for its most likely ones (a generalised ratio). With shares p of results
worth a, those with mean s are p / (1 + t (a - s)), t such that their mean is s (A. Owen,
Empirical Likelihood, 2001). X. Li, J. Liu and Z. Ying, Generalized sequential probability ratio
test for separate families of hypotheses, Sequential Analysis 33 (2014); M. Van den Bergh's notes
on pairs of games, http://hardy.uhasselt.be/Fishtest/support_MLE_multinomial.pdf.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

UNSEEN = 1e-3  # counted of every result, so that none is impossible


@dataclass(frozen=True)
class SPRT:
    """A test and the trials so far; `add` gives the test with one more."""

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05  # the chance to find H1 where H0 holds
    beta: float = 0.05  # the chance to find H0 where H1 holds
    games: int = 2  # in one trial: 2 is a pair that begins alike, 1 a single game
    counts: tuple[int, ...] = ()  # of trials by points: [0, ½, ..., games]

    def __post_init__(self) -> None:
        if not (math.isfinite(self.elo0) and self.elo0 < self.elo1 < math.inf):
            raise ValueError(f"elo0 must be less than elo1, got {self.elo0} and {self.elo1}")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 0.5:
                raise ValueError(f"{name} must lie between 0 and 0.5, got {value}")
        if self.games not in (1, 2):
            raise ValueError(f"games in a trial must be 1 or 2, got {self.games}")
        if not self.counts:
            object.__setattr__(self, "counts", (0,) * (2 * self.games + 1))
        if len(self.counts) != 2 * self.games + 1 or min(self.counts) < 0:
            raise ValueError(f"counts must be {2 * self.games + 1} numbers, got {self.counts}")

    def add(self, *scores: float) -> "SPRT":
        """With one more trial: A's score, 0, 0.5 or 1, in each of its games."""
        if len(scores) != self.games or any(score not in (0, 0.5, 1) for score in scores):
            raise ValueError(f"a trial is {self.games} scores of 0, 0.5 or 1; got {scores}")
        at = int(2 * sum(scores))
        return replace(self, counts=tuple(n + (i == at) for i, n in enumerate(self.counts)))

    @property
    def bounds(self) -> tuple[float, float]:
        """The ratio at which H0 is found, and that for H1."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    @property
    def llr(self) -> float:
        """The logarithm of the likelihood of H1 over that of H0."""
        return log_ratio(self.counts, self.elo0, self.elo1)

    @property
    def verdict(self) -> str:
        """`H0`, `H1`, or "" while it is open."""
        ratio, (low, high) = self.llr, self.bounds
        return "H0" if ratio <= low else "H1" if ratio >= high else ""

    def __str__(self) -> str:
        low, high = self.bounds
        found = {"H0": f"not {self.elo1:+g} stronger", "H1": f"more than {self.elo0:+g} stronger"}
        verdict = found.get(self.verdict, "open")
        return f"LLR {self.llr:+.2f} ({low:.2f} to {high:.2f}): {verdict}"


def log_ratio(counts: Sequence[float], elo0: float, elo1: float) -> float:
    """The generalised log-likelihood ratio of `elo1` over `elo0`.

    `counts` are of trials by points, from none to all: 3 for single games (losses, draws, wins),
    5 for pairs.
    """
    total = float(sum(counts))
    if total == 0:
        return 0.0
    seen = np.asarray(counts, float) + UNSEEN
    points = np.linspace(0, 1, len(seen))
    shares = seen / seen.sum()
    low, high = (_tilted(shares, points, expected(elo)) for elo in (elo0, elo1))
    return total * float(shares @ np.log(low / high))


def expected(elo: float) -> float:
    """The score that a player stronger by `elo` is expected to have."""
    return 1 / (1 + 10 ** (-elo / 400))


def _tilted(shares: np.ndarray, points: np.ndarray, mean: float) -> np.ndarray:
    """1 + t (a - s): what `shares` are divided by to have mean s."""
    away = points - mean
    # Between these all shares stay positive, and the mean falls from above s to below it.
    least, most = -1 / away[-1], -1 / away[0]
    slack = 1e-12 * (most - least)

    def error(t: float) -> float:
        return float(shares @ (away / (1 + t * away)))

    t = brentq(error, least + slack, most - slack, xtol=1e-14)
    return 1 + t * away
