"""Runs on a cluster do what one process does, whatever happens to the processes."""

import json
import os
import signal
import subprocess

import pytest

from halfmove.train.loop import train
from tests.cluster.runs import (
    HALFMOVE,
    TINY,
    Killer,
    apart,
    everyone,
    last,
    left_behind,
    lines,
    log,
    metrics,
    process_of,
    run,
    speeds,
    tiny,
    wait_for,
)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run of one process."""
    return train(tiny(), tmp_path_factory.mktemp("runs") / "alone")


# Each is a process that starts: as few as there can be.
ONE_OF_EACH = {"workers": 2, "replay_shards": 1, "reanalysers": 1}


@pytest.fixture(scope="module")
def whole(cluster, tmp_path_factory):
    """The run of all roles, which nobody disturbs."""
    return run(tmp_path_factory.mktemp("runs") / "whole", everyone(), **ONE_OF_EACH)


def test_one_worker_without_lag_is_one_process(cluster, alone, tmp_path):
    """Even if its learner was killed."""
    path = tmp_path / "run"
    killer = Killer(path, "learner", 6)
    run(path, workers=1, lag=0)
    assert killer.killed
    assert log(path).count("the run goes on from its last checkpoint") == 1
    assert metrics(path) == metrics(alone)
    assert last(path) == last(alone)


def test_the_network_that_plays_is_as_old_as_allowed(whole):
    assert max(speeds(whole, "cluster/staleness")) == 1


def test_killed_roles_are_not_seen_in_what_is_learned(whole, tmp_path):
    """The other roles die, and a worker stops: the same games, none lost or twice."""
    path = tmp_path / "run"
    killers = {
        "worker-1": Killer(path, "worker-1", 1),
        "reanalyser-1": Killer(path, "reanalyser-1", 2),
        "worker-2": Killer(path, "worker-2", 3, signal.SIGSTOP),
        "rater": Killer(path, "rater", 4),
        "replay-1": Killer(path, "replay-1", 7),
    }
    run(path, everyone(), patience=6, **ONE_OF_EACH)
    assert all(killer.killed for killer in killers.values())
    for name in ("worker-1", "worker-2"):
        assert f"{name} (process {killers[name].killed}" in log(path)
    assert "has not answered for 6 seconds and was dropped" in log(path)
    assert "the run goes on from its last checkpoint" in log(path)
    assert metrics(path) == metrics(whole)
    assert last(path) == last(whole)


def test_the_driver_is_killed(cluster, alone, tmp_path):
    """All go with it; the run goes on, here in one process."""
    path = tmp_path / "run"
    address = cluster.get_runtime_context().gcs_address
    given = [*HALFMOVE, "train", *TINY, "--folder", str(path), "--cluster", "--lag", "0"]
    process = subprocess.Popen(given, env={**os.environ, "RAY_ADDRESS": address})
    wait_for(lambda: lines(path) >= 6, process)
    process.kill()
    process.wait()
    learner = process_of(path, "learner")
    train(tiny(), path, resume=True)
    assert metrics(path) == metrics(alone)
    assert last(path) == last(alone)
    wait_for(lambda: not os.path.exists(f"/proc/{learner}"), seconds=60)


@pytest.mark.slow
def test_the_driver_of_a_cluster_of_its_own_is_killed(cluster, tmp_path):
    """It started Ray by itself, which goes with it; `halfmove resume --cluster` goes on."""
    path = tmp_path / "run"
    environment, token = apart()
    given = [*HALFMOVE, "train", *TINY, "--folder", str(path), "--cluster", "--workers", "2"]
    process = subprocess.Popen(given, env=environment)
    wait_for(lambda: lines(path) >= 6, process)
    assert len(left_behind(token)) > 5  # the driver, Ray's own, the roles
    process.kill()
    process.wait()
    wait_for(lambda: not left_behind(token), seconds=60)
    again = [*HALFMOVE, "resume", str(path), "--cluster", "--workers", "1", "--groups", "2"]
    subprocess.run(again, check=True, timeout=300, env=environment)
    wait_for(lambda: not left_behind(token), seconds=60)
    small = run(tmp_path / "small", workers=2)
    assert metrics(path) == metrics(small)
    assert last(path) == last(small)


@pytest.mark.slow
def test_a_replay_of_one_shard_is_that_of_the_learner(cluster, tmp_path):
    """Up to rounding: drawing and learning are compiled apart. So compare the first updates."""
    paths = [run(tmp_path / f"run{n}", workers=2, replay_shards=n) for n in (1, 0)]
    told = [list(map(json.loads, metrics(x).splitlines())) for x in paths]
    assert "learn/loss" in told[0][2]
    for mine, other in zip(*(some[:3] for some in told), strict=True):
        assert mine == pytest.approx(other, rel=1e-5)
    assert [x["run/updates"] for x in told[0]] == [x["run/updates"] for x in told[1]]
