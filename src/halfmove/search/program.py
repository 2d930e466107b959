"""The program of one game's tree: write the evaluated leaves, back up, walk to the next.

It is written once, on memory that is read and written in place, and runs in two
ways (search/kernels.py): on a GPU by Pallas, one program a game; on a CPU as one
native function that goes through the games. On a GPU rows are padded to a power
of two with -inf logits, which every rule already takes for illegal actions, so
no lane needs a mask.

A rule that looks only at its own node is applied when a node's statistics
change, to all nodes of the path at once, and the choice is kept; the walk is
then pointer chasing, but for a node met for the first time. A rule that reads
`q_min` or `q_max`, which change everywhere at once, is applied on the way down.

Loops carry scalars only (Triton cannot lay out carried vectors), and what they
carry is never a literal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

from halfmove.core.types import Array, NodeStats, RootNoise
from halfmove.search.rule import Rule, best, greatest, softmax
from halfmove.search.tree import UNVISITED, random_row, with_pending

UNDECIDED = -2  # in place of a kept choice: the node was never passed through

ROWS = ("logits", "prior", "visits", "q", "child")
NODES = ("count", "value", "raw_value", "reward", "discount", "parent", "action")
GAMES = ("q_min", "q_max")


@dataclass(frozen=True)
class Build:
    """The static facts a kernel is built from."""

    rule: Rule
    width: int  # A rounded up to a power of two
    nodes: int
    leaves: int
    max_depth: int
    kept: bool  # choices are kept, not made on the way down
    chunk: int  # path nodes whose choices are made at once
    warps: int
    how: str  # "triton", "interpreter" or "native"

    @property
    def names(self) -> tuple[str, ...]:
        extra = ("pending",) if self.leaves > 1 else ()
        return ROWS + NODES + GAMES + extra + (("code", "trail") if self.kept else ())


def program(build: Build, parts: tuple[str, ...], b: Array, inputs: Any, memory: Any) -> None:
    """What game `b` does between two calls of the model.

    The parts are "plant" (write the root), "grow" (write the leaves, back them up)
    and "walk" (to the next ones).
    """
    *state, parent, action, leaf = memory
    tree = dict(zip(build.names, state, strict=True))
    game = Game(build, b, inputs, tree, (parent, action, leaf))
    for part in parts:
        if part == "plant":
            game.write(jnp.int32(0), jnp.int32(0))
            game.settle()
        else:
            game.each(getattr(game, part))


class Game:
    """One program: the tree of game `b`. Loops carry scalars only."""

    def __init__(self, build: Build, b: Array, inputs: Any, tree: Any, path: Any) -> None:
        self.build, self.b, self.t, self.path = build, b, tree, path
        self.row, self.seed, self.schedule, self.wanted, self.fresh, number, self.answer = inputs
        self.round = number[jnp.int32(0)]
        self.lanes = jnp.arange(build.width, dtype=jnp.int32)

    def each(self, body: Callable[[Array], None]) -> None:
        """`body` for every leaf, one after the other."""

        def once(k: Array, carry: Array) -> Array:
            body(k)
            self.settle()
            return carry

        if self.build.leaves == 1:
            once(jnp.int32(0), jnp.int32(0))
        else:
            jax.lax.fori_loop(0, self.build.leaves, once, jnp.int32(0))

    # -- memory ----------------------------------------------------------

    def settle(self) -> None:
        """What one warp of the program wrote, all may read from here on."""
        if self.build.how == "triton":
            plt.debug_barrier()

    def when(self, condition: Array, body: Callable[[], None]) -> None:
        """Runs `body` or not."""
        if self.build.how != "native":
            pl.when(condition)(body)
            return

        def once(i: Array, carry: Array) -> Array:
            body()
            return carry

        # A conditional would copy the trees.
        jax.lax.fori_loop(0, condition.astype(jnp.int32), once, jnp.int32(0))

    def rows(self, ref: Any, *at: Array) -> Array:
        """One row [width], or several [C, width] if an index is [C, 1]."""
        if self.build.how == "native":
            return ref[at]
        lanes = self.lanes if not at[-1].ndim else self.lanes[None]
        return plt.load(ref.at[(*at, lanes)])

    def words(self, ref: Any, *at: Array) -> Array:
        """One word [], or several if an index is a vector."""
        return ref[at] if not at[-1].ndim else plt.load(ref.at[at])

    # -- reading ---------------------------------------------------------

    def stats(self, node: Array) -> NodeStats:
        """Statistics of one node ([]) or of several ([C]), rows last."""
        b, t, lead = self.b, self.t, node.shape
        spread = (lambda x: x) if not lead else (lambda x: x[:, None])
        at, lanes = spread(node), self.lanes if not lead else self.lanes[None]

        def row(name: str) -> Array:
            return self.rows(t[name], b, at)

        visits, q = row("visits"), row("q")
        count, value, raw = (self.words(t[x], b, node) for x in ("count", "value", "raw_value"))
        low, high = t["q_min"][b], t["q_max"][b]
        if self.build.leaves > 1:
            visits, q = with_pending(visits, q, row("pending"), value[..., None])
            count = 1 + jnp.sum(visits, axis=-1)
        seed = jax.lax.bitcast_convert_type(self.seed[b], jnp.uint32)
        return NodeStats(
            logits=row("logits"), prior=row("prior"), visits=visits, q=q, count=count,
            value=value, raw_value=raw, q_min=low, q_max=high,
            random=random_row(seed, at, spread(count), lanes),
        )  # fmt: skip

    def root_choice(self) -> Array:
        """The root's best action, -1 if it has none."""
        stats = self.stats(jnp.int32(0))
        row = self.rows(self.row, self.b)
        turn = jnp.minimum(stats.count - 1, self.schedule.shape[1] - 1)
        scores = self.build.rule.select_root(stats, RootNoise(row, self.schedule[self.b, turn]))
        scores = jnp.where(stats.legal & (row > -jnp.inf), scores, -jnp.inf)
        return jnp.where(greatest(stats.logits)[0] > -jnp.inf, best(scores), -1)

    def choice(self, node: Array) -> Array:
        """The best action at a node below the root, -1 if it has none."""
        stats = self.stats(node)
        away = RootNoise(jnp.zeros(self.build.width), jnp.int32(0))
        select = self.build.rule.select
        if node.ndim:
            axes = NodeStats(*(0,) * 6, q_min=None, q_max=None, random=0, raw_value=0)  # type: ignore[arg-type]
            select = jax.vmap(select, in_axes=(axes, None))
        scores = jnp.where(stats.legal, select(stats, away), -jnp.inf)
        return jnp.where(greatest(stats.logits)[..., 0] > -jnp.inf, best(scores), -1)

    # -- growing ---------------------------------------------------------

    def grow(self, k: Array) -> None:
        """Writes the k-th leaf and backs its value up."""
        b, t = self.b, self.t
        parent, action, leaf = (x[k, b] for x in self.path)

        def made() -> None:
            width = self.build.width
            value, reward, discount = (self.answer[k, b, jnp.int32(width + i)] for i in range(3))
            self.write(k, leaf)
            t["child"][b, parent, action] = leaf
            t["parent"][b, leaf] = parent
            t["action"][b, leaf] = action
            t["reward"][b, leaf] = reward
            t["discount"][b, leaf] = discount
            length = self.backup(leaf, parent, action, value, reward, discount)
            if self.build.kept:
                self.keep_choices(length)

        self.when(leaf < self.build.nodes, made)

    def write(self, k: Array, leaf: Array) -> None:
        """Makes a node of what the model said of the k-th leaf."""
        b, t = self.b, self.t
        value = self.answer[k, b, jnp.int32(self.build.width)]
        native = self.build.how == "native"
        logits = self.rows(self.answer, k, b)
        if native:
            logits = logits[: self.build.width]
        zeros = jnp.zeros(self.build.width, jnp.int32)
        rows = {
            "logits": logits,
            "prior": softmax(logits),
            "visits": zeros,
            "q": jnp.zeros(self.build.width),
            "child": zeros + UNVISITED,
        }
        if self.build.leaves > 1:
            # Nothing is under way below a leaf, not even below one met twice in a lot.
            rows["pending"] = zeros
        for name, row in rows.items():
            if native:
                t[name][b, leaf] = row
            else:
                plt.store(t[name].at[b, leaf, self.lanes], row)
        if self.build.kept:
            t["code"][b, leaf] = leaf * 0 + UNDECIDED
        t["raw_value"][b, leaf] = value
        t["value"][b, leaf] = value
        t["count"][b, leaf] = t["count"][b, leaf] + 1

    def backup(
        self,
        leaf: Array,
        parent: Array,
        action: Array,
        value: Array,
        reward: Array,
        discount: Array,
    ) -> Array:
        """Adds the leaf's value to every node above it; returns how many there are."""
        b, t = self.b, self.t

        def going(state: tuple[Array, ...]) -> Array:
            return state[0] > 0

        def at(node: Array, *names: str) -> tuple[Array, ...]:
            return tuple(t[name][b, node] for name in names)

        def up(state: tuple[Array, ...]) -> tuple[Array, ...]:
            _, parent, action, reward, discount, gain, mean, low, high, depth, *known = state
            # Every load of a level first: on a GPU they then wait together.
            above = at(parent, "parent", "action", "reward", "discount")
            before, old = known or at(parent, "count", "value")
            gain = reward + discount * gain
            edge = reward + discount * mean
            number = before.astype(jnp.float32)
            mean = (old * number + gain) / (number + 1.0)
            t["visits"][b, parent, action] = t["visits"][b, parent, action] + 1
            t["q"][b, parent, action] = edge
            t["value"][b, parent] = mean
            t["count"][b, parent] = before + 1
            if self.build.leaves > 1:
                t["pending"][b, parent, action] = t["pending"][b, parent, action] - 1
            if self.build.kept:
                t["trail"][b, depth] = parent
            low, high = jnp.minimum(low, edge), jnp.maximum(high, edge)
            return parent, *above, gain, mean, low, high, depth + 1, *ahead(above[0])

        def ahead(node: Array) -> tuple[Array, ...]:
            # XLA would copy an array that one step both reads and writes: what a node
            # knew is read at the end of the step before.
            return at(node, "count", "value") if self.build.how == "native" else ()

        state: tuple[Any, ...] = (
            leaf, parent, action, reward, discount,
            value, value, t["q_min"][b], t["q_max"][b], jnp.int32(0), *ahead(parent),
        )  # fmt: skip
        state = jax.lax.while_loop(going, up, state)
        t["q_min"][b], t["q_max"][b] = state[7], state[8]
        return state[9]

    def keep_choices(self, length: Array) -> None:
        """Makes and keeps the next choice of every node of the trail below the root."""
        b, t, chunk = self.b, self.t, self.build.chunk
        self.settle()

        def some(i: Array, carry: Array) -> Array:
            index = i
            if chunk > 1:
                index = i * chunk + jnp.arange(chunk, dtype=jnp.int32)
            there = index < length - 1
            node = self.words(t["trail"], b, jnp.where(there, index, 0))
            self.keep(node, self.choice(node), jnp.where(there, node, self.build.nodes))
            return carry

        # The last of the trail is the root, which is asked when a walk begins.
        jax.lax.fori_loop(0, (length + chunk - 2) // chunk, some, jnp.int32(0))

    def keep(self, node: Array, choice: Array, slot: Array) -> None:
        """Stores a choice and the node behind it as one word."""
        b, t = self.b, self.t
        child = self.words(t["child"], b, node, jnp.maximum(choice, 0))
        code = jnp.where(choice < 0, -1, choice * (self.build.nodes + 1) + child + 1)
        if slot.ndim:
            plt.store(t["code"].at[b, slot], code)
        else:
            t["code"][b, slot] = code

    # -- walking ---------------------------------------------------------

    def walk(self, k: Array) -> None:
        """From the root to the first edge that leads nowhere yet."""
        b, nodes = self.b, self.build.nodes
        active = k < self.wanted[b, self.round]
        parent, action, child = self.descend_kept() if self.build.kept else self.descend()
        active = active & (action >= 0)
        action = jnp.maximum(action, 0)
        leaf = jnp.where(child >= 0, child, self.fresh[b, self.round] + k)
        for ref, x in zip(self.path, (parent, action, jnp.where(active, leaf, nodes)), strict=True):
            ref[k, b] = x
        if self.build.leaves > 1:
            self.when(active, lambda: self.reserve(parent, action, leaf))

    def descend_kept(self) -> tuple[Array, Array, Array]:
        b, base, code = self.b, self.build.nodes + 1, self.t["code"]

        def going(state: tuple[Array, ...]) -> Array:
            _, _, child, below, depth = state
            return (child >= 0) & (below >= 0) & (depth < self.build.max_depth)

        def down(state: tuple[Array, ...]) -> tuple[Array, ...]:
            _, _, node, here, depth = state
            child = here % base - 1
            return node, here // base, child, code[b, jnp.maximum(child, 0)], depth + 1

        action = self.root_choice()
        child = self.t["child"][b, jnp.int32(0), jnp.maximum(action, 0)]
        child = jnp.where(action < 0, UNVISITED, child)
        below = code[b, jnp.maximum(child, 0)]
        state: tuple[Any, ...] = (jnp.int32(0), action, child, below, jnp.int32(1))
        state = jax.lax.while_loop(going, down, state)

        # At most once: behind an undecided node there is nothing yet.
        def undecided(state: tuple[Array, ...]) -> Array:
            _, _, child, below, depth = state
            return (child >= 0) & (below == UNDECIDED) & (depth < self.build.max_depth)

        def decide(state: tuple[Array, ...]) -> tuple[Array, ...]:
            parent, action, child, below, depth = state
            chosen = self.choice(child)
            stuck = chosen < 0
            return (
                jnp.where(stuck, parent, child),
                jnp.where(stuck, action, chosen),
                jnp.where(stuck, child, UNVISITED),
                below + 1,  # decided; a literal here cannot be lowered
                depth + 1,
            )

        return jax.lax.while_loop(undecided, decide, state)[:3]

    def descend(self) -> tuple[Array, Array, Array]:
        b, t = self.b, self.t

        def behind(node: Array, action: Array) -> tuple[Array, Array]:
            child = t["child"][b, node, jnp.maximum(action, 0)]
            child = jnp.where(action >= 0, child, UNVISITED)
            # A node under way has an edge but no statistics yet.
            made = t["count"][b, jnp.maximum(child, 0)] > 0
            return child, (child >= 0) & made

        def going(state: tuple[Array, ...]) -> Array:
            return state[3] & (state[4] < self.build.max_depth)

        def down(state: tuple[Array, ...]) -> tuple[Array, ...]:
            parent, action, child, _, depth = state
            chosen = self.choice(child)
            ahead, more = behind(child, chosen)
            stuck = chosen < 0
            return (
                jnp.where(stuck, parent, child),
                jnp.where(stuck, action, chosen),
                jnp.where(stuck, child, ahead),
                more & ~stuck,
                depth + 1,
            )

        action = self.root_choice()
        child, more = behind(jnp.int32(0), action)
        state: tuple[Any, ...] = (jnp.int32(0), action, child, more, jnp.int32(1))
        return jax.lax.while_loop(going, down, state)[:3]

    def reserve(self, parent: Array, action: Array, leaf: Array) -> None:
        """Links a leaf under way and counts its path as a loss."""
        b, t = self.b, self.t
        t["child"][b, parent, action] = leaf
        t["parent"][b, leaf] = parent
        t["action"][b, leaf] = action
        if self.build.kept:
            # Under way: a walk that comes here ends here.
            t["code"][b, leaf] = leaf * 0 - 1

        def up(state: tuple[Array, ...]) -> tuple[Array, ...]:
            _, node, action, depth = state
            t["pending"][b, node, action] = t["pending"][b, node, action] + 1
            if self.build.kept:
                t["trail"][b, depth] = node
            return node, t["parent"][b, node], t["action"][b, node], depth + 1

        state: tuple[Any, ...] = (leaf, parent, action, jnp.int32(0))
        length = jax.lax.while_loop(lambda s: s[0] > 0, up, state)[3]
        if self.build.kept:
            self.keep_choices(length)
