"""Runs on a cluster do what one process does, whatever happens to the processes."""

import json
import signal

import pytest

from halfmove.train.loop import train
from tests.cluster.runs import Killer, last, log, metrics, run, speeds, tiny


@pytest.fixture(scope="module")
def whole(cluster, tmp_path_factory):
    """The run that nobody disturbs: two workers, each with half of the games."""
    return run(tmp_path_factory.mktemp("runs") / "whole", workers=2)


def same(path, whole):
    assert metrics(path) == metrics(whole)
    assert last(path) == last(whole)
    return True


def test_one_worker_without_lag_is_one_process(cluster, tmp_path):
    alone = train(tiny(), tmp_path / "alone")
    assert metrics(run(tmp_path / "run", workers=1, lag=0)) == metrics(alone)


def test_the_network_that_plays_is_as_old_as_allowed(whole):
    assert max(speeds(whole, "cluster/staleness")) == 1


def test_killed_roles_are_not_seen_in_what_is_learned(whole, tmp_path):
    """One worker dies, one stops, then the learner dies: the same games, none lost or twice."""
    path = tmp_path / "run"
    killers = [
        Killer(path, "worker-1", 2),
        Killer(path, "worker-2", 5, signal.SIGSTOP),
        Killer(path, "learner", 10),
    ]
    run(path, workers=2, patience=4)
    assert all(killer.killed for killer in killers)
    assert f"worker-1 (process {killers[0].killed}" in log(path)
    assert f"worker-2 (process {killers[1].killed}" in log(path)
    assert "has not answered for 4 seconds and was dropped" in log(path)
    assert log(path).count("the run goes on from its last checkpoint") == 1
    assert same(path, whole)


@pytest.mark.slow
def test_a_replay_of_one_shard_is_that_of_the_learner(whole, tmp_path):
    """Up to rounding: drawing and learning are compiled apart. So compare the first updates."""
    path = run(tmp_path / "run", workers=2, replay_shards=1)
    lines = [list(map(json.loads, metrics(x).splitlines())) for x in (path, whole)]
    assert "learn/loss" in lines[0][2]
    for mine, other in zip(*(some[:3] for some in lines), strict=True):
        assert mine == pytest.approx(other, rel=1e-5)
    assert [x["run/updates"] for x in lines[0]] == [x["run/updates"] for x in lines[1]]
