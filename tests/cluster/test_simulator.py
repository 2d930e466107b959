"""The simulator of `benchmarks.cluster`, where the answer is known."""

import pytest

from benchmarks.cluster import Costs, simulate

FREE = Costs(play=0.0, driver=0.0, door=0.0, enter=0.0, learn=0.0)


def seconds(workers=1, groups=1, lag=1, shards=1, **costs):
    return simulate(
        Costs(**{**vars(FREE), **costs}), workers=workers, groups=groups, lag=lag, shards=shards
    )


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_the_slower_of_playing_and_learning_counts(lag):
    both = seconds(play=3.0, learn=2.0, lag=lag)
    assert both == pytest.approx(3.0 if lag else 5.0)  # in turns, or at the same time
    assert seconds(play=2.0, learn=3.0, lag=lag) == pytest.approx(3.0 if lag else 5.0)


def test_workers_share_the_groups():
    assert seconds(play=1.0, groups=8) == pytest.approx(8.0)
    assert seconds(play=1.0, groups=8, workers=4) == pytest.approx(2.0)
    assert seconds(play=1.0, groups=8, workers=8) == pytest.approx(1.0)


def test_the_driver_and_the_doors_may_be_too_slow():
    assert seconds(workers=100, groups=100, play=1.0, driver=0.05) == pytest.approx(5.0, rel=0.3)
    slow = {"workers": 8, "groups": 8, "play": 1.0, "door": 1.0}
    assert seconds(**slow) == pytest.approx(8.0, rel=0.2)
    assert seconds(**slow, shards=4) == pytest.approx(2.0, rel=0.6)


def test_lag_hides_what_is_uneven():
    """With one iteration of lag, what an iteration waits for is one chunk and one answer."""
    assert seconds(play=1.0, learn=1.0, enter=0.1, lag=1) == pytest.approx(1.1, rel=0.1)
