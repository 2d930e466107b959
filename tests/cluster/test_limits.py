"""A full disk holds a run back; Ctrl-C; what can be seen from outside."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from tests.cluster.runs import log, metrics, run, tiny
from tests.cluster.test_faults import COMMAND

pytestmark = pytest.mark.slow


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not shutil.which("mount"),
    reason="a small disk needs root",
)
def test_a_full_disk_holds_the_run_back(cluster, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    try:
        (disk / "filler").write_bytes(bytes(20_000_000))
        seen = []

        def make_room():
            while "All wait until there is room" not in log(disk / "run"):
                time.sleep(0.05)
            time.sleep(3)
            seen.append(len(metrics(disk / "run").splitlines()))
            (disk / "filler").unlink()

        helper = threading.Thread(target=make_room)
        helper.start()
        path = run(disk / "run", workers=1)
        helper.join()
        assert seen == [0]  # nothing was played meanwhile
        assert len(metrics(path).splitlines()) == tiny().iterations
        assert "there is room again" in log(path)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_ctrl_c_in_a_terminal_saves_and_stops(tmp_path):
    """It reaches every process of the terminal, not the driver alone."""
    path = tmp_path / "run"
    long = [*COMMAND, "--iterations", "100000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "halfmove.cli", "train", "tic_tac_toe", "--folder", str(path), *long,
         "--cluster", "--workers", "2"],
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while not (path / "metrics.jsonl").exists() or metrics(path).count(b"\n") < 20:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "halfmove resume" in said
    assert "was dropped" not in log(path)


def test_prometheus_finds_the_figures(cluster, tmp_path):
    path = run(tmp_path / "watched", workers=1)
    port = cluster.nodes()[0]["MetricsExportPort"]
    address = f"http://{cluster.nodes()[0]['NodeManagerAddress']}:{port}/metrics"
    deadline, text = time.time() + 60, ""
    while "halfmove_run_positions" not in text and time.time() < deadline:
        time.sleep(2)
        with urllib.request.urlopen(address) as answer:
            text = answer.read().decode()
    lines = [x for x in text.splitlines() if x.startswith("ray_halfmove_run_positions{")]
    assert any('run="watched"' in x and x.endswith(" 448.0") for x in lines), lines or text[:2000]
    assert len(metrics(path).splitlines()) == 14
