"""Towers and heads: shapes of every kind, and whole networks."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.nets import HeadConfig, NetConfig
from halfmove.nets.heads import PolicyHead, ScalarHead
from halfmove.nets.networks import Network, World, scaled
from halfmove.nets.start import start
from halfmove.nets.towers import Downsampling, Tower

SMALL = NetConfig(planes=4, blocks=2, every=2, dtype="float32", head_width=5)


def shape_of(module, *args):
    def run():
        variables = start(jax.random.key(0), module, *args, False)
        return module.apply(variables, *args, False)

    return jax.tree.map(lambda x: x.shape, jax.eval_shape(run))


@pytest.mark.parametrize("shape", [(1, 1, 3), (6, 7, 2), (19, 19, 17)])
@pytest.mark.parametrize("early", [False, True])
def test_a_tower_keeps_every_board(shape, early):
    for block, mix in (("dense", "pool"), ("bottleneck", "broadcast"), ("dense", "none")):
        config = replace(SMALL, mix=mix, preactivation=early, block=block)
        assert shape_of(Tower(config), jnp.zeros((2, *shape))) == (2, *shape[:2], 4)


def test_images_become_sixteen_times_smaller():
    for early in (False, True):
        module = Downsampling(replace(SMALL, kind="atari", preactivation=early))
        assert shape_of(module, jnp.zeros((2, 96, 96, 5))) == (2, 6, 6, 4)
        assert shape_of(module, jnp.zeros((2, 84, 50, 1))) == (2, 6, 4, 4)


def test_the_image_tower_has_the_papers_layers():
    config = NetConfig(kind="atari", planes=256)
    x = jnp.zeros((1, 96, 96, 128))
    module = Downsampling(config)
    params = jax.eval_shape(lambda: start(jax.random.key(0), module, x, False))["params"]
    kernels = [x.shape for x in jax.tree.leaves(params) if len(x.shape) == 4]
    expected = [(3, 3, 128, 128)] * 5 + [(3, 3, 128, 256)] + [(3, 3, 256, 256)] * 12
    assert sorted(kernels) == sorted(expected)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4)])
def test_an_mlp_reads_anything(shape):
    config = replace(SMALL, kind="mlp", norm="layer")
    assert shape_of(Tower(config), jnp.zeros((7, *shape))) == (7, 4)
    assert shape_of(Network(config, 3), jnp.zeros((7, *shape))) == ((7, 3), (7, 1))


@pytest.mark.parametrize("actions", [1, 7, 362])
def test_heads_give_any_number_of_actions_and_values(actions):
    for features in ((2, 3, 5, 4), (2, 6)):
        x = jnp.zeros(features)
        assert shape_of(PolicyHead(SMALL, actions), x) == (2, actions)
        head = HeadConfig("categorical", size=actions)
        assert shape_of(ScalarHead(SMALL, head), x) == (2, 2 * actions + 1)


def test_a_policy_of_planes_takes_every_action_from_its_place():
    """With the last layer's bias as the only thing that speaks, a plane is one number."""
    places = np.random.default_rng(0).permutation(2 * 3 * 4)
    module = PolicyHead(SMALL, 24, places)
    x = jnp.ones((2, 2, 3, 4))
    shapes = jax.eval_shape(lambda: start(jax.random.key(0), module, x, False))
    variables = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), shapes)
    variables["params"]["Dense_0"]["bias"] = jnp.arange(4.0)
    logits = np.asarray(jax.jit(lambda v: module.apply(v, x, False))(variables))
    np.testing.assert_array_equal(logits, np.tile(places % 4, (2, 1)))


def test_a_new_network_is_nearly_uniform_and_nearly_indifferent():
    config = replace(SMALL, value=HeadConfig("categorical"), planes=32)
    module, x = Network(config, 9), jax.random.normal(jax.random.key(1), (4, 3, 3, 2))
    run = jax.jit(lambda key: module.apply(start(key, module, x, False), x, False))
    logits, raw = run(jax.random.key(0))
    assert 0 < float(jnp.abs(logits - logits.mean(-1, keepdims=True)).max()) < 0.5
    np.testing.assert_allclose(config.value.decode(raw), 0, atol=1e-3)


def test_hidden_states_are_scaled_one_by_one():
    x = np.random.default_rng(0).normal(size=(3, 2, 2, 2)).astype(np.float32)
    x[2] = 5.0
    found = np.asarray(jax.jit(scaled)(x))
    for row, before in zip(found[:2], x[:2], strict=True):
        expected = (before - before.min()) / (before.max() - before.min())
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-6)
    assert not found[2].any()


def test_the_gradient_of_scaling_by_finite_differences():
    """In double precision; the flat state passes none."""
    random = np.random.default_rng(0)
    x, wanted = random.normal(size=(2, 6)), random.normal(size=(2, 6))
    x[1] = 5.0

    def asked(x):
        low, high = x[:1].min(), x[:1].max()
        return ((x[:1] - low) / (high - low) * wanted[:1]).sum()

    expected = np.zeros_like(x)
    for i in np.ndindex(1, 6):
        step = np.zeros_like(x)
        step[i] = 1e-6
        expected[i] = (asked(x + step) - asked(x - step)) / 2e-6
    found = jax.jit(jax.grad(lambda x: jnp.sum(scaled(x) * wanted)))(x.astype(np.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["tower", "mlp", "atari"])
def test_the_three_functions_fit_together(kind):
    config = replace(SMALL, kind=kind, reward=HeadConfig("categorical", size=2))
    x, action = {
        "tower": (jnp.zeros((2, 3, 3, 2)), jnp.zeros((2, 3, 3, 1))),
        "mlp": (jnp.zeros((2, 4)), jnp.zeros((2, 5))),
        "atari": (jnp.zeros((2, 20, 32, 3)), jnp.zeros((2, 2, 2, 5))),
    }[kind]
    assert shape_of(World(config, 5), x, action) == ((2, 5), (2, 1), (2, 5))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "towr"}, "kind must be one of tower, atari, mlp; got 'towr'"),
        ({"planes": 0}, "planes must be at least 1, got 0"),
        ({"every": 0}, "every must be at least 1"),
        ({"norm_decay": 1.0}, "norm_decay must be from 0 to below 1, got 1.0"),
    ],
)
def test_a_wrong_config_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        NetConfig(**options)
