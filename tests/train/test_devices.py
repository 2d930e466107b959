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
    one, one_meta = run(tmp_path / "one")
    many, many_meta = run(tmp_path / "many", "--devices", "8")
    assert one_meta["record"] == many_meta["record"]  # the very moves of the last game
    assert len(one) == len(many) == 14
    for a, b in zip(one, many, strict=True):
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_allclose(a[name], b[name], rtol=2e-3, atol=2e-4, err_msg=name)


def test_what_cannot_be_shared_is_said():
    with pytest.raises(ValueError, match="at most the 1 that are here, got 64"):
        mesh_of(64, 64, 64)
    assert mesh_of(1, 7, 7) is None
