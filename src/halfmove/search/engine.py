"""The loop every tree search is: walk, ask the model, grow.

`XLA` (search/tree.py) runs anywhere. `KERNEL` (search/kernels.py) runs the
same rules as one Pallas program per game.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array
from halfmove.search import tree as xla
from halfmove.search.rule import Rule
from halfmove.search.tree import Leaf, Noise, Path, Tree

# (key, nodes [B, ...], actions [B]) -> (nodes, what the model says of them)
Step = Callable[[Array, Any, Array], tuple[Any, Leaf]]
ENGINES = ("auto", "xla", "kernel")
Loop = Callable[[int, int, Callable[[Any, Any], Any], Any], Any]


def search(
    key: Array,
    rule: Rule,
    logits: Array,
    value: Array,
    node: Any,
    noise: Noise,
    step: Step,
    *,
    simulations: int,
    leaves: int = 1,
    rounds: Array | None = None,
    max_depth: int | None = None,
    loop: Loop = jax.lax.fori_loop,
    kind: str = "auto",
) -> Tree:
    """The tree after `simulations` simulations, `leaves` of them per model call.

    `rounds` [B, R] says how many leaves each game asks for in each model call;
    by default as many as `leaves` until none is left.
    """
    depth = simulations if max_depth is None else max_depth
    start = xla.empty(logits, value, node, simulations + 1, pending=leaves > 1)
    if simulations == 0:
        return start
    if leaves == 1:
        body = _one_leaf(rule, noise, step, depth)
        return loop(0, simulations, body, (key, start))[1]
    if rounds is None:
        even = np.diff(np.append(np.arange(0, simulations, leaves), simulations))
        rounds = jnp.broadcast_to(jnp.asarray(even, jnp.int32), (logits.shape[0], len(even)))
    body = _many_leaves(rule, noise, step, depth, leaves, rounds)
    return loop(0, rounds.shape[1], body, (key, start))[1]


def _keys(key: Array) -> tuple[Array, Array]:
    """The next key of the loop and the model's, split as mctx splits them."""
    following, _, model_key = jax.random.split(key, 3)
    return following, model_key


def _one_leaf(rule: Rule, noise: Noise, step: Step, depth: int) -> Callable[..., Any]:
    def body(turn: Array, carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        key, tree = carry
        key, model_key = _keys(key)
        path = xla.walk(tree, noise, rule, jnp.asarray(turn + 1, jnp.int32), depth)
        games = jnp.arange(path.parent.shape[0])
        parents = jax.tree.map(lambda x: x[games, path.parent], tree.node)
        nodes, leaf = step(model_key, parents, path.action)
        return key, xla.grow(tree, path, leaf, nodes)

    return body


def _many_leaves(
    rule: Rule, noise: Noise, step: Step, depth: int, leaves: int, rounds: Array
) -> Callable[..., Any]:
    games = rounds.shape[0]
    every = jnp.arange(games)
    done = jnp.cumsum(rounds, axis=1) - rounds

    def body(turn: Array, carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        key, tree = carry
        key, model_key = _keys(key)
        wanted, started = rounds[:, turn], done[:, turn]

        def descend(tree: Tree, k: Array) -> tuple[Tree, Path]:
            path = xla.walk(tree, noise, rule, 1 + started + k, depth)
            nodes = tree.count.shape[1]
            path = Path(path.parent, path.action, jnp.where(k < wanted, path.leaf, nodes))
            return xla.reserve(tree, path), path

        tree, paths = jax.lax.scan(descend, tree, jnp.arange(leaves))

        def merge(x: Array) -> Array:
            return x.reshape(leaves * games, *x.shape[2:])

        def split(x: Array) -> Array:
            return x.reshape(leaves, games, *x.shape[1:])

        parents = jax.tree.map(lambda x: merge(x[every[None], paths.parent]), tree.node)
        nodes, leaf = step(model_key, parents, merge(paths.action))

        def ascend(tree: Tree, one: Any) -> tuple[Tree, None]:
            return xla.grow(tree, *one), None

        found = (paths, jax.tree.map(split, leaf), jax.tree.map(split, nodes))
        return key, jax.lax.scan(ascend, tree, found)[0]

    return body
