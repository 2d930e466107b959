"""The object store is full, and the disk behind it: the run waits, and then goes on."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.cluster import full_store
from tests.cluster.runs import last, log, metrics, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.name != "posix" or os.geteuid() != 0 or not shutil.which("mount"),
        reason="a small disk needs root",
    ),
]


def test_a_full_object_store_holds_the_run_back(cluster, tmp_path):
    path, disk = tmp_path / "run", tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk], check=True)
    try:
        command = [sys.executable, "-m", "tests.cluster.full_store", path, disk]
        subprocess.run(command, check=True, timeout=600)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    before, after, held = json.loads((path / "told.json").read_text())["told"]
    assert held > 70  # megabytes, and small ones
    assert after - before <= 1  # it was held back
    assert "was dropped" not in log(path)
    assert "all wait" in log(path).lower()
    whole = run(tmp_path / "whole", full_store.config(), workers=2, replay_shards=2)
    assert metrics(path) == metrics(whole)
    assert last(path) == last(whole)
