"""Two nodes, made with `ray start` in two network namespaces; one of them is killed whole."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.runs import HALFMOVE, TINY, lines, log, metrics, tiny, wait_for

pytestmark = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not shutil.which("ip"),
    reason="network namespaces need root and iproute2",
)
RAY = str(Path(sys.executable).with_name("ray"))
HEAD, OTHER = "10.213.7.1", "10.213.7.2"


def sh(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


class Nodes:
    """Two namespaces with a wire between them."""

    def __init__(self, folder):
        self.names = [f"hm{os.getpid()}{end}" for end in "ab"]
        self.joined = 0  # times that the other node was started
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

    def join(self, cpus):
        self.joined += 1
        temp = self.temp / f"b{self.joined}"
        self.start(1, "--address", f"{HEAD}:6379", "--num-cpus", cpus, "--temp-dir", temp)

    def kill(self, node):
        for process in sh("ip", "netns", "pids", self.names[node]).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)

    def __exit__(self, *error):
        for node, name in enumerate(self.names):
            self.kill(node)
            sh("ip", "netns", "del", name)


@contextlib.contextmanager
def two_nodes(folder, cpus):
    """A head, and another node, with so many CPUs each."""
    with Nodes(folder) as nodes:
        temp = Path("/tmp") / nodes.names[0]  # short: it holds sockets
        nodes.temp = temp
        try:
            # No node has a GPU, but Ray believes what it is told.
            nodes.start(0, "--head", "--port", 6379, "--num-cpus", cpus[0], "--num-gpus", 1,
                        "--temp-dir", temp / "a", "--include-dashboard", "false")  # fmt: skip
            nodes.join(cpus[1])
            yield nodes
        finally:
            nodes.kill(0)
            shutil.rmtree(temp, ignore_errors=True)


def begun(nodes, path, *words):
    """The driver of a long run, on the head."""
    many = [*TINY, "--iterations", "3000", "--save-every", "100"]
    command = [*HALFMOVE, "train", *many, "--folder", path, "--cluster", "--patience", 60, *words]
    return subprocess.Popen(nodes.command(0, *command), env=nodes.environment)


def ended(driver):
    """Ctrl-C."""
    driver.send_signal(signal.SIGINT)
    assert driver.wait(120) == 0


def counted(path):
    """Every iteration once, with its positions."""
    steps = [int(x) for x in re.findall(rb'"step": (\d+)', metrics(path))]
    assert steps == list(range(1, len(steps) + 1))
    positions = [int(x) for x in re.findall(rb'"run/positions": (\d+)', metrics(path))]
    assert positions == [8 * 4 * step for step in steps]
    assert tiny().selfplay.lanes * tiny().selfplay.chunk == 8 * 4


@pytest.mark.slow
def test_a_node_is_killed(tmp_path):
    """The learner is on the head, which has a GPU; the other node has workers, and dies."""
    path = tmp_path / "run"
    with two_nodes(tmp_path, (2, 2)) as nodes:
        driver = begun(nodes, path, "--workers", 2, "--learner-gpus", 1)
        wait_for(lambda: where(path, "worker-.", OTHER) and lines(path) > 50, driver)
        assert where(path, "learner", HEAD)
        nodes.kill(1)
        before = lines(path)
        wait_for(lambda: lines(path) > before + 50 and "was dropped" in log(path), driver)
        ended(driver)
    assert re.search(rf"worker-\d \(process \d+ on {OTHER}.*was dropped", log(path))
    counted(path)


@pytest.mark.slow
def test_the_node_of_the_learner_is_killed(tmp_path):
    """Only that node has room for a learner: the run waits until there is such a node again."""
    path = tmp_path / "run"
    given = ["--learner-cpus", 3, "--replay-shards", 1, "--placement", "STRICT_SPREAD"]
    with two_nodes(tmp_path, (2, 3)) as nodes:
        driver = begun(nodes, path, *given)
        wait_for(lambda: lines(path) > 250, driver)
        assert where(path, "learner", OTHER)
        assert where(path, "replay-1", HEAD)
        assert where(path, "worker-1", HEAD)
        nodes.kill(1)
        wait_for(lambda: "goes on from its last checkpoint" in log(path), driver)
        nodes.join(3)
        wait_for(lambda: lines(path) > 450 and len(where(path, "learner", OTHER)) == 2, driver)
        ended(driver)
    counted(path)


def where(path, who, address):
    return re.findall(rf"{who} \(process \d+ on {address}", log(path))
