"""One game's tree as a compiled program sees it: its memory, and what a rule says of a node.

The program (search/ascend.py, search/descend.py) is written once, on memory that is
read and written in place, and runs in two ways (search/kernels.py): on a GPU by
Pallas, one program a game; on a CPU as one native function that goes through the
games. On a GPU rows are padded to a power of two with -inf logits, which every rule
already takes for illegal actions, so no lane needs a mask.

On a GPU the memory is far away, so nothing is found by following one pointer after
the other. A node knows its nearest ancestors (`up`): a path is climbed several
levels at a time, all their words fetched at once. And where a rule looks only at its
own node, a node knows where a walk that stands on it will end (`end`), since only
what was just climbed can have changed: to walk is to ask the root and look there. A
rule that reads `q_min` or `q_max`, which change everywhere at once, is applied on the
way down. A CPU's one core climbs level by level and asks on the way down.

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

NOWHERE = -1  # in `end`: a walk that comes here goes no further
ABOVE = -1  # in `up` and `parent`: beyond the root

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
    kept: bool  # where walks end is kept, not found on the way down
    levels: int  # of a path that are climbed at once
    warps: int
    how: str  # "triton", "interpreter" or "native"

    @property
    def names(self) -> tuple[str, ...]:
        names: tuple[str, ...] = ROWS + NODES + GAMES
        if self.leaves > 1:
            names += ("pending",)
        if self.levels > 1:
            names += ("up",)
        if self.kept:
            names += ("end",)
            if self.leaves > 1:
                names += ("stamp",)
        return names


class Game:
    """The tree of game `b`, for one launch."""

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

    def put(self, name: str, at: tuple[Array, ...], value: Array, here: Array | None) -> None:
        """Stores one word of the tree, or none unless `here`."""
        ref = self.t[name]
        if here is None:
            ref[(self.b, *at)] = value
        else:
            plt.store(ref.at[(self.b, *at)], value, mask=here)

    # -- reading ---------------------------------------------------------

    def levels(self, start: Array) -> tuple[list[Array], list[Array | None], list[Array]]:
        """The node `start` and its ancestors, as many as are climbed at once.

        Each as it is (ABOVE beyond the root), whether it is one, and where to read.
        """
        if self.build.levels == 1:
            return [start], [None], [start]
        up = self.t["up"]
        nodes = [up[self.b, start, jnp.int32(i)] for i in range(self.build.levels)]
        return nodes, [x >= 0 for x in nodes], [jnp.maximum(x, 0) for x in nodes]

    def under_way(self, nodes: list[Array], actions: list[Array]) -> list[Array]:
        """How many leaves behind edges are not evaluated yet.

        All are read before any is written: a load does not pass a store, and would wait.
        """
        if self.build.leaves == 1:
            return []
        pending = self.t["pending"]
        return [pending[self.b, n, a] for n, a in zip(nodes, actions, strict=False)]

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
            untried = self.build.rule.untried
            visits, q = with_pending(visits, q, row("pending"), value[..., None], low, untried)
            count = 1 + jnp.sum(visits, axis=-1)
        seed = jax.lax.bitcast_convert_type(self.seed[b], jnp.uint32)
        return NodeStats(
            logits=row("logits"), prior=row("prior"), visits=visits, q=q, count=count,
            value=value, raw_value=raw, q_min=low, q_max=high,
            random=random_row(seed, at, spread(count), lanes),
        )  # fmt: skip

    def root_choice(self) -> tuple[Array, Array]:
        """The root's best action and the node behind it; -1 where there is none."""
        root = jnp.int32(0)
        children = self.children(root)
        stats = self.stats(root)
        row = self.rows(self.row, self.b)
        turn = jnp.minimum(stats.count - 1, self.schedule.shape[1] - 1)
        scores = self.build.rule.select_root(stats, RootNoise(row, self.schedule[self.b, turn]))
        scores = jnp.where(stats.legal & (row > -jnp.inf), scores, -jnp.inf)
        action = jnp.where(greatest(stats.logits)[0] > -jnp.inf, best(scores), -1)
        return action, children(action)

    def choice(self, node: Array) -> tuple[Array, Array]:
        """The same for a node below the root ([]) or several ([C])."""
        children = self.children(node)
        stats = self.stats(node)
        away = RootNoise(jnp.zeros(self.build.width), jnp.int32(0))
        select = self.build.rule.select
        if node.ndim:
            axes = NodeStats(*(0,) * 6, q_min=None, q_max=None, random=0, raw_value=0)  # type: ignore[arg-type]
            select = jax.vmap(select, in_axes=(axes, None))
        scores = jnp.where(stats.legal, select(stats, away), -jnp.inf)
        action = jnp.where(greatest(scores)[..., 0] > -jnp.inf, best(scores), -1)
        return action, children(action)

    def children(self, node: Array) -> Callable[[Array], Array]:
        """A function of an action: the node behind it, UNVISITED if none or no action."""
        b, child = self.b, self.t["child"]
        if self.build.how == "native":
            found = lambda action: child[b, node, jnp.maximum(action, 0)]  # noqa: E731
        else:
            # Read with the rows of the rule, not when it has decided: one wait less.
            row = self.rows(child, b, node[:, None] if node.ndim else node)
            mine = lambda action: self.lanes == action[..., None]  # noqa: E731
            found = lambda action: jnp.sum(jnp.where(mine(action), row, 0), axis=-1)  # noqa: E731
        return lambda action: jnp.where(action < 0, UNVISITED, found(action))

    # -- writing ---------------------------------------------------------

    def write(self, k: Array, leaf: Array) -> Array:
        """Makes a node of what the model said of the k-th leaf; returns its visits."""
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
        t["raw_value"][b, leaf] = value
        t["value"][b, leaf] = value
        count = t["count"][b, leaf] + 1
        t["count"][b, leaf] = count
        return count
