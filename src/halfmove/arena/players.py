"""Who plays. One line names one:

runs/go9                     the newest network of a run, with the run's own planner
hex7, hex7-net:muzero@64     a network of the package (`halfmove zoo`)
runs/go9:muzero@64           another planner, and its simulations
runs/go9:pgs@64 learning_rate=1e-3   options of the planner, which come before the run's own
runs/go9/checkpoints/00000400@64      one of its checkpoints
mcts@1000                    plain MCTS by random games
mcts@0.5s, runs/go9:muzero@2s         seconds a move instead of simulations, see arena/timed.py
random                       any legal move
person, human                whoever sits at the terminal
perfect                      never gives anything away; for games as small as tic-tac-toe
gtp:gnugo --level 10         an outside engine, see arena/engines/line.py
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from halfmove import games
from halfmove.arena.engines import Line, is_engine
from halfmove.arena.engines import read as read_engine
from halfmove.arena.timed import TimedSearch
from halfmove.core.game import Game
from halfmove.core.types import Model, Planner
from halfmove.search.planners import PLANNERS
from halfmove.selfplay.boards import Searcher
from halfmove.selfplay.match import mcts
from halfmove.train.durable import RunError
from halfmove.train.trained import config_of, trained
from halfmove.train.zoo import stage

PLAIN = "mcts"  # the searcher without a network
SIMULATIONS = 64  # where a line does not say
PERSONS = ("person", "human")
_LINE = re.compile(
    r"(?P<who>.*?)(?::(?P<planner>[a-z_]+))?(?:@(?P<budget>[\d.]+s?))?(?P<options>(\s+[a-z_]+=\S+)*)"
)


@dataclass(frozen=True, eq=False)
class Timed:
    """A search on a model, for so many seconds a move."""

    name: str
    search: TimedSearch


@dataclass(frozen=True)
class Random:
    """Any legal move."""

    name: str = "random"


@dataclass(frozen=True)
class Perfect:
    """A move that is best with best play, any of those; see arena/solver.py."""

    name: str = "perfect"


@dataclass(frozen=True)
class Person:
    """Whoever sits at the terminal; see arena/person.py."""

    name: str = "person"


@dataclass(frozen=True)
class Outside:
    """An engine in a process of its own, one for every game under way."""

    name: str
    line: Line


Player = Searcher | Timed | Random | Perfect | Person | Outside


def player(text: str, game: Game) -> Player:
    """The player of that line in that game; ValueError or RunError say what is wrong."""
    text = text.strip()
    if is_engine(text):
        line = read_engine(text)
        if line.game != game.name:
            raise ValueError(f"{text!r} plays {line.game}, not {game.name}")
        return Outside(text, line)
    if text in ("random", "perfect"):
        return Random() if text == "random" else Perfect()
    if text in PERSONS:
        return Person(text)
    mind, budget = mind_of(text, game), budget_of(text) or SIMULATIONS
    if isinstance(budget, int):
        return Searcher(text, mind.planner_for(budget), mind.model, mind.variables)
    try:
        search = TimedSearch(mind.planner_for, mind.model, mind.variables, seconds=budget)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{text!r}: {error}; give it simulations, such as @64") from None
    return Timed(text, search)


@dataclass(frozen=True)
class Mind:
    """Who thinks about one game: a model, its variables, and a planner of any budget."""

    game: Game
    model: Model
    variables: Any
    planner_for: Callable[[int], Planner]  # simulations -> a search


def mind_of(text: str, game: Game) -> Mind:
    """Who thinks behind that line: a network, or plain MCTS; ValueError or RunError if nobody."""
    found = _parted(text)
    planner, options = found["planner"], tuple(found["options"].split())
    if found["who"] == PLAIN:
        if planner or options:
            raise ValueError(f"{text!r}: plain MCTS has nothing but its budget, such as mcts@100")
        return Mind(game, mcts(game, 1)[1], None, partial(_plain, game))
    run, number = _stage(found["who"])
    net = trained(run, number, game=game)
    planner_for = partial(net.planner, name=planner, options=options)
    return Mind(game, net.model, net.variables, planner_for)


def _plain(game: Game, simulations: int) -> Planner:
    return mcts(game, simulations)[0]


def budget_of(text: str) -> int | float | None:
    """The simulations (a whole number) or the seconds of a move that a line names, if any."""
    said = _parted(text)["budget"]
    return None if said is None else _budget(text, said)


def game_of(texts: Sequence[str]) -> Game:
    """The game of the first player that learned one, with the options it learned it with.

    Else that of an engine of chess or shogi, which have no size to choose.
    """
    engines = [text for text in texts if is_engine(text)]
    for text in texts:
        who = None if text in engines else _parted(text)["who"]
        if who not in (None, "random", "perfect", PLAIN, *PERSONS):
            return games.read(config_of(_stage(who)[0]).game)
    for text in engines:
        if (played := read_engine(text).game) in ("chess", "shogi"):
            return games.make(played)
    raise ValueError('none of these players has a game of its own: give one, --game "go size=9"')


def _parted(text: str) -> re.Match[str]:
    """A line's parts: `who`, and where they are named `planner`, `budget` and `options`."""
    found = _LINE.fullmatch(text)
    if not found or not found["who"]:
        raise ValueError(f"{text!r} is no player: a run's folder, mcts@100, random, gtp:PROGRAM, …")
    if found["planner"] and found["planner"] not in PLANNERS:
        raise ValueError(
            f"{text!r}: unknown planner {found['planner']!r}; there are {', '.join(PLANNERS)}"
        )
    return found


def _budget(text: str, budget: str) -> int | float:
    if budget.endswith("s"):
        try:
            seconds = float(budget[:-1])
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < math.inf:
            raise ValueError(f"{text!r}: seconds must be above 0, such as @0.5s")
        return seconds
    if not (budget.isdigit() and int(budget)):
        raise ValueError(
            f"{text!r}: simulations must be a whole number of at least 1, such as @64; seconds "
            "are written with an s, such as @0.5s"
        )
    return int(budget)


def _stage(who: str) -> tuple[Path, int | None]:
    try:
        return stage(who)
    except RunError as error:
        raise RunError(f"{who!r} is no player (mcts@100, random, …), and {error}") from None
