"""What simulations sample their moves from: the prior, or a policy that they adapt."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax

from halfmove.core.types import Array, Model, Prediction
from halfmove.search import adapt as adapting
from halfmove.search import unfrozen
from halfmove.search.adapt import Adapt
from halfmove.search.search import leaf_of
from halfmove.search.simulate import Rows, Step, Store, backward
from halfmove.search.unfrozen import Pair


@dataclass(frozen=True)
class Guide:
    """For one batch of simulations. Without `logits` those of the store are the policy's."""

    store: Store  # to begin with
    step: Step
    logits: Callable[[Store, Rows], Array] | None  # [B, K, A], of the policy where the rows are
    learn: Callable[[Store, Rows], tuple[Array, Any]]  # (returns at the root [B, K], new memory)


def guide(
    adapt: Adapt | None, model: Model, params: Any, store: Store, memory: Any,
    keys: tuple[Array, Array], timestep: Any,
) -> Guide:  # fmt: skip
    """`memory` is what was adapted before, `keys` are for the root and for the simulations."""
    if adapt is None:
        return prior(model, params, store, memory)
    if isinstance(store.node, Pair):
        return apart(adapt, model, params, store, memory, keys, timestep)
    return together(adapt, model, params, store, memory)


def prior(model: Model, params: Any, store: Store, memory: Any) -> Guide:
    """Moves by the model's own policy: Monte Carlo Search."""

    def learn(store: Store, rows: Rows) -> tuple[Array, Any]:
        return backward(store, rows, lambda carry, *_: carry, memory)

    return Guide(store, _step(model, params, store), None, learn)


def together(adapt: Adapt, model: Model, params: Any, store: Store, memory: Any) -> Guide:
    """Moves by every game's own policy in the model's states: Policy Gradient Search."""
    policy = adapting.policy_of(adapt, model, params)
    own = adapting.own(policy, memory)
    reader = (unfrozen.network if adapt.everything else adapting.head)(model, policy)

    def learn(store: Store, rows: Rows) -> tuple[Array, Any]:
        returned, slope = adapting.gradient(adapt, reader, own, store, rows)
        return returned, adapting.climbed(adapt, policy, memory, slope)

    step = _step(model, params, store, reads=not adapt.everything)
    return Guide(store, step, adapting.logits_of(reader, own), learn)


def apart(
    adapt: Adapt,
    model: Model,
    params: Any,
    store: Store,
    memory: Any,
    keys: tuple[Array, Array],
    timestep: Any,
) -> Guide:
    """Moves by every game's own model in states of its own."""
    policy = adapting.policy_of(adapt, model, params)
    own = adapting.own(policy, memory)
    root_key, key = keys
    roots = unfrozen.roots(model, policy, own, root_key, timestep)
    mine = jax.tree.map(lambda x, root: x.at[:, 0].set(root), store.node.own, roots)
    store = replace(store, node=Pair(store.node.true, mine))

    def learn(store: Store, rows: Rows) -> tuple[Array, Any]:
        again = jax.random.clone(root_key)
        returned, slope = unfrozen.gradient(
            adapt, model, policy, own, store, rows, key, again, timestep
        )
        return returned, adapting.climbed(adapt, policy, memory, slope)

    step = unfrozen.step(model, params, policy, own, store.logits.shape[-1])
    return Guide(store, step, None, learn)


def _step(model: Model, params: Any, store: Store, *, reads: bool = False) -> Step:
    """The model's step, its answers checked; features where they are read."""
    actions = store.logits.shape[-1]

    def step(key: Array, node: Any, action: Array) -> Any:
        node, edge, prediction = model.step(params, key, node, action)
        leaf = leaf_of(edge, prediction, (action.shape[0], actions))
        features = features_of(model, prediction) if reads else None
        return node, leaf, jax.lax.stop_gradient(features)

    return step


def features_of(model: Model, prediction: Prediction) -> Any:
    """What an adapted policy head reads of a position; ValueError if the model says nothing."""
    if prediction.features is None:
        raise ValueError(
            "prediction.features: an adapted policy head reads them, and "
            f"{type(model).__name__} gives none"
        )
    return prediction.features
