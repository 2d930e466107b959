"""Models for benchmarks: one that costs nothing, one with a real network."""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Edge, Prediction


class Free:
    """A two-player game of random values: a node is one number, a step a few instructions.

    Logits lie in [-2, 2), values in [-1, 1), all from a hash of the node.
    """

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def look(self, node: Array) -> tuple[Array, Array]:
        """Logits [B, A] and value [B] of a node [B]."""
        lanes = jnp.arange(1, self.actions + 1, dtype=jnp.uint32)
        return 2.0 * self.unit(node[:, None] + lanes * jnp.uint32(0x85EBCA6B)), self.unit(node)

    def unit(self, x: Array) -> Array:
        """Numbers in [-1, 1) from 32 bits."""
        return (self.mix(x) >> 8).astype(jnp.int32).astype(jnp.float32) * 2.0**-23 - 1.0

    def mix(self, x: Array) -> Array:
        """A hash of 32 bits."""
        x = (x ^ (x >> 15)) * jnp.uint32(0x2C1B3C6D)
        return x ^ (x >> 12)

    def move(self, node: Array, action: Array) -> Array:
        """The node after an action."""
        return self.mix(node * jnp.uint32(0x9E3779B9) + action.astype(jnp.uint32))

    def start(self, games: int) -> Array:
        """Different roots for all games."""
        return self.mix(jnp.arange(1, games + 1, dtype=jnp.uint32) * jnp.uint32(0x27D4EB2F))

    def root(self, params: Any, key: Array, timestep: Array) -> tuple[Array, Prediction]:
        return timestep, Prediction(*self.look(timestep))

    def step(
        self, params: Any, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        node = self.move(node, action)
        logits, value = self.look(node)
        return node, Edge(jnp.zeros_like(value), -jnp.ones_like(value)), Prediction(logits, value)


class Tower:
    """A residual tower on a 9x9 board, 82 actions: the size of a Go network, no rules."""

    def __init__(self, planes: int = 128, blocks: int = 6) -> None:
        self.planes, self.blocks, self.actions = planes, blocks, 82

    def init(self, key: Array) -> dict[str, Any]:
        keys = jax.random.split(key, 2 * self.blocks + 1)
        shape = (3, 3, self.planes, self.planes)
        conv = [0.03 * jax.random.normal(k, shape, jnp.bfloat16) for k in keys[:-1]]
        head = 0.03 * jax.random.normal(keys[-1], (81 * self.planes, 83), jnp.bfloat16)
        return {"conv": conv, "head": head}

    def look(self, params: Any, node: Array) -> Prediction:
        x = node.astype(jnp.bfloat16)
        dims = ("NHWC", "HWIO", "NHWC")
        for i in range(self.blocks):
            y = x
            for w in params["conv"][2 * i : 2 * i + 2]:
                y = jax.lax.conv_general_dilated(y, w, (1, 1), "SAME", dimension_numbers=dims)
                y = jax.nn.relu(y)
            x = x + y
        out = (x.reshape(x.shape[0], -1) @ params["head"]).astype(jnp.float32)
        return Prediction(out[:, :82], jnp.tanh(out[:, 82]))

    def start(self, games: int) -> Array:
        return jax.random.normal(jax.random.key(0), (games, 9, 9, self.planes), jnp.bfloat16)

    def root(self, params: Any, key: Array, timestep: Array) -> tuple[Array, Prediction]:
        return timestep, self.look(params, timestep)

    def step(
        self, params: Any, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        plane = jax.nn.one_hot(action, 81, dtype=node.dtype).reshape(-1, 9, 9, 1)
        node = 0.9 * node + plane
        prediction = self.look(params, node)
        value = prediction.value
        return node, Edge(jnp.zeros_like(value), -jnp.ones_like(value)), prediction
