"""Policies before and after they were stored."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.replay import Replay, policies
from tests.replay import episodes


def some(actions: int, legal: int, rows: int = 6) -> np.ndarray:
    rng = np.random.default_rng(actions)
    found = np.zeros((rows, actions), np.float32)
    for row in found:
        where = rng.choice(actions, legal, replace=False)
        row[where] = rng.dirichlet(np.full(legal, 0.5))
    return found


def there_and_back(policy, largest, half=True):
    back = jax.jit(lambda x: policies.rebuilt(policies.keep(x, largest=largest, half=half)))(policy)
    assert back.dtype == jnp.float32
    return np.asarray(back)


def test_f32_is_exact():
    policy = some(82, 60)
    np.testing.assert_array_equal(there_and_back(policy, None, half=False), policy)


def test_f16_is_near_and_sums_to_one():
    policy = some(82, 60)
    back = there_and_back(policy, None)
    np.testing.assert_allclose(back, policy, rtol=2e-3, atol=1e-7)
    np.testing.assert_allclose(back.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("actions", [4672, 70_000])
def test_pairs_keep_the_largest(actions):
    policy = some(actions, 100)
    back = there_and_back(policy, 64)
    kept = np.sort(policy, axis=-1)[:, ::-1][:, :64]
    for row, before, top in zip(back, policy, kept, strict=True):
        assert (row > 0).sum() <= 64
        wanted = np.where(before >= top[-1], before, 0) / top.sum()
        np.testing.assert_allclose(row, wanted, rtol=2e-3, atol=1e-6)


def test_fewer_moves_than_pairs_lose_nothing():
    policy = some(600, 30)
    np.testing.assert_allclose(there_and_back(policy, 64), policy, rtol=2e-3, atol=1e-6)


def test_zeros_stay_zeros():
    for largest in (None, 4):
        assert not there_and_back(np.zeros((2, 9), np.float32), largest).any()


def test_a_store_of_pairs():
    streams = episodes.lanes(1, 2, 8)
    replay = Replay(lanes=2, length=8, chunk=4, window=2, dense=4, largest=3)
    add, at, rewrite = (jax.jit(f) for f in (replay.add, replay.at, replay.rewrite))
    here = jnp.array([1]), jnp.array([3])
    store = replay.empty(episodes.steps(streams, 0, 4))
    assert store.steps.policy.action.shape == (2, 8, 3)
    for start in (0, 4):
        store = add(store, episodes.steps(streams, start, start + 4))
    sample = at(store, *here)
    whole = streams[1][3].policy
    wanted = np.where(whole >= np.sort(whole)[-3], whole, 0)
    np.testing.assert_allclose(
        sample.window.policy[0, 0], wanted / wanted.sum(), rtol=2e-3, atol=1e-6
    )
    new = jnp.array([[0.5, 0.25, 0.25, 0.0, 0.0]])
    store = rewrite(store, *here, new, jnp.zeros(1))
    sample = at(store, *here)
    np.testing.assert_array_equal(sample.window.policy[0, 0], new[0])
