"""Ratings while training: a network is as strong as itself, and a restart changes nothing."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from halfmove.train.config import RatingConfig, SearchConfig
from halfmove.train.parts import opened, parts_of
from halfmove.train.presets import preset
from halfmove.train.rating import Rating, quiet


@pytest.fixture(scope="module")
def parts():
    config = preset("tic_tac_toe")
    return parts_of(
        replace(
            config,
            net=replace(config.net, planes=4, blocks=1, head_width=4),
            rating=replace(config.rating, every=1, games=8, simulations=2, mcts=2),
        )
    )


def key(seed):
    return jax.random.key(seed)


def test_ratings_go_on_from_a_checkpoint(parts):
    first, second = parts.model.init(key(0)), parts.model.init(key(1))
    rating = Rating(parts, first)
    found = rating.measure(key(2), first)
    # The same network, from both sides of every opening: what one wins the other wins.
    assert found["score/past"] == 0.5
    assert found["rating/rating"] == pytest.approx(0, abs=0.01)
    assert found["rating/rating_low"] < found["rating/rating"] < found["rating/rating_high"]
    assert found["rating/mcts_low"] < found["rating/mcts"] < found["rating/mcts_high"]
    assert found["matches/distinct"] <= 16
    lead = found["rating/rating"] - found["rating/mcts"]
    assert lead * (found["score/mcts"] - 0.5) >= 0
    meta, tree = json.loads(json.dumps(rating.meta())), rating.tree()
    assert sum(sum(result[2:]) for result in meta["results"]) == found["matches/distinct"]
    assert {name for result in meta["results"] for name in result[:2]} == {"0", "1", "mcts"}
    again = Rating(parts, second)
    again.restore(tree, meta)
    assert again.measure(key(3), second) == rating.measure(key(3), second)
    assert again.figures() == rating.figures()
    assert set(again.figures()) == {"rating", "score against MCTS with 2"}


def test_nothing_is_measured_where_there_is_nothing_to_measure(parts):
    off = replace(parts.config, rating=replace(parts.config.rating, every=0))
    rating = Rating(parts_of(off), parts.model.init(key(0)))
    assert rating.measure(key(1), {}) == {}
    assert (rating.tree(), rating.meta(), rating.figures()) == ({}, {}, {})


def test_in_an_environment_whole_episodes_are_measured():
    config = preset("cartpole")
    net = replace(config.net, planes=4, blocks=0, head_width=4)
    rated = RatingConfig(every=1, games=6, simulations=2)
    with opened(replace(config, net=net, rating=rated)) as parts:
        variables = parts.model.init(key(0))
        rating = Rating(parts, variables)
        found = rating.measure(key(1), variables)
        assert rating.measure(key(1), variables) == found
    assert found["rating/return_low"] <= found["rating/return"] <= 500
    assert found["rating/return_high"] >= found["rating/return"] >= 8  # no pole falls sooner
    assert (rating.tree(), rating.meta()) == ({}, {})
    assert rating.figures() == {"measured return": found["rating/return"]}


def test_gumbels_noise_may_stay():
    """The Gumbel paper leaves it out where information is perfect; on Atari it does not."""
    atari = preset("atari-road_runner")
    assert atari.rating.noise
    said = {quiet(atari.search, gumbel=on).rule.noise for on in (False, True)}
    drawn = [noise(key(0), jnp.zeros((2, 4)))[1] for noise in said]
    assert sorted(bool(jnp.any(row != 0)) for row in drawn) == [False, True]
    assert quiet(SearchConfig("muzero", 8), gumbel=True) == quiet(SearchConfig("muzero", 8))


def test_whoever_plays_alone_is_measured_by_points():
    config = preset("2048")
    net = replace(config.net, kind="mlp", planes=4, blocks=0, head_width=4)
    search = replace(config.search, planner="prior", simulations=0, options=())
    rated = RatingConfig(every=1, games=16)
    parts = parts_of(replace(config, net=net, search=search, rating=rated))
    variables = parts.model.init(key(0))
    rating = Rating(parts, variables)
    found = rating.measure(key(1), variables)
    # Any play makes some hundred points; the most likely move of a new network no thousands.
    assert 50 < found["rating/return"] < 2500
    assert found["rating/return_low"] < found["rating/return"] < found["rating/return_high"]
    assert (rating.tree(), rating.meta()) == ({}, {})
