"""Normalisation and linear layers against plain numpy."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.nets import NetConfig
from halfmove.nets.layers import Dense, Linear, Norm
from halfmove.nets.start import start

CONFIG = NetConfig(dtype="float32", norm_decay=0.75)
rng = np.random.default_rng(0)


def convolved(x: np.ndarray, kernel: np.ndarray, stride: int = 1) -> np.ndarray:
    """A 3 x 3 convolution with zeros around the board, one output at a time."""
    batch, height, width, _ = x.shape
    rows, columns = -(-height // stride), -(-width // stride)
    out = np.zeros((batch, rows, columns, kernel.shape[-1]))
    # XLA's SAME: what is missing is split, the odd one goes to the end.
    top = max((rows - 1) * stride + 3 - height, 0) // 2
    left = max((columns - 1) * stride + 3 - width, 0) // 2
    for i in range(rows):
        for j in range(columns):
            for di in range(3):
                for dj in range(3):
                    a, b = i * stride + di - top, j * stride + dj - left
                    if 0 <= a < height and 0 <= b < width:
                        out[:, i, j] += x[:, a, b] @ kernel[di, dj]
    return out


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (3, 2)])
def test_a_layer_outside_of_training_is_convolution_then_normalisation(size, stride):
    """Batch norm folded into the kernel changes nothing but rounding."""
    x = rng.normal(size=(2, 4, 3, 5)).astype(np.float32)
    kernel = rng.normal(size=(5, 6) if size == 1 else (3, 3, 5, 6)).astype(np.float32)
    offset, mean = (rng.normal(size=6).astype(np.float32) for _ in range(2))
    variance = rng.uniform(0.1, 4, 6).astype(np.float32)
    variables = {
        "params": {"kernel": kernel, "norm": {"offset": offset}},
        "stats": {"norm": {"mean": mean, "variance": variance, "seen": 9.0}},
    }
    found = Linear(6, CONFIG, size, stride).apply(variables, x, False)
    y = x @ kernel if size == 1 else convolved(x, kernel, stride)
    expected = (y - mean) / np.sqrt(variance + 1e-3) + offset
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_in_training_the_batch_is_normalised_and_remembered():
    """A plain mean over the first 1 / (1 - decay) = 4 batches, then a moving one."""
    variables = {
        "params": {"offset": np.array([0.5, -2.0], np.float32)},
        "stats": {"mean": np.zeros(2), "variance": np.ones(2), "seen": np.zeros(())},
    }
    run = jax.jit(lambda v, x: Norm(2, CONFIG).apply(v, x, True, mutable=["stats"]))
    seen = []
    for i in range(6):
        x = (rng.normal(size=(8, 3, 2)) * (i + 1) + i).astype(np.float32)
        seen.append((x.mean((0, 1)), x.var((0, 1))))
        y, moved = run(variables, x)
        expected = (x - seen[-1][0]) / np.sqrt(seen[-1][1] + 1e-3) + [0.5, -2.0]
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
        variables = {**variables, "stats": moved["stats"]}
        if i < 4:
            mean, variance = (np.mean([s[k] for s in seen], axis=0) for k in (0, 1))
        else:
            mean, variance = (
                0.75 * old + 0.25 * seen[-1][k] for k, old in enumerate((mean, variance))
            )
        np.testing.assert_allclose(moved["stats"]["mean"], mean, rtol=1e-4)
        np.testing.assert_allclose(moved["stats"]["variance"], variance, rtol=1e-4)
    assert float(moved["stats"]["seen"]) == 6


@pytest.mark.parametrize("shape", [(64, 5, 5, 3), (4, 7, 3), (256, 3)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_is_far_from_zero_is_normalised_as_well(shape, dtype):
    """Squares cancel there: a mean of a hundred deviations, and a plane that is all the same."""
    variables = {
        "params": {"offset": np.zeros(3, np.float32)},
        "stats": {"mean": np.zeros(3), "variance": np.ones(3), "seen": np.zeros(())},
    }
    for turn in range(2):
        x = rng.normal(size=shape) * [1.0, 0.01, 0.0] + [100.0, -1.0, 7.0]
        x = np.asarray(jnp.asarray(x, dtype), np.float64)  # as it is read
        axes = tuple(range(len(shape) - 1))
        mean, variance = x.mean(axes), x.var(axes)
        y, moved = Norm(3, CONFIG).apply(
            variables, jnp.asarray(x, jnp.float32), True, mutable=["stats"]
        )
        expected = (x - mean) / np.sqrt(variance + 1e-3)
        # The first batch is seen from zero: 1e4 in f32 is known to a thousandth.
        np.testing.assert_allclose(y, expected, atol=3e-4 if turn else 2e-2)
        assert (moved["stats"]["variance"] >= 0).all()
        variables = {**variables, "stats": moved["stats"]}


@pytest.mark.parametrize("shape", [(16, 5, 5, 2), (64, 2)])
def test_the_gradient_goes_through_the_mean_and_the_variance_of_the_batch(shape):
    variables = {
        "params": {"offset": np.zeros(2, np.float32)},
        "stats": {"mean": np.array([0.5, -3.0]), "variance": np.ones(2), "seen": np.array(9.0)},
    }
    x, weight = (rng.normal(size=shape) * 2 + 1 for _ in range(2))

    def weighed(x):
        y, _ = Norm(2, CONFIG).apply(variables, x, True, mutable=["stats"])
        return jnp.sum(y * weight)

    axes = tuple(range(len(shape) - 1))
    deviation = np.sqrt(x.var(axes) + 1e-3)
    y = (x - x.mean(axes)) / deviation
    expected = (weight - weight.mean(axes) - y * (weight * y).mean(axes)) / deviation
    np.testing.assert_allclose(jax.grad(weighed)(jnp.asarray(x, jnp.float32)), expected, atol=1e-5)


def test_layer_norm_and_none():
    x = rng.normal(size=(3, 2, 4)).astype(np.float32)
    variables = {"params": {"offset": np.arange(4, dtype=np.float32)}}
    found = Norm(4, replace(CONFIG, norm="layer")).apply(variables, x, False)
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    expected = (x - mean) / np.sqrt(variance + 1e-3) + np.arange(4)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    found = Norm(4, replace(CONFIG, norm="none")).apply(variables, x, True)
    np.testing.assert_allclose(found, x + np.arange(4), rtol=1e-6)


def test_outside_of_training_nothing_is_summed_over_the_batch():
    module, x = Linear(4, CONFIG, 3), jnp.zeros((2, 3, 3, 2))
    variables = jax.eval_shape(lambda: start(jax.random.key(0), module, x, False))

    def operations(train: bool) -> set[str]:
        made = jax.make_jaxpr(lambda v: module.apply(v, x, train, mutable=["stats"]))(variables)
        return {str(e.primitive) for e in made.eqns}

    assert "reduce_sum" not in operations(False)
    assert "reduce_sum" in operations(True)


def test_bfloat16_computes_narrow_and_keeps_parameters_wide():
    module, x = Linear(4, replace(CONFIG, dtype="bfloat16"), 3), jnp.ones((2, 3, 3, 2))
    variables = jax.jit(lambda key: start(key, module, x, False))(jax.random.key(0))
    assert {leaf.dtype for leaf in jax.tree.leaves(variables)} == {jnp.dtype("float32")}
    for train in (False, True):
        made = jax.make_jaxpr(lambda v, t=train: module.apply(v, x, t, mutable=["stats"]))(
            variables
        )
        # On a CPU it has a gradient of its own.
        names = ("conv_general_dilated", "custom_vjp_call")
        convolution = next(e for e in made.eqns if e.primitive.name in names)
        assert {v.aval.dtype for v in convolution.invars} == {jnp.dtype("bfloat16")}
        y, moved = jax.jit(
            lambda v, t=train: module.apply(v, x, t, mutable=["stats"]),
        )(variables)
        assert y.dtype == jnp.bfloat16
        assert moved["stats"]["norm"]["mean"].dtype == jnp.float32
        wide = np.asarray(Linear(4, CONFIG, 3).apply(variables, x, train, mutable=["stats"])[0])
        np.testing.assert_allclose(np.asarray(y, np.float32), wide, rtol=0.05, atol=0.05)
    last = jax.eval_shape(lambda: Dense(3).apply(start(jax.random.key(0), Dense(3), y), y))
    assert last.dtype == jnp.float32


@pytest.mark.parametrize("init", ["he", "paper"])
def test_kernels_begin_as_wide_as_they_should(init):
    module = Linear(64, replace(CONFIG, init=init), 3)
    x = jnp.zeros((1, 3, 3, 32))
    begin = jax.jit(lambda key: start(key, module, x, False))
    made = begin(jax.random.key(1))
    kernel = np.asarray(made["params"]["kernel"])
    # A normal of 0.01 cut off at two of its deviations, or variance 2 / (9 * 32).
    spread = 0.01 * 0.8796 if init == "paper" else np.sqrt(2 / 288)
    assert kernel.std() == pytest.approx(spread, rel=0.02)
    assert abs(kernel).max() <= 2.001 * spread / 0.8796
    assert abs(kernel.mean()) < 4 * spread / np.sqrt(kernel.size)
    assert not np.asarray(made["params"]["norm"]["offset"]).any()
    other = begin(jax.random.key(2))["params"]["kernel"]
    assert not np.allclose(kernel, other)
