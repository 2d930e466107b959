"""The learning rate that Policy Gradient Search wants with one network, found by matches.

    halfmove tune pgs runs/hex7 --simulations 128 --games 2000

Every rate plays against Monte Carlo Search (the same with a rate of 0) with the same network,
budget and options. Rates are dropped by Sequential Halving: each round shares its games among
those that are left, and keeps the better half by all they have played. The best is written into
the checkpoint, where every player who names no other rate finds it. The Policy Gradient Search
paper tunes by 2,000 games for each network, section 5.2.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax

from halfmove.core.types import Planner
from halfmove.games.records import Record
from halfmove.search import RolloutSearch
from halfmove.selfplay.boards import Searcher
from halfmove.selfplay.match import match, score
from halfmove.selfplay.rating import rate, results_of
from halfmove.train import checkpoint
from halfmove.train.trained import Trained, trained
from halfmove.train.zoo import place

# From those of the paper's networks to those that small ones wanted here.
RATES = {
    "pgs": (2e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1),
    "pgs_unfrozen": (1e-6, 5e-6, 2e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
}
OPENING = 2  # random moves that every pair of games begins with
BASE = "mcs"


@dataclass(frozen=True)
class Tried:
    """What came of one rate."""

    rate: float
    games: int
    score: float  # against Monte Carlo Search
    elo: float
    low: float  # of the 95% interval of the Elo
    high: float


def tune(
    net: Trained,
    planner: str = "pgs",
    *,
    simulations: int = 64,
    games: int = 2000,
    rates: Sequence[float] = (),
    options: tuple[str, ...] = (),
    seed: int = 0,
    told: Callable[[Tried], None] = lambda tried: None,
) -> list[Tried]:
    """Every rate (`RATES`) with what it scored, the best first; about `games` games in all.

    `options` (name=value) are for both sides, such as leaves=4: a batch of simulations is one step
    of learning, so few simulations want small ones.
    """
    rates = rates or RATES[planner]
    if len(set(rates)) != len(rates) or len(rates) < 2 or min(rates) <= 0:
        raise ValueError(f"rates must be two or more different numbers above 0, got {rates}")
    rounds = math.ceil(math.log2(len(rates)))
    if games < 2 * rounds * len(rates):
        raise ValueError(
            f"games must be at least {2 * rounds * len(rates)} to try {len(rates)} rates, "
            f"got {games}"
        )
    base = Searcher(
        BASE, _without(net.planner(simulations, planner, options)), net.model, net.variables
    )
    played: dict[float, list[Record]] = {rate: [] for rate in rates}
    left, found = list(rates), {}
    for number in range(rounds):
        each = games // rounds // len(left) // 2 * 2
        for i, value in enumerate(left):
            own = (*options, f"learning_rate={value}")
            search = net.planner(simulations, planner, own)
            mine = Searcher(str(value), search, net.model, net.variables)
            key = jax.random.fold_in(jax.random.key(seed), number * len(rates) + i)
            played[value] += match(key, net.game, mine, base, games=each, opening=OPENING)
            found[value] = _tried(value, played[value])
            told(found[value])
        left = sorted(left, key=lambda x: -found[x].score)[: math.ceil(len(left) / 2)]
    # The last to be dropped come first: a high score in few games is worth less.
    return sorted(found.values(), key=lambda x: (-x.games, -x.score))


def _without(search: Planner) -> Planner:
    """The same that learns nothing, with the options of its run, such as leaves, too."""
    assert isinstance(search, RolloutSearch)
    return replace(search, adapt=None)


def _tried(value: float, played: list[Record]) -> Tried:
    ratings = rate(results_of(played), anchors={BASE: 0.0})
    elo = float(ratings.elo[ratings.names.index(str(value))])
    return Tried(value, len(played), score(played, str(value)), elo, *ratings.interval(str(value)))


def main(
    planner: str,
    run: str,
    *,
    number: int | None,
    simulations: int,
    games: int,
    rates: Sequence[float],
    options: tuple[str, ...],
    seed: int,
) -> int:
    """Tunes, prints a table, writes the best rate into the checkpoint; gives the exit status."""
    net = trained(run, number)

    def told(tried: Tried) -> None:
        print(f"  {tried.rate:<8g} {tried.games:6} games  {tried.score:6.1%}", flush=True)

    print(f"{run}, checkpoint {net.number}: {planner} against mcs, {simulations} simulations each")
    found = tune(
        net, planner, simulations=simulations, games=games, rates=rates, options=options,
        seed=seed, told=told,
    )  # fmt: skip
    print(f"{'rate':>8} {'games':>7} {'score':>7} {'Elo':>6}  95%")
    for tried in sorted(found, key=lambda x: x.rate):
        interval = f"{tried.low:+.0f} to {tried.high:+.0f}"
        print(f"{tried.rate:8g} {tried.games:7} {tried.score:7.1%} {tried.elo:+6.0f}  {interval}")
    best = found[0]
    tuned = {name: list(options) for name, options in net.tuned.items()}
    tuned[planner] = [f"learning_rate={best.rate:g}"]
    checkpoint.annotate(place(run) / "checkpoints", net.number, {"tuned": tuned})
    print(f"{planner} with this checkpoint now learns with {best.rate:g}")
    return 0
