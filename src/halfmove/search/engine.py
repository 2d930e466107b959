"""The loop every tree search is: walk, ask the model, grow.

With plain XLA anywhere (search/walk.py, search/grow.py); on a GPU or a CPU with the
same rules in one compiled program per game (search/kernels.py).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array
from halfmove.search import kernels, walk
from halfmove.search import tree as trees
from halfmove.search.grow import grow, reserve
from halfmove.search.rule import Rule, foreign
from halfmove.search.tree import Descent, Leaf, Noise, Path, Tree

# (key, nodes [B, ...], actions [B]) -> (nodes, what the model says of them)
Step = Callable[[Array, Any, Array], tuple[Any, Leaf]]
# (the loop's key, turn) -> (the loop's next key, the model's key)
Keys = Callable[[Array, Array], tuple[Array, Array]]
ENGINES = ("auto", "xla", "kernel", "interpreter")
Loop = Callable[[int, int, Callable[[Any, Any], Any], Any], Any]


def counted(key: Array, turn: Array) -> tuple[Array, Array]:
    """The model's key as a function of the turn: nothing to compute if it is not used."""
    return key, jax.random.fold_in(key, turn)


@dataclass(frozen=True)
class _Task:
    """What every turn of a search needs to know."""

    rule: Rule
    noise: Noise
    step: Step
    simulations: int
    leaves: int
    rounds: Array  # [B, R] i32
    depth: int
    keys: Keys


@dataclass(frozen=True)
class Turns:
    """A search taken apart: between any two of its turns it may be stopped and looked at.

    `body` makes one model call a turn. What it carries is made of arrays alone, so another
    program may go on with it, given the same rule, noise and shapes.
    """

    begin: Callable[[Array, Array, Array, Any], Any]  # (key, logits, value, node) -> carry
    body: Callable[[Array, Any], Any]  # (turn, carry) -> carry
    tree: Callable[[Any], Tree]  # of a carry


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
    keys: Keys = counted,
    kind: str = "auto",
) -> Tree:
    """The tree after `simulations` simulations, `leaves` of them per model call.

    `rounds` [B, R] says how many leaves each game asks for in each model call;
    by default as many as `leaves` until none is left.
    """
    if simulations == 0:
        return trees.empty(logits, value, node, 1, pending=False)
    if rounds is None:
        even = np.diff(np.append(np.arange(0, simulations, leaves), simulations))
        rounds = jnp.broadcast_to(jnp.asarray(even, jnp.int32), (logits.shape[0], len(even)))
    each = turns(
        rule, noise, step, rounds,
        simulations=simulations, leaves=leaves, max_depth=max_depth, keys=keys, kind=kind,
    )  # fmt: skip
    return each.tree(loop(0, rounds.shape[1], each.body, each.begin(key, logits, value, node)))


def turns(
    rule: Rule,
    noise: Noise,
    step: Step,
    rounds: Array,
    *,
    simulations: int,
    leaves: int = 1,
    max_depth: int | None = None,
    keys: Keys = counted,
    kind: str = "auto",
) -> Turns:
    """The turns of a search with room for `simulations` simulations; `rounds` as in `search`."""
    simulations = int(simulations)  # numpy's may have too few bits for a product of sizes
    depth = simulations if max_depth is None else max_depth
    task = _Task(rule, noise, step, simulations, leaves, rounds, depth, keys)
    if _kernels_wanted(kind, rule, noise.row.shape, simulations + 1, depth):
        return _in_kernels(task, kind)

    def begin(key: Array, logits: Array, value: Array, node: Any) -> Any:
        return key, trees.empty(logits, value, node, simulations + 1, pending=leaves > 1)

    body = _many_leaves(task) if leaves > 1 else _one_leaf(task)
    return Turns(begin, body, lambda carry: carry[1])


def _kernels_wanted(
    kind: str, rule: Rule, shape: tuple[int, ...], nodes: int, depth: int | Array
) -> bool:
    """Whether the kernels take this search. Never silently: what they refuse is said."""
    backend = jax.default_backend()
    there = backend in ("cpu", "gpu")
    if kind == "xla" or not isinstance(depth, (int, np.integer)) or (kind == "auto" and not there):
        return False
    if kind == "kernel" and not there:
        why: str | None = f"there is no program for a {backend.upper()}"
    elif kind != "interpreter" and backend == "cpu":
        operation = foreign(rule, shape[1])
        why = operation and f"native code cannot hold the rule's {operation!r}"
    else:
        why = kernels.refusal(rule, shape, nodes)
    if why is None:
        return True
    if kind != "auto":
        raise ValueError(f"engine={kind!r} cannot run this search ({why}); use engine='xla'")
    warnings.warn(f"this search runs without the {backend.upper()} kernels: {why}", stacklevel=2)
    return False


def _in_kernels(task: _Task, kind: str) -> Turns:
    games, actions = task.noise.row.shape
    every = jnp.arange(games)
    leaves, room = task.leaves, task.simulations + 1
    how = kind if kind == "interpreter" else None
    build = kernels.prepare(task.rule, games, actions, room, leaves, task.depth, how=how)
    zero = jnp.zeros((leaves, games), jnp.int32)
    same = kernels.constants(build, task.noise, task.rounds)
    # Launches cost a GPU, big programs the compiler: growing and walking are one or two.
    one = build.how != "native"

    def begin(key: Array, logits: Array, value: Array, node: Any) -> Any:
        def wide(x: Array, fill: Any) -> Array:
            """The root as the first of `leaves` evaluated leaves."""
            return jnp.full((leaves, *x.shape), fill, x.dtype).at[0].set(x)

        def store(x: Array) -> Array:
            return jax.lax.empty((games, room, *x.shape[1:]), x.dtype).at[:, 0].set(x)

        value = value.astype(jnp.float32)
        root = Leaf(wide(logits, -jnp.inf), wide(value, 0), zero * 0.0, zero * 0.0)
        state = kernels.empty(build, games, value)
        parts = ("plant", "walk") if one else ("plant",)
        path = Path(zero, zero, zero)
        state, path = kernels.turn(build, parts, state, same, jnp.int32(0), path, root)
        return key, state, jax.tree.map(store, node), path

    def merge(x: Array) -> Array:
        return x.reshape(leaves * games, *x.shape[2:])

    def split(x: Array) -> Array:
        return x.reshape(leaves, games, *x.shape[1:])

    def put(x: Array, at: Array, new: Array) -> Array:
        # Without this a GPU writes 16-bit numbers one by one, by compare and swap.
        return x.at[every[None], at].set(new, unique_indices=leaves == 1)

    def body(turn: Array, carry: Any) -> Any:
        key, state, nodes, path = carry
        key, model_key = task.keys(key, turn)
        if not one:
            nothing = Leaf(jnp.zeros((leaves, games, actions)), *[zero * 0.0] * 3)
            state, path = kernels.turn(build, ("walk",), state, same, turn, path, nothing)
        parents = jax.tree.map(lambda x: merge(x[every[None], path.parent]), nodes)
        found, leaf = task.step(model_key, parents, merge(path.action))
        nodes = jax.tree.map(lambda t, x: put(t, path.leaf, split(x)), nodes, found)
        leaf = jax.tree.map(split, leaf)
        parts = ("grow", "walk") if one else ("grow",)
        state, path = kernels.turn(build, parts, state, same, turn + 1, path, leaf)
        return key, state, nodes, path

    return Turns(begin, body, lambda carry: kernels.finished(build, carry[1], actions, carry[2]))


def _one_leaf(task: _Task) -> Callable[..., Any]:
    def body(turn: Array, carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        key, tree = carry
        key, model_key = task.keys(key, turn)
        fresh = jnp.asarray(turn + 1, jnp.int32)
        path = walk.walk(tree, task.noise, task.rule, fresh, task.depth)
        games = jnp.arange(path.parent.shape[0])
        parents = jax.tree.map(lambda x: x[games, path.parent], tree.node)
        nodes, leaf = task.step(model_key, parents, path.action)
        return key, grow(tree, path, leaf, nodes)

    return body


def _many_leaves(task: _Task) -> Callable[..., Any]:
    rounds, leaves = task.rounds, task.leaves
    games = rounds.shape[0]
    every = jnp.arange(games)
    done = jnp.cumsum(rounds, axis=1, dtype=jnp.int32) - rounds

    def body(turn: Array, carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        key, tree = carry
        key, model_key = task.keys(key, turn)
        wanted, started = rounds[:, turn], done[:, turn]

        def descend(tree: Tree, k: Array) -> tuple[Tree, Descent]:
            path = walk.walk(tree, task.noise, task.rule, 1 + started + k, task.depth)
            nodes = tree.count.shape[1]
            on = k < wanted
            leaf, length = jnp.where(on, path.leaf, nodes), jnp.where(on, path.length, 0)
            path = replace(path, leaf=leaf, length=length)
            return reserve(tree, path), path

        tree, paths = jax.lax.scan(descend, tree, jnp.arange(leaves, dtype=jnp.int32))

        def merge(x: Array) -> Array:
            return x.reshape(leaves * games, *x.shape[2:])

        def split(x: Array) -> Array:
            return x.reshape(leaves, games, *x.shape[1:])

        parents = jax.tree.map(lambda x: merge(x[every[None], paths.parent]), tree.node)
        nodes, leaf = task.step(model_key, parents, merge(paths.action))

        def ascend(tree: Tree, one: Any) -> tuple[Tree, None]:
            return grow(tree, *one), None

        found = (paths, jax.tree.map(split, leaf), jax.tree.map(split, nodes))
        return key, jax.lax.scan(ascend, tree, found)[0]

    return body
