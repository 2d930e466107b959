"""Residual blocks: what they keep, what they mix, and the numbers they give."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.nets import NetConfig
from halfmove.nets.blocks import Block, Broadcast, Pool, block, greatest
from halfmove.nets.start import start

CONFIG = NetConfig(planes=6, bottleneck=3, every=1, norm="none", dtype="float32")
KINDS = {
    "dense": CONFIG,
    "bottleneck": replace(CONFIG, block="bottleneck"),
    "broadcast": replace(CONFIG, mix="broadcast"),
    "pool": replace(CONFIG, mix="pool"),
}
rng = np.random.default_rng(1)


def made(module: Any, x: Any, seed: int = 0) -> Any:
    return jax.jit(lambda key: start(key, module, x, False))(jax.random.key(seed))


def apply(module: Any, variables: Any, x: Any) -> np.ndarray:
    return np.asarray(jax.jit(lambda v, x: module.apply(v, x, False))(variables, x))


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_without_weights_a_block_is_the_identity(kind, early):
    """After the sum comes a ReLU, unless the block is a pre-activated one."""
    module = block(replace(KINDS[kind], preactivation=early), 1)
    x = rng.normal(size=(2, 3, 4, 6)).astype(np.float32)
    shapes = jax.eval_shape(lambda: start(jax.random.key(0), module, x, False))
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), shapes)
    np.testing.assert_array_equal(apply(module, zeros, x), x if early else np.maximum(x, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_how_far_a_block_sees(kind):
    """Two layers of 3 x 3 see two steps; broadcast and pooling see the whole board."""
    module = block(KINDS[kind], 1)
    x = jnp.abs(jnp.asarray(rng.normal(size=(1, 7, 7, 6)), jnp.float32))
    variables = made(module, x)
    changed = x.at[0, 0, 0].add(1.0)
    moved = np.abs(apply(module, variables, changed) - apply(module, variables, x)).max(-1)[0]
    far = np.maximum.outer(np.arange(7), np.arange(7))
    if kind in ("dense", "bottleneck"):
        assert moved[far <= 1].max() > 0
        assert not moved[far > 2].any()
    else:
        assert moved[far > 2].max() > 1e-6


def test_broadcast_against_numpy():
    x = rng.normal(size=(2, 2, 3, 4)).astype(np.float32)
    kernel = rng.normal(size=(6, 6)).astype(np.float32)
    bias = rng.normal(size=6).astype(np.float32)
    found = Broadcast(CONFIG).apply({"params": {"kernel": kernel, "bias": bias}}, x)
    expected = np.zeros_like(x)
    for b in range(2):
        for plane in range(4):
            mixed = x[b, :, :, plane].ravel() @ kernel + bias
            expected[b, :, :, plane] = np.maximum(mixed, 0).reshape(2, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_pool_against_numpy():
    x = rng.normal(size=(2, 2, 3, 4)).astype(np.float32)
    kernel = rng.normal(size=(8, 4)).astype(np.float32)
    bias = rng.normal(size=4).astype(np.float32)
    found = Pool(CONFIG).apply({"params": {"kernel": kernel, "bias": bias}}, x)
    seen = np.concatenate([x.mean((1, 2)), x.max((1, 2))], axis=1) @ kernel + bias
    expected = np.maximum(x + seen[:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("early", [False, True])
def test_a_block_against_numpy(early):
    """Two maps of the last axis with layer norm: the order of norm, ReLU, map and sum."""
    config = replace(CONFIG, norm="layer", preactivation=early, kind="mlp")
    module = block(config, 1)
    x = rng.normal(size=(5, 6)).astype(np.float32)
    variables = made(module, x)
    first, second = (
        np.asarray(variables["params"][f"Linear_{i}"]["kernel"], np.float64) for i in (0, 1)
    )

    def norm(y: np.ndarray) -> np.ndarray:
        return (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-3)

    def relu(y: np.ndarray) -> np.ndarray:
        return np.maximum(y, 0)

    if early:
        expected = x + relu(norm(relu(norm(x)) @ first)) @ second
    else:
        expected = relu(x + norm(relu(norm(x @ first)) @ second))
    np.testing.assert_allclose(apply(module, variables, x), expected, rtol=1e-4, atol=1e-5)


def test_parameters_are_counted_as_the_paper_has_them():
    """256 planes, 128 inside: kernels, and one offset for every plane of a layer."""
    config = NetConfig(planes=256, bottleneck=128, block="bottleneck", mix="broadcast", every=8)

    def count(module: Block) -> int:
        x = jnp.zeros((1, 9, 9, 256))
        shapes = jax.eval_shape(lambda: start(jax.random.key(0), module, x, False))
        return sum(leaf.size for leaf in jax.tree.leaves(shapes["params"]))

    bottleneck = 256 * 128 + 2 * 9 * 128 * 128 + 128 * 256 + 3 * 128 + 256
    broadcast = 256 * 128 + 81 * 81 + 81 + 128 * 256 + 128 + 256
    assert [count(block(config, n)) for n in (1, 7, 8, 9, 16)] == [
        bottleneck, bottleneck, broadcast, bottleneck, broadcast
    ]  # fmt: skip
    assert count(block(replace(config, block="dense"), 1)) == 2 * (9 * 256 * 256 + 256)


def test_the_gradient_of_the_greatest_goes_to_its_place():
    x = rng.normal(size=(2, 2, 3, 4)).astype(np.float32)
    weight = rng.normal(size=(2, 4)).astype(np.float32)
    found = jax.jit(jax.grad(lambda x: jnp.sum(greatest(x) * weight)))(x)
    expected = np.where(x == x.max((1, 2), keepdims=True), weight[:, None, None], 0)
    np.testing.assert_array_equal(found, expected)
