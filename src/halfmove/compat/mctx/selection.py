"""Which action a simulation takes at a node of an unbatched tree."""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.compat.mctx.qtransforms import (
    qtransform_by_parent_and_siblings,
    qtransform_completed_by_mix_value,
)
from halfmove.compat.mctx.tree import Tree
from halfmove.compat.mctx.types import GumbelMuZeroExtraData, QTransform
from halfmove.core.types import Array
from halfmove.search import halving


def muzero_action_selection(
    rng_key: Array,
    tree: Tree[Any],
    node_index: Any,
    depth: Any,
    *,
    pb_c_init: Any = 1.25,
    pb_c_base: Any = 19652.0,
    qtransform: QTransform = qtransform_by_parent_and_siblings,
) -> Array:
    """pUCT: Q + c · π · √N / (1 + N(a)), c = c1 + log((N + c2 + 1) / c2). Shape [].

    MuZero, appendix B. Invalid actions are left out where `depth` is 0; ties
    are broken by noise below 1e-7.
    """
    visits = tree.children_visits[node_index]
    count = tree.node_visits[node_index]
    prior = jax.nn.softmax(tree.children_prior_logits[node_index])
    factor = pb_c_init + jnp.log((count + pb_c_base + 1.0) / pb_c_base)
    explore = jnp.sqrt(count) * factor * prior / (visits + 1)
    chance = 1e-7 * jax.random.uniform(rng_key, (tree.num_actions,))
    scores = qtransform(tree, node_index) + explore + chance
    return best_valid(scores, tree.root_invalid_actions * (depth == 0))


def gumbel_muzero_root_action_selection(
    rng_key: Array,
    tree: Tree[GumbelMuZeroExtraData],
    node_index: Any,
    *,
    num_simulations: Any,
    max_num_considered_actions: Any,
    qtransform: QTransform = qtransform_completed_by_mix_value,
) -> Array:
    """Sequential Halving with Gumbel. Gumbel paper, algorithm 2. Shape [].

    `tree.extra_data.root_gumbel` holds the noise of this search.
    """
    visits = tree.children_visits[node_index]
    valid = jnp.sum(1 - tree.root_invalid_actions, axis=-1).astype(jnp.int32)
    # The root's visits so far say which simulation this is.
    turn = jnp.sum(visits, axis=-1)
    schedule = jnp.asarray(halving.table(max_num_considered_actions, num_simulations))
    scores = considered_scores(
        schedule[jnp.minimum(valid, max_num_considered_actions), turn],
        tree.extra_data.root_gumbel,
        tree.children_prior_logits[node_index],
        qtransform(tree, node_index),
        visits,
    )
    return best_valid(scores, tree.root_invalid_actions)


def gumbel_muzero_interior_action_selection(
    rng_key: Array,
    tree: Tree[Any],
    node_index: Any,
    depth: Any,
    *,
    qtransform: QTransform = qtransform_completed_by_mix_value,
) -> Array:
    """π'(a) - N(a) / (1 + ΣN), without chance. Gumbel paper, equation 14. Shape []."""
    visits = tree.children_visits[node_index]
    logits = tree.children_prior_logits[node_index]
    policy = jax.nn.softmax(logits + qtransform(tree, node_index))
    return best_valid(policy - visits / (1 + jnp.sum(visits, axis=-1)), None)


def considered_scores(
    wanted: Array, gumbel: Array, logits: Array, qvalues: Array, visits: Array
) -> Array:
    """g + logits + σ(q) of the actions whose visits are `wanted`, else -inf. Shape [..., A]."""
    logits = logits - jnp.max(logits, axis=-1, keepdims=True)
    # The floor lets an action of hopeless logit in, if it is the only one wanted.
    scores = jnp.maximum(gumbel + logits + qvalues, -1e9)
    return jnp.where(visits == wanted, scores, -jnp.inf)


def best_valid(scores: Array, invalid: Array | None) -> Array:
    """Index of the first greatest score that is not invalid; 0 where all are."""
    if invalid is not None:
        scores = jnp.where(invalid, -jnp.inf, scores)
    return jnp.argmax(scores, axis=-1).astype(jnp.int32)
