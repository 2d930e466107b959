"""The demonstration: a network learns Hex before the reader's eyes."""

import itertools
from pathlib import Path

from halfmove.train import metrics
from halfmove.train.loop import train
from halfmove.train.presets import preset


def main(folder: str = "out/demo") -> int:
    """Trains the preset `hex5` in a new folder below `folder` and says what came of it."""
    free = (Path(folder) / f"hex5-{i}" for i in itertools.count(1))
    run = next(path for path in free if not path.exists())
    config = preset("hex5")
    print(
        f"A network that knows only the rules of 5x5 Hex learns it by playing against itself:\n"
        f"{config.search.planner}, {config.search.simulations} simulations a move. Its rating is "
        "that of matches against its own past.\n"
    )
    train(config, run)
    rated = [line for line in metrics.read(run / "metrics.jsonl") if "rating/rating" in line]
    print(f"\npositions   rating   score against plain MCTS with {config.rating.mcts} simulations")
    for line in rated:
        print(
            f"{line['run/positions']:9,}  {line['rating/rating']:7.0f}  {line['score/mcts']:7.0%}"
        )
    print(f"\nThe run is in {run}, its plots in {run / 'plots'}.")
    print(f"Play against it: .venv/bin/halfmove play {run}")
    return 0
