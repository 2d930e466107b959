"""Eight devices do what one does."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from halfmove.train import checkpoint
from halfmove.train.devices import mesh_of
from tests.train.test_resume import COMMAND

VIRTUAL = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"


def run(path, *arguments):
    command = [sys.executable, "-m", "halfmove.cli", "train", "tic_tac_toe", "--folder", str(path)]
    done = subprocess.run(
        [*command, *COMMAND, *arguments],
        env={**os.environ, "XLA_FLAGS": VIRTUAL}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(x) for x in (path / "metrics.jsonl").read_text().splitlines()]
    return lines, checkpoint.meta(path / "checkpoints", 14)


def test_the_same_run_on_one_and_on_eight(tmp_path):
    one = run(tmp_path / "one")
    assert_alike(one, run(tmp_path / "many", "--devices", "8"))


def assert_alike(one, other):
    assert one[1]["record"] == other[1]["record"]  # the very moves of the last game
    assert len(one[0]) == len(other[0]) == 14
    for a, b in zip(one[0], other[0], strict=True):
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_allclose(a[name], b[name], rtol=2e-3, atol=2e-4, err_msg=name)


@pytest.mark.slow
def test_what_is_searched_again_is_kept_in_the_hosts_memory_too(tmp_path):
    more = ["--replay.kind", "prioritised", "--reanalyse.share", "0.5", "--model", "learned"]
    more += ["--learn.unroll", "2", "--learn.steps", "2", "--selfplay.resign", "0"]
    one = run(tmp_path / "one", *more)
    assert_alike(one, run(tmp_path / "host", *more, "--replay.place", "host"))


def test_a_replay_in_the_hosts_memory(tmp_path):
    few = ["--search.planner", "prior", "--search.simulations", "0", "--search.options"]
    one = run(tmp_path / "one", *few)
    assert_alike(one, run(tmp_path / "host", *few, "--replay.place", "host"))


def test_what_cannot_be_shared_is_said():
    with pytest.raises(ValueError, match="at most the 1 that are here, got 64"):
        mesh_of(64, 64, 64)
    assert mesh_of(1, 7, 7) is None
