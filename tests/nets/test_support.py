"""The invertible transform, the two-hot support, and what heads lose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from halfmove.nets import HeadConfig
from halfmove.nets.support import inverse, transform, two_hot

CATEGORICAL = HeadConfig("categorical")
N = 16
floats = arrays(np.float32, N, elements=st.floats(-9e4, 9e4, width=32))
small = arrays(np.float32, N, elements=st.floats(-8, 8, width=32))


def h(x: np.ndarray) -> np.ndarray:
    """The formula of the paper in double precision."""
    x = x.astype(np.float64)
    return np.sign(x) * (np.sqrt(np.abs(x) + 1) - 1) + 0.001 * x


# Where the transform reaches 300: h(x) = 300, solved by hand: √(x+1) = u, 0.001u² + u = 301.001.
EDGE = ((-1 + np.sqrt(1 + 4 * 0.001 * 301.001)) / 0.002) ** 2 - 1


@given(floats)
@settings(max_examples=50)
def test_the_transform_is_the_papers_and_its_inverse_is_exact(x):
    y = jax.jit(transform)(x)
    # Near zero the oracle, as the paper writes it, is the one that cancels.
    np.testing.assert_allclose(y, h(x), rtol=2e-6, atol=1e-14)
    np.testing.assert_allclose(jax.jit(inverse)(y), x, rtol=3e-6, atol=1e-30)


@given(small)
@settings(max_examples=50)
def test_two_hot_is_the_only_one_with_this_mean_on_neighbours(y):
    size = 5
    found = np.asarray(jax.jit(two_hot, static_argnums=1)(y, size))
    for value, row in zip(np.clip(y.astype(np.float64), -size, size), found, strict=True):
        expected = np.zeros(2 * size + 1)
        low = int(np.floor(value))
        expected[low + size] = 1 - (value - low)
        if low < size:
            expected[low + 1 + size] = value - low
        np.testing.assert_allclose(row, expected, atol=1e-6)


@jax.jit
def round_trip(x: jax.Array) -> jax.Array:
    return CATEGORICAL.decode(jnp.log(two_hot(transform(x), 300)))


@given(floats)
@settings(max_examples=50)
def test_a_perfect_categorical_head_decodes_to_its_target(x):
    """MuZero's 601 bins hold everything between about ±59,000."""
    decoded = round_trip(x)
    expected = np.clip(x, -EDGE, EDGE)
    # A bin of 300 is rounded to 3e-5, and the inverse's slope there is about 350.
    np.testing.assert_allclose(decoded, expected, rtol=2e-6, atol=2e-4)


def test_the_ends_of_the_support():
    assert CATEGORICAL.outputs == 601
    raw = np.full((4, 601), -np.inf, np.float32)
    raw[[0, 1, 2], [0, 300, 600]] = 0.0
    raw[3] = 0.0
    decoded = np.asarray(jax.jit(CATEGORICAL.decode)(raw))
    np.testing.assert_allclose(h(decoded), [-300, 0, 300, 0], rtol=1e-5, atol=1e-4)


def test_losses_against_numpy():
    rng = np.random.default_rng(0)
    target = np.array([-3.7, 0.0, 0.2, 9.0], np.float32)
    raw = rng.normal(size=(4, 7)).astype(np.float32)
    log_p = raw - np.log(np.exp(raw).sum(-1, keepdims=True))
    expected = []
    for value, row in zip(np.clip(h(target), -3, 3), log_p, strict=True):
        low = int(np.floor(value))
        above = value - low
        expected.append(-(1 - above) * row[low + 3] - (above * row[low + 4] if above else 0))
    found = HeadConfig("categorical", size=3).loss(jnp.asarray(raw), jnp.asarray(target))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    linear, tanh = HeadConfig("linear"), HeadConfig("tanh")
    one = raw[:, :1]
    np.testing.assert_allclose(linear.loss(one, target), (raw[:, 0] - target) ** 2, rtol=1e-5)
    np.testing.assert_allclose(
        tanh.loss(one, target), (np.tanh(raw[:, 0]) - target) ** 2, rtol=1e-5
    )
    assert linear.outputs == tanh.outputs == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"kind": "tan"}, "tanh, linear or categorical"),
        ({"size": 0}, "size must be at least 1, got 0"),
        ({"epsilon": 0}, "epsilon must be above 0, got 0"),
    ],
)
def test_a_wrong_head_is_refused(options, word):
    with pytest.raises(ValueError, match=word):
        HeadConfig(**options)
