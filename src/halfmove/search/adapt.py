"""Policy gradients during a search: REINFORCE on simulations, for every game on its own.

    θ ← θ + α Σ_simulations Σ_{i ≥ 1} G_i ∇ log π(a_i | s_i)

after each batch of simulations, with G_i the return from move i on as its mover sees it: in a
game of two the last state's value with its sign. The root's move a_0 is chosen by pUCT and not
by π, so it has no part in the sum. Policy Gradient Search paper, section 3.

What is kept from move to move is the change of θ since the start of the game. The network may
learn in the meantime: the change is then added to what it has become.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from halfmove.core.types import Array, pytree
from halfmove.search.simulate import Rows, Store, at_a_time, backward

# Parts of a network that are never adapted: batch norm, its statistics and its parameters, also
# where a layer has no name of its own (Norm_0). Policy Gradient Search paper, section 3.2.
FROZEN = re.compile(r"(^|/)(stats|norm|Norm_\d+)/")
LOW = -1e9  # logit of an illegal action: finite, so that a row without legal ones has no NaN


@dataclass(frozen=True)
class Adapt:
    """How a policy is adapted.

    `optimiser` is the name of one of Optax's that takes nothing but a learning rate, or any
    gradient transformation, which has its own. `baseline` takes V(s_i) from G_i. `everything`
    adapts whatever the policy is computed with, not its head alone; values stay the network's.
    """

    learning_rate: float
    optimiser: str | optax.GradientTransformation = "sgd"
    baseline: bool = False
    everything: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.learning_rate < math.inf:
            raise ValueError(
                f"learning_rate must be at least 0 and finite, got {self.learning_rate}"
            )
        made = self.made
        if not (hasattr(made, "init") and hasattr(made, "update")):
            raise ValueError(f"optimiser must be a name or of Optax, got {self.optimiser!r}")
        nothing = {"": jnp.zeros(())}
        try:
            jax.eval_shape(lambda: made.update(nothing, made.init(nothing), nothing))
        except TypeError as error:  # lbfgs and its like want the function, not only its gradient
            raise ValueError(
                f"optimiser must need no more than a gradient, {self.optimiser!r} does: {error}"
            ) from error

    @property
    def made(self) -> optax.GradientTransformation:
        """The optimiser."""
        if not isinstance(self.optimiser, str):
            return self.optimiser
        try:
            return getattr(optax, self.optimiser)(self.learning_rate)
        except (AttributeError, TypeError) as error:
            raise ValueError(
                f"optimiser must be one of Optax's with a learning rate (sgd, adam, rmsprop, …), "
                f"got {self.optimiser!r}"
            ) from error


@pytree
class Adapted:
    """What a game's searches have learned so far."""

    change: dict[str, Array]  # [B, ...] each, by the parameter's name
    state: Any  # [B, ...], the optimiser's


@dataclass(frozen=True)
class Policy:
    """The adapted part of a network as one flat dictionary, and the way back."""

    begin: dict[str, Array]  # of the network itself
    whole: Callable[[dict[str, Array]], Any]  # the model's head, or all of its parameters


@dataclass(frozen=True)
class Reader:
    """An adapted policy: what it reads of a state, and what it makes of that."""

    read: Callable[[Store, Array, Array], Any]  # slots before and of states [B, K] -> [B, K, ...]
    logits: Callable[[dict[str, Array], Any], Array]  # of one game: what K read -> [K, A]
    each: Callable[[Callable[..., Any]], Callable[..., Any]]  # the same of many games
    costly: bool  # whether that is a whole network


def policy_of(adapt: Adapt, model: Any, params: Any) -> Policy:
    """What is adapted of `params`; TypeError if the model has no policy head."""
    if not adapt.everything and not (hasattr(model, "head_of") and hasattr(model, "policy")):
        raise TypeError(
            "a policy head is adapted: the model needs head_of(params) and policy(head, features), "
            f"and {type(model).__name__} has none; use the planner mcs, or a model with a network"
        )
    if params is None:
        raise ValueError("params: a network's variables are adapted, and none were given")
    tree = params if adapt.everything else model.head_of(params)
    leaves, shape = jax.tree_util.tree_flatten_with_path(tree)
    names = ["/".join(map(_name, path)) for path, _ in leaves]
    begin = {
        name: jnp.asarray(leaf)
        for name, (_, leaf) in zip(names, leaves, strict=True)
        if jnp.issubdtype(leaf.dtype, jnp.inexact) and not FROZEN.search(name)
    }

    def whole(adapted: dict[str, Array]) -> Any:
        found = [adapted.get(name, leaf) for name, (_, leaf) in zip(names, leaves, strict=True)]
        return jax.tree.unflatten(shape, found)

    return Policy(begin, whole)


def _name(entry: Any) -> str:
    for kind in ("key", "name", "idx"):
        if hasattr(entry, kind):
            return str(getattr(entry, kind))
    return str(entry)


def fresh(adapt: Adapt, model: Any, params: Any, games: int) -> Adapted:
    """Nothing learned yet."""
    begin = policy_of(adapt, model, params).begin

    def many(x: Array) -> Array:
        return jnp.broadcast_to(x, (games, *jnp.shape(x)))

    change = {name: jnp.zeros((games, *x.shape), x.dtype) for name, x in begin.items()}
    return Adapted(change, jax.tree.map(many, adapt.made.init(begin)))


def own(policy: Policy, memory: Adapted) -> dict[str, Array]:
    """The parameters of every game, [B, ...] each."""
    return {name: policy.begin[name] + x for name, x in memory.change.items()}


def climbed(adapt: Adapt, policy: Policy, memory: Adapted, gradient: dict[str, Array]) -> Adapted:
    """One step of the optimiser up the gradient [B, ...], for every game on its own."""

    def one(gradient: Any, state: Any, own: Any) -> Any:
        return adapt.made.update(jax.tree.map(jnp.negative, gradient), state, own)

    update, state = jax.vmap(one)(gradient, memory.state, own(policy, memory))
    return Adapted(jax.tree.map(jnp.add, memory.change, update), state)


def head(model: Any, policy: Policy) -> Reader:
    """A policy head: it reads what the network says of a state."""

    def read(store: Store, before: Array, slots: Array) -> Any:
        games = jnp.arange(slots.shape[0])[:, None]
        return jax.tree.map(lambda x: x[games, slots], store.features)

    def logits(p: dict[str, Array], features: Any) -> Array:
        return model.policy(policy.whole(p), features)

    return Reader(read, logits, jax.vmap, costly=False)


def logits_of(reader: Reader, params: dict[str, Array]) -> Any:
    """(store, rows [B, K]) -> logits [B, K, A] of every game's own policy; -inf if illegal."""

    def logits(store: Store, rows: Rows) -> Array:
        last = jnp.maximum(rows.length - 1, 0)[..., None]
        before = jnp.take_along_axis(rows.path, last, axis=-1)[..., 0]
        found = reader.each(reader.logits)(params, reader.read(store, before, rows.at))
        legal = store.logits[jnp.arange(len(before))[:, None], rows.at] > -jnp.inf
        return jnp.where(legal, found.astype(jnp.float32), -jnp.inf)

    return logits


def log_likelihood(logits: Array, legal: Array, weight: Array) -> Array:
    """Σ weight · log π, over states and actions, [K, A] each."""
    logs = jax.nn.log_softmax(jnp.where(legal, logits.astype(jnp.float32), LOW))
    return jnp.sum(weight * logs)


def advantage(adapt: Adapt, store: Store, slots: Array, total: Array) -> Array:
    """[B, K]: what is known of moves in states `slots`, given their returns `total`."""
    if adapt.baseline:
        total = total - jnp.take_along_axis(store.value, slots, axis=1)
    return total


def gradient(
    adapt: Adapt, reader: Reader, params: dict[str, Array], store: Store, rows: Rows
) -> tuple[Array, dict[str, Array]]:
    """(returns at the root [B, K], the gradient of every game's own parameters [B, ...]).

    Every state is read once, whichever simulations went through it; some of each game at a time,
    for there are fewer than moves.
    """
    games, count = rows.at.shape
    if reader.costly:
        count = at_a_time(count, costly=True)
    every = jnp.arange(games)[:, None]

    def keep(gains: Array, i: Array, total: Array, on: Array) -> Array:
        return gains.at[:, :, i].set(total)

    returned, gains = backward(store, rows, keep, jnp.zeros(rows.path.shape))
    weight, before, order, sizes = _by_state(adapt, store, rows, gains)

    def score(p: Any, read: Any, legal: Array, weight: Array) -> Array:
        return log_likelihood(reader.logits(p, read), legal, weight)

    def turn(i: Array, slope: Any) -> Any:
        some = i * count + jnp.arange(count)
        there = some < sizes
        slots = jnp.where(there, jnp.take(order, some, axis=1, mode="clip"), 0)
        own = jnp.where(there[..., None], weight[every, slots], 0.0)
        legal = store.logits[every, slots] > -jnp.inf
        read = reader.read(store, before[every, slots], slots)
        found = reader.each(jax.grad(score))(params, read, legal, own)
        return jax.tree.map(jnp.add, slope, found)

    parts = (jnp.max(sizes) + count - 1) // count
    nothing = jax.tree.map(jnp.zeros_like, params)
    return returned, jax.lax.fori_loop(0, parts, turn, nothing)


def _by_state(
    adapt: Adapt, store: Store, rows: Rows, gains: Array
) -> tuple[Array, Array, Array, Array]:
    """What is known of moves whose returns are `gains` [B, K, L + 1], by state.

    (Sums over simulations [B, S, A], the states before [B, S], the slots of those that moves
    were made in [B, S], as many as [B, 1]). The first move of a simulation is left out.
    """
    games, _, length = rows.path.shape
    every, room = jnp.arange(games)[:, None], store.value.shape[1]
    number = jnp.arange(1, length - 1)
    made = (number < rows.length[..., None]).reshape(games, -1)
    before, slots, after = (rows.path[..., i : length - 2 + i].reshape(games, -1) for i in range(3))
    action = jnp.take_along_axis(store.action, after, axis=1)
    known = advantage(adapt, store, slots, gains[..., 1:-1].reshape(games, -1))
    at = jnp.where(made, slots, room)
    weight = jnp.zeros(store.logits.shape).at[every, at, action].add(known, mode="drop")
    came = jnp.zeros((games, room), jnp.int32).at[every, at].set(before, mode="drop")
    there = jnp.zeros((games, room), bool).at[every, at].set(True, mode="drop")
    order = jnp.argsort(~there, axis=1, stable=True)
    return weight, came, order, jnp.sum(there, axis=1, keepdims=True)
