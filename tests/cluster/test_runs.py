"""Runs on a cluster do what one process does, whatever happens to the processes."""

import itertools
import json
import os
import signal
import subprocess
from dataclasses import replace

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


def test_one_worker_without_lag_is_one_process(cluster, alone, tmp_path):
    """To the bit, even if both it and the learner were killed: no game is lost or counted twice."""
    path = tmp_path / "run"
    killers = [Killer(path, "worker-1", 2), Killer(path, "learner", 6)]
    run(path, workers=1, lag=0)
    assert all(killer.killed for killer in killers)
    assert f"worker-1 (process {killers[0].killed}" in log(path)
    assert log(path).count("the run goes on from its last checkpoint") == 1
    assert metrics(path) == metrics(alone)
    assert last(path) == last(alone)


def small():
    """All roles, but of the smallest model: a process spends most of its time on compiling."""
    config = everyone()
    learn = replace(config.learn, unroll=0, steps=0)
    return replace(config, model="rules", learn=learn, iterations=8)


@pytest.mark.slow  # a minute: four roles, one after the other
def test_the_other_roles_are_killed(cluster, tmp_path):
    """And a worker stops. What they did is compared to the bit by test_faults.py, which is slow."""
    path = tmp_path / "run"
    killers = [
        Killer(path, "reanalyser-1", 2),
        Killer(path, "worker-1", 3, signal.SIGSTOP),
        Killer(path, "rater", 4),
        Killer(path, "replay-1", 6),
    ]
    run(path, small(), patience=6, workers=1, replay_shards=1, reanalysers=1)
    assert all(killer.killed for killer in killers)
    assert "has not answered for 6 seconds and was dropped" in log(path)
    assert "the run goes on from its last checkpoint" in log(path)
    told = list(map(json.loads, metrics(path).splitlines()))
    each = 8 * 4  # moves of all lanes
    assert [x["run/positions"] for x in told] == [each * n for n in range(1, 9)]
    assert [x["replay/size"] for x in told] == [each * n for n in range(1, 9)]
    assert [x["run/updates"] for x in told] == [max(0, each * n - 64) // 16 for n in range(1, 9)]
    ended = list(itertools.accumulate(x["games/ended"] for x in told))
    assert [x["run/games"] for x in told] == ended
    assert [x["step"] for x in told if "rating/rating" in x] == [3, 6]
    assert max(speeds(path, "cluster/staleness")) == 1  # as old as allowed


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
