"""Whether a run learns the same with one worker and with many.

    python -m benchmarks.cluster_learning                          # 5x5 Hex, 1 and 4 workers
    python -m benchmarks.cluster_learning --workers 1 4 --seeds 0 1 2 --json out.json

The same preset, for the same number of positions, with each number of workers and each seed. Then
all networks that came out meet each other, every pair in both orders, and plain MCTS, and one
rating is made of all games. Runs differ by their chance alone far more than by the noise of the
games, so the interval of a mean over seeds is by the spread of the seeds (Student's t).
"""

import argparse
import itertools
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from scipy import stats

from halfmove.cluster.config import ClusterConfig
from halfmove.cluster.start import closed, train
from halfmove.selfplay.boards import Searcher
from halfmove.selfplay.match import match, mcts
from halfmove.selfplay.rating import Ratings, distinct, rate, results_of
from halfmove.train.config import TrainConfig
from halfmove.train.presets import preset
from halfmove.train.trained import trained

PLAIN = "mcts"


def learned(config: TrainConfig, workers: int, folder: Path) -> Path:
    """The folder of a run with so many workers, which is not rated meanwhile."""
    config = replace(config, rating=replace(config.rating, every=0))
    with open(os.devnull, "w") as nothing:
        return train(config, folder, ClusterConfig(workers=workers), console=Console(file=nothing))


def compared(paths: dict[str, Path], *, games: int, simulations: int) -> Ratings:
    """All against all, and against plain MCTS, which has rating 0."""
    nets = {name: trained(path) for name, path in paths.items()}
    game = next(iter(nets.values())).game
    players = [
        Searcher(name, net.planner(simulations), net.model, net.variables)
        for name, net in nets.items()
    ]
    players.append(Searcher(PLAIN, *mcts(game, 100)))
    played = []
    for i, (one, other) in enumerate(itertools.combinations(players, 2)):
        played += match(jax.random.key(i), game, one, other, games=games)
    return rate(results_of(distinct(played)), anchors={PLAIN: 0.0})


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Of the mean, 95%, by the spread of the values."""
    x = np.asarray(values)
    half = stats.t(len(x) - 1).ppf(0.975) * x.std(ddof=1) / np.sqrt(len(x))
    return float(x.mean() - half), float(x.mean() + half)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the ratings, and writes JSON where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--preset", default="hex5")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--games", type=int, default=128, help="of each pair")
    parser.add_argument("--simulations", type=int, default=16)
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    closed()
    import ray

    ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    found: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for seed, workers in itertools.product(options.seeds, options.workers):
            config = replace(preset(options.preset), seed=seed, iterations=options.iterations)
            name = f"{workers}w seed {seed}"
            began = time.perf_counter()
            paths[name] = learned(config, workers, Path(folder) / name.replace(" ", "-"))
            print(f"{name}: trained in {time.perf_counter() - began:.0f} s", flush=True)
        positions = config.iterations * config.selfplay.lanes * config.selfplay.chunk
        ratings = compared(paths, games=options.games, simulations=options.simulations)
    ray.shutdown()
    elo = dict(zip(ratings.names, map(float, ratings.elo), strict=True))
    for name in ratings.names:
        low, high = ratings.interval(name)
        print(f"{name:14}{elo[name]:8.0f}  [{low:.0f}, {high:.0f}]")
        found[name] = {"elo": elo[name], "low": low, "high": high}
    for workers in options.workers:
        mine = [elo[f"{workers}w seed {seed}"] for seed in options.seeds]
        found[f"mean {workers}w"] = {"elo": float(np.mean(mine)), "each": mine}
        if len(mine) > 1:
            low, high = interval(mine)
            print(f"mean of {workers} workers: {np.mean(mine):.0f} [{low:.0f}, {high:.0f}]")
            found[f"mean {workers}w"] |= {"low": low, "high": high}
    found |= {"positions": positions, "games of a pair": options.games}
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
