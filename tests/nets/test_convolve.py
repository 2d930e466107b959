"""The gradient of a convolution, written by hand, against JAX's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmove.nets.convolve import as_products, convolve, pointwise


def plain(x, kernel, stride=1):
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def products(x, kernel):
    with as_products():
        return convolve(x, kernel)


def drawn(shape, window, planes, seed=0, dtype=jnp.float32):
    one, two, three = jax.random.split(jax.random.key(seed), 3)
    x = jax.random.normal(one, shape, dtype)
    kernel = jax.random.normal(two, (*window, shape[-1], planes), dtype)
    return x, kernel, jax.random.normal(three, (*shape[:-1], planes), dtype)


def pulled(conv, x, kernel, gradient):
    y, back = jax.vjp(conv, x, kernel)
    return y, *back(gradient)


@settings(max_examples=12, deadline=None)
@given(
    batch=st.integers(1, 3),
    size=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    window=st.tuples(st.sampled_from([1, 3, 5]), st.sampled_from([1, 3, 5])),
    planes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    seed=st.integers(0, 99),
)
def test_as_jax_has_it(batch, size, window, planes, seed):
    x, kernel, gradient = drawn((batch, *size, planes[0]), window, planes[1], seed)
    expected = pulled(plain, x, kernel, gradient)
    for conv in (convolve, products):
        for ours, theirs in zip(pulled(conv, x, kernel, gradient), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)


@settings(max_examples=12, deadline=None)
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple),
    planes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    seed=st.integers(0, 99),
)
def test_points_as_jax_has_them(shape, planes, seed):
    x, kernel, gradient = drawn((*shape, planes[0]), (), planes[1], seed)
    for ours, theirs in zip(
        pulled(pointwise, x, kernel, gradient), pulled(jnp.dot, x, kernel, gradient), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("window", "stride"), [((2, 2), 1), ((4, 3), 1), ((3, 3), 2)])
def test_what_is_not_written_by_hand(window, stride):
    """Even windows are not centred, and a stride leaves places out."""
    x, kernel, _ = drawn((2, 5, 6, 3), window, 4)
    y = plain(x, kernel, stride)
    ours = pulled(lambda x, k: convolve(x, k, stride), x, kernel, y)
    theirs = pulled(lambda x, k: plain(x, k, stride), x, kernel, y)
    with as_products():
        np.testing.assert_allclose(convolve(x, kernel, stride), y, rtol=1e-5, atol=1e-4)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)


def test_kernels_of_many_games_in_a_loop():
    """As Policy Gradient Search adapts whole networks: steps in a loop, each game its own."""
    x, kernel, _ = drawn((2, 4, 4, 3), (3, 3), 3)
    images = jnp.stack([x, -x, 2 * x])
    kernels = jnp.stack([kernel, kernel, kernel + 1]) / 10

    def learn(conv):
        def loss(kernel, x):
            return jnp.sum(jnp.tanh(conv(jnp.tanh(conv(x, kernel)), kernel)) ** 2)

        def step(i, kernels):
            return kernels - 0.01 * jax.vmap(jax.grad(loss))(kernels, images)

        return jax.jit(lambda k: jax.lax.fori_loop(0, 3, step, k))(kernels)

    for conv in (convolve, products):
        np.testing.assert_allclose(learn(conv), learn(plain), rtol=1e-4, atol=1e-5)
    assert not np.allclose(learn(convolve), kernels, atol=1e-3)


def test_a_batch_of_products_is_no_grouped_convolution():
    x, kernel, _ = drawn((2, 4, 4, 3), (3, 3), 3)
    with as_products():
        text = str(jax.make_jaxpr(jax.vmap(convolve))(x[:, None], jnp.stack([kernel, kernel])))
    assert "dot_general" in text
    assert "conv_general_dilated" not in text


@pytest.mark.parametrize(
    ("mine", "jaxs", "window"), [(convolve, plain, (3, 3)), (pointwise, jnp.dot, ())]
)
def test_half_precision(mine, jaxs, window):
    x, kernel, gradient = drawn((2, 5, 5, 4), window, 4, dtype=jnp.bfloat16)
    for ours, theirs in zip(
        pulled(mine, x, kernel, gradient), pulled(jaxs, x, kernel, gradient), strict=True
    ):
        assert ours.dtype == theirs.dtype == jnp.bfloat16
        np.testing.assert_allclose(
            ours.astype(jnp.float32), theirs.astype(jnp.float32), rtol=0.05, atol=0.3
        )
