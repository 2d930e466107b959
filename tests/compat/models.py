"""A random model that either package can search, and what it means to agree.

A node is one number. Everything the model says is a hash of that number, so
no two nodes look alike; the key of each call goes into it, so that a search
which hands out other keys finds another tree.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import mctx as theirs
import numpy as np

import halfmove.compat.mctx as ours

PACKAGES = (theirs, ours)
TWO_PLAYERS = (-1.0, -1.0, -1.0, -1.0)
ONE_PLAYER = (0.99, 0.99, 0.99, 0.99)
MIXED = (-1.0, 1.0, 0.0, 0.9)


def programs(run):
    """`run(package, *args)` of mctx and of ours, to be compiled with traced arguments."""
    return [jax.jit(functools.partial(run, p)) for p in PACKAGES]


def both(run, *args):
    """What both programs give."""
    return [program(*args) for program in programs(run)]


def key_of(package, seed):
    """The same key, in its two forms.

    JAX knows of the typed form how often it was used. mctx loses count (its
    loop over levels is under `vmap`), we may not.
    """
    return jax.random.PRNGKey(seed) if package is theirs else jax.random.key(seed)


def hashed(node, salt):
    """Numbers in [0, 1), one for each node and salt."""
    x = (node ^ jnp.uint32(0x5BD1E995)) * jnp.uint32(2654435761) + jnp.asarray(salt, jnp.uint32)
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39), (15, 0x85EBCA6B)):
        x = (x ^ (x >> shift)) * jnp.uint32(factor)
    return (x >> 8).astype(jnp.float32) / 2.0**24


def says(node, actions, dtype):
    """(logits [B, A], value [B], reward [B]) of nodes [B]."""
    spread = hashed(node[:, None], jnp.arange(actions) + 10)
    logits = 3.0 * jnp.log(spread + 0.02)
    value, reward = 2.0 * hashed(node, 1) - 1.0, hashed(node, 2) - 0.5
    return logits.astype(dtype), value.astype(dtype), reward.astype(dtype)


def child(node, action, salt=0):
    return (hashed(node, action + 1000 + salt) * 2.0**24).astype(jnp.uint32)


def root_of(package, seed, games, actions, dtype=jnp.float32):
    node = (hashed(jnp.arange(games, dtype=jnp.uint32), seed) * 2.0**24).astype(jnp.uint32)
    logits, value, _ = says(node, actions, dtype)
    return package.RootFnOutput(prior_logits=logits, value=value, embedding={"node": node})


def recurrent_of(package, actions, dtype=jnp.float32):
    """params: {"discounts": [4], "gain": []}; the discount of an edge is one of the four."""

    def recurrent_fn(params, rng_key, action, embedding):
        node = child(embedding["node"], action, jax.random.randint(rng_key, (), 0, 1000))
        logits, value, reward = says(node, actions, dtype)
        discount = params["discounts"][(hashed(node, 3) * 4).astype(jnp.int32)]
        said = package.RecurrentFnOutput(
            reward=reward,
            discount=discount.astype(dtype),
            prior_logits=logits,
            value=(value * params["gain"]).astype(dtype),
        )
        return said, {"node": node}

    return recurrent_fn


def params_of(discounts):
    return {"discounts": jnp.asarray(discounts, jnp.float32), "gain": jnp.float32(0.7)}


def mask(seed, games, actions, density):
    """Invalid actions: a different number in every row, all of them in the first one.

    `density` 0 bars none in the last row.
    """
    rng = np.random.default_rng(seed)
    bars = np.linspace(1.0, density, games)[:, None]
    return rng.random((games, actions)) < bars


def assert_same_tree(expected: Any, got: Any) -> None:
    """Every field of two trees: integers exactly, numbers to 1e-5."""
    names = [field.name for field in dataclasses.fields(expected)]
    for name in names:
        pairs = zip(
            jax.tree.leaves(getattr(expected, name)),
            jax.tree.leaves(getattr(got, name)),
            strict=True,
        )
        for a, b in pairs:
            assert a.dtype == b.dtype, name
            assert_close(a, b, name)


def assert_same_output(expected: Any, got: Any) -> None:
    """Two policy outputs, with their trees."""
    np.testing.assert_array_equal(expected.action, got.action)
    assert_close(expected.action_weights, got.action_weights, "action_weights")
    assert_same_tree(expected.search_tree, got.search_tree)
    for a, b in zip(
        jax.tree.leaves(expected.search_tree.summary()),
        jax.tree.leaves(got.search_tree.summary()),
        strict=True,
    ):
        assert_close(a, b, "summary")


def assert_close(a: Any, b: Any, name: str) -> None:
    if jnp.issubdtype(a.dtype, jnp.floating):
        a, b = (np.asarray(x, np.float64) for x in (a, b))
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5, err_msg=name)
    else:
        np.testing.assert_array_equal(b, a, err_msg=name)
