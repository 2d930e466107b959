"""The whole networks: tower and heads, MuZero's three functions, action values."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from halfmove.core.types import Array
from halfmove.nets.config import NetConfig
from halfmove.nets.heads import OwnerHead, PolicyHead, ScalarHead
from halfmove.nets.towers import Tower, tower

FLAT = 1e-5  # a hidden state that spans no more is the same everywhere


class Network(nn.Module):
    """A tower, a policy and a value head: AlphaZero's network. With `ownership` a third head,
    which no search asks: what it needs to know is good for the tower."""

    config: NetConfig
    actions: int
    places: Any = None

    def setup(self) -> None:
        self.tower = tower(self.config)
        self.policy = PolicyHead(self.config, self.actions, self.places)
        self.value = ScalarHead(self.config, self.config.value)
        self.owners = OwnerHead() if self.config.ownership else None

    def features(self, x: Array, train: bool) -> Array:
        """What the heads read of observations x [B, ...]."""
        return self.tower(x, train)

    def predict(self, features: Array, train: bool) -> tuple[Array, Array]:
        """Policy logits [B, A] and raw values [B, V]."""
        return self.policy(features, train), self.value(features, train)

    def __call__(self, x: Array, train: bool) -> tuple[Array, ...]:
        """What `predict` says, and the owners' logits [B, H, W] if there are any."""
        features = self.features(x, train)
        found = self.predict(features, train)
        return found if self.owners is None else (*found, self.owners(features))


class ActionValues(nn.Module):
    """A tower and one head of values, one for each action: Q-learning's network."""

    config: NetConfig
    actions: int

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        """Raw values [B, A, V] of observations x [B, ...]."""
        features = tower(self.config)(x, train)
        return ScalarHead(self.config, self.config.value, self.actions)(features, train)


class World(nn.Module):
    """Representation h, dynamics g, prediction f; hidden states in [0, 1]. MuZero, appendix F.

    A hidden state is [B, H, W, planes] (tower, atari) or [B, planes] (mlp); it is what the
    policy and value heads read.
    """

    config: NetConfig
    actions: int
    places: Any = None

    def setup(self) -> None:
        self.representation = tower(self.config)
        self.dynamics = Tower(self.config)
        self.policy = PolicyHead(self.config, self.actions, self.places)
        self.value = ScalarHead(self.config, self.config.value)
        self.reward = ScalarHead(self.config, self.config.reward)

    def represent(self, x: Array, train: bool) -> Array:
        """The hidden state of observations x [B, ...]."""
        return scaled(self.representation(x, train))

    def follow(self, hidden: Array, action: Array, train: bool) -> Array:
        """The hidden state after an action, given as planes [B, H, W, C'] or a row [B, C']."""
        joined = jnp.concatenate([hidden, action.astype(hidden.dtype)], axis=-1)
        return scaled(self.dynamics(joined, train))

    def earned(self, hidden: Array, train: bool) -> Array:
        """Raw rewards [B, V'] of the moves that led to hidden states."""
        return self.reward(hidden, train)

    def predict(self, hidden: Array, train: bool) -> tuple[Array, Array]:
        """Policy logits [B, A] and raw values [B, V]."""
        return self.policy(hidden, train), self.value(hidden, train)

    def __call__(self, x: Array, action: Array, train: bool) -> tuple[Array, Array, Array]:
        following = self.follow(self.represent(x, train), action, train)
        return (*self.predict(following, train), self.earned(following, train))


@jax.custom_vjp
def scaled(hidden: Array) -> Array:
    """y = (s - min s) / (max s - min s), over each whole state. MuZero, appendix G.

    A state that is the same everywhere becomes 0, not NaN, and passes no gradient.
    """
    return _scaled(hidden)[0]


def _scaled(hidden: Array) -> tuple[Array, tuple[Array, Array]]:
    axes = tuple(range(1, hidden.ndim))
    low = jnp.min(hidden, axes, keepdims=True)
    span = jnp.max(hidden, axes, keepdims=True) - low
    y = (hidden - low) / jnp.maximum(span, FLAT).astype(hidden.dtype)
    return y, (y, span)


def _unscaled(kept: tuple[Array, Array], gradient: Array) -> tuple[Array]:
    """(g - e_min Σ g (1 - y) - e_max Σ g y) / span, with e the shares of the extreme places.

    Written out, since JAX's gradient of a maximum compares the operand with the result: where
    XLA rounds a second computation of it differently, no place is equal and 0 / 0 follows.
    """
    y, span = (x.astype(jnp.float32) for x in kept)
    axes = tuple(range(1, y.ndim))
    g = gradient.astype(jnp.float32)

    def share(places: Array) -> Array:
        return places / jnp.maximum(jnp.sum(places, axes, keepdims=True), 1)

    low = share(y < 1e-6) * jnp.sum(g * (1 - y), axes, keepdims=True)
    high = share(y > 1 - 1e-6) * jnp.sum(g * y, axes, keepdims=True)
    back = jnp.where(span > FLAT, (g - low - high) / jnp.maximum(span, FLAT), 0.0)
    return (back.astype(gradient.dtype),)


scaled.defvjp(_scaled, _unscaled)
