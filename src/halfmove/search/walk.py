"""Walking down a tree with plain XLA.

The loop carries a few [B] vectors and reads the tree from outside: a loop
under `vmap` that carried it would copy it at every step.
"""

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, NodeStats, RootNoise
from halfmove.search.rule import Rule, best
from halfmove.search.tree import (
    LEVELS,
    UNVISITED,
    Descent,
    Noise,
    Tree,
    root_noise,
    stats_of,
)


def _edges(nodes: int, max_depth: int | Array) -> int:
    """The most edges a path may have; `max_depth` may be traced."""
    return min(int(max_depth), nodes) if isinstance(max_depth, (int, np.integer)) else nodes


def choose(rule: Rule, tree: Tree, node: Array, seed: Array) -> tuple[Array, Array]:
    """(action, child behind it) of nodes below the root; (-1, UNVISITED) where none is legal."""
    stats = stats_of(tree, node, seed, rule.untried)
    away = RootNoise(row=jnp.zeros(tree.logits.shape[-1]), want=jnp.int32(0))
    scores = jax.vmap(rule.select, in_axes=(0, None))(stats, away)
    scores = jnp.where(stats.legal, scores, -jnp.inf)
    playable = jnp.max(scores, axis=-1) > -jnp.inf
    action = jnp.where(playable, best(scores), -1)
    child = tree.child[jnp.arange(node.shape[0]), node, jnp.maximum(action, 0)]
    return action, jnp.where(playable, child, UNVISITED)


def walk(tree: Tree, noise: Noise, rule: Rule, fresh: Array, max_depth: int | Array) -> Descent:
    """From the root to the first edge that leads nowhere yet. `fresh` names its node."""
    games, nodes = tree.count.shape
    every = jnp.arange(games)

    def there(child: Array) -> Array:
        if tree.pending is None:
            return child >= 0
        # A node under way has an edge but no statistics yet.
        return (child >= 0) & (tree.count[every, jnp.maximum(child, 0)] > 0)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        node, action, child, going, depth, length, steps = state
        steps = steps.at[depth - 1].set(child)
        below, behind = choose(rule, tree, jnp.maximum(child, 0), noise.seed)
        # A node without legal actions is a leaf that is evaluated again.
        going = going & (below >= 0)
        node = jnp.where(going, child, node)
        action = jnp.where(going, below, action)
        child = jnp.where(going, behind, child)
        length = jnp.where(going, depth, length)
        going = going & there(child) & (depth < max_depth)
        return node, action, child, going, depth + 1, length, steps

    zero = jnp.zeros(games, jnp.int32)
    stats = stats_of(tree, zero, noise.seed, rule.untried)
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
