"""Runs whose environments live on the host: they train, fail, stop and go on as they should."""

import json
import logging
import resource
from dataclasses import replace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove import envs
from halfmove.core.types import Step
from halfmove.nets import NetConfig
from halfmove.replay import Replay
from halfmove.selfplay.host import evaluate
from halfmove.train.config import TrainConfig
from halfmove.train.durable import RunError
from halfmove.train.hands import Local
from halfmove.train.loop import Loop, train
from halfmove.train.parts import environment_of, opened, parts_of
from halfmove.train.presets import preset
from halfmove.train.rating import quiet
from tests.envs import worlds

gymnasium.register("HalfmoveTestBad-v0", entry_point=worlds.Bad, kwargs={"what": "raise"})
BAD = "gymnasium:HalfmoveTestBad-v0"


def tiny(**changes):
    config = preset("cartpole")
    config = replace(
        config,
        iterations=4,
        save_every=2,
        net=replace(config.net, planes=8, blocks=0, head_width=8),
        search=replace(config.search, simulations=2),
        selfplay=replace(config.selfplay, lanes=4, chunk=16),
        replay=replace(config.replay, positions=1_000),
        learn=replace(config.learn, batch=8, samples=0.5, begin=64, unroll=1, steps=3),
    )
    return replace(config, **changes)


def metrics_of(path):
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture
def made(monkeypatch):
    """The environments that are made."""
    found = []
    make = envs.make

    def noted(*args, **options):
        found.append(make(*args, **options))
        return found[-1]

    monkeypatch.setattr(envs, "make", noted)
    return found


def closed(env):
    return env._vector._host is None


def test_a_run_learns_from_returns_and_goes_on_with_new_episodes(made, tmp_path, caplog):
    path = tmp_path / "run"
    train(tiny(iterations=2), path)
    first = metrics_of(path)
    assert [row["step"] for row in first] == [1, 2]
    told = [row for row in first if "games/return" in row]
    assert told  # 128 moves of a beginner: some episode has ended
    for row in told:  # CartPole earns 1 a move
        assert row["games/return"] == row["games/length"]
        assert "selfplay/first" not in row
    assert np.isfinite(first[-1]["learn/loss"])
    with caplog.at_level(logging.INFO):
        train(tiny(), path, resume=True)
    assert "environments cannot be saved" in caplog.text
    rows = metrics_of(path)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert rows[:2] == first
    assert rows[-1]["run/positions"] == 256
    assert len(made) == 2  # one vector a run: none is started only to look at it
    assert all(map(closed, made))


def test_what_was_cut_short_is_not_joined_to_what_follows():
    lanes, chunk = 2, 4
    replay = Replay(lanes, 12, chunk, window=3, context=2)

    def steps(first, ends):
        at = jnp.broadcast_to(jnp.arange(first, first + chunk, dtype=jnp.float32), (lanes, chunk))
        last = jnp.zeros((lanes, chunk), bool).at[tuple(ends)].set(True)
        one = jnp.ones((lanes, chunk))
        return Step(
            state=at, action=at.astype(jnp.int32), policy=jnp.ones((lanes, chunk, 2)) / 2,
            value=at, reward=one, discount=jnp.where(last, 0.0, 1.0), last=last, weight=one,
        )  # fmt: skip

    add = jax.jit(replay.add)
    store = add(replay.empty(steps(0, ([], []))), steps(0, ([0], [3])))
    store = jax.jit(replay.cut_short)(store)
    store = add(store, steps(4, ([0, 1], [7 - 4, 5 - 4])))
    lane, time = jnp.array([0, 1, 1, 1]), jnp.array([2, 2, 3, 4])
    sample = jax.jit(replay.at)(store, lane, time)
    masks = [[True, True, False], [True, True, False], [True, False, False], [True, True, False]]
    np.testing.assert_array_equal(sample.mask, masks)
    # The episode of lane 0 had ended by itself; that of lane 1 has no outcome, the next has.
    np.testing.assert_array_equal(sample.known, [True, False, False, True])
    np.testing.assert_array_equal(sample.outcome[3], [2.0, 1.0, 0.0])
    np.testing.assert_array_equal(sample.window.discount[2, 0], 1.0)
    np.testing.assert_array_equal(sample.context.mask[3], [False, False])


@pytest.mark.parametrize("workers", [0, 1])
def test_a_failing_environment_stops_the_run_and_leaves_nothing(made, tmp_path, workers):
    config = tiny(game=f"{BAD} workers={workers}")
    with pytest.raises(RunError, match=r"environment 0 of .*Bad-v0 failed in step.*fell in"):
        train(config, tmp_path / "run")
    assert len(made) == 1
    assert closed(made[0])


def test_a_run_that_fails_otherwise_ends_its_environments(made, tmp_path):
    (tmp_path / "run").write_text("in the way")
    with pytest.raises(RunError):
        train(tiny(), tmp_path / "run")
    assert all(map(closed, made))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "rules"}, "no rules that a search could follow: choose --model learned"),
        ({"game": "gymnasium:CartPole-v1 envs=3"}, "selfplay.lanes"),
        ({"game": "gymnasium:Pendulum-v1 samples=3"}, "cannot be learned"),
        ({"game": "gymnasium:Pendulum-v1"}, "samples=K"),
        ({"game": "gymnasium:Nonesuch-v7"}, "no Gymnasium environment 'Nonesuch-v7'"),
        ({"game": "atari:ms_pakman"}, "did you mean 'ms_pacman'"),
        ({"net": NetConfig()}, 'use kind="mlp"'),
        ({"replay": replace(preset("cartpole").replay, positions=16)}, "a replay of 4 lanes"),
    ],
)
def test_what_does_not_fit_is_said(made, changes, said):
    if changes.get("model") == "rules":
        changes = {**changes, "learn": replace(tiny().learn, unroll=0)}
    with pytest.raises(ValueError, match=said):
        parts_of(tiny(**changes))
    assert all(map(closed, made))


def test_nobody_resigns_an_environment():
    with pytest.raises(ValueError, match=r"selfplay\.resign must be 0"):
        parts_of(tiny(selfplay=replace(tiny().selfplay, resign=0.05)))


def test_other_games_with_a_colon_are_games():
    parts = parts_of(TrainConfig(game="halfmove.games.tic_tac_toe:TicTacToe"))
    assert parts.game is not None
    parts.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_cartpole_is_learned(seed):
    """Mean return of at least 475 of 500 over 100 episodes of greedy search."""
    config = replace(preset("cartpole"), seed=seed)
    with opened(config) as parts, environment_of(config.game, 100) as env:
        hands = Local(parts)
        loop = Loop(parts, None, hands)
        for _ in range(config.iterations):
            loop.iterate()
        search = quiet(config.search)
        found = evaluate(env, parts.model, search, hands.variables, episodes=100, seed=1)
    assert found.mean() >= 475, found


@pytest.mark.slow
def test_atari_runs_from_end_to_end(tmp_path):
    """Real ALE, frames of 96 x 96, prioritised replay, Reanalyze; within the memory it says."""
    config = preset("atari-ms_pacman")
    config = replace(
        config,
        iterations=4,
        save_every=2,
        net=replace(config.net, planes=4, head_width=8),
        search=replace(config.search, simulations=4),
        selfplay=replace(config.selfplay, lanes=2, chunk=8),
        replay=replace(config.replay, positions=2_000),
        learn=replace(config.learn, batch=4, begin=32, samples=0.25, unroll=2, steps=3),
    )
    jax.clear_caches()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train(config, tmp_path / "run")
    train(replace(config, iterations=6), tmp_path / "run", resume=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    rows = metrics_of(tmp_path / "run")
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[-1]["run/updates"] == (6 * 16 - 32) // 16
    assert np.isfinite(rows[-1]["learn/loss"])
    assert grown < 1_500_000  # kB
