"""Runs by name: one for two cores and one for a GPU, for every game."""

import pytest

from halfmove import games
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
