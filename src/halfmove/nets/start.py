"""How parameters begin.

A module's initialisers give only the spread of each array; `start` multiplies them with one
draw for all. One draw per kernel takes XLA half a minute to compile for a deep tower.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from halfmove.core.types import Array
from halfmove.nets.config import NetConfig

# The standard deviation of a normal cut off at two of its own.
CUT = 0.87962566


def small(key: Array, shape: tuple[int, ...]) -> Array:
    """The spread of the papers' kernels: a truncated normal of 0.01."""
    return jnp.full(shape, 0.01)


def by_fan_in(key: Array, shape: tuple[int, ...]) -> Array:
    """The spread √(2 / inputs), which keeps the size of what a ReLU lets through.

    He et al. 2015.
    """
    return jnp.full(shape, math.sqrt(2 / math.prod(shape[:-1])) / CUT)


def kernel(config: NetConfig) -> Any:
    """The spread of a hidden layer's kernel."""
    return small if config.init == "paper" else by_fan_in


def start(key: Array, module: nn.Module, *args: Any) -> dict[str, Any]:
    """{"params", "stats"} of a module called with `args`: truncated normals of its spreads."""
    made = module.init(jax.random.key(0), *args)
    spreads, tree = jax.tree.flatten(made["params"])
    drawn = jax.random.truncated_normal(key, -2.0, 2.0, (sum(x.size for x in spreads),))
    params, at = [], 0
    for spread in spreads:
        params.append(spread * drawn[at : at + spread.size].reshape(spread.shape))
        at += spread.size
    return {"params": jax.tree.unflatten(tree, params), "stats": made.get("stats", {})}
