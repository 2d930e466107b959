"""Walking down a tree with plain XLA.

The loop carries a few [B] vectors and reads the tree from outside: a loop
under `vmap` that carried it would copy it at every step.

A rule that sees only its own node is asked as soon as the node has changed,
for the nodes of all paths in one go, and what it chose is kept: the walk then
follows pointers. Other rules are asked on the way down.
"""

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise, pytree
from halfmove.search.rule import Rule, Select, best
from halfmove.search.tree import (
    LEVELS,
    UNVISITED,
    Descent,
    Noise,
    Trail,
    Tree,
    root_noise,
    stats_of,
)


@pytree
class Choices:
    """What the rule would do next at every node below the root."""

    action: Array  # [B, N] i32; -1 where no action is legal
    child: Array  # [B, N] i32, the node behind that action
    trail: Trail  # where it must be asked again


def choices(shape: tuple[int, ...], max_depth: int | Array) -> Choices:
    """Room for the choices of every node, for trees of this shape [B, N]."""
    games, nodes = shape
    room = games * (_edges(nodes, max_depth) + 1)
    empty = jnp.full((games, nodes), UNVISITED, jnp.int32)
    unused = jnp.zeros(room, jnp.int32)
    return Choices(empty, empty, Trail(unused, unused, jnp.int32(0)))


def _edges(nodes: int, max_depth: int | Array) -> int:
    """The most edges a path may have; `max_depth` may be traced."""
    return min(max_depth, nodes) if isinstance(max_depth, int) else nodes


def choose(
    select: Select, tree: Tree, node: Array, seed: Array, games: Array | None = None
) -> tuple[Array, Array]:
    """(action, child behind it) of nodes below the root; (-1, UNVISITED) where none is legal."""
    stats = stats_of(tree, node, seed, games)
    away = RootNoise(row=jnp.zeros(tree.logits.shape[-1]), want=jnp.int32(0))
    scores = jax.vmap(select, in_axes=(0, None))(stats, away)
    scores = jnp.where(stats.legal, scores, -jnp.inf)
    playable = jnp.max(scores, axis=-1) > -jnp.inf
    action = jnp.where(playable, best(scores), -1)
    games = jnp.arange(node.shape[0]) if games is None else games
    child = tree.child[games, node, jnp.maximum(action, 0)]
    return action, jnp.where(playable, child, UNVISITED)


def decide(kept: Choices, tree: Tree, noise: Noise, rule: Rule) -> Choices:
    """Asks the rule at every node of the trail and starts a new one."""
    games, nodes = tree.count.shape
    # About as many as one turn changes, in few enough lots to keep every core at work.
    lot = min(4 * games, max(16, 2**15 // tree.logits.shape[-1]))
    trail = kept.trail

    def some(state: tuple[Array, ...]) -> tuple[Array, ...]:
        start, actions, children = state
        index = start + jnp.arange(lot)
        there = index < trail.length
        index = jnp.minimum(index, trail.node.shape[0] - 1)
        game = jnp.where(there, trail.game[index], 0)
        node = jnp.where(there, trail.node[index], 0)
        action, child = choose(rule.select, tree, node, noise.seed, game)
        to = jnp.where(there, node, nodes)
        return start + lot, actions.at[game, to].set(action), children.at[game, to].set(child)

    state: tuple[Array, ...] = (jnp.int32(0), kept.action, kept.child)
    state = jax.lax.while_loop(lambda s: s[0] < trail.length, some, state)
    _, action, child = state
    return Choices(action, child, Trail(trail.game, trail.node, jnp.int32(0)))


def walk(
    tree: Tree,
    noise: Noise,
    rule: Rule,
    fresh: Array,
    max_depth: int | Array,
    kept: Choices | None = None,
) -> Descent:
    """From the root to the first edge that leads nowhere yet. `fresh` names its node."""
    games, nodes = tree.count.shape
    every = jnp.arange(games)

    def ask(node: Array) -> tuple[Array, Array]:
        if kept is None:
            return choose(rule.select, tree, node, noise.seed)
        return kept.action[every, node], kept.child[every, node]

    def there(child: Array) -> Array:
        if tree.pending is None:
            return child >= 0
        # A node under way has an edge but no statistics yet.
        return (child >= 0) & (tree.count[every, jnp.maximum(child, 0)] > 0)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        node, action, child, going, depth, length, steps = state
        steps = steps.at[depth - 1].set(child)
        below, behind = ask(jnp.maximum(child, 0))
        # A node without legal actions is a leaf that is evaluated again.
        going = going & (below >= 0)
        node = jnp.where(going, child, node)
        action = jnp.where(going, below, action)
        child = jnp.where(going, behind, child)
        length = jnp.where(going, depth, length)
        going = going & there(child) & (depth < max_depth)
        return node, action, child, going, depth + 1, length, steps

    zero = jnp.zeros(games, jnp.int32)
    stats = stats_of(tree, zero, noise.seed)
    action, playable = root_choice(stats, root_noise(noise, stats.count), rule)
    child = jnp.where(playable, tree.child[every, zero, action], UNVISITED)
    going = there(child) & (max_depth > 1)
    # Whole lots of levels, and the leaf behind the last.
    room = -(-_edges(nodes, max_depth) // LEVELS) * LEVELS + 1
    steps = jax.lax.empty((room, games), jnp.int32).at[0].set(0)
    state: tuple[Array, ...] = (
        zero, action, child, going, jnp.int32(2), playable.astype(jnp.int32), steps
    )  # fmt: skip
    state = jax.lax.while_loop(lambda s: jnp.any(s[3]), step, state)
    node, action, child, _, _, length, steps = state
    leaf = jnp.where(child >= 0, child, fresh)
    steps = steps.at[jnp.where(playable, length, room), every].set(leaf)
    return Descent(node, action, jnp.where(playable, leaf, nodes), steps, length)


def root_choice(stats: NodeStats, here: RootNoise, rule: Rule) -> tuple[Array, Array]:
    """(action, whether there is any) of the roots, [B] each."""
    scores = jax.vmap(rule.select_root)(stats, here)
    scores = jnp.where(stats.legal & (here.row > -jnp.inf), scores, -jnp.inf)
    playable = jnp.max(stats.logits, axis=-1) > -jnp.inf
    return jnp.where(playable, best(scores), 0), playable
