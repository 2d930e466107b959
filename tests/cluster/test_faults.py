"""Every role is killed, really, and nothing of it is to be seen in what is learned."""

import json
import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

from halfmove.cluster import roles
from halfmove.cluster.actors import Worker
from halfmove.train.durable import RunError
from halfmove.train.loop import train
from tests.cluster.runs import ROLES, Killer, everyone, last, log, metrics, run, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(cluster, tmp_path_factory):
    """The run that nobody disturbs."""
    return run(tmp_path_factory.mktemp("runs") / "whole", everyone(), **ROLES)


@pytest.mark.parametrize("who", ["worker-1", "learner", "replay-2", "reanalyser-1", "rater"])
def test_a_role_is_killed(whole, tmp_path, who):
    path = tmp_path / "run"
    killer = Killer(path, who, 5)
    run(path, everyone(), **ROLES)
    assert killer.killed
    assert metrics(path) == metrics(whole)
    assert last(path) == last(whole)


@pytest.mark.parametrize("who", ["learner", "replay-2", "reanalyser-1", "rater"])
def test_a_role_that_hangs_is_ended(whole, tmp_path, who):
    """A process that is stopped says nothing; it is taken for dead, and really ended."""
    path = tmp_path / "run"
    killer = Killer(path, who, 5, signal.SIGSTOP)
    run(path, everyone(), patience=8, **ROLES)
    assert f"{who} has not answered for 8 seconds" in log(path)
    assert metrics(path) == metrics(whole)
    assert last(path) == last(whole)
    wait_for(lambda: not os.path.exists(f"/proc/{killer.killed}"), seconds=30)


@pytest.mark.parametrize("seed", range(3))
def test_roles_are_killed_at_random(whole, tmp_path, seed):
    path, chance = tmp_path / "run", np.random.default_rng(seed)
    names = ["worker-1", "worker-2", "learner", "replay-1", "replay-2", "reanalyser-1", "rater"]
    killers = [Killer(path, who, int(chance.integers(1, 9))) for who in chance.choice(names, 3)]
    run(path, everyone(), **ROLES)
    assert any(killer.killed for killer in killers)
    assert metrics(path) == metrics(whole)
    assert last(path) == last(whole)


def test_another_number_of_workers_and_then_one_process(whole, tmp_path):
    """The games go on: as many positions and updates, and whole games, whoever plays."""
    path = tmp_path / "run"
    config = replace(everyone(), iterations=4)
    run(path, config, **ROLES)
    run(path, replace(config, iterations=6), resume=True, workers=1)
    train(replace(config, iterations=8), path, resume=True)
    run(path, replace(config, iterations=10), resume=True, workers=2, groups=4, replay_shards=1)
    lines = [json.loads(line) for line in metrics(path).splitlines()]
    others = [json.loads(line) for line in metrics(whole).splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 11))
    for name in ("run/positions", "run/updates"):
        assert [line[name] for line in lines] == [line[name] for line in others]
    assert metrics(path).splitlines()[:4] == metrics(whole).splitlines()[:4]
    games = [line["run/games"] for line in lines]
    assert games == np.cumsum([line["games/ended"] for line in lines]).tolist()


class Liar(Worker):
    """Plays well at first, then sends what it should not."""

    lies = "nothing"
    seen = 0

    def play(self, *arguments):
        figures, chunk, lanes = super().play(*arguments)
        self.seen += 1
        if self.seen < 3:
            return figures, chunk, lanes
        steps = dict(chunk.steps)
        if self.lies == "NaN":
            steps["value"] = np.full_like(steps["value"], np.nan)
        elif self.lies == "actions":
            steps["action"] = steps["action"] + 9
        elif self.lies == "shape":
            steps["policy"] = steps["policy"][:, :, :-1]
        elif self.lies == "raises":
            raise ZeroDivisionError("nothing to divide by")
        else:
            return figures, "no chunk at all", lanes
        return figures, replace(chunk, steps=steps), lanes


def honest_once(monkeypatch, lies):
    """The first worker lies, those that take its place do not."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    kinds = iter([type("Liar", (Liar,), {"lies": lies})])
    make = roles.Roles.worker

    def worker(self, name):
        with monkeypatch.context() as now:
            now.setattr(roles, "Worker", next(kinds, Worker) if name == "worker-1" else Worker)
            return make(self, name)

    monkeypatch.setattr(roles.Roles, "worker", worker)


SAID = {
    "NaN": "value: 16 of 16 are no finite numbers",
    "actions": "actions must be from 0 to 8",
    "shape": "policy: float16[4, 4, 8], not float16[4, 4, 9]",
    "raises": "ZeroDivisionError: nothing to divide by",
    "nonsense": "a chunk was expected, not str",
}


@pytest.fixture(scope="module")
def small(cluster, tmp_path_factory):
    return run(tmp_path_factory.mktemp("runs") / "small", workers=2)


@pytest.mark.parametrize("lies", SAID)
def test_a_worker_that_sends_nonsense_is_dropped(small, tmp_path, monkeypatch, lies):
    honest_once(monkeypatch, lies)
    path = run(tmp_path / "run", workers=2)
    dropped = [line for line in log(path).splitlines() if "was dropped" in line]
    assert len(dropped) == 1
    assert "worker-1 (process " in dropped[0]
    assert SAID[lies] in dropped[0]
    assert metrics(path) == metrics(small)
    assert last(path) == last(small)


def test_if_everyone_fails_the_run_says_so(cluster, tmp_path, monkeypatch):
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    always = {"lies": "NaN", "seen": 2}
    monkeypatch.setattr(roles, "Worker", type("Liar", (Liar,), always))
    with pytest.raises(RunError, match=r"3 workers in a row failed.*are no finite numbers"):
        run(tmp_path / "run", workers=2)
