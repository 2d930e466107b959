"""A replay keeps within its budget."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmove.replay import Replay, bytes_each, bytes_of, fit, shelf
from tests.replay import episodes


def example(lanes: int, chunk: int):
    steps = episodes.steps(episodes.lanes(0, 1, 1), 0, 1)
    shape = jax.eval_shape(lambda: jax.tree.map(jax.numpy.asarray, steps))
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct((lanes, chunk, *x.shape[2:]), x.dtype), shape
    )


@pytest.mark.parametrize("kind", ["uniform", "prioritised"])
def test_bytes_are_those_of_the_arrays(kind):
    replay = Replay(lanes=3, length=20, chunk=4, window=2, kind=kind)
    store = replay.empty(episodes.steps(episodes.lanes(0, 3, 4), 0, 4))
    held = sum(np.asarray(x).nbytes for x in jax.tree.leaves(store))
    assert bytes_of(replay, example(3, 4)) == held
    # id 4, wide 8, action 4, policy 5 * 2, value, reward, discount, weight 16, last 1, outcome 4,
    # side 1, priority 4.
    each = 4 + 8 + 4 + 10 + 16 + 1 + 4 + 1 + (4 if kind == "prioritised" else 0)
    assert bytes_each(replay, example(3, 4)) == each
    assert held == 60 * each + 3 * 5 + 4 + (4 if kind == "prioritised" else 0)


@settings(max_examples=40)
@given(
    lanes=st.integers(1, 50),
    chunk=st.integers(1, 20),
    window=st.integers(1, 20),
    positions=st.integers(1, 100_000),
    nbytes=st.integers(1, 5_000_000),
    kind=st.sampled_from(["uniform", "prioritised"]),
)
def test_no_budget_is_exceeded_and_none_is_wasted(lanes, chunk, window, positions, nbytes, kind):
    steps = example(lanes, chunk)
    options = {"chunk": chunk, "window": window, "kind": kind}

    def within(length: int) -> bool:
        replay = Replay(lanes=lanes, length=length, **options)
        return replay.capacity <= positions and bytes_of(replay, steps) <= nbytes

    if not within(-(-window // chunk) * chunk):
        with pytest.raises(ValueError, match="got a budget of"):
            fit(steps, positions=positions, nbytes=nbytes, **options)
        return
    replay = fit(steps, positions=positions, nbytes=nbytes, **options)
    assert within(replay.length)
    assert not within(replay.length + chunk)


def test_where_it_goes(monkeypatch):
    class Device:
        def memory_stats(self):
            return {"bytes_limit": 100}

    here = jax.local_devices(backend="cpu")
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: here if backend else [Device()])
    assert shelf(50) is None
    assert shelf(51) == here[-1]
    assert shelf(51, "device") is None
    assert shelf(1, "host") == here[-1]
