"""Eight devices do what one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from halfmove.train import checkpoint
from halfmove.train.devices import mesh_of
from tests.train.test_resume import COMMAND

VIRTUAL = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
# All runs of a test in one process: to start one takes as long as some of them.
SCRIPT = """
import json, sys
from halfmove.cli import main
for arguments in json.loads(sys.argv[1]):
    assert main(["train", "tic_tac_toe", *arguments]) == 0
"""


def ran(folder, **runs):
    """What each run told: its metrics, and the meta of its last checkpoint."""
    lines = [["--folder", str(folder / name), *COMMAND, *more] for name, more in runs.items()]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(lines)], cwd=Path(__file__).parents[2],
        env={**os.environ, "XLA_FLAGS": VIRTUAL}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return [told(folder / name) for name in runs]


def told(path):
    lines = [json.loads(x) for x in (path / "metrics.jsonl").read_text().splitlines()]
    return lines, checkpoint.meta(path / "checkpoints", 14)


def assert_alike(one, other):
    assert one[1]["record"] == other[1]["record"]  # the very moves of the last game
    assert len(one[0]) == len(other[0]) == 14
    for a, b in zip(one[0], other[0], strict=True):
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_allclose(a[name], b[name], rtol=2e-3, atol=2e-4, err_msg=name)


# A replay in the host's memory needs two devices to be seen, but neither search nor tower.
FEW = ["--search.planner", "prior", "--search.simulations", "0", "--search.options"]
FEW += ["--net.kind", "mlp", "--net.blocks", "0", "--net.norm", "none"]


def test_the_same_run_on_one_and_on_eight(tmp_path):
    assert_alike(*ran(tmp_path, one=[], many=["--devices", "8"]))


@pytest.mark.slow
def test_the_same_run_with_its_replay_elsewhere(tmp_path):
    assert_alike(*ran(tmp_path, here=FEW, host=[*FEW, "--replay.place", "host"]))
    assert "in the host's memory" in (tmp_path / "host" / "log.txt").read_text()


@pytest.mark.slow
def test_what_is_searched_again_is_kept_in_the_hosts_memory_too(tmp_path):
    more = ["--replay.kind", "prioritised", "--reanalyse.share", "0.5", "--model", "learned"]
    more += ["--learn.unroll", "2", "--learn.steps", "2", "--selfplay.resign", "0"]
    assert_alike(*ran(tmp_path, one=more, host=[*more, "--replay.place", "host"]))


def test_what_cannot_be_shared_is_said():
    with pytest.raises(ValueError, match="at most the 1 that are here, got 64"):
        mesh_of(64, 64, 64)
    assert mesh_of(1, 7, 7) is None
