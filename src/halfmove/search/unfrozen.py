"""Policy Gradient Search that adapts all that a policy is computed with, for every game alone.

Values stay those of the network. States of a game, which are the same for all, are read by each
game's own copy of it (`network`). Where nodes are made by the model, or by chance, every state is
kept twice (`Pair`): as the network sees it, whose value counts, and as the adapted copy sees it,
from which moves are sampled. In a learned model that copy has hidden states of its own, and the
gradient goes back through them to the root.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Model, Prediction, pytree
from halfmove.nets.convolve import as_products
from halfmove.search.adapt import Adapt, Policy, Reader, advantage, log_likelihood
from halfmove.search.search import leaf_of
from halfmove.search.simulate import Rows, Step, Store, backward


def repeats(model: Model) -> bool:
    """Whether the model says that the same moves always lead to the same state."""
    return bool(getattr(model, "repeats", False))


def shared(node: Any) -> bool:
    """Whether a node is a state of the game: it has nothing that a gradient could go through."""
    return not _floats(node)[0]


def each(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of every game with parameters of its own, [B, ...] all; on a CPU one after the other.

    A convolution with kernels of many games is a grouped one, which is slow everywhere.
    """

    def one_by_one(*given: Any) -> Any:
        return jax.lax.map(lambda x: f(*x), given)

    def together(*given: Any) -> Any:
        with as_products():
            return jax.vmap(f)(*given)

    def many(*given: Any) -> Any:
        return jax.lax.platform_dependent(*given, cpu=one_by_one, default=together)

    return many


def network(model: Model, policy: Policy) -> Reader:
    """The policy of a whole network, in states that are the game's."""

    def read(store: Store, before: Array, slots: Array) -> Any:
        games = jnp.arange(slots.shape[0])[:, None]
        return jax.tree.map(lambda x: x[games, before], store.node), store.action[games, slots]

    def logits(p: Any, came: Any) -> Array:
        # Nothing is drawn with that key: the model repeats itself.
        return model.step(policy.whole(p), jax.random.key(0), *came)[2].logits

    return Reader(read, logits, each, costly=True)


@pytree
class Pair:
    """A node of the model, and the adapted one's."""

    true: Any
    own: Any


def roots(model: Model, policy: Policy, own: Any, key: Array, timestep: Any) -> Any:
    """The roots [B, ...] as every game's own parameters make them."""

    def one(p: Any, key: Array, shown: Any) -> Any:
        node, _ = model.root(policy.whole(p), key, jax.tree.map(lambda x: x[None], shown))
        return jax.tree.map(lambda x: x[0], node)

    keys = jax.random.split(key, _games(own))
    return each(one)(own, keys, jax.tree.map(jnp.asarray, timestep))


def step(model: Model, params: Any, policy: Policy, own: Any, actions: int) -> Step:
    """The step of both; values, rewards and rules are the model's, the policy is adapted."""
    games = _games(own)

    def apart(x: Array) -> Array:
        return x.reshape(games, -1, *x.shape[1:])

    def together(x: Array) -> Array:
        return x.reshape(-1, *x.shape[2:])

    def moved(key: Array, node: Pair, action: Array) -> Any:
        node, action = jax.tree.map(apart, (node, action))
        # The same chance for both.
        keys = jax.random.split(key, games)
        again = jax.random.clone(keys)
        true, edge, said = jax.vmap(model.step, (None, 0, 0, 0))(params, keys, node.true, action)
        mine, logits = each(_adapted(model, policy))(own, again, node.own, action)
        said = Prediction(logits, said.value, said.legal)
        pair, edge, said = jax.tree.map(together, (Pair(true, mine), edge, said))
        return pair, leaf_of(edge, said, (edge.reward.shape[0], actions)), None

    return moved


def _adapted(model: Model, policy: Policy) -> Any:
    def one(p: Any, key: Array, node: Any, action: Array) -> tuple[Any, Array]:
        node, _, said = model.step(policy.whole(p), key, node, action)
        return node, said.logits

    return one


def gradient(
    adapt: Adapt, model: Model, policy: Policy, own: Any, store: Store, rows: Rows,
    key: Array, root_key: Array, timestep: Any,
) -> tuple[Array, Any]:  # fmt: skip
    """(returns at the root [B, K], the gradient of every game's own parameters [B, ...]).

    `key` is that of the simulations, so that chance is the same again.
    """
    games = jnp.arange(rows.at.shape[0])[:, None]
    lanes = jnp.arange(store.logits.shape[-1])

    def at(slots: Array) -> Any:
        return jax.tree.map(lambda x: x[games, slots], store.node.own)

    def one(
        p: Any, key: Array, node: Any, came: Array, legal: Array, weight: Array, pull: Any
    ) -> Any:
        """The slope of one game's parameters, and the pull on the nodes before."""
        floats, rest = _floats(node)

        def forward(p: Any, floats: Any) -> tuple[list[Array], Array]:
            node, logits = _adapted(model, policy)(p, key, rest(floats), came)
            return _floats(node)[0], log_likelihood(logits, legal, weight)

        _, back = jax.vjp(forward, p, floats)
        return back((pull, jnp.float32(1.0)))

    def visit(carry: Any, i: Array, total: Array, on: Array) -> Any:
        slope, pull = carry
        slots, before = rows.path[:, :, i], rows.path[:, :, i - 1]
        known = jnp.where(on, advantage(adapt, store, slots, total), 0.0)
        action = jnp.take_along_axis(store.action, rows.path[:, :, i + 1], axis=1)
        weight = jnp.where(action[..., None] == lanes, known[..., None], 0.0)
        came = jnp.take_along_axis(store.action, slots, axis=1)
        legal = store.logits[games, slots] > -jnp.inf
        keys = jax.random.split(jax.random.fold_in(key, i - 1), len(games))
        more, pull = each(one)(own, keys, at(before), came, legal, weight, pull)
        return jax.tree.map(jnp.add, slope, more), pull

    nothing = jax.tree.map(jnp.zeros_like, own)
    pull = [jnp.zeros_like(x) for x in _floats(at(rows.at))[0]]
    returned, (slope, pull) = backward(store, rows, visit, (nothing, pull))
    _, back = jax.vjp(lambda p: _floats(roots(model, policy, p, root_key, timestep))[0], own)
    (first,) = back([jnp.sum(x, axis=1) for x in pull])
    return returned, jax.tree.map(jnp.add, slope, first)


def _floats(tree: Any) -> tuple[list[Array], Any]:
    """The leaves that have a gradient, and the way back from them."""
    leaves, shape = jax.tree.flatten(tree)
    flags = [jnp.issubdtype(x.dtype, jnp.inexact) for x in leaves]

    def back(floats: list[Array]) -> Any:
        given = iter(floats)
        found = [next(given) if flag else x for flag, x in zip(flags, leaves, strict=True)]
        return jax.tree.unflatten(shape, found)

    return [x for flag, x in zip(flags, leaves, strict=True) if flag], back


def _games(own: Any) -> int:
    return int(jax.tree.leaves(own)[0].shape[0])
