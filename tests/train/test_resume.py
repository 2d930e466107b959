"""A run that is killed and goes on does what one that was never stopped does, to the bit."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from halfmove.cli import main
from halfmove.train import checkpoint
from halfmove.train.command import read
from halfmove.train.folder import configuration
from halfmove.train.presets import preset

ITERATIONS = 14


def tiny():
    config = preset("tic_tac_toe")
    return replace(
        config,
        iterations=ITERATIONS,
        save_every=3,
        net=replace(config.net, planes=4, blocks=1, head_width=4),
        search=replace(config.search, simulations=2),
        selfplay=replace(config.selfplay, lanes=8, chunk=4, resign=0.3),
        replay=replace(config.replay, positions=256),
        learn=replace(config.learn, batch=16, samples=1.0, begin=64),
        rating=replace(config.rating, every=0),
    )


COMMAND = [
    "--iterations", str(ITERATIONS), "--save-every", "3", "--net.planes", "4", "--net.blocks", "1",
    "--net.head-width", "4", "--search.simulations", "2", "--selfplay.lanes", "8",
    "--selfplay.chunk", "4", "--selfplay.resign", "0.3", "--replay.positions", "256",
    "--learn.batch", "16", "--learn.samples", "1.0", "--learn.begin", "64", "--rating.every", "0",
]  # fmt: skip
RATED = ["--rating.every", "6", "--rating.games", "4", "--rating.simulations", "2"]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts `halfmove`; the processes share what they compile, which is most of their time."""
    environment = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

    def begin(*arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "halfmove.cli", *map(str, arguments)], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    return begin


def to_the_end(process):
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, out
    return out


def files(path):
    last = path / "checkpoints" / max(p.name for p in (path / "checkpoints").iterdir())
    parts = {p.name: p.read_bytes() for p in sorted(last.rglob("*")) if p.is_file()}
    return (path / "metrics.jsonl").read_bytes(), parts


@pytest.fixture(scope="module")
def whole(start, tmp_path_factory):
    """The run that nobody stops."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    to_the_end(start("train", "tic_tac_toe", "--folder", path, *COMMAND))
    return path


def test_the_command_line_changes_the_preset(whole):
    assert read(configuration(whole)) == tiny()
    assert len((whole / "metrics.jsonl").read_text().splitlines()) == ITERATIONS


def killed_and_resumed(start, path, seed, kills, *more):
    """Kills the run at random moments until it has come to its end."""
    draw = random.Random(seed)
    arguments = ["train", "tic_tac_toe", "--folder", path, *COMMAND, *more]
    for _ in range(kills):
        process = start(*arguments)
        metrics = path / "metrics.jsonl"
        # Most of a short run is its start-up: wait until it moves before drawing the moment.
        lines = len(metrics.read_bytes().splitlines()) if metrics.exists() else 0
        deadline = time.time() + 120
        while process.poll() is None and time.time() < deadline:
            if metrics.exists() and len(metrics.read_bytes().splitlines()) > lines:
                break
            time.sleep(0.02)
        time.sleep(draw.uniform(0.0, 1.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if (path / "config.json").exists():
            arguments = ["resume", path]
    to_the_end(start(*arguments))


def test_a_killed_run_ends_as_if_it_had_not_been(start, whole, tmp_path):
    killed_and_resumed(start, tmp_path / "run", 0, 1)
    assert files(tmp_path / "run") == files(whole)


@pytest.fixture(scope="module")
def rated(start, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "rated"
    to_the_end(start("train", "tic_tac_toe", "--folder", path, *COMMAND, *RATED))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_killed_runs(start, rated, tmp_path, seed):
    killed_and_resumed(start, tmp_path / "run", seed, 4, *RATED)
    assert files(tmp_path / "run") == files(rated)


def test_ctrl_c_saves_and_says_how_to_go_on(start, whole, tmp_path):
    path = tmp_path / "run"
    process = start("train", "tic_tac_toe", "--folder", path, *COMMAND)
    while not (path / "metrics.jsonl").exists() or not (path / "metrics.jsonl").read_bytes():
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert "halfmove resume" in to_the_end(process)
    number = max(checkpoint.numbers(path / "checkpoints"))
    steps = [json.loads(x)["step"] for x in (path / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(1, number + 1))
    to_the_end(start("resume", path))
    assert (path / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_a_second_run_in_one_folder_is_refused(whole, capsys):
    assert main(["train", "tic_tac_toe", "--folder", str(whole), *COMMAND]) == 1
    assert "already holds a run" in capsys.readouterr().err
