"""A learner that divides its updates among the devices of its host."""

import json
import subprocess

import pytest

from tests.cluster.runs import HALFMOVE, TINY, apart, metrics, run

pytestmark = pytest.mark.slow


DEVICES = "--xla_force_host_platform_device_count=4"


def test_environments_are_for_one_device(cluster, tmp_path):
    given = ["train", "cartpole", "--folder", tmp_path / "run", "--cluster", "--devices", "4"]
    environment = {**apart()[0], "XLA_FLAGS": DEVICES}
    told = subprocess.run(
        [*HALFMOVE, *given], env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 1
    assert "environments on the host use one device, not 4" in told.stderr


@pytest.mark.parametrize("shards", [0, 2])
def test_four_devices_learn_as_one(cluster, tmp_path, shards):
    """Up to the order of sums: so compare the first updates."""
    path = tmp_path / "four"
    environment = {**apart()[0], "XLA_FLAGS": DEVICES}
    given = ["--devices", "4", "--cluster", "--workers", "2", "--replay-shards", str(shards)]
    subprocess.run(
        [*HALFMOVE, "train", *TINY, "--folder", path, *given], env=environment, check=True
    )
    one = run(tmp_path / "one", workers=2, replay_shards=shards)
    told = [list(map(json.loads, metrics(x).splitlines())) for x in (path, one)]
    assert "learn/loss" in told[0][2]
    for mine, other in zip(*(some[:4] for some in told), strict=True):
        assert mine == pytest.approx(other, rel=1e-4)
    assert len(told[0]) == len(told[1])
