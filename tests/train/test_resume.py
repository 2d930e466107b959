"""A run that is killed and goes on does what one that was never stopped does, to the bit."""

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from halfmove.train import checkpoint
from halfmove.train.command import read
from halfmove.train.folder import configuration
from halfmove.train.loop import train
from halfmove.train.presets import preset

ITERATIONS = 14


def tiny(**changes):
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
        rating=replace(config.rating, every=6, games=4, simulations=2, mcts=2),
        **changes,
    )


COMMAND = [
    "--iterations", str(ITERATIONS), "--save-every", "3", "--net.planes", "4", "--net.blocks", "1",
    "--net.head-width", "4", "--search.simulations", "2", "--selfplay.lanes", "8",
    "--selfplay.chunk", "4", "--selfplay.resign", "0.3", "--replay.positions", "256",
    "--learn.batch", "16", "--learn.samples", "1.0", "--learn.begin", "64", "--rating.every", "6",
    "--rating.games", "4", "--rating.simulations", "2", "--rating.mcts", "2",
]  # fmt: skip


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "halfmove.cli", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def files(path):
    last = path / "checkpoints" / max(p.name for p in (path / "checkpoints").iterdir())
    parts = {p.name: p.read_bytes() for p in sorted(last.rglob("*")) if p.is_file()}
    return (path / "metrics.jsonl").read_bytes(), parts


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that nobody stops."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    train(tiny(), path)
    return path


def test_the_command_line_makes_the_same_config(whole, tmp_path):
    process = start("train", "tic_tac_toe", "--folder", str(tmp_path / "run"), *COMMAND)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert configuration(tmp_path / "run") == configuration(whole)
    assert read(configuration(whole)) == tiny()
    assert files(tmp_path / "run") == files(whole)


def killed_and_resumed(path, seed, kills):
    """Kills the run at random moments until it has come to its end."""
    draw = random.Random(seed)
    arguments = ["train", "tic_tac_toe", "--folder", str(path), *COMMAND]
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
            arguments = ["resume", str(path)]
    process = start(*arguments)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out


def test_a_killed_run_ends_as_if_it_had_not_been(whole, tmp_path):
    killed_and_resumed(tmp_path / "run", seed=0, kills=1)
    assert files(tmp_path / "run") == files(whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_killed_runs(whole, tmp_path, seed):
    killed_and_resumed(tmp_path / "run", seed=seed, kills=4)
    assert files(tmp_path / "run") == files(whole)


def test_ctrl_c_saves_and_says_how_to_go_on(whole, tmp_path):
    path = tmp_path / "run"
    process = start("train", "tic_tac_toe", "--folder", str(path), *COMMAND)
    while not (path / "metrics.jsonl").exists() or not (path / "metrics.jsonl").read_bytes():
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert "halfmove resume" in out
    number = max(checkpoint.numbers(path / "checkpoints"))
    steps = [json.loads(x)["step"] for x in (path / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(1, number + 1))
    assert number < ITERATIONS
    again = start("resume", str(path))
    out, _ = again.communicate(timeout=300)
    assert again.returncode == 0, out
    assert (path / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_a_second_run_in_one_folder_is_refused(whole):
    process = start("train", "tic_tac_toe", "--folder", str(whole))
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "already holds a run" in out
