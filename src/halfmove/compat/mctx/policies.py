"""MuZero and Gumbel MuZero with mctx's arguments and keys."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.compat.mctx import fast
from halfmove.compat.mctx.loop import checked_root, search
from halfmove.compat.mctx.qtransforms import (
    qtransform_by_parent_and_siblings,
    qtransform_completed_by_mix_value,
)
from halfmove.compat.mctx.selection import (
    best_valid,
    considered_scores,
    gumbel_muzero_interior_action_selection,
    gumbel_muzero_root_action_selection,
    muzero_action_selection,
)
from halfmove.compat.mctx.tree import Tree
from halfmove.compat.mctx.types import (
    GumbelMuZeroExtraData,
    LoopFn,
    Params,
    PolicyOutput,
    QTransform,
    RecurrentFn,
    RootFnOutput,
)
from halfmove.core.types import Array


def muzero_policy(
    params: Params,
    rng_key: Array,
    root: RootFnOutput,
    recurrent_fn: RecurrentFn,
    num_simulations: int,
    invalid_actions: Array | None = None,
    max_depth: int | None = None,
    loop_fn: LoopFn = jax.lax.fori_loop,
    *,
    qtransform: QTransform = qtransform_by_parent_and_siblings,
    dirichlet_fraction: Any = 0.25,
    dirichlet_alpha: Any = 0.3,
    pb_c_init: Any = 1.25,
    pb_c_base: Any = 19652,
    temperature: Any = 1.0,
) -> PolicyOutput[None]:
    """pUCT with Dirichlet noise at the root; acts in proportion to N^(1/temperature).

    `action_weights` are the shares of visits. `invalid_actions` [B, A] is not
    zero at actions that the root must not take.
    """
    act_key, noise_key, search_key = jax.random.split(rng_key, 3)
    root = with_dirichlet(noise_key, root, dirichlet_fraction, dirichlet_alpha, invalid_actions)
    budget: Any = {"num_simulations": num_simulations, "max_depth": max_depth, "loop_fn": loop_fn}
    known = fast.muzero(root, loop_fn, qtransform, pb_c_init, pb_c_base)
    if known is not None:
        row = barred(jnp.zeros_like(root.prior_logits), invalid_actions)
        grown, _ = fast.grow(params, search_key, known, root, recurrent_fn, row=row, **budget)
        tree = fast.layout(grown, mask_of(invalid_actions, root), None)
    else:
        factors: Any = {"pb_c_init": pb_c_init, "pb_c_base": pb_c_base}
        choose = functools.partial(muzero_action_selection, qtransform=qtransform, **factors)
        tree = search(
            params,
            search_key,
            root=root,
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=functools.partial(choose, depth=0),
            interior_action_selection_fn=choose,
            invalid_actions=invalid_actions,
            **budget,
        )
    return by_visits(act_key, tree, temperature)


def gumbel_muzero_policy(
    params: Params,
    rng_key: Array,
    root: RootFnOutput,
    recurrent_fn: RecurrentFn,
    num_simulations: int,
    invalid_actions: Array | None = None,
    max_depth: int | None = None,
    loop_fn: LoopFn = jax.lax.fori_loop,
    *,
    qtransform: QTransform = qtransform_completed_by_mix_value,
    max_num_considered_actions: int = 16,
    gumbel_scale: Any = 1.0,
) -> PolicyOutput[GumbelMuZeroExtraData]:
    """Full Gumbel MuZero: Sequential Halving at the root, the improved policy below.

    `action_weights` are softmax(logits + σ(completed Q)) and the action is the
    best g + logits + σ(q) among the most visited. Gumbel paper, algorithm 2.
    """
    root = checked_root(root)
    root = root.replace(prior_logits=masked(root.prior_logits, invalid_actions))
    logits = root.prior_logits
    search_key, gumbel_key = jax.random.split(rng_key)
    gumbel = gumbel_scale * jax.random.gumbel(gumbel_key, logits.shape, logits.dtype)
    extra_data = GumbelMuZeroExtraData(root_gumbel=gumbel)
    budget: Any = {"num_simulations": num_simulations, "max_depth": max_depth, "loop_fn": loop_fn}
    considered = max_num_considered_actions
    known = fast.gumbel(root, loop_fn, qtransform, considered, num_simulations)
    if known is not None:
        row = barred(gumbel, invalid_actions)
        grown, stats = fast.grow(params, search_key, known, root, recurrent_fn, row=row, **budget)
        tree: Tree[Any] = fast.layout(grown, mask_of(invalid_actions, root), extra_data)
        # Taken from the engine's rows: reading the new layout would build all of it.
        visits, qvalues = stats.visits, jax.vmap(known.advantage)(stats)
    else:
        choose_root = functools.partial(
            gumbel_muzero_root_action_selection,
            num_simulations=num_simulations,
            max_num_considered_actions=considered,
            qtransform=qtransform,
        )
        choose = functools.partial(gumbel_muzero_interior_action_selection, qtransform=qtransform)
        tree = search(
            params,
            search_key,
            root=root,
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=choose_root,
            interior_action_selection_fn=choose,
            invalid_actions=invalid_actions,
            extra_data=extra_data,
            **budget,
        )
        visits = tree.children_visits[:, Tree.ROOT_INDEX]
        qvalues = jax.vmap(qtransform, in_axes=(0, None))(tree, Tree.ROOT_INDEX)
    most = jnp.max(visits, axis=-1, keepdims=True)
    scores = considered_scores(most, gumbel, logits, qvalues, visits)
    return PolicyOutput(
        action=best_valid(scores, invalid_actions),
        action_weights=jax.nn.softmax(masked(logits + qvalues, invalid_actions)),
        search_tree=tree,
    )


def with_dirichlet(
    key: Array, root: RootFnOutput, fraction: Any, alpha: Any, invalid: Array | None
) -> RootFnOutput:
    """`root` with (1 - fraction) · prior + fraction · Dirichlet(alpha), then masked."""
    root = checked_root(root)
    games, actions = root.prior_logits.shape
    drawn = jax.random.dirichlet(key, jnp.full([actions], alpha), shape=(games,))
    mixed = (1 - fraction) * jax.nn.softmax(root.prior_logits) + fraction * drawn
    return root.replace(prior_logits=masked(log_of(mixed), invalid))


def by_visits(key: Array, tree: Tree[Any], temperature: Any) -> PolicyOutput[None]:
    """An action drawn in proportion to N^(1/T); T = 0 takes the most visited."""
    weights = tree.summary().visit_probs
    action = jax.random.categorical(key, cooled(log_of(weights), temperature))
    return PolicyOutput(action=action, action_weights=weights, search_tree=tree)


def cooled(logits: Array, temperature: Any) -> Array:
    """logits / T, measured from the top so that a T of 0 gives -inf and never +inf."""
    logits = logits - jnp.max(logits, axis=-1, keepdims=True)
    return logits / jnp.maximum(jnp.finfo(logits.dtype).tiny, temperature)


def log_of(probabilities: Array) -> Array:
    """log p, finite where p = 0."""
    return jnp.log(jnp.maximum(probabilities, jnp.finfo(probabilities.dtype).tiny))


def masked(logits: Array, invalid: Array | None) -> Array:
    """Logits from the top downwards, with the lowest finite number at invalid actions."""
    if invalid is None:
        return logits
    if jnp.shape(invalid) != logits.shape:
        raise ValueError(
            f"invalid_actions must have shape {logits.shape}, got {jnp.shape(invalid)}"
        )
    # Finite, not -inf: a finished game may have no valid action, and a softmax
    # over -inf alone is NaN.
    top = jnp.max(logits, axis=-1, keepdims=True)
    return jnp.where(invalid, jnp.finfo(logits.dtype).min, logits - top)


def barred(row: Array, invalid: Array | None) -> Array:
    """The root's noise with -inf at invalid actions, as the engine leaves them out."""
    return row if invalid is None else jnp.where(invalid, -jnp.inf, row)


def mask_of(invalid: Array | None, root: RootFnOutput) -> Array:
    """What `Tree.root_invalid_actions` holds."""
    return jnp.zeros_like(root.prior_logits) if invalid is None else jnp.asarray(invalid)
