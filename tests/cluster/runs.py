"""Small runs on a cluster, and what is to be seen of them."""

import contextlib
import json
import os
import re
import secrets
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from halfmove.cluster.config import ClusterConfig
from halfmove.cluster.start import train
from halfmove.train.presets import preset

ITERATIONS = 10
HALFMOVE = [sys.executable, "-m", "halfmove.cli"]
# What `tiny` is, as a person would say it.
TINY = [
    "tic_tac_toe", "--iterations", str(ITERATIONS), "--save-every", "4", "--net.planes", "4",
    "--net.blocks", "1", "--net.head-width", "4", "--search.simulations", "2", "--selfplay.lanes",
    "8", "--selfplay.chunk", "4", "--selfplay.resign", "0.3", "--replay.positions", "256",
    "--learn.batch", "16", "--learn.samples", "1.0", "--learn.begin", "64", "--rating.every", "0",
]  # fmt: skip


def tiny(**changes):
    """Ten iterations of tic-tac-toe; with a bound for resigning, which looks back."""
    config = preset("tic_tac_toe")
    config = replace(
        config,
        iterations=ITERATIONS,
        save_every=4,
        net=replace(config.net, planes=4, blocks=1, head_width=4),
        search=replace(config.search, simulations=2),
        selfplay=replace(config.selfplay, lanes=8, chunk=4, resign=0.3),
        replay=replace(config.replay, positions=256),
        learn=replace(config.learn, batch=16, samples=1.0, begin=64),
        rating=replace(config.rating, every=0),
    )
    return replace(config, **changes)


ROLES = {"workers": 2, "groups": 4, "replay_shards": 2, "reanalysers": 1}


def everyone():
    """A run that needs every one of the ROLES."""
    config = tiny()
    return replace(
        config,
        model="learned",
        selfplay=replace(config.selfplay, resign=0.0),
        replay=replace(config.replay, kind="prioritised"),
        learn=replace(config.learn, unroll=2, steps=3),
        reanalyse=replace(config.reanalyse, share=0.5, target_every=3),
        rating=replace(config.rating, every=3, games=4, simulations=2),
    )


def run(path, config=None, *, resume=False, **options):
    """Trains; gives the folder."""
    return train(config or tiny(), path, ClusterConfig(**options), resume=resume)


def metrics(path):
    """The lines of a run as they are in its file."""
    return (path / "metrics.jsonl").read_bytes()


def last(path):
    """The files of the last checkpoint."""
    folder = path / "checkpoints" / max(p.name for p in (path / "checkpoints").iterdir())
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def speeds(path, name):
    """A figure of every iteration that has it."""
    lines = map(json.loads, (path / "speed.jsonl").read_text().splitlines())
    return [line[name] for line in lines if name in line]


def log(path):
    """The log so far."""
    file = path / "log.txt"
    return file.read_text() if file.exists() else ""


def process_of(path, who):
    """The newest process that the log names so, such as "worker-2"."""
    found = re.findall(who + r" \(process (\d+)", log(path))
    return int(found[-1]) if found else None


def wait_for(done, process=None, seconds=240):
    """Until `done()`, while a process runs."""
    deadline = time.time() + seconds
    while not done():
        assert process is None or process.poll() is None, "the driver has ended"
        assert time.time() < deadline, "nothing happened for too long"
        time.sleep(0.01)


def lines(path):
    """Iterations that were written."""
    file = path / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def apart():
    """The environment of a command that starts a cluster of its own, and the token of that."""
    token = secrets.token_hex(32)
    return {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}, token


def left_behind(token):
    """The processes of the cluster with that token, Ray's own among them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if token.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes()[:80])
    return found


class Killer(threading.Thread):
    """Sends a signal to a role of a run, once it has come to an iteration."""

    def __init__(self, path, who, at, number=signal.SIGKILL):
        super().__init__(daemon=True)
        self.path, self.who, self.at, self.number = path, who, at, number
        self.killed = None
        self.start()

    def run(self):
        while lines(self.path) < self.at:
            time.sleep(0.005)
        while (found := process_of(self.path, self.who)) is None:
            time.sleep(0.005)
        self.killed = found
        os.kill(self.killed, self.number)
