"""Table 1 of the Gumbel paper: how much faster training is with fewer simulations a move.

    python -m benchmarks.speedup                 (go9-gpu; for a GPU)
    python -m benchmarks.speedup hex5 --rows full_gumbel:32 full_gumbel:4 full_gumbel:2

The first row is what the others are compared with. "Self-play" is the table's own case, where
learning is no limit; "whole" is an iteration on this one device, its updates included, which
cost every row the same. Any field of the preset may be changed, as in `halfmove train`.
"""

import argparse
import json
import platform
import time
from dataclasses import replace
from typing import Any

import jax
import tyro

from benchmarks.train import best, learning
from halfmove.train.config import TrainConfig
from halfmove.train.parts import Parts, parts_of
from halfmove.train.presets import PRESETS, preset

PAPER = {  # the paper's speed-up of a training step, 9x9 Go
    "muzero:200": 1.0,
    "full_gumbel:200": 1.0,
    "gumbel:200": 1.0,
    "gumbel:32": 5.9,
    "gumbel:16": 11.3,
    "gumbel:8": 16.2,
    "gumbel:4": 24.3,
}


def parts_for(config: TrainConfig, row: str) -> Parts:
    """The parts of a run with that row's planner and simulations."""
    name, simulations = row.split(":")
    search = replace(config.search, planner=name, simulations=int(simulations))
    if name in ("muzero", "alphazero"):
        search = replace(search, options=())  # those of a preset are a Gumbel planner's
    return parts_of(replace(config, search=search))


def selfplay(parts: Parts, repeat: int) -> float:
    """Seconds of one iteration's moves."""
    variables, _, lanes, _ = parts.begin(jax.random.key(0))
    keys = iter(jax.random.split(jax.random.key(1), repeat + 1))
    play = jax.jit(parts.selfplay.play)
    return best(lambda: play(variables, lanes, next(keys)), repeat)


def main() -> None:
    """Prints the table, and writes JSON where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("preset", nargs="?", default="go9-gpu", choices=PRESETS)
    parser.add_argument("--rows", nargs="+", default=list(PAPER), metavar="PLANNER:SIMULATIONS")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json")
    options, rest = parser.parse_known_args()
    config = tyro.cli(TrainConfig, default=preset(options.preset), args=rest)
    seconds = {row: selfplay(parts_for(config, row), options.repeat) for row in options.rows}
    fewest = min(options.rows, key=lambda row: int(row.split(":")[1]))
    parts = parts_for(config, fewest)
    keys = iter(jax.random.split(jax.random.key(2), 100_000))
    updates = parts.chunk_positions * config.learn.samples / config.learn.batch
    update = learning(parts, keys, options.repeat)["update"]
    found: dict[str, Any] = {
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "jax": jax.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "preset": options.preset,
        "positions": parts.chunk_positions,
        "updates": updates,
        "update": update,
        "selfplay": seconds,
    }
    print(f"jax {found['jax']} on {found['device']}: {config.game}; an iteration is", end=" ")
    print(f"{parts.chunk_positions:,} positions and {updates:g} updates of {update * 1e3:.1f} ms")
    print(f"{'planner':24}{'self-play ms':>14}{'faster':>9}{'whole':>9}{'paper':>9}")
    whole = updates * update
    first = seconds[options.rows[0]]
    for row, t in seconds.items():
        paper = f"{PAPER[row]:9}" if row in PAPER else f"{'':9}"
        print(f"{row:24}{t * 1e3:14.1f}{first / t:9.2f}{(first + whole) / (t + whole):9.2f}{paper}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
