"""Who plays. One line names one:

runs/go9                     the newest network of a run, with the run's own planner
runs/go9:muzero@64           another planner, and its simulations
runs/go9/checkpoints/00000400@64      one of its checkpoints
mcts@1000                    plain MCTS by random games
random                       any legal move
perfect                      never gives anything away; for games as small as tic-tac-toe
gtp:gnugo --level 10         an outside engine, see arena/engines/line.py
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halfmove import games
from halfmove.arena.engines import Line, is_engine
from halfmove.arena.engines import read as read_engine
from halfmove.core.game import Game
from halfmove.core.types import Model, Planner
from halfmove.search.planners import PLANNERS
from halfmove.selfplay.match import mcts
from halfmove.train.command import read
from halfmove.train.durable import RunError
from halfmove.train.folder import configuration
from halfmove.train.trained import trained

SIMULATIONS = 64  # where a line does not say
_BUDGET = re.compile(r"(?P<who>.*?)(?::(?P<planner>[a-z_]+))?(?:@(?P<simulations>\d+))?")
_CHECKPOINT = re.compile(r"(?P<run>.*)/checkpoints/0*(?P<number>\d+)/?")


@dataclass(frozen=True, eq=False)
class Searcher:
    """A planner on a model: many games' moves are one call."""

    name: str
    planner: Planner
    model: Model
    variables: Any = None


@dataclass(frozen=True)
class Random:
    """Any legal move."""

    name: str = "random"


@dataclass(frozen=True)
class Perfect:
    """A move that is best with best play, any of those; see arena/solver.py."""

    name: str = "perfect"


@dataclass(frozen=True)
class Outside:
    """An engine in a process of its own, one for every game under way."""

    name: str
    line: Line


Player = Searcher | Random | Perfect | Outside


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
    who, name, simulations = _parted(text)
    if who == "mcts":
        return Searcher(text, *mcts(game, simulations))
    run, number = _checkpoint(who)
    net = trained(run, number, game=game)
    return Searcher(text, net.planner(simulations, name), net.model, net.variables)


def game_of(texts: Sequence[str]) -> Game:
    """The game of the first player that learned one, with the options it learned it with."""
    for text in texts:
        who = _parted(text)[0]
        if not is_engine(text) and who not in ("random", "perfect", "mcts"):
            return games.read(read(configuration(_checkpoint(who)[0])).game)
    raise ValueError('none of these players has a game of its own: give one, --game "go size=9"')


def _parted(text: str) -> tuple[str, str | None, int]:
    found = _BUDGET.fullmatch(text)
    if not found or not found["who"]:
        raise ValueError(f"{text!r} is no player: a run's folder, mcts@100, random, gtp:PROGRAM, …")
    if found["planner"] and found["planner"] not in PLANNERS:
        raise ValueError(
            f"{text!r}: unknown planner {found['planner']!r}; there are {', '.join(PLANNERS)}"
        )
    simulations = int(found["simulations"] or SIMULATIONS)
    if not simulations:
        raise ValueError(f"{text!r}: simulations must be at least 1")
    return found["who"], found["planner"], simulations


def _checkpoint(who: str) -> tuple[str, int | None]:
    found = _CHECKPOINT.fullmatch(who)
    run, number = (found["run"], int(found["number"])) if found else (who, None)
    if not Path(run).is_dir():
        raise RunError(f"{who!r} is no player: there is no such folder, and mcts@100, random, …")
    return run, number
