"""A run that begins with the network of another."""

import jax
import numpy as np
import pytest

from halfmove.nets import NetConfig
from halfmove.train.config import SearchConfig
from halfmove.train.durable import RunError
from halfmove.train.rating import quiet
from halfmove.train.trained import trained
from tests.runs import small


def same(one, other):
    return all(
        np.array_equal(x, y)
        for x, y in zip(*(jax.tree.leaves(trained(p).variables) for p in (one, other)), strict=True)
    )


def test_the_network_of_another_run(tmp_path):
    """Nothing is learned in so few moves, so what it began with is what it ends with."""
    first = small(tmp_path / "first")
    assert not same(first, small(tmp_path / "other", seed=1))
    assert same(first, small(tmp_path / "second", seed=1, start=str(first)))
    stage = f"{first}/checkpoints/00000002"
    assert same(first, small(tmp_path / "stage", seed=1, start=stage))
    with pytest.raises(RunError, match="has no checkpoint"):
        small(tmp_path / "later", start=f"{first}/checkpoints/3")
    with pytest.raises(RunError, match="is no run"):
        small(tmp_path / "third", start=str(tmp_path / "nowhere"))
    with pytest.raises(RunError, match="has no checkpoint"):
        small(tmp_path / "empty", start=str(tmp_path))
    with pytest.raises(RunError, match="checkpoint"):
        small(tmp_path / "fourth", start=str(first), net=NetConfig(planes=5, blocks=1))


@pytest.mark.slow
def test_a_network_without_its_optimiser(tmp_path):
    """Those of the package have none, nor has a run's checkpoint that was kept for its network."""
    first = small(tmp_path / "first")
    for file in first.glob("checkpoints/*/optimiser.safetensors"):
        file.unlink()
    second = small(tmp_path / "second", seed=1, start=str(first))
    assert same(first, second)
    assert "with a new optimiser" in (second / "log.txt").read_text()
    hex7 = NetConfig(planes=32, blocks=3)
    assert same("hex7", small(tmp_path / "third", start="hex7", game="hex size=7", net=hex7))


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    """The one before it is begun with, with its optimiser."""
    first = small(tmp_path / "first", save_every=1)
    older, newest = sorted((first / "checkpoints").iterdir())
    (newest / "checkpoint.json").write_text("{}")
    second = small(tmp_path / "second", seed=1, start=str(first))
    told = (second / "log.txt").read_text()
    assert f"network of {first}, iteration {int(older.name)}\n" in told
    assert same(first, second)


def test_a_planner_that_does_not_search_can_be_rated_with_any_budget():
    assert quiet(SearchConfig("prior", 16)).simulations == 0
    assert quiet(SearchConfig("muzero", 16)).simulations == 16
