"""What spreading a run costs, and how many workers one learner can have.

    python -m benchmarks.cluster                        # measures here: some minutes on two cores
    python -m benchmarks.cluster --workers 1 2 4 8 --json out.json
    python -m benchmarks.cluster --plan                 # only the plan, from stored figures

Four things, in this order: the plumbing of one chunk (what a worker, the door and the learner do
with it beside playing and learning), by itself; one process against one worker, the same run in
turns; the same run with more workers, beside what the simulator says; the plan for many GPUs.

The simulator is a recurrence over iterations: when each worker, the driver, the doors and the
learner are free again. It knows nothing of Ray but the seconds that a message takes.
"""

import argparse
import functools
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from halfmove.cluster import wire
from halfmove.cluster.config import ClusterConfig
from halfmove.cluster.door import Chunk, Door
from halfmove.cluster.forms import actions_of, chunk_like, parts_of_lanes, sent, shapes_of, stored
from halfmove.cluster.start import closed
from halfmove.train.config import TrainConfig
from halfmove.train.presets import preset

SAMPLES = 2  # in the plan: how often a position is used
STORED = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Costs:
    """Seconds."""

    play: float  # a worker, for one chunk
    driver: float  # the driver, for one chunk
    door: float  # whoever holds the replay, to check one chunk
    enter: float  # the same, to put one chunk into the replay
    learn: float  # the learner, for the updates of an iteration


def simulate(
    costs: Costs, *, workers: int, groups: int, lag: int, shards: int = 1, iterations: int = 50
) -> float:
    """Seconds of an iteration, once all is under way."""
    workers_free, group_done = [0.0] * workers, [0.0] * groups
    doors, driver, learner = [0.0] * shards, 0.0, 0.0
    learned = [0.0]
    for i in range(iterations):
        ordered = learned[max(0, i - lag)]
        entered = 0.0
        ends = []
        for g in range(groups):
            w = min(range(workers), key=workers_free.__getitem__)
            workers_free[w] = max(workers_free[w], ordered, group_done[g]) + costs.play
            ends.append((workers_free[w], g))
        for end, g in sorted(ends):
            driver = max(driver, end) + costs.driver
            group_done[g] = driver
            shard = g * shards // groups
            doors[shard] = max(doors[shard], driver) + costs.door
            entered = max(entered, doors[shard])
        learner = max(learner, entered) + costs.enter * groups / shards + costs.learn
        learned.append(learner)
    half = iterations // 2
    return (learned[-1] - learned[half]) / (iterations - half)


# -- measured here ---------------------------------------------------------------


def best(run: Callable[[], Any], repeat: int = 20) -> float:
    """Seconds of the fastest of some runs, the first left out."""
    times = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - began)
    return min(times[1:])


def plumbing(config: TrainConfig) -> dict[str, float]:
    """Seconds for one chunk of all lanes, and its bytes a position."""
    import ray

    parts = parts_of_lanes(config, config.selfplay.lanes)
    net_key, game_key, play_key = jax.random.split(jax.random.key(0), 3)
    variables = parts.model.init(net_key)
    lanes, steps, report = jax.jit(parts.selfplay.play)(
        variables, parts.selfplay.begin(game_key, variables), play_key
    )
    kept = jax.jit(functools.partial(sent, parts))(steps)
    trees = jax.block_until_ready((kept, lanes, report))
    chunk = Chunk(*map(wire.packed, trees))
    door = Door([0], chunk_like(parts), actions_of(parts))

    def offered() -> str:
        door.reset(0, chunk.lanes)
        return door.offer(0, 0, chunk)

    assert offered() == ""
    # Not donated here: the same store is used again and again, which is what both copy.
    like, add = shapes_of(parts)[0], jax.jit(functools.partial(stored, parts))
    store, alone = parts.empty(), jax.jit(parts.replay.add)
    taken = best(lambda: add(store, wire.unpacked(like, chunk.steps)))
    found = {
        "worker: pack": best(lambda: [wire.packed(tree) for tree in trees]),
        "worker: unpack games": best(lambda: wire.unpacked(lanes, chunk.lanes)),
        "object store: put and get": best(lambda: ray.get(ray.put(chunk)) and 0),
        "door: check": best(offered),
        "learner: unpack and add": taken,
        "one process: add": best(lambda: alone(store, steps)),
        "network: pack": best(lambda: wire.packed(variables)),
        "network: put and get": best(lambda: ray.get(ray.put(wire.packed(variables))) and 0),
    }
    positions = parts.chunk_positions
    return {
        **found,
        "bytes a position: moves": wire.size(chunk.steps) / positions,
        "bytes a position: games after them": wire.size(chunk.lanes) / positions,
        "bytes of a chunk": chunk.bytes,
        "bytes of the network": wire.size(wire.packed(variables)),
    }


def message() -> float:
    """Seconds of a call to an actor and its answer."""
    import ray

    class Echo:
        def answer(self, x: Any) -> Any:
            return x

    actor = ray.remote(Echo).remote()
    seconds = best(lambda: ray.get(actor.answer.remote(0)), 200)
    ray.kill(actor)
    return seconds


def run(config: TrainConfig, cluster: ClusterConfig | None, skip: int) -> dict[str, float]:
    """Means over the iterations of a run after the first `skip`."""
    from rich.console import Console

    from halfmove.cluster.start import train as spread
    from halfmove.train.loop import train as alone

    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:
        path, console = Path(folder) / "run", Console(file=nothing)
        if cluster is None:
            alone(config, path, console=console)
        else:
            spread(config, path, cluster, console=console)
        lines = [json.loads(x) for x in (path / "speed.jsonl").read_text().splitlines()][skip:]
    positions = config.selfplay.lanes * config.selfplay.chunk
    names = ("seconds/selfplay", "seconds/updates", "cluster/worker_seconds")
    means = {n: float(np.mean([x[n] for x in lines])) for n in names if n in lines[0]}
    seconds = np.array([positions / x["speed/positions"] for x in lines])
    return {**means, "seconds": float(seconds.mean()), "positions/s": positions / seconds.mean()}


def start() -> None:
    """Ray on this machine, with room for any number of roles."""
    closed()
    import ray

    ray.init(
        num_cpus=32, object_store_memory=300_000_000, include_dashboard=False,
        log_to_driver=False, logging_level="ERROR",
    )  # fmt: skip


def local(options: argparse.Namespace) -> dict[str, Any]:
    """Everything that is measured on this machine."""
    config = small(options)
    cost, call = plumbing(config), message()
    positions = config.selfplay.lanes * config.selfplay.chunk
    print(f"one chunk of {positions:,} positions of {config.game}")
    for name, x in cost.items():
        if "bytes" in name:
            print(f"  {name:38}{x:12,.1f}")
        else:
            print(f"  {name:38}{x * 1e6:12,.0f} µs  {x / positions * 1e6:8.3f} µs a position")
    print(f"  {'a call to an actor, and its answer':38}{call * 1e6:12,.0f} µs")
    skip = options.skip
    turns: dict[str, list[float]] = {"one process": [], "one worker": [], "no lag": []}
    for _ in range(options.repeat):
        turns["one process"].append(run(config, None, skip)["positions/s"])
        turns["one worker"].append(run(config, ClusterConfig(), skip)["positions/s"])
        turns["no lag"].append(run(config, ClusterConfig(lag=0), skip)["positions/s"])
        print("  ", {name: round(x[-1]) for name, x in turns.items()}, "positions/s", flush=True)
    many = [against(config, n, cost, call, skip) for n in options.workers]
    return {"plumbing": cost, "message": call, "turns": turns, "workers": many}


def against(
    config: TrainConfig, workers: int, cost: dict[str, float], call: float, skip: int
) -> dict[str, float]:
    """A real run with so many workers, and what the simulator says of it."""
    found = run(config, ClusterConfig(workers=workers), skip)
    chunk = found["cluster/worker_seconds"] / workers
    costs = Costs(
        play=chunk,
        driver=call,
        door=cost["door: check"] / workers,
        enter=cost["learner: unpack and add"] / workers,
        learn=found["seconds/updates"],
    )
    said = simulate(costs, workers=workers, groups=workers, lag=1)
    print(
        f"  {workers} workers: {found['positions/s']:8,.0f} positions/s, "
        f"{found['seconds'] * 1e3:7.1f} ms an iteration; simulated {said * 1e3:7.1f} ms",
        flush=True,
    )
    return {"workers": workers, **found, "simulated seconds": said}


def small(options: argparse.Namespace) -> TrainConfig:
    """A run that is small enough to be repeated, and does not save or rate meanwhile."""
    config = preset(options.preset)
    return replace(
        config,
        iterations=options.iterations,
        save_every=options.iterations,
        learn=replace(config.learn, begin=0),
        rating=replace(config.rating, every=0),
    )


# -- the plan for many GPUs --------------------------------------------------------


def plan(cost: dict[str, float] | None, call: float) -> list[dict[str, float]]:
    """Iterations with many H200 workers, by the seconds measured on one (`benchmarks.train`).

    A search of n simulations is taken to cost as n + 1 looks of the network, which were 97% of
    its time; several learner devices to share the updates without loss, which was not measured.
    """
    figures = json.loads((STORED / "train-h200-2026-11-15.json").read_text())
    stored, lanes, searched = figures["seconds"], figures["lanes"], figures["simulations"]
    each = round(figures["selfplay positions/s"] * stored["selfplay"])
    batch = round(figures["learning positions/s"] * stored["update"])
    config = preset("go9-gpu")
    play = replace(config.selfplay, lanes=lanes, chunk=each // lanes)
    config = replace(config, game=figures["game"], selfplay=play)
    chunk = chunk_like(parts_of_lanes(config, lanes))
    updates = each * SAMPLES / batch
    # The door looks at every byte; how fast was measured here, on a small chunk.
    speed = 1e9 if cost is None else cost["bytes of a chunk"] / cost["door: check"]
    print(f"9x9 Go, {each:,} positions a chunk of {chunk.bytes / 1e6:.1f} MB, "
          f"{chunk.bytes / each:.0f} bytes each")  # fmt: skip
    rows = []
    for simulations in (searched, 800):
        seconds_of_play = stored["selfplay"] * (simulations + 1) / (searched + 1)
        for workers in (1, 2, 4, 16, 64, 256, 1000):
            for devices in (1, 16):
                costs = Costs(
                    play=seconds_of_play,
                    driver=call,
                    door=chunk.bytes / speed,
                    enter=stored["replay add"],
                    learn=workers * updates * stored["update"] / devices,
                )
                shards = min(devices, workers)
                seconds = simulate(costs, workers=workers, groups=workers, lag=1, shards=shards)
                row = {
                    "simulations": simulations,
                    "workers": workers,
                    "learner devices": devices,
                    "shards": shards,
                    "positions/s": workers * each / seconds,
                    "workers busy": seconds_of_play / seconds,
                    "learner busy": costs.learn / seconds,
                    "MB/s": workers * chunk.bytes / seconds / 1e6,
                }
                print("  " + "  ".join(f"{name} {x:,.4g}" for name, x in row.items()))
                rows.append(row)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures, and writes JSON where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--preset", default="hex5")
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--skip", type=int, default=6, help="first iterations left out")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--plan", action="store_true", help="only the plan")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    if not options.plan:
        start()  # before JAX has threads
    found: dict[str, Any] = {
        "device": jax.devices()[0].device_kind, "cores": os.cpu_count(),
        "machine": platform.machine(), "jax": jax.__version__, "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip
    if not options.plan:
        found |= local(options)
    found["plan"] = plan(found.get("plumbing"), found.get("message", 1e-3))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
