"""How Q-values of one node are made comparable with its prior.

Each sees an unbatched tree and returns one number for every action, [A].
"""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.compat.mctx.tree import Tree
from halfmove.core.types import Array


def qtransform_by_min_max(
    tree: Tree[Any], node_index: Any, *, min_value: Any, max_value: Any
) -> Array:
    """(q - min) / (max - min) by a known range; 0 for an unvisited action."""
    seen = tree.children_visits[node_index] > 0
    q = jnp.where(seen, tree.qvalues(node_index), min_value)
    return (q - min_value) / (max_value - min_value)


def qtransform_by_parent_and_siblings(
    tree: Tree[Any], node_index: Any, *, epsilon: Any = 1e-8
) -> Array:
    """Q over the range of the node's value and its visited actions, in [0, 1].

    0 for an unvisited action.
    """
    seen = tree.children_visits[node_index] > 0
    q, value = tree.qvalues(node_index), tree.node_values[node_index]
    known = jnp.where(seen, q, value)
    low = jnp.minimum(value, jnp.min(known, axis=-1))
    high = jnp.maximum(value, jnp.max(known, axis=-1))
    return (jnp.where(seen, q, low) - low) / jnp.maximum(high - low, epsilon)


def qtransform_completed_by_mix_value(
    tree: Tree[Any],
    node_index: Any,
    *,
    value_scale: Any = 0.1,
    maxvisit_init: Any = 50.0,
    rescale_values: bool = True,
    use_mixed_value: bool = True,
    epsilon: Any = 1e-8,
) -> Array:
    """σ(completed Q) = (maxvisit_init + max N) · value_scale · Q.

    An unvisited action has the value of the node: v_mix (Gumbel paper,
    appendix D), or the model's own value. `rescale_values` carries the
    completed Q-values to [0, 1] first.
    """
    visits, q = tree.children_visits[node_index], tree.qvalues(node_index)
    value = tree.raw_values[node_index]
    if use_mixed_value:
        value = _mixed(value, q, visits, jax.nn.softmax(tree.children_prior_logits[node_index]))
    q = jnp.where(visits > 0, q, value)
    if rescale_values:
        low, high = jnp.min(q, axis=-1), jnp.max(q, axis=-1)
        q = (q - low) / jnp.maximum(high - low, epsilon)
    return (maxvisit_init + jnp.max(visits, axis=-1)) * value_scale * q


def _mixed(value: Array, q: Array, visits: Array, prior: Array) -> Array:
    """(v + ΣN · Σ π q / Σ π) / (1 + ΣN), the inner sums over visited actions. Shape []."""
    seen = visits > 0
    # A visited action may have a prior of 0, and 0 / 0 is NaN.
    prior = jnp.maximum(prior, jnp.finfo(prior.dtype).tiny)
    mass = jnp.sum(jnp.where(seen, prior, 0.0), axis=-1)
    share = prior * q / jnp.where(seen, mass, 1.0)
    total = jnp.sum(visits, axis=-1)
    return (value + total * jnp.sum(jnp.where(seen, share, 0.0), axis=-1)) / (total + 1)
