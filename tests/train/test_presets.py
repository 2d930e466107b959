"""Runs by name: one for two cores and one for a GPU, for every game."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove import games
from halfmove.core.game import timestep
from halfmove.nets import NetConfig
from halfmove.train.parts import opened
from halfmove.train.presets import PRESETS, preset

NEEDS = ("two cores", "one GPU")


@pytest.mark.parametrize("needs", NEEDS)
def test_every_game_has_one(needs):
    there = {x.make().game.split()[0] for x in PRESETS.values() if x.needs == needs}
    assert {*games.names(), "atari:ms_pacman"} <= there
    assert {x.needs for x in PRESETS.values()} == set(NEEDS)


def test_an_unknown_one_is_named():
    with pytest.raises(ValueError, match=r"unknown preset 'hex55' \(did you mean 'hex5'\?\)"):
        preset("hex55")


def moves_of(planner, options=()):
    """What self-play makes of 32 searches of one position: (visits [32, A], moves [32])."""
    search = replace(preset("hex5").search, planner=planner, simulations=16, options=options)
    config = replace(preset("hex5"), search=search, net=NetConfig(planes=4, blocks=1))
    with opened(config) as parts:
        first = timestep(parts.game, parts.game.init(jax.random.key(0)))
        seen = jax.tree.map(lambda x: jnp.stack([x] * 32), first)
        variables = parts.model.init(jax.random.key(1))
        plan = parts.planner(jax.random.key(2), parts.model, variables, seen)
    return np.asarray(plan.stats.visits), np.asarray(plan.action)


@pytest.mark.parametrize("planner", ["muzero", "mcs"])
def test_moves_that_do_not_explore_are_the_most_visited(planner):
    """The first 30 explore: Gumbel paper, of MuZero; Policy Gradient Search paper, 5.1."""
    visits, moves = moves_of(planner)
    np.testing.assert_array_equal(visits[np.arange(32), moves], visits.max(axis=1))


def test_options_may_draw_all_moves():
    visits, moves = moves_of("muzero", ("temperature=1.0",))
    assert (visits[np.arange(32), moves] < visits.max(axis=1)).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_its_parts_fit_together_and_into_the_budget(name):
    config = preset(name)
    with opened(config) as parts:
        assert parts.replay.capacity <= config.replay.positions
        assert parts.replay_bytes <= config.replay.gigabytes * 1e9
        # It holds far more than a game of each lane, or only short ones would be learned from.
        assert parts.replay.length >= 4 * config.selfplay.chunk
        assert parts.updates_due(config.iterations) > 100
