"""Who thinks behind a protocol: a model, what it is computed with, and a planner of any budget.

mind = minds.of_mcts()(games.make("go", size=9))  # no network: random playouts
mind = minds.of_run("runs/go9")(game)             # the newest network of a run
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halfmove import games
from halfmove.arena.players import game_of
from halfmove.core.game import Game
from halfmove.core.types import Model
from halfmove.search import RolloutSearch, TreeSearch
from halfmove.selfplay.match import mcts
from halfmove.train.trained import trained

PLAIN = "mcts"  # the player without a network


@dataclass(frozen=True)
class Mind:
    """One player of one game."""

    game: Game
    model: Model
    variables: Any
    planner_for: Callable[[int], Any]  # simulations -> a search


# The player of a game, with these options; ValueError says why it cannot play that.
Source = Callable[[Game], Mind]


def of_mcts(*, playouts: int = 1) -> Source:
    """Plain tree search by random playouts, which plays any game of two."""

    def mind(game: Game) -> Mind:
        if game.players != 2:
            raise ValueError(f"{game.name} is not a game for two")

        def planner_for(simulations: int) -> Any:
            return mcts(game, simulations, playouts=playouts)[0]

        return Mind(game, mcts(game, 1, playouts=playouts)[1], None, planner_for)

    return mind


def of_run(folder: str | Path) -> Source:
    """The newest network of a run, with the run's own planner, its noise left out."""

    def mind(game: Game) -> Mind:
        net = trained(folder, game=game)
        return Mind(game, net.model, net.variables, net.planner)

    return mind


def named(player: str, game: str | None, *kinds: type[Game]) -> tuple[Source, Game]:
    """The player of a name (`mcts`, or a run's folder) and the game, which must be one of `kinds`.

    `game` is a line such as "go size=13"; a run knows its own.
    """
    if player == PLAIN:
        chosen = games.read(game) if game else games.make(kinds[0].name)
        source = of_mcts()
    else:
        chosen = games.read(game) if game else game_of([player])
        source = of_run(player)
    if not isinstance(chosen, kinds):
        names = " or ".join(kind.name for kind in kinds)
        raise ValueError(f"this protocol is for {names}, not for {chosen.name}")
    return source, chosen


def search_of(mind: Mind, simulations: int) -> TreeSearch | RolloutSearch:
    """Its planner with that budget; ValueError if it cannot be stopped half-way."""
    search = mind.planner_for(simulations)
    if not isinstance(search, (TreeSearch, RolloutSearch)):
        raise ValueError(
            f"only a search of this package can be stopped at any moment, got {search!r}"
        )
    return search
