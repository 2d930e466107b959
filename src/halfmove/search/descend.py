"""Down the tree of one game: walk to the next leaves."""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array
from halfmove.search.ascend import keep_ancestors, keep_ends
from halfmove.search.program import ABOVE, NOWHERE, Game


def walk(game: Game) -> None:
    """From the root to the first edge that leads nowhere yet, for every leaf wanted."""
    game.each(lambda k: _walk(game, k))


def _walk(game: Game, k: Array) -> None:
    b, nodes = game.b, game.build.nodes
    active = k < game.wanted[b, game.round]
    parent, action, child = _jump(game) if game.build.kept else _step_down(game)
    active = active & (action >= 0)
    action = jnp.maximum(action, 0)
    leaf = jnp.where(child >= 0, child, game.fresh[b, game.round] + k)
    for ref, x in zip(game.path, (parent, action, jnp.where(active, leaf, nodes)), strict=True):
        ref[k, b] = x
    if game.build.leaves > 1:
        game.when(active, lambda: _reserve(game, parent, action, leaf))


def _jump(game: Game) -> tuple[Array, Array, Array]:
    """Where the root's best action leads in the end: (parent, action, child)."""
    b, t, width = game.b, game.t, game.build.width
    action, child = game.root_choice()
    end = t["end"][b, jnp.maximum(child, 0)]
    far = (child >= 0) & (end >= 0)
    parent = jnp.where(far, end // width, 0)
    action = jnp.where(far, end % width, action)
    return parent, action, jnp.where(far, t["child"][b, parent, jnp.maximum(action, 0)], child)


def _step_down(game: Game) -> tuple[Array, Array, Array]:
    """The same for rules that must be asked at every node."""
    b, t = game.b, game.t

    def made(child: Array) -> Array:
        # A node under way has an edge but no statistics yet.
        return (child >= 0) & (t["count"][b, jnp.maximum(child, 0)] > 0)

    def going(state: tuple[Array, ...]) -> Array:
        return state[3] & (state[4] < game.build.max_depth)

    def down(state: tuple[Array, ...]) -> tuple[Array, ...]:
        parent, action, child, _, depth = state
        chosen, ahead = game.choice(child)
        stuck = chosen < 0
        return (
            jnp.where(stuck, parent, child),
            jnp.where(stuck, action, chosen),
            jnp.where(stuck, child, ahead),
            made(ahead),
            depth + 1,
        )

    action, child = game.root_choice()
    state: tuple[Any, ...] = (jnp.int32(0), action, child, made(child), jnp.int32(1))
    return jax.lax.while_loop(going, down, state)[:3]


def _reserve(game: Game, parent: Array, action: Array, leaf: Array) -> None:
    """Links a leaf under way and counts its path as a loss."""
    b, t, build = game.b, game.t, game.build
    t["child"][b, parent, action] = leaf
    t["parent"][b, leaf] = parent
    t["action"][b, leaf] = action

    first = action

    def climb(state: tuple[Any, ...]) -> tuple[Any, ...]:
        under, start, deeper, end, action = state
        nodes, here, at = game.levels(start)
        actions = [t["action"][b, x] for x in at]
        after = t["parent"][b, at[-1]]
        under_way = game.under_way(at, [action, *actions])
        for i, node in enumerate(at):
            game.put("pending", (node, action), under_way[i] + 1, here[i])
            action = actions[i]
        if build.kept:
            path = keep_ancestors(game, deeper, under, start)
            game.settle()
            # A walk that comes to the leaf under way ends there.
            below_root = path[0] > 0
            asked = below_root & (path[0] != leaf)
            end = keep_ends(game, (leaf, parent, first), path, end, asked, below_root)
            deeper = at[-2]
        return nodes[-1], after, deeper, end, action

    state = (leaf, parent, leaf * 0 + ABOVE - 1, leaf * 0 + NOWHERE, action)
    game.settle()
    jax.lax.while_loop(lambda s: s[1] >= 0, climb, state)
