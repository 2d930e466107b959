"""Ratings from results, with intervals: the model of BayesElo.

A player's strength is a number; x is that of the first player less that of the second, plus the
advantage of moving first. With L(x) = 1 / (1 + 10^(-x / 400)) and a draw width d the first player

    wins with L(x - d), loses with L(-x - d), and draws else,

Rao and Kupper's model of ties. The prior is what BayesElo has: every player has also drawn
`prior` games, with those it met, in proportion to the games between them, half of them from
each side. It keeps players who won or lost everything finite. The advantage and the draw width
are normal around 0 before any game, with a standard deviation of 1000 Elo. A prior of 0 leaves
out all of this. The ratings are at the greatest
posterior density, and their covariance is the inverse of minus its second derivative there;
that of the advantage and the draw width, where they are estimated, is in it too.

R. Coulom, Bayesian Elo Rating, https://www.remi-coulom.fr/Bayesian-Elo/; P. V. Rao and
L. L. Kupper, Ties in paired-comparison experiments, JASA 62 (1967). The library choix is not
used: its `ep_pairwise` gives a mean and a covariance, but knows neither draws nor the advantage
of the first move, and its prior is a normal distribution around 0.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr

from halfmove.games.records import Record

ELO = 400 / math.log(10)  # Elo of one unit of the logistic function
SIGMAS = 1.959963984540054  # half the width of a 95% interval, in standard deviations
# Of the advantage and the draw width before any game: so wide that a hundred games outweigh it,
# but where somebody only won and drew, strength and draw width would rise together without end.
SPREAD = 1000 / ELO
STEPS = 200  # of Newton's method at most; it needs about ten


@dataclass(frozen=True)
class Result:
    """Games of two players, counted for the one who had the first side."""

    first: str
    second: str
    wins: float
    draws: float
    losses: float


@dataclass(frozen=True)
class Ratings:
    """How strong N players are, the strongest first."""

    names: tuple[str, ...]
    elo: np.ndarray  # [N] f64
    covariance: np.ndarray  # [N, N] f64
    games: np.ndarray  # [N] f64
    score: np.ndarray  # [N] f64, the share of points
    draws: np.ndarray  # [N] f64, the share of games
    advantage: float  # of the first side, in Elo
    draw: float  # the draw width, in Elo; 0: there are no draws
    groups: tuple[tuple[str, ...], ...]  # players who met, directly or by others

    def interval(self, name: str) -> tuple[float, float]:
        """The 95% interval of a player's rating."""
        i = self.names.index(name)
        half = SIGMAS * math.sqrt(self.covariance[i, i])
        return float(self.elo[i] - half), float(self.elo[i] + half)

    def superiority(self, one: str, other: str) -> float:
        """How likely `one` is stronger than `other`."""
        i, j = self.names.index(one), self.names.index(other)
        if i == j:
            return 0.5
        spread = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        lead = self.elo[i] - self.elo[j]
        if spread <= 0:  # both are anchors
            return 0.5 + 0.5 * float(np.sign(lead))
        return float(ndtr(lead / math.sqrt(spread)))


def results_of(records: Iterable[Record]) -> list[Result]:
    """The results of games between two. Unfinished games and those with oneself are left out.

    Player 0 of a game is counted as the first side, whoever moved first after an opening.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for record in records:
        if record.result is None or len(record.players) != 2:
            continue
        first, second = record.players
        if first != second:
            lead = np.sign(record.result[0] - record.result[1])
            counts.setdefault((first, second), [0, 0, 0])[1 - int(lead)] += 1
    return [Result(*players, *found) for players, found in counts.items()]


def distinct(played: Sequence[Record]) -> list[Record]:
    """Without games that went as another of the same players did, from the same sides."""
    return list({(record.players, record.moves): record for record in reversed(played)}.values())


def rate(
    results: Iterable[Result],
    *,
    prior: float = 2.0,
    advantage: float | None = None,
    draw: float | None = None,
    anchors: Mapping[str, float] | None = None,
) -> Ratings:
    """The ratings of all who played.

    `advantage` and `draw`, in Elo, are estimated unless given (BayesElo's own are 32.8 and 97.3,
    from chess); where no game was drawn the draw width is 0. `anchors` are ratings that are
    known; the others, and all intervals, are then relative to them. Without any the mean of all
    is 0. Groups that never met are joined by the prior alone: each has drawn `prior` games with
    the others. Where players never change sides nothing but the prior tells their strength from
    the advantage: then give it.
    """
    found = list(results)
    _check(found, prior, draw, anchors or {})
    table = _table(found, prior)
    apart = [group for group in table.groups if group.isdisjoint(anchors or {})]
    if prior == 0 and len(table.groups) > 1 and apart:
        who = ", ".join(sorted(apart[0]))
        raise ValueError(f"nothing compares {who} with the others; give a prior of more than 0")
    solved = _solve(table, advantage, draw, anchors or {})
    order = np.argsort(-solved.elo, kind="stable")
    names = [table.names[i] for i in order]
    return Ratings(
        names=tuple(names),
        elo=solved.elo[order],
        covariance=solved.covariance[np.ix_(order, order)],
        games=table.games[order],
        score=table.points[order] / table.games[order],
        draws=table.drawn[order] / table.games[order],
        advantage=solved.advantage,
        draw=solved.draw,
        groups=tuple(tuple(n for n in names if n in group) for group in table.groups),
    )


def _check(
    results: Sequence[Result], prior: float, draw: float | None, anchors: Mapping[str, float]
) -> None:
    if not results:
        raise ValueError("there are no results to rate")
    for result in results:
        counts = (result.wins, result.draws, result.losses)
        if not (all(math.isfinite(n) and n >= 0 for n in counts) and sum(counts) > 0):
            raise ValueError(f"counts must be at least 0, and some games: {result}")
        if result.first == result.second:
            raise ValueError(f"{result.first!r} has played itself, which tells nothing")
    if not (math.isfinite(prior) and prior >= 0):
        raise ValueError(f"prior must be a number of games, at least 0; got {prior}")
    drawn = any(result.draws for result in results)
    if draw is not None and not (math.isfinite(draw) and draw >= 0 and (draw > 0 or not drawn)):
        raise ValueError(f"draw must be more than 0 where games were drawn; got {draw}")
    known = {name for result in results for name in (result.first, result.second)}
    for name, elo in anchors.items():
        if name not in known:
            raise ValueError(f"the anchor {name!r} did not play; {', '.join(sorted(known))} did")
        if not math.isfinite(elo):
            raise ValueError(f"the anchor {name!r} needs a finite rating, got {elo}")


# -- the games, and those of the prior ------------------------------------------


@dataclass(frozen=True)
class _Table:
    names: tuple[str, ...]
    design: np.ndarray  # [R, N + 1]: 1 and -1 for the two players of a row, 1 for the advantage
    counts: np.ndarray  # [R, 3]: won, drawn, lost by the first
    virtual: np.ndarray  # [R]: drawn before any game was played
    games: np.ndarray  # [N]
    points: np.ndarray  # [N]
    drawn: np.ndarray  # [N]
    groups: tuple[frozenset[str], ...]


def _table(results: Sequence[Result], prior: float) -> _Table:
    names = tuple(dict.fromkeys(n for r in results for n in (r.first, r.second)))
    index = {name: i for i, name in enumerate(names)}
    n = len(names)
    counts = np.zeros((n, n, 3))
    for r in results:
        counts[index[r.first], index[r.second]] += (r.wins, r.draws, r.losses)
    met = counts.sum(axis=2) + counts.sum(axis=2).T
    groups = _groups(met)
    each = met.sum(axis=1)
    virtual = prior / 4 * met * (1 / each[:, None] + 1 / each[None, :])
    if len(groups) > 1:
        for a in groups:
            for b in groups:
                if a is not b:
                    share = len(a) * len(b) * (len(groups) - 1)
                    virtual[np.ix_(a, b)] += prior / 2 / share
    rows = np.argwhere((met > 0) | (virtual > 0))
    design = np.zeros((len(rows), n + 1))
    design[np.arange(len(rows)), rows[:, 0]] = 1
    design[np.arange(len(rows)), rows[:, 1]] = -1
    design[:, n] = 1
    won, drawn, lost = counts.transpose(2, 0, 1)
    return _Table(
        names=names,
        design=design,
        counts=counts[rows[:, 0], rows[:, 1]],
        virtual=virtual[rows[:, 0], rows[:, 1]],
        games=each,
        points=won.sum(1) + lost.sum(0) + (drawn.sum(1) + drawn.sum(0)) / 2,
        drawn=drawn.sum(1) + drawn.sum(0),
        groups=tuple(frozenset(names[i] for i in group) for group in groups),
    )


def _groups(met: np.ndarray) -> list[list[int]]:
    """The players [N, N] who are joined by games."""
    left, groups = set(range(len(met))), []
    while left:
        group = [min(left)]
        left -= set(group)
        for i in group:  # grows as it is walked
            near = left & set(np.flatnonzero(met[i]).tolist())
            left -= near
            group += sorted(near)
        groups.append(group)
    return groups


# -- the posterior, and where it is greatest --------------------------------------


@dataclass(frozen=True)
class _Solved:
    elo: np.ndarray
    covariance: np.ndarray
    advantage: float
    draw: float


def _solve(
    table: _Table, advantage: float | None, draw: float | None, anchors: Mapping[str, float]
) -> _Solved:
    n = len(table.names)
    at = np.zeros(n + 2)  # strengths, advantage, draw width, in units of the logistic function
    free = np.ones(n + 2, bool)
    for name, elo in anchors.items():
        at[table.names.index(name)] = elo / ELO
        free[table.names.index(name)] = False
    at[:n][free[:n]] = np.mean(at[:n][~free[:n]]) if anchors else 0.0
    at[n], free[n] = (advantage or 0.0) / ELO, advantage is None
    drawn = table.counts[:, 1].sum() > 0
    at[n + 1] = 0.5 if draw is None and drawn else (draw or 0.0) / ELO
    free[n + 1] = draw is None and drawn

    at = _climb(table, at, free, centre=not anchors)
    _, _, hessian = _density(table, at)
    inverse = np.zeros((n + 2, n + 2))
    inner = -hessian + (0 if anchors else _same(n))
    inverse[np.ix_(free, free)] = np.linalg.inv(inner[np.ix_(free, free)])
    if not anchors:
        inverse -= _same(n) / n**2  # what `_same` added: a shift of all
    return _Solved(
        elo=at[:n] * ELO,
        covariance=inverse[:n, :n] * ELO**2,
        advantage=float(at[n] * ELO),
        draw=float(at[n + 1] * ELO),
    )


def _same(n: int) -> np.ndarray:
    """[n + 2, n + 2]: stiff against adding the same to all strengths, which no game does."""
    ones = np.append(np.ones(n), (0.0, 0.0))
    return np.outer(ones, ones)


def _climb(table: _Table, at: np.ndarray, free: np.ndarray, centre: bool) -> np.ndarray:
    """The maximum of the posterior, which is concave: Newton's method, never downhill."""
    n = len(table.names)
    value, slope, hessian = _density(table, at)
    for _ in range(STEPS):
        inner = -hessian + (_same(n) if centre else 0)
        step = np.zeros_like(at)
        try:
            step[free] = np.linalg.solve(inner[np.ix_(free, free)], slope[free])
        except np.linalg.LinAlgError:
            break
        size = 1.0
        while size > 1e-12:
            there = at + size * step
            new = _density(table, there)
            if new[0] >= value:
                break
            size /= 2
        else:
            return at  # no step is better: as near as numbers come
        done = float(np.max(np.abs(size * step), initial=0.0)) < 1e-10
        at, (value, slope, hessian) = there, new
        if done:
            return at
        if np.max(np.abs(at)) * ELO > 1e5:
            break
    raise ValueError(
        "these results have no finite ratings: somebody won or lost everything; give a prior of "
        "more than 0"
    )


def _density(table: _Table, at: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The logarithm of the posterior density, its slope [N + 2] and second derivative.

    A draw has (10^(d / 200) - 1) times the probability of a win times that of a loss, so all
    terms are those of wins and losses, and one of the draw width alone.
    """
    x, d = table.design @ at[:-1], at[-1]
    won, drawn, lost = table.counts.T
    won, lost = won + drawn + table.virtual, lost + drawn + table.virtual
    p, q = expit(d - x), expit(d + x)  # not to win, not to lose
    value = -float(won @ np.logaddexp(0, d - x) + lost @ np.logaddexp(0, d + x))
    first, second = won * p * (1 - p), lost * q * (1 - q)
    slope = np.append(table.design.T @ (won * p - lost * q), -(won @ p + lost @ q))
    hessian = np.empty((len(at), len(at)))
    hessian[:-1, :-1] = -(table.design.T * (first + second)) @ table.design
    hessian[:-1, -1] = hessian[-1, :-1] = table.design.T @ (first - second)
    hessian[-1, -1] = -(first.sum() + second.sum())
    ties = drawn.sum() + table.virtual.sum() if drawn.any() else 0.0
    if ties:
        if d <= 0:
            return -math.inf, slope, hessian
        rest = -math.expm1(-2 * d)
        value += float(ties * (2 * d + math.log(rest)))
        slope[-1] += ties * 2 / rest
        hessian[-1, -1] -= ties * 4 * math.exp(-2 * d) / rest**2
    if table.virtual.any():
        value -= float(at[-2:] @ at[-2:]) / (2 * SPREAD**2)
        slope[-2:] -= at[-2:] / SPREAD**2
        hessian[[-2, -1], [-2, -1]] -= 1 / SPREAD**2
    return value, slope, hessian


# -- for people ----------------------------------------------------------------


def table(ratings: Ratings) -> str:
    """The ratings as lines of text: rank, name, rating, 95% interval, games, score, draws, and
    how likely each is stronger than the next."""
    width = max(4, *(len(name) for name in ratings.names))
    head = f"{'name':<{width}}  {'rating':>6}  {'95% interval':>15}  {'games':>6}"
    lines = [f"rank  {head}  score  draws  stronger than the next"]
    for i, name in enumerate(ratings.names):
        low, high = ratings.interval(name)
        row = f"{i + 1:>4}  {name:<{width}}  {ratings.elo[i]:>+6.0f}  "
        row += f"{f'{low:+.0f} to {high:+.0f}':>15}  {ratings.games[i]:>6g}  "
        row += f"{ratings.score[i]:>5.0%}  {ratings.draws[i]:>5.0%}"
        if i + 1 < len(ratings.names):
            row += f"  {ratings.superiority(name, ratings.names[i + 1]):>22.1%}"
        lines.append(row)
    lines.append(
        f"The first side has an advantage of {ratings.advantage:+.0f}; "
        + (f"the draw width is {ratings.draw:.0f}." if ratings.draw else "no game was drawn.")
    )
    if len(ratings.groups) > 1:
        apart = " | ".join(", ".join(group) for group in ratings.groups)
        lines.append(f"These never met, so nothing but the prior compares them: {apart}")
    return "\n".join(lines)
