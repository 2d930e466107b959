"""Human-normalised Atari scores, and the reference scores they are compared with.

Tables S1 (`start="noop"`: up to 30 random no-ops) and S2 (`start="human"`: positions of
human play) of the MuZero document: 57 games, scores of a random player, people and agents.
SimPLe's column is left out: it played 36 games, and the extracted text does not keep which.
"""

import csv
import difflib
import functools
import importlib.resources
import statistics
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Start = Literal["noop", "human"]
Row = Mapping[str, float]

STARTS: tuple[Start, ...] = ("noop", "human")
PRINTED = "muzero_percent"  # the document's own normalised score of MuZero, in percent


@functools.cache
def _rows(start: Start) -> Mapping[str, Row]:
    if start not in STARTS:
        raise ValueError(f"start is one of {', '.join(STARTS)}, not {start!r}")
    text = importlib.resources.files(__package__).joinpath(f"scores_{start}.csv").read_text()
    rows = {}
    for line in csv.DictReader(text.splitlines()):
        game = line.pop("game")
        rows[game] = MappingProxyType({k: float(v) for k, v in line.items() if v})
    return MappingProxyType(rows)


def games() -> tuple[str, ...]:
    """The 57 games of the benchmark, in the tables' order, by their ROM names."""
    return tuple(_rows("noop"))


def agents(start: Start = "noop") -> tuple[str, ...]:
    """The agents of a table: random, human, ... as its columns stand."""
    return tuple(name for name in _rows(start)["alien"] if name != PRINTED)


def reference(agent: str, start: Start = "noop") -> dict[str, float]:
    """The scores of an agent by game; only the games it played."""
    if agent not in agents(start):
        raise ValueError(f"no agent {agent!r} in that table; it has {', '.join(agents(start))}")
    return {game: row[agent] for game, row in _rows(start).items() if agent in row}


def printed_percent(game: str, start: Start = "noop") -> float:
    """What the document prints as MuZero's normalised score of a game, in percent."""
    return _row(game, start)[PRINTED]


def human_normalised(game: str, score: float, start: Start = "noop") -> float:
    """(score - random) / (human - random): 0 plays like chance, 1 like a person."""
    row = _row(game, start)
    return (score - row["random"]) / (row["human"] - row["random"])


def mean(scores: Mapping[str, float], start: Start = "noop") -> float:
    """The mean human-normalised score over the games in `scores` (game to raw score)."""
    return statistics.fmean(_normalised(scores, start))


def median(scores: Mapping[str, float], start: Start = "noop") -> float:
    """The median human-normalised score over the games in `scores` (game to raw score)."""
    return statistics.median(_normalised(scores, start))


def _normalised(scores: Mapping[str, float], start: Start) -> list[float]:
    if not scores:
        raise ValueError("no scores were given: a mapping of games to raw scores is needed")
    return [human_normalised(game, score, start) for game, score in scores.items()]


def _row(game: str, start: Start) -> Row:
    rows = _rows(start)
    name = game.removeprefix("atari:")
    if name not in rows:
        near = difflib.get_close_matches(name, rows, 3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"{game!r} is not one of the 57 games with human scores{hint}")
    return rows[name]
