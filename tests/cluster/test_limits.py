"""A full disk holds a run back; Ctrl-C; what can be seen from outside."""

import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

import pytest

from tests.cluster.runs import (
    HALFMOVE,
    TINY,
    apart,
    left_behind,
    lines,
    log,
    metrics,
    run,
    tiny,
    wait_for,
)

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
    """It reaches every process of the terminal, not the driver alone. Nothing is left behind."""
    path = tmp_path / "run"
    environment, token = apart()
    process = subprocess.Popen(
        [*HALFMOVE, "train", *TINY, "--iterations", "100000", "--folder", str(path), "--cluster",
         "--workers", "2"],
        env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    wait_for(lambda: lines(path) >= 20, process)
    assert len(left_behind(token)) > 5  # the driver, Ray's own, the roles
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "halfmove resume" in said
    assert "was dropped" not in log(path)
    wait_for(lambda: not left_behind(token), seconds=60)


def test_prometheus_finds_the_figures(cluster, tmp_path):
    path = run(tmp_path / "watched", workers=1)
    port = cluster.nodes()[0]["MetricsExportPort"]
    address = f"http://{cluster.nodes()[0]['NodeManagerAddress']}:{port}/metrics"
    deadline, shown = time.time() + 60, []
    while not any('run="watched"' in x and x.endswith(" 320.0") for x in shown):
        assert time.time() < deadline, shown
        time.sleep(2)
        with urllib.request.urlopen(address) as answer:
            text = answer.read().decode()
        shown = [x for x in text.splitlines() if x.startswith("ray_halfmove_run_positions{")]
    assert lines(path) == tiny().iterations


@pytest.mark.parametrize("token", ["0" * 64, None])
def test_who_has_not_the_token_is_refused(cluster, tmp_path, token):
    """The cluster of these tests was closed as `halfmove train --cluster` closes its own."""
    environment = {**os.environ, "RAY_ADDRESS": cluster.get_runtime_context().gcs_address}
    del environment["RAY_AUTH_TOKEN"]
    if token is None:
        del environment["RAY_AUTH_MODE"]
    else:
        environment["RAY_AUTH_TOKEN"] = token
    command = [*HALFMOVE, "train", *TINY, "--folder", tmp_path / "run", "--cluster"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 1
    assert "the cluster of RAY_ADDRESS=" in done.stderr
    assert "token" in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
