"""Who may sit at a table: lines of players (arena/players.py) as visitors may write them.

hex7@64, hex7:muzero@16        a network of the package
NAME, NAME/checkpoints/00000040:muzero@2s   a run of the runs folder, by its name there
mcts@1000, mcts@0.5s           plain MCTS
random; perfect                any move; the best one, in tic-tac-toe
gtp:gnugo --level 10           an outside engine, but only if the server was started with it
"""

import re
from dataclasses import dataclass
from typing import Any

from halfmove.arena.engines import read
from halfmove.core.game import Game
from halfmove.search.planners import PLANNERS
from halfmove.train import zoo
from halfmove.train.durable import RunError
from halfmove.train.trained import config_of, saved
from halfmove.web.rules import game_of
from halfmove.web.settings import Settings
from halfmove.web.tables import PERSON
from halfmove.web.watch_runs import Runs, inside

SIMULATIONS = 1 << 14  # of a move at most
SECONDS = 60.0
PLAIN = "mcts"
LINE = re.compile(
    r"(?P<who>[^@:\s]+)(?::(?P<planner>[a-z_]+))?(?:@(?P<budget>[0-9.]{1,8}s?))?"
    r"(?P<options>(?: [a-z_]+=[\w.+-]+){0,12})"
)
CHECKPOINT = re.compile(r"(?P<run>.+)/checkpoints/0*(?P<number>\d{1,12})")


@dataclass(frozen=True)
class Wanted:
    """A line in its parts."""

    who: str  # mcts, a network of the package, or a run's path, with `number` its checkpoint
    number: int | None
    planner: str | None
    budget: int | float | None  # simulations or seconds; None: it does not say
    options: tuple[str, ...]

    @property
    def line(self) -> str:
        """As the arena reads it."""
        checkpoint = "" if self.number is None else f"/checkpoints/{self.number:08d}"
        planner = f":{self.planner}" if self.planner else ""
        seconds = "s" if isinstance(self.budget, float) else ""
        budget = "" if self.budget is None else f"@{self.budget:g}{seconds}"
        return " ".join([f"{self.who}{checkpoint}{planner}{budget}", *self.options])


def line_of(text: str, game: Game, settings: Settings) -> str:
    """The arena's line behind a visitor's; ValueError or RunError if nobody may sit there so.

    It names the newest checkpoint of a run that is still learning.
    """
    if text in settings.engines or text == "random":
        return text
    if text == "perfect":
        if game.name != "tic_tac_toe":
            raise ValueError("perfect plays only games as small as tic-tac-toe")
        return text
    found = wanted(text, settings)
    if found.who == PLAIN:
        if found.planner or found.options:
            raise ValueError(f"{text!r}: plain MCTS has nothing but its budget, such as mcts@100")
        return found.line
    learned = config_of(found.who).game
    if not _plays(learned, game):
        raise ValueError(f"{text!r} learned {learned}, and plays nothing else")
    return found.line


def wanted(text: str, settings: Settings) -> Wanted:
    """A line of a search in its parts, looked up and within bounds."""
    parts = LINE.fullmatch(text) if len(text) <= 300 else None
    if parts is None:
        raise ValueError(
            f"{text!r:.120} is no player here: a network or run with its budget, such as hex7@64; "
            "mcts@100; random; or an engine that the server was started with"
        )
    if parts["planner"] and parts["planner"] not in PLANNERS:
        raise ValueError(f"unknown planner {parts['planner']!r}; there are {', '.join(PLANNERS)}")
    for option in parts["options"].split():
        _check(option)
    budget = _budget(parts["budget"])
    options = tuple(parts["options"].split())
    who, number = parts["who"], None
    if who != PLAIN and who not in zoo.names():
        if at := CHECKPOINT.fullmatch(who):
            who, number = at["run"], int(at["number"])
        path = inside(settings.runs, who)
        _known(str(path))
        there = saved(path)
        if not there:
            raise RunError(f"{who} has no checkpoint yet: let it train longer")
        if number is None:
            number = max(there)
        if number not in there:
            raise RunError(f"{who} has no checkpoint {number}; there are {there[0]} to {there[-1]}")
        who = str(path)
    return Wanted(who, number, parts["planner"], budget, options)


def _known(run: str) -> Game:
    """The game of a run; ValueError if it is none of ours, of which nothing is imported."""
    return game_of(config_of(run).game)


def _check(option: str) -> None:
    name, _, value = option.partition("=")
    try:
        number = abs(float(value))
    except ValueError:
        return
    if not number <= SIMULATIONS:
        raise ValueError(f"{name} must be within {SIMULATIONS}, got {value}")


def _budget(text: str | None) -> int | float | None:
    if text is None:
        return None
    try:
        number = float(text.removesuffix("s"))
    except ValueError:
        number = 0.0
    if text.endswith("s"):
        if not 0.01 <= number <= SECONDS:
            raise ValueError(f"seconds must be 0.01 to {SECONDS:g}, got {text}")
        return number
    if not (number.is_integer() and 1 <= number <= SIMULATIONS):
        raise ValueError(f"simulations must be a whole number, 1 to {SIMULATIONS}; got {text}")
    return int(number)


def seats(given: Any, game: Game, settings: Settings) -> tuple[str, ...]:
    """The seats of a request; ValueError or RunError say who cannot sit there."""
    lines = given if isinstance(given, list) else []
    if len(lines) != game.players or not all(isinstance(x, str) for x in lines):
        such = [PERSON, "mcts@100"][: game.players]
        raise ValueError(f"seats must be {game.players} lines, such as {such}")
    found = tuple(text.strip() for text in lines)
    for text in found:
        if text != PERSON:
            line_of(text, game, settings)
    return found


def offered(game: Game, runs: Runs, settings: Settings) -> list[dict[str, Any]]:
    """Who can play a game: networks of the package, runs, plain MCTS, engines."""
    found: list[dict[str, Any]] = []
    for name in zoo.names():
        card = zoo.card(name)
        if _plays(card.game, game):
            found.append({"who": name, "kind": "network", "game": card.game,
                          "planner": card.planner, "about": card.rating})  # fmt: skip
    for run in runs.list():
        if run["checkpoints"] and LINE.fullmatch(run["name"]) and _plays(run["game"], game):
            numbers = saved(settings.runs / run["name"])
            found.append({"who": run["name"], "kind": "run", "game": run["game"],
                          "planner": run["planner"], "checkpoints": numbers})  # fmt: skip
    found.append({"who": PLAIN, "kind": "search"})
    found.append({"who": "random", "kind": "simple"})
    if game.name == "tic_tac_toe":
        found.append({"who": "perfect", "kind": "simple"})
    engines = [line for line in settings.engines if read(line).game == game.name]
    return found + [{"who": line, "kind": "engine"} for line in engines]


def _plays(learned: str, game: Game) -> bool:
    """Whether a network that learned one game can play another: the same board and moves."""
    try:
        other = game_of(learned)
    except ValueError:
        return False
    same = type(other) is type(game) and other.actions == game.actions
    return same and other.observation_shape == game.observation_shape
