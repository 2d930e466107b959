"""Environments stay with their worker; if it is lost new episodes begin. Nothing counts twice."""

import itertools
import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.cluster.forms import parts_of_lanes
from halfmove.cluster.players import Hosts, Place, begin_key
from halfmove.train.loop import train
from halfmove.train.presets import preset
from tests.cluster.runs import Killer, last, log, metrics, run


def tiny(**changes):
    """Six iterations of two times two poles."""
    config = preset("cartpole")
    config = replace(
        config,
        iterations=6,
        save_every=4,
        net=replace(config.net, planes=8, blocks=0, head_width=8),
        search=replace(config.search, simulations=2),
        selfplay=replace(config.selfplay, lanes=4, chunk=8),
        replay=replace(config.replay, positions=1_000),
        learn=replace(config.learn, batch=8, samples=0.5, begin=32, unroll=1, steps=3),
    )
    return replace(config, **changes)


def lines_of(path):
    return [json.loads(line) for line in metrics(path).splitlines()]


def counts_are_exact(path, iterations):
    """Every chunk once, every update due, every episode once: those cut off are none."""
    lines = lines_of(path)
    assert [line["step"] for line in lines] == list(range(1, iterations + 1))
    assert [line["run/positions"] for line in lines] == [32 * i for i in range(1, iterations + 1)]
    due = [max(0, (32 * i - 32) * 0.5 // 8) for i in range(1, iterations + 1)]
    assert [line["run/updates"] for line in lines] == due
    ended = [line["games/ended"] for line in lines]
    assert [line["run/games"] for line in lines] == list(itertools.accumulate(ended))
    for line in lines:
        assert line["replay/size"] == line["run/positions"]
        if line["games/ended"]:  # CartPole earns 1 a move
            assert line["games/return"] == pytest.approx(line["games/length"])
    # Moves of episodes that ended, of which some have none.
    moves = sum(line["games/ended"] * line.get("games/length", 0) for line in lines)
    assert moves <= 32 * iterations


@pytest.mark.slow
def test_a_worker_is_killed(cluster, tmp_path):
    path = tmp_path / "run"
    killer = Killer(path, "worker-2", 2)
    run(path, tiny(), workers=2)
    assert f"worker-2 (process {killer.killed}" in log(path)
    assert log(path).count("begins new episodes for group 1") == 1
    assert "begins new episodes for group 0" not in log(path)
    counts_are_exact(path, 6)


@pytest.mark.slow
def test_one_worker_without_lag_is_one_process(cluster, tmp_path):
    """Also after both were stopped and resumed."""
    paths = [tmp_path / "one", tmp_path / "alone"]
    for config, resume in ((tiny(), False), (tiny(iterations=9), True)):
        train(config, paths[1], resume=resume)
        run(paths[0], config, resume=resume, workers=1, lag=0)
        assert metrics(paths[0]) == metrics(paths[1])
    assert last(paths[0]) == last(paths[1])
    run(paths[0], tiny(iterations=12), resume=True, workers=2, groups=4)
    counts_are_exact(paths[0], 12)
    train(tiny(iterations=14), paths[0], resume=True)
    counts_are_exact(paths[0], 14)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["learner", "replay-2", "reanalyser-1", "rater"])
def test_another_role_is_killed(cluster, tmp_path, who):
    config = tiny(
        reanalyse=replace(preset("cartpole").reanalyse, share=0.5, target_every=3),
        rating=replace(preset("cartpole").rating, every=3, games=2, simulations=2),
    )
    path = tmp_path / "run"
    killer = Killer(path, who, 5)
    run(path, config, workers=2, replay_shards=2, reanalysers=1)
    assert killer.killed
    counts_are_exact(path, 6)
    assert "rating/return" in lines_of(path)[5]


@pytest.mark.slow
def test_frames_travel_once(cluster, tmp_path):
    """Atari: a position travels as its newest frame, not as the history that a network sees."""
    pytest.importorskip("ale_py")
    config = preset("atari-ms_pacman")
    config = replace(
        config,
        iterations=4,
        net=replace(config.net, planes=4),
        search=replace(config.search, simulations=2),
        selfplay=replace(config.selfplay, lanes=2, chunk=8),
        replay=replace(config.replay, positions=500),
        learn=replace(config.learn, batch=8, begin=16, samples=1.0, unroll=1),
        rating=replace(config.rating, every=0),
    )
    path = run(tmp_path / "run", config, workers=2)
    alone = train(config, tmp_path / "alone")
    assert [x["run/updates"] for x in lines_of(path)] == [x["run/updates"] for x in lines_of(alone)]
    sizes = [json.loads(x) for x in (path / "speed.jsonl").read_text().splitlines()]
    frame = 48 * 48
    assert all(frame < x["cluster/bytes_per_position"] < frame + 500 for x in sizes)


def test_only_some_lanes_are_cut_short():
    """What was played in the others goes on."""
    parts = parts_of_lanes(tiny(), 2)
    replay, store = parts.replay, parts.empty()
    steps = jax.tree.map(lambda x: jnp.ones(x.shape, x.dtype), parts.example)
    steps = replace(steps, last=jnp.zeros((2, 8), bool))
    store = replay.add(store, steps)
    cut = replay.cut_short(store, np.array([True, False]))
    assert cut.steps.last[:, :8].sum(axis=1).tolist() == [1, 0]
    assert bool(cut.steps.last[0, 7])
    assert replay.eligible(cut)[:, :8].sum(axis=1).tolist() == [8, 8 - replay.window + 1]
    assert cut.running.earned.tolist() == [0, 8]
    both = replay.cut_short(cut, np.array([False, True]))
    jax.tree.map(np.testing.assert_array_equal, both, replay.cut_short(store))


@pytest.fixture(scope="module")
def hosts():
    return Hosts(tiny(), 2)


def chunk(hosts, number, place, seed=0):
    variables = hosts.model.init(jax.random.key(0))
    heat, key = jnp.float32(1), jax.random.key(seed)
    return hosts.play(variables, key, heat, heat, (number, {}), place)


def test_episodes_go_on_only_where_they_were(hosts):
    """In the same life, at the next number; all else begins anew."""
    assert chunk(hosts, 0, Place(0, 1)).fresh
    assert not chunk(hosts, 1, Place(0, 1)).fresh
    assert chunk(hosts, 1, Place(0, 1)).fresh  # played already
    assert chunk(hosts, 2, Place(0, 2)).fresh  # another life
    assert chunk(hosts, 0, Place(1, 1)).fresh
    assert not chunk(hosts, 1, Place(1, 1)).fresh
    assert not chunk(hosts, 3, Place(0, 2)).fresh  # the other group has its own


def test_new_episodes_are_those_of_a_resumed_run(hosts):
    """The same number, the same beginning."""
    one = chunk(hosts, 4, Place(0, 7)).steps
    other = chunk(hosts, 4, Place(0, 8)).steps
    np.testing.assert_array_equal(one.state, other.state)
    assert (np.asarray(chunk(hosts, 5, Place(0, 9)).steps.state) != one.state).any()
    keys = [begin_key(0, *x) for x in [(0, 0, 2), (0, 1, 2), (4, 0, 2), (4, 1, 2), (4, 0, 1)]]
    assert len({jax.random.key_data(key).tobytes() for key in keys}) == 5
