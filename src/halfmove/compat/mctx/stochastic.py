"""Stochastic MuZero with mctx's arguments and keys.

One tree holds both kinds of nodes. Its rows have A + C lanes: the actions of
a decision node come first, then the outcomes of a chance node; the lanes of
the other kind have logits of -inf.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.compat.mctx import fast
from halfmove.compat.mctx.loop import search
from halfmove.compat.mctx.policies import barred, by_visits, mask_of, with_dirichlet
from halfmove.compat.mctx.qtransforms import qtransform_by_parent_and_siblings
from halfmove.compat.mctx.selection import muzero_action_selection
from halfmove.compat.mctx.tree import Tree
from halfmove.compat.mctx.types import (
    ChanceRecurrentFn,
    DecisionRecurrentFn,
    InteriorActionSelectionFn,
    LoopFn,
    Params,
    PolicyOutput,
    QTransform,
    RecurrentFn,
    RecurrentFnOutput,
    RootFnOutput,
    StochasticRecurrentState,
)
from halfmove.core.types import Array


def stochastic_muzero_policy(
    params: Params,
    rng_key: Array,
    root: RootFnOutput,
    decision_recurrent_fn: DecisionRecurrentFn,
    chance_recurrent_fn: ChanceRecurrentFn,
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
    """MuZero in which a move leads to an afterstate and chance to the next state.

    Antonoglou et al. 2022. `decision_recurrent_fn(params, key, action, state)`
    gives afterstates, `chance_recurrent_fn(params, key, outcome, afterstate)`
    states; a simulation adds one node of either kind. The tree of the result
    shows the lanes of actions only.
    """
    act_key, noise_key, search_key = jax.random.split(rng_key, 3)
    root = with_dirichlet(noise_key, root, dirichlet_fraction, dirichlet_alpha, invalid_actions)
    games, actions = root.prior_logits.shape
    # Asked once for the shapes of an afterstate alone.
    said, afterstate = decision_recurrent_fn(
        params, act_key, jnp.zeros([games], jnp.int32), root.embedding
    )
    outcomes = said.chance_logits.shape[-1]
    known = fast.muzero(root, loop_fn, qtransform, pb_c_init, pb_c_base, actions)
    decision, chance = _lanes(actions, outcomes, jnp.asarray if known is None else fast.finite)
    model = _model(decision_recurrent_fn, chance_recurrent_fn, actions, decision, chance)
    embedding = StochasticRecurrentState(
        state_embedding=root.embedding,
        afterstate_embedding=afterstate,
        is_decision_node=jnp.ones([games], bool),
    )
    wide = root.replace(prior_logits=decision(root.prior_logits), embedding=embedding)
    invalid = mask_of(invalid_actions, root)
    budget: Any = {"num_simulations": num_simulations, "max_depth": max_depth, "loop_fn": loop_fn}
    if known is not None:
        row = jnp.pad(barred(jnp.zeros_like(root.prior_logits), invalid), ((0, 0), (0, outcomes)))
        grown, _ = fast.grow(
            params, search_key, known, wide, model, row=row, encode=jnp.asarray, **budget
        )
        tree: Tree[Any] = fast.layout(grown, invalid, None)
    else:
        factors: Any = {"pb_c_init": pb_c_init, "pb_c_base": pb_c_base}
        decide = functools.partial(muzero_action_selection, qtransform=qtransform, **factors)
        choose = _choice(decide, actions)
        tree = search(
            params,
            search_key,
            root=wide,
            recurrent_fn=model,
            root_action_selection_fn=functools.partial(choose, depth=0),
            interior_action_selection_fn=choose,
            invalid_actions=invalid,
            **budget,
        )
    return by_visits(act_key, _part(tree, slice(actions)), temperature)


Lanes = Callable[[Array], Array]


def _lanes(actions: int, outcomes: int, finite: Lanes) -> tuple[Lanes, Lanes]:
    """How logits of actions [B, A] and of outcomes [B, C] become rows [B, A + C]."""

    def closed(logits: Array, width: int) -> Array:
        return jnp.full([logits.shape[0], width], -jnp.inf)

    def decision(logits: Array) -> Array:
        return jnp.concatenate([finite(logits), closed(logits, outcomes)], axis=-1)

    def chance(logits: Array) -> Array:
        return jnp.concatenate([closed(logits, actions), finite(logits)], axis=-1)

    return decision, chance


def _model(
    decide: DecisionRecurrentFn,
    happen: ChanceRecurrentFn,
    actions: int,
    decision: Lanes,
    chance: Lanes,
) -> RecurrentFn:
    """Both models as one; each node takes what belongs to its kind."""

    def model(
        params: Params, key: Array, lane: Array, state: StochasticRecurrentState
    ) -> tuple[RecurrentFnOutput, StochasticRecurrentState]:
        moved, afterstate = decide(params, key, lane, state.state_embedding)
        came, following = happen(params, key, lane - actions, state.afterstate_embedding)
        here = state.is_decision_node

        def pick(a: Array, b: Array) -> Array:
            return jnp.where(here.reshape(-1, *[1] * (jnp.ndim(a) - 1)), a, b)

        value = jnp.asarray(moved.afterstate_value)
        said = RecurrentFnOutput(
            reward=pick(jnp.zeros_like(value), came.reward),
            discount=pick(jnp.ones_like(value), came.discount),
            prior_logits=pick(chance(moved.chance_logits), decision(came.action_logits)),
            value=pick(value, came.value),
        )
        return said, StochasticRecurrentState(
            state_embedding=following,
            afterstate_embedding=afterstate,
            is_decision_node=jnp.logical_not(here),
        )

    return model


def _part(tree: Tree[Any], lanes: slice) -> Tree[Any]:
    """The tree with only some lanes of every row."""
    names = ("index", "prior_logits", "visits", "rewards", "discounts", "values")
    rows = {f"children_{name}": tree[f"children_{name}"][..., lanes] for name in names}
    return tree.replace(**rows, root_invalid_actions=tree.root_invalid_actions[..., lanes])


def _choice(decide: InteriorActionSelectionFn, actions: int) -> Any:
    """`decide` at decision nodes; the outcome of greatest π / (1 + N) at chance nodes."""

    def choose(key: Array, tree: Tree[Any], node_index: Any, depth: Any) -> Array:
        prior = jax.nn.softmax(tree.children_prior_logits[node_index][actions:])
        visits = tree.children_visits[node_index][actions:]
        outcome = jnp.argmax(prior / (visits + 1)).astype(jnp.int32) + actions
        action = decide(key, _part(tree, slice(actions)), node_index, depth)
        return jnp.where(tree.embeddings.is_decision_node[node_index], action, outcome)

    return choose
