"""Two nodes, made with `ray start` in two network namespaces; one of them is killed whole."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.runs import log, metrics, tiny
from tests.cluster.test_faults import COMMAND

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.name != "posix" or os.geteuid() != 0 or not shutil.which("ip"),
        reason="network namespaces need root and iproute2",
    ),
]
RAY = str(Path(sys.executable).with_name("ray"))
HEAD, OTHER = "10.213.7.1", "10.213.7.2"


def sh(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


class Nodes:
    """Two namespaces with a wire between them."""

    def __init__(self, folder):
        self.names = [f"hm{os.getpid()}{end}" for end in "ab"]
        self.folder = folder
        self.environment = {
            **os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 64,
            "RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": f"{HEAD}:6379",
            "RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "3",
            "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }  # fmt: skip

    def __enter__(self):
        wires = [f"{name}w" for name in self.names]
        for name in self.names:
            sh("ip", "netns", "add", name)
        sh("ip", "link", "add", wires[0], "type", "veth", "peer", "name", wires[1])
        for name, wire, address in zip(self.names, wires, (HEAD, OTHER), strict=True):
            sh("ip", "link", "set", wire, "netns", name)
            for words in (f"addr add {address}/24 dev {wire}", f"link set {wire} up",
                          "link set lo up"):  # fmt: skip
                sh("ip", "-n", name, *words.split())
        return self

    def command(self, node, *words):
        return ["ip", "netns", "exec", self.names[node], *map(str, words)]

    def start(self, node, *words):
        address = (HEAD, OTHER)[node]
        given = ["start", "--node-ip-address", address, "--object-store-memory", 100_000_000]
        environment = {n: x for n, x in self.environment.items() if n != "RAY_ADDRESS"}
        sh(*self.command(node, RAY, *given, *words), env=environment, timeout=120)

    def kill(self, node):
        for process in sh("ip", "netns", "pids", self.names[node]).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)

    def __exit__(self, *error):
        for node, name in enumerate(self.names):
            self.kill(node)
            sh("ip", "netns", "del", name)


def test_a_node_is_killed(tmp_path):
    """The learner is on the head, one worker on each node; the other node dies with its worker."""
    path = tmp_path / "run"
    with Nodes(tmp_path) as nodes:
        temp = Path("/tmp") / nodes.names[0]  # short: it holds sockets
        try:
            nodes.start(0, "--head", "--port", 6379, "--num-cpus", 2, "--temp-dir", temp / "a",
                        "--include-dashboard", "false")  # fmt: skip
            nodes.start(1, "--address", f"{HEAD}:6379", "--num-cpus", 2, "--temp-dir", temp / "b")
            many = [*COMMAND, "--iterations", "3000", "--save-every", "200"]
            driver = subprocess.Popen(
                nodes.command(
                    0, sys.executable, "-m", "halfmove.cli", "train", "tic_tac_toe", "--folder",
                    path, *many, "--cluster", "--workers", 2, "--patience", 60,
                ),
                env=nodes.environment,
            )  # fmt: skip
            wait_for(lambda: where(path, OTHER) and lines(path) > 300, driver)
            nodes.kill(1)
            before = lines(path)
            wait_for(lambda: lines(path) > before + 300, driver)
            driver.send_signal(signal.SIGINT)
            assert driver.wait(120) == 0
        finally:
            nodes.kill(0)
            shutil.rmtree(temp, ignore_errors=True)
    assert re.search(rf"worker-\d \(process \d+ on {OTHER}.*was dropped", log(path))
    steps = [int(x) for x in re.findall(rb'"step": (\d+)', metrics(path))]
    assert steps == list(range(1, len(steps) + 1))
    assert f"{len(steps) * 8 * 4}".encode() in metrics(path).splitlines()[-1]
    assert tiny().selfplay.lanes * tiny().selfplay.chunk == 8 * 4


def where(path, address):
    return re.findall(rf"worker-\d \(process \d+ on {address}", log(path))


def lines(path):
    file = path / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def wait_for(done, process, seconds=240):
    deadline = time.time() + seconds
    while not done():
        assert process.poll() is None, "the driver has ended"
        assert time.time() < deadline, "nothing happened for too long"
        time.sleep(0.05)
