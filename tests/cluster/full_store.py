"""A run whose object store is filled to the brim meanwhile; so is the disk that it spills to.

python -m tests.cluster.full_store RUN SMALL_DISK
"""

import contextlib
import json
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from halfmove.cluster.start import closed
from tests.cluster.runs import lines, log, run, tiny

SECONDS = 10  # for which there is no room


def config():
    """Chunks, networks and samples that are too large to travel beside the object store."""
    small = tiny()
    return replace(
        small,
        net=replace(small.net, planes=48, blocks=2),
        selfplay=replace(small.selfplay, lanes=1024, chunk=8),
        replay=replace(small.replay, positions=32_768, kind="prioritised"),
        learn=replace(small.learn, batch=512, begin=8_192),
        rating=replace(small.rating, every=3, games=4, simulations=2),
    )


def fill(disk, path):
    """Takes all room there is, for a while; the iterations before and after that."""
    import ray

    while lines(path) < 3:
        time.sleep(0.01)
    with contextlib.suppress(OSError):  # as much as there is
        (disk / "filler").write_bytes(bytes(50_000_000))
    held = []
    for size in (1_000_000, 100_000, 20_000):
        try:
            while True:
                held.append(ray.put(np.ones(size, np.uint8)))
        except ray.exceptions.RayError:
            continue
    time.sleep(2)  # what was under way ends
    before = lines(path)
    end = time.time() + SECONDS
    while time.time() < end:
        try:  # what the run has freed is taken as well
            held.append(ray.put(np.ones(20_000, np.uint8)))
        except ray.exceptions.RayError:
            time.sleep(0.05)
    return before, lines(path), len(held)


def main(path, disk):
    closed()
    import ray

    ray.init(
        num_cpus=16, object_store_memory=80_000_000, object_spilling_directory=str(disk / "spill"),
        include_dashboard=False, log_to_driver=False, logging_level="ERROR",
    )  # fmt: skip
    told = []
    thread = threading.Thread(target=lambda: told.extend(fill(disk, path)))
    thread.start()
    run(path, config(), workers=2, replay_shards=2)
    thread.join()
    (path / "told.json").write_text(json.dumps({"told": told, "log": log(path)}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
