"""How strong the networks of some runs were along the way, against one fixed player.

    halfmove curves runs/gumbel-* runs/muzero-* --against mcts@100 --plot claim.png
    halfmove curves runs/go9 --against "gtp:gnugo --level 10" --by minutes --plot gnugo.png

Every checkpoint plays a match with that player: random openings, each from both sides. Runs that
differ only in their seed get one colour. What was played is kept as JSON lines, so that a
command given again plays only what is missing.
"""

import dataclasses
import json
import math
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure

from halfmove.arena import tournament
from halfmove.arena.openings import openings
from halfmove.arena.players import Player, player
from halfmove.core.game import Game
from halfmove.games import records
from halfmove.selfplay.boards import Searcher
from halfmove.selfplay.match import match, score
from halfmove.selfplay.rating import SIGMAS, distinct
from halfmove.train.config import TrainConfig
from halfmove.train.trained import config_of, saved, trained
from halfmove.train.zoo import minutes, place

Point = dict[str, Any]  # one match: run, checkpoint, positions, the settings, score, interval


@dataclasses.dataclass(frozen=True)
class Test:
    """What every network is put to."""

    against: str = "mcts@100"  # a player, as `halfmove arena` reads it
    simulations: int = 32  # of the network's search
    games: int = 64
    opening: int = 2  # random moves at the start
    seed: int = 0


def main(
    runs: Sequence[str],
    test: Test,
    *,
    points: str,
    plot: str | None = None,
    every: int = 1,
    by: str = "positions",
) -> int:
    """Plays what is missing in the file `points`, prints a table, draws; gives the exit status.

    The picture has the scores by `positions` or `minutes`.
    """
    known = {_which(point): point for point in _read(Path(points))}
    configs = {run: config_of(run) for run in runs}
    names = labels(configs)
    shown = []
    print(f"{'run':32} {'positions':>10} {'minutes':>7} {'score':>6}  {'95%':>11}")
    for run in runs:
        for number in saved(run)[::-every][::-1]:
            asked = {"run": Path(run).name, "checkpoint": number, **dataclasses.asdict(test)}
            point = known.get(_which(asked))
            if point is None:
                point = asked | measure(run, number, test)
                with open(points, "a", encoding="utf-8") as file:
                    file.write(json.dumps(point) + "\n")
            shown.append(point | {"label": names[run], "seed of run": configs[run].seed})
            interval = f"{point['low']:.0%} to {point['high']:.0%}"
            row = f"{point['run']:32} {point['positions']:>10,} {point['minutes']:>7.1f}"
            print(f"{row} {point['score']:>6.0%}  {interval:>11}", flush=True)
    if plot is not None:
        title = f"{configs[runs[0]].game}: score of {test.simulations} simulations against "
        draw(shown, f"{title}{test.against}", by).savefig(plot, dpi=120)
    return 0


def measure(run: str, number: int, test: Test) -> Point:
    """One network's match: its score from 0 to 1, with the ends of the 95% interval."""
    net = trained(run, number)
    one = Searcher("network", net.planner(test.simulations), net.model, net.variables)
    other = player(test.against, net.game)
    # Every network meets its own openings, the same ones if it is measured again.
    which = zlib.crc32(f"{Path(run).name} {number}".encode())
    if isinstance(other, Searcher):
        key = jax.random.fold_in(jax.random.key(test.seed), which)
        played = match(key, net.game, one, other, games=test.games, opening=test.opening)
    else:
        played = _tournament(net.game, (one, other), test, which)
    played = distinct(played)
    found = score(played, one.name)
    low, high = wilson(found, len(played))
    spent = minutes(place(run), number)
    return {"positions": net.positions, "minutes": spent, "score": found, "low": low, "high": high}


def _tournament(
    game: Game, seats: tuple[Player, Player], test: Test, which: int
) -> list[records.Record]:
    """A match with whoever does not search on the device."""
    seed = test.seed + which
    lines = openings(f"random:{test.opening}", game, count=test.games // 2, seed=seed)
    names = (seats[0].name, seats[1].name)
    plan = tournament.Plan(records.text_of(game), names, test.games, tuple(lines), seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        return tournament.play(plan, game, seats, Path(folder))


def wilson(share: float, games: int) -> tuple[float, float]:
    """Wilson's 95% interval of a score; draws make the true one narrower.

    It holds the score itself even where every game was won, which an interval by way of a rating
    with a prior does not.
    """
    weight = SIGMAS**2 / games
    centre = share + weight / 2
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4)
    ends = ((centre - half) / (1 + weight), (centre + half) / (1 + weight))
    return max(0.0, min(ends[0], share)), min(1.0, max(ends[1], share))


def labels(configs: dict[str, TrainConfig]) -> dict[str, str]:
    """For every run what sets it apart from the others, its seed aside."""
    flat = {run: dict(_fields(dataclasses.asdict(config))) for run, config in configs.items()}
    names = sorted({name for fields in flat.values() for name in fields} - {"seed"})
    differ = [n for n in names if len({str(fields.get(n)) for fields in flat.values()}) > 1]
    return {
        run: ", ".join(f"{n.split('.')[-1]} {_plain(fields.get(n))}" for n in differ) or "all runs"
        for run, fields in flat.items()
    }


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value)


def _fields(tree: dict[str, Any], path: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{path}{name}.")
        else:
            yield path + name, value


def draw(points: list[Point], title: str, by: str = "positions") -> Figure:
    """Score by positions or minutes: a thin line for each run, a thick one for a label's mean.

    Minutes differ from run to run, so there is no mean over several.
    """
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    panel = figure.subplots()
    for i, label in enumerate(dict.fromkeys(point["label"] for point in points)):
        mine = [point for point in points if point["label"] == label]
        runs = list(dict.fromkeys(point["run"] for point in mine))
        for run in runs:
            line = [(p[by], p["score"]) for p in mine if p["run"] == run]
            panel.plot(*zip(*line, strict=True), color=f"C{i}", lw=0.8, alpha=0.6)
        places = sorted({point[by] for point in mine})
        each = [[p["score"] for p in mine if p[by] == x] for x in places]
        whole = [(x, np.mean(s)) for x, s in zip(places, each, strict=True) if len(s) == len(runs)]
        if whole:
            name = f"{label} ({len(runs)} seeds)" if len(runs) > 1 else label
            panel.plot(*zip(*whole, strict=True), color=f"C{i}", lw=2.4, marker="o", label=name)
    shown = {"positions": "positions played", "minutes": "minutes of self-play and updates"}
    panel.set(title=title, xlabel=shown[by], ylabel="score", ylim=(-0.03, 1.03))
    panel.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _read(path: Path) -> list[Point]:
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    wanted = {"run", "checkpoint", "minutes", *(field.name for field in dataclasses.fields(Test))}
    return [point for point in found if wanted <= point.keys()]  # others are of an older form


def _which(point: Point) -> tuple[Any, ...]:
    return tuple(
        point[name] for name in ("run", "checkpoint", *(f.name for f in dataclasses.fields(Test)))
    )
