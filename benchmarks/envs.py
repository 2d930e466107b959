"""The cost of host environments: ours against ale-py's and Gymnasium's own vectors.

    python -m benchmarks.envs                     # B = 8 and 32
    python -m benchmarks.envs --json out.json --batches 8 32 128

The figures are of interleaved runs with the same settings and actions: the best run of each,
and the median of the ratios of neighbouring runs, which a busy machine disturbs least.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from halfmove.envs import make
from halfmove.envs.history import planes

GAME = "ms_pacman"


def ale(game: str, envs: int, stack: int) -> Any:
    """ale-py's vector environment, set as ours sets it."""
    from ale_py.vector_env import AtariVectorEnv

    return AtariVectorEnv(
        game, envs, img_height=96, img_width=96, grayscale=False, stack_num=stack,
        noop_max=31, use_fire_reset=False, reward_clipping=False, full_action_space=True,
        repeat_action_probability=0.25, autoreset_mode="SameStep",
    )  # fmt: skip


def interleaved(
    runs: dict[str, Callable[[], Any]], repeat: int, turns: int
) -> dict[str, list[float]]:
    """Milliseconds of one call, `repeat` times each, the runs taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        for _ in range(turns):
            run()
    for _ in range(repeat):
        for name, run in runs.items():
            begin = time.perf_counter()
            for _ in range(turns):
                run()
            taken[name].append((time.perf_counter() - begin) / turns * 1e3)
    return taken


def atari(
    batches: Sequence[int] = (8, 32), *, game: str = GAME, repeat: int = 9, turns: int = 60
) -> list[dict[str, Any]]:
    """Moves per second of ours, of ale-py (one frame; all 32), and what reading all 32 costs."""
    rows = []
    draw = np.random.default_rng(0)
    for envs in batches:
        ours, one, all32 = make(f"atari:{game}", envs=envs), ale(game, envs, 1), ale(game, envs, 32)
        ours.reset(0), one.reset(seed=0), all32.reset(seed=0)
        runs = {
            "ours": lambda env=ours, b=envs: env.step(draw.integers(18, size=b)),
            "ale": lambda env=one, b=envs: env.step(draw.integers(18, size=b)),
            "ale_32": lambda env=all32, b=envs: env.step(draw.integers(18, size=b)),
        }
        taken = interleaved(runs, repeat, turns)
        seen = ours.step(draw.integers(18, size=envs)).observation
        encode = jax.jit(planes)
        reading = {
            "copy": lambda seen=seen: np.stack(seen.frames, axis=1),
            "planes": lambda seen=seen, encode=encode: jax.block_until_ready(encode(seen)),
        }
        read = interleaved(reading, 3, 3)
        ours.close(), one.close(), all32.close()
        row = {"game": game, "envs": envs}
        row |= {f"{name}_per_s": envs / min(ms) * 1e3 for name, ms in taken.items()}
        row |= {f"{name}_ms": min(ms) for name, ms in read.items()}
        row["ratio"] = _ratio(taken["ale"], taken["ours"])
        row["ratio_32"] = _ratio(taken["ale_32"], taken["ours"])
        rows.append(row)
        print(line(row), flush=True)
    return rows


def cart_pole(
    envs: int = 8, *, workers: int = 2, repeat: int = 7, turns: int = 300
) -> dict[str, Any]:
    """Moves per second of CartPole: ours and Gymnasium's, in this process and in others."""
    import gymnasium

    def theirs(mode: str) -> Any:
        return gymnasium.make_vec("CartPole-v1", envs, vectorization_mode=mode)

    worlds = {
        "ours": make("gymnasium:CartPole-v1", envs=envs),
        "ours_workers": make("gymnasium:CartPole-v1", envs=envs, workers=workers),
        "gymnasium_sync": theirs("sync"),
    }
    worlds["ours"].reset(0), worlds["ours_workers"].reset(0)
    worlds["gymnasium_sync"].reset(seed=0)
    draw = np.random.default_rng(0)
    runs = {
        name: lambda world=world: world.step(draw.integers(2, size=envs))
        for name, world in worlds.items()
    }
    taken = interleaved(runs, repeat, turns)
    for world in worlds.values():
        world.close()
    row: dict[str, Any] = {"game": "CartPole-v1", "envs": envs, "workers": workers}
    row |= {f"{name}_per_s": envs / min(ms) * 1e3 for name, ms in taken.items()}
    print(line(row), flush=True)
    return row


def _ratio(theirs: list[float], ours: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    parts = [f"{k.removesuffix('_per_s')} {row[k]:8.0f}/s" for k in row if k.endswith("_per_s")]
    parts += [f"{k.removesuffix('_ms')} {row[k]:7.2f} ms" for k in row if k.endswith("_ms")]
    parts += [f"{k} {row[k]:5.3f}" for k in row if k.startswith("ratio")]
    return f"{row['game']:12s} {row['envs']:4d}  " + "  ".join(parts)


def main() -> None:
    """Prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--game", default=GAME)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--json", help="write all figures here")
    args = parser.parse_args()
    print(f"{os.cpu_count()} cores; moves per second; copy, planes: reading all 32 frames")
    rows = atari(args.batches, game=args.game, repeat=args.repeat, turns=args.turns)
    rows.append(cart_pole(repeat=args.repeat))
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"date": time.strftime("%Y-%m-%d"), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
