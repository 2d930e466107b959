"""Who thinks behind a protocol: any searcher of the arena, by the same line (arena/players.py).

source, game = minds.named("runs/go9", None, Go)            # the newest network of a run
source, game = minds.named("hex7:pgs@400", None, Go, Hex)   # another planner, and its budget
"""

from collections.abc import Callable

from halfmove import games
from halfmove.arena.players import PLAIN, Mind, game_of, mind_of
from halfmove.core.game import Game
from halfmove.search import RolloutSearch, TreeSearch

# The player of a game, with these options; ValueError says why it cannot play that.
Source = Callable[[Game], Mind]


def of_player(line: str) -> Source:
    """The searcher of a line, without noise."""

    def mind(game: Game) -> Mind:
        if game.players != 2:
            raise ValueError(f"{game.name} is not a game for two")
        return mind_of(line, game)

    return mind


def named(player: str, game: str | None, *kinds: type[Game]) -> tuple[Source, Game]:
    """The player of a line and the game, which must be one of `kinds`.

    `game` is a line such as "go size=13"; a network knows its own.
    """
    if game:
        chosen = games.read(game)
    elif player.partition("@")[0] == PLAIN:
        chosen = games.make(kinds[0].name)
    else:
        chosen = game_of([player])
    if not isinstance(chosen, kinds):
        names = " or ".join(kind.name for kind in kinds)
        raise ValueError(f"this protocol is for {names}, not for {chosen.name}")
    return of_player(player), chosen


def search_of(mind: Mind, simulations: int) -> TreeSearch | RolloutSearch:
    """Its planner with that budget; ValueError if it cannot be stopped half-way."""
    search = mind.planner_for(simulations)
    if not isinstance(search, (TreeSearch, RolloutSearch)):
        raise ValueError(
            f"only a search of this package can be stopped at any moment, got {search!r}"
        )
    return search
