"""Samples of several shards are those of one replay."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

from halfmove.cluster import wire
from halfmove.cluster.forms import parts_of_lanes
from halfmove.cluster.samples import assembled, factors, padded, shares, split_among
from halfmove.train.parts import parts_of
from tests.cluster.runs import tiny


def test_shares_are_binomial():
    held = [{"mass": 3.0}, {"mass": 1.0}]
    chance = np.random.default_rng(0)
    drawn = np.array([shares(chance, held, 8)[0] for _ in range(4000)])
    expected = stats.binom(8, 0.75).pmf(np.arange(9)) * len(drawn)
    seen = np.bincount(drawn, minlength=9)
    some = slice(3, None)  # fewer are too rare for the test
    assert stats.chisquare(seen[some], expected[some] * seen[some].sum() / expected[some].sum()
                           ).pvalue > 1e-3  # fmt: skip


def test_nothing_to_draw_is_drawn_from_all():
    assert shares(np.random.default_rng(0), [{"mass": 0.0}] * 3, 9).sum() == 9


def test_importance_weights_are_those_of_the_whole():
    """(N P)^-beta over all shards, against the same with everything in one place."""
    chance, beta = np.random.default_rng(0), 0.7
    priority = chance.uniform(0.1, 3.0, 12)
    rows = [priority[:5], priority[5:]]
    held = [{"count": len(x), "mass": x.sum()} for x in rows]
    local = [(len(x) * x / x.sum()) ** -beta for x in rows]
    scaled = np.concatenate([w * f for w, f in zip(local, factors(held, beta), strict=True)])
    np.testing.assert_allclose(scaled, (12 * priority / priority.sum()) ** -beta)


def test_what_was_found_goes_where_the_rows_came_from():
    rows = [{"lane": np.arange(3), "weight": np.ones(3, np.float32)},
            {"lane": np.arange(10, 15), "weight": np.ones(5, np.float32)}]  # fmt: skip
    chance = np.random.default_rng(1)
    order = chance.permutation(8)
    sample = assembled(rows, [1.0, 2.0], order)
    owner = np.repeat([0, 1], [3, 5])[order]
    assert ((sample["lane"] >= 10) == owner).all()
    assert (sample["weight"] == 1 + owner).all()
    again = {"again/lane": np.repeat(sample["lane"][:4], 2), "again/time": np.arange(8)}
    for shard, mine in enumerate(split_among({**sample, **again}, owner, 2, steps=2)):
        assert sorted(mine["lane"]) == rows[shard]["lane"].tolist()
        wanted = sample["lane"][:4][owner[:4] == shard]
        assert mine["again/lane"].tolist() == np.repeat(wanted, 2).tolist()
        assert len(mine["again/time"]) == len(mine["again/lane"])


def test_padding_is_for_moves_that_no_replay_has():
    found = {"lane": np.ones(2, np.int32), "time": np.ones(2, np.int32)}
    room = {"lane": np.empty(5), "time": np.empty(5)}
    assert padded(found, room)["time"].tolist() == [1, 1, -1, -1, -1]
    assert padded(found, room)["lane"].tolist() == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("positions", [256, 250, 263])
def test_a_part_of_a_replay_is_as_long_as_the_whole(positions):
    config = tiny()
    config = replace(config, replay=replace(config.replay, positions=positions))
    assert parts_of_lanes(config, 2).replay.length == parts_of(config).replay.length


def test_a_tree_comes_back_as_it_was():
    tree = {"key": jax.random.key(3), "x": [np.arange(3, dtype=np.int32), np.float32(2)]}
    there = wire.packed(tree)
    assert all(isinstance(x, np.ndarray) for x in there.values())
    back = wire.unpacked(jax.eval_shape(lambda: jax.tree.map(jax.numpy.asarray, tree)), there)
    assert jax.random.key_data(back["key"]).tolist() == jax.random.key_data(tree["key"]).tolist()
    assert wire.faults(there, wire.empty(tree)) == []


def test_rows_are_joined_as_they_were_divided():
    whole = {"a": np.arange(12).reshape(6, 2), "head": np.int32(7) * np.ones((), np.int32)}
    parts = [wire.rows(whole, 0, 2), wire.rows(whole, 2, 4)]
    assert parts[1]["a"].tolist() == whole["a"][2:].tolist()
    joined = wire.joined(parts)
    assert joined["a"].tolist() == whole["a"].tolist()
    assert joined["head"] == 7
    assert joined["head"].dtype == np.int32
