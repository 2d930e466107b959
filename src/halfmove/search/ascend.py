"""Up the tree of one game: write the evaluated leaves and back their values up."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.pallas import triton as plt

from halfmove.core.types import Array
from halfmove.search.program import ABOVE, NOWHERE, Game
from halfmove.search.tree import UNVISITED

Scalars = tuple[Any, ...]
Path = tuple[Array, Array]


def plant(game: Game) -> None:
    """Writes the root."""
    root = jnp.int32(0)
    game.write(root, root)
    game.t["parent"][game.b, root] = root + ABOVE
    if game.build.levels > 1:
        lanes = jnp.arange(game.build.levels, dtype=jnp.int32)
        plt.store(game.t["up"].at[game.b, root, lanes], jnp.where(lanes == 0, 0, ABOVE))
    game.settle()


def grow(game: Game) -> None:
    """Writes every leaf and backs its value up."""
    game.each(lambda k: _grow(game, k))
    if game.build.kept and game.build.leaves > 1:
        game.each(lambda k: _decide(game, k))


def _grow(game: Game, k: Array) -> None:
    b, t = game.b, game.t
    parent, action, leaf = (x[k, b] for x in game.path)

    def made() -> None:
        width = game.build.width
        value, reward, discount = (game.answer[k, b, jnp.int32(width + i)] for i in range(3))
        count = game.write(k, leaf)
        t["child"][b, parent, action] = leaf
        t["parent"][b, leaf] = parent
        t["action"][b, leaf] = action
        t["reward"][b, leaf] = reward
        t["discount"][b, leaf] = discount
        _back_up(game, k, (leaf, parent, action, reward, discount, count, value))

    game.when(leaf < game.build.nodes, made)


def _back_up(game: Game, k: Array, leaf: Scalars) -> None:
    """Adds the leaf's value to every node above it, several levels at a time."""
    b, t, build = game.b, game.t, game.build
    native, stamped = build.how == "native", build.kept and build.leaves > 1

    def climb(state: Scalars) -> Scalars:
        under, start, deeper, end, action, reward, discount, count, gain, mean, *rest = state
        low, high, *known = rest
        nodes, here, at = game.levels(start)
        # Every load first: they then wait together.
        facts = [tuple(t[n][b, x] for n in ("action", "reward", "discount")) for x in at]
        known = [known] if native else [[t[n][b, x] for n in ("count", "value")] for x in at]
        after = t["parent"][b, at[-1]]
        under_way = game.under_way(at, [action, *(fact[0] for fact in facts)])
        for i, node in enumerate(at):
            before, old = known[i]
            gain = reward + discount * gain
            edge = reward + discount * mean
            number = before.astype(jnp.float32)
            mean = (old * number + gain) / (number + 1.0)
            # An edge was taken as often as the node behind it was visited: nothing to read.
            # Native code reads all the same: XLA would copy the whole array otherwise.
            taken = t["visits"][b, node, action] + 1 if native else count
            game.put("visits", (node, action), taken, here[i])
            game.put("q", (node, action), edge, here[i])
            game.put("value", (node,), mean, here[i])
            game.put("count", (node,), before + 1, here[i])
            if build.leaves > 1:
                game.put("pending", (node, action), under_way[i] - 1, here[i])
            if stamped:
                game.put("stamp", (node,), k, here[i])
            there = here[i]
            seen = edge if there is None else jnp.where(there, edge, low)
            low, high = jnp.minimum(low, seen), jnp.maximum(high, seen)
            action, reward, discount = facts[i]
            count = before + 1
        if build.levels > 1:
            path = keep_ancestors(game, deeper, under, start)
            if build.kept and not stamped:
                game.settle()
                below_root = path[0] > 0
                end = keep_ends(game, leaf, path, end, below_root, below_root)
            deeper = at[-2]
        state = nodes[-1], after, deeper, end, action, reward, discount, count, gain, mean
        return *state, low, high, *ahead(after)

    def ahead(node: Array) -> Scalars:
        # XLA would copy an array that one step both reads and writes: what a node
        # knew is read at the end of the step before.
        node = jnp.maximum(node, 0)
        return tuple(t[n][b, node] for n in ("count", "value")) if native else ()

    under, start, action, reward, discount, count, value = leaf
    if stamped:
        t["stamp"][b, under] = k
    state = (
        under, start, under * 0 + ABOVE - 1, under * 0 + NOWHERE,
        action, reward, discount, count, value, value,
        t["q_min"][b], t["q_max"][b], *ahead(start),
    )  # fmt: skip
    game.settle()
    state = jax.lax.while_loop(lambda s: s[1] >= 0, climb, state)
    t["q_min"][b], t["q_max"][b] = state[10], state[11]


def keep_ancestors(game: Game, deeper: Array, under: Array, start: Array) -> Path:
    """The nodes of the path from `under` on, below its parent `start`, and those beneath each.

    [levels] both, ABOVE beyond the root. The first is what `under` knows of its ancestors.
    """
    b, up = game.b, game.t["up"]
    lanes = jnp.arange(game.build.levels, dtype=jnp.int32)
    above, beside = (plt.load(up.at[b, start, jnp.maximum(lanes - i, 0)]) for i in (1, 2))
    nodes = jnp.where(lanes == 0, under, above)
    plt.store(up.at[b, under, lanes], nodes)
    return nodes, jnp.where(lanes == 0, deeper, jnp.where(lanes == 1, under, beside))


def keep_ends(
    game: Game, leaf: Scalars, path: Path, end: Array, asked: Array, changed: Array
) -> Array:
    """Finds where walks from the nodes of a path end; returns the last of them.

    `leaf` is the (leaf, parent, action) the path leads to, and `end` where walks end
    from the node beneath the path. Nodes that are not `asked` lead nowhere; the ends of
    the `changed` ones are kept.
    """
    b, t, width = game.b, game.t, game.build.width
    nodes, beneath = path
    lanes = jnp.arange(game.build.levels, dtype=jnp.int32)
    node = jnp.maximum(nodes, 0)
    choice, child = game.choice(node)
    # A leaf under way is not asked: nothing is written there yet, and what it takes for the
    # number of a node would be read far outside of the tree.
    choice, child = jnp.where(asked, choice, -1), jnp.where(asked, child, UNVISITED)
    beyond = game.words(t["end"], b, jnp.maximum(child, 0))
    own = jnp.where((child >= 0) & (beyond >= 0), beyond, node * width + choice)
    own = jnp.where(choice >= 0, own, NOWHERE)

    # Where the choice stays on the path, the end is that of the node below, which was
    # found just now: for every lane, of the last one up to it that leaves the path.
    leaves = (choice < 0) | (child != beneath)
    row, column = lanes[:, None], lanes[None, :]
    source = jnp.max(jnp.where((column <= row) & leaves[None, :], column, -1), axis=1)
    found = jnp.max(jnp.where(column == source[:, None], own[None, :], NOWHERE), axis=1)
    found = jnp.where(source < 0, end, found)
    # A leaf that leads nowhere: walks end at the edge to it.
    found = jnp.where((found < 0) & (choice >= 0), leaf[1] * width + leaf[2], found)
    plt.store(t["end"].at[b, node], found, mask=changed)
    return jnp.max(jnp.where(lanes == game.build.levels - 1, found, NOWHERE), axis=0)


def _decide(game: Game, k: Array) -> None:
    """Keeps the ends of the nodes that the k-th leaf was the last to change."""
    b, t = game.b, game.t
    parent, action, leaf = (x[k, b] for x in game.path)

    def climb(state: Scalars) -> Scalars:
        under, start, deeper, end = state
        nodes, _, at = game.levels(start)
        after = t["parent"][b, at[-1]]
        stamp = t["stamp"][b, at[-1]]
        path = keep_ancestors(game, deeper, under, start)
        stamps = game.words(t["stamp"], b, jnp.maximum(path[0], 0))
        mine = (path[0] > 0) & (stamps == k)
        end = keep_ends(game, (leaf, parent, action), path, end, mine, mine)
        more = (nodes[-1] > 0) & (stamp == k)
        return nodes[-1], jnp.where(more, after, ABOVE), at[-2], end

    def made() -> None:
        state = (leaf, parent, leaf * 0 + ABOVE - 1, leaf * 0 + NOWHERE)
        jax.lax.while_loop(lambda s: s[1] >= 0, climb, state)

    game.when(leaf < game.build.nodes, made)
