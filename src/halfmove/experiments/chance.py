"""A game of chance: search with a tree and without one, with the same number of model calls.

    halfmove train 2048 --folder runs/2048
    halfmove chance runs/2048 --calls 128

A tree of this package has one node behind a move: the outcome that chance gave when the move was
first tried. Every later simulation goes on from it, as if it were the only one, so the tree plans
for luck it will not have. A simulation without a tree draws every outcome anew. A tree's
simulation is one model call, one without a tree `horizon` of them: it has that many times fewer.
The Policy Gradient Search paper proposes such games in its conclusion.
"""

from dataclasses import dataclass

import jax
import numpy as np

from halfmove.core.types import Planner
from halfmove.search.planners import TREELESS
from halfmove.selfplay.alone import LIMIT, alone
from halfmove.train.trained import Trained, trained

# The same rule at the root for all, as in the paper, with Q from 0 to 1 of what a search found.
ROOT = ("c_puct=5.0", "normalise=tree")
ROWS = ("network", "mcts", "mcs", "pgs")


@dataclass(frozen=True)
class Test:
    """What every planner is put to."""

    calls: int = 128  # of the model, a move
    horizon: int = 4  # moves of a simulation without a tree
    leaves: int = 4  # simulations of these that run at once
    rate: float = 1e-3  # at which Policy Gradient Search learns
    games: int = 64
    limit: int = LIMIT  # moves of a game
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("calls", "horizon", "leaves", "games", "limit"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.calls % self.horizon:
            raise ValueError(
                f"calls must be a multiple of the horizon, {self.horizon}, got {self.calls}"
            )
        if self.calls // self.horizon <= self.leaves:
            # All first moves would be chosen before anything is known of them.
            raise ValueError(
                f"leaves must be fewer than the {self.calls // self.horizon} simulations of "
                f"{self.calls} calls, got {self.leaves}"
            )
        if self.games < 2:
            raise ValueError(f"games must be at least 2 for an interval, got {self.games}")


@dataclass(frozen=True)
class Scored:
    """What came of one planner."""

    name: str
    scores: np.ndarray  # [games] f32, what a game earned
    moves: np.ndarray  # [games] i32, its moves
    calls: float  # model calls a move, that of the root's position left out

    @property
    def interval(self) -> tuple[float, float]:
        """Of the mean, 95%: 1.96 standard errors on both sides."""
        spread = 1.96 * self.scores.std(ddof=1) / np.sqrt(len(self.scores))
        return float(self.scores.mean() - spread), float(self.scores.mean() + spread)


def planner_of(net: Trained, name: str, test: Test) -> Planner:
    """The planner of a row."""
    if name == "network":
        return net.planner(0, "prior")
    if name == "mcts":
        return net.planner(test.calls, "muzero", ROOT)
    short = ("truncate=fixed", f"horizon={test.horizon}", f"leaves={test.leaves}")
    # Points are many, and all of them good: only what is better than expected is a reason.
    learns = (f"learning_rate={test.rate}", "baseline=True") if name == "pgs" else ()
    return net.planner(test.calls // test.horizon, name, (*ROOT, *short, *learns))


def scored(net: Trained, name: str, test: Test) -> Scored:
    """All games of one planner, at once; the first positions are the same for all."""
    planner = planner_of(net, name, test)
    key = jax.random.key(test.seed)
    earned = jax.device_get(
        alone(net.game, planner, net.model, test.games, test.limit, net.variables, key)
    )
    calls = earned.depth if name in TREELESS else earned.simulations
    return Scored(name, earned.points, earned.moves, float(calls / max(earned.moves.sum(), 1)))


def main(run: str, test: Test) -> int:
    """Plays with every planner and prints a table; gives the exit status."""
    net = trained(run)
    if not net.game.chance or net.game.players != 1:
        raise ValueError(f"{run} plays {net.game.name}, which is no game of one player and chance")
    print(
        f"{run}, checkpoint {net.number}: {test.games} games of {net.game.name}, "
        f"{test.calls} model calls a move"
    )
    print(f"{'planner':8} {'score':>8}  {'95%':>16} {'moves':>7} {'calls a move':>13}")
    for name in ROWS:
        row = scored(net, name, test)
        low, high = row.interval
        print(
            f"{name:8} {row.scores.mean():8.0f}  {f'{low:.0f} to {high:.0f}':>16} "
            f"{row.moves.mean():7.0f} {row.calls:13.1f}",
            flush=True,
        )
    return 0
