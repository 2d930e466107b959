"""mctx's own transforms and policies as rules of our engine.

A rule sees one row of the tree and runs in either engine; a function of the
user's may read the whole tree and goes through `loop.py`.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.compat.mctx import qtransforms
from halfmove.compat.mctx.loop import check_step
from halfmove.compat.mctx.tree import Tree
from halfmove.compat.mctx.types import (
    LoopFn,
    Params,
    QTransform,
    RecurrentFn,
    RootFnOutput,
)
from halfmove.core.types import Array, NodeStats, RootNoise
from halfmove.search import act, engine, halving, improve, noise, scaling, select, tree
from halfmove.search.improve import Advantage
from halfmove.search.rule import LOWEST, Rule, Select

# To the engine a logit of -inf is an illegal action, which mctx does not have:
# its -inf travels as LOWEST, and LOWEST itself as the next number above it.
SECOND = float(np.nextafter(np.float32(LOWEST), np.float32(0)))
# Any number: it sets the tie-breaking apart from the keys of the search.
TIES = 0x7135


@dataclass(frozen=True)
class Known:
    """A search that the engine can do."""

    rule: Rule
    advantage: Advantage
    kind: str  # the engine to ask for


def is_plain(root: RootFnOutput, loop_fn: LoopFn) -> bool:
    """Whether the engine keeps the numbers of this search exactly.

    It computes in f32. A loop of the user's own may look into the tree that it
    carries, so only loops known not to do that are given the engine's.
    """
    kinds = (root.prior_logits.dtype, root.value.dtype)
    inner, _ = _unwrapped(loop_fn)
    module = (getattr(inner, "__module__", None) or "").split(".")[0]
    return all(kind == jnp.float32 for kind in kinds) and module in ("jax", "haiku")


def scalars(**options: Any) -> dict[str, Any] | None:
    """The options as plain numbers where that is possible; None if one is no scalar."""
    out = {}
    for name, x in options.items():
        if jnp.ndim(x):
            return None
        concrete = isinstance(x, (np.ndarray, np.generic, jax.Array)) and not is_traced(x)
        out[name] = x.item() if concrete else x
    return out


def is_traced(*values: Any) -> bool:
    """Whether one of them is known only when the program runs."""
    return any(isinstance(x, jax.core.Tracer) for x in values)


def advantage_of(qtransform: QTransform) -> Advantage | None:
    """The rule that equals one of mctx's transforms; None for any other function."""
    inner, options = _unwrapped(qtransform)
    # By identity: a function of the user's may be an object without a hash.
    rule = next((rule for known, rule in _RULES if known is inner), None)
    if rule is None or options is None:
        return None
    # Says what is wrong with a name that the transform does not have.
    inspect.signature(inner).bind(None, None, **options)
    plain = scalars(**options)
    return None if plain is None else rule(**plain)


def _unwrapped(function: Any) -> tuple[Any, dict[str, Any] | None]:
    """The function inside `functools.partial` and its keywords; None if it has more."""
    options: dict[str, Any] | None = {}
    while isinstance(function, functools.partial):
        kept = None if options is None or function.args else {**function.keywords, **options}
        function, options = function.func, kept
    return function, options


def _min_max(*, min_value: Any, max_value: Any) -> Advantage:
    def scaled(stats: NodeStats) -> Array:
        q = (stats.q - min_value) / (max_value - min_value)
        return jnp.where(stats.visits > 0, q, 0.0)

    return scaled


def _siblings(*, epsilon: Any = 1e-8) -> Advantage:
    scale = scaling.siblings(epsilon=epsilon)

    def scaled(stats: NodeStats) -> Array:
        seen = stats.visits > 0
        row = jnp.where(seen, stats.q, stats.value)
        return jnp.where(seen, scale(stats, row, stats.value), 0.0)

    return scaled


def _completed(
    *,
    value_scale: Any = 0.1,
    maxvisit_init: Any = 50.0,
    rescale_values: bool = True,
    use_mixed_value: bool = True,
    epsilon: Any = 1e-8,
) -> Advantage:
    return improve.completed_q(
        c_visit=maxvisit_init,
        c_scale=value_scale,
        completion="mixed" if use_mixed_value else "raw",
        scale=scaling.siblings(epsilon=epsilon) if rescale_values else scaling.none(),
    )


_RULES: tuple[tuple[Any, Callable[..., Advantage]], ...] = (
    (qtransforms.qtransform_by_min_max, _min_max),
    (qtransforms.qtransform_by_parent_and_siblings, _siblings),
    (qtransforms.qtransform_completed_by_mix_value, _completed),
)


def muzero(
    root: RootFnOutput,
    loop_fn: LoopFn,
    qtransform: QTransform,
    pb_c_init: Any,
    pb_c_base: Any,
    actions: int | None = None,
) -> Known | None:
    """pUCT at every node; None where the engine would not give mctx's numbers.

    With `actions`, only at nodes where one of the first `actions` is legal;
    elsewhere chance rules, by π / (1 + N).
    """
    advantage, factors = advantage_of(qtransform), scalars(init=pb_c_init, base=pb_c_base)
    if advantage is None or factors is None or not is_plain(root, loop_fn):
        return None
    growth = select.growing(c_init=factors["init"], c_base=factors["base"])
    choose = _puct(advantage, growth)
    if actions is not None:
        choose = _or_chance(choose, actions)
    rule = Rule(noise.none(), choose, choose, improve.visit_share(), act.by_visits())
    return Known(rule, advantage, _engine_for(qtransform, *factors.values()))


def gumbel(
    root: RootFnOutput, loop_fn: LoopFn, qtransform: QTransform, considered: int, simulations: int
) -> Known | None:
    """Sequential Halving at the root, π' - N / (1 + ΣN) below; None as above."""
    advantage = advantage_of(qtransform)
    if advantage is None or not is_plain(root, loop_fn):
        return None
    raised = improve.raised(advantage)
    rule = Rule(
        noise.gumbel(),
        select.halving(advantage),
        select.track(raised),
        raised,
        act.best_considered(advantage),
        halving.Halving(considered, simulations),
    )
    return Known(rule, advantage, _engine_for(qtransform))


def _engine_for(qtransform: QTransform, *values: Any) -> str:
    """A traced option cannot be closed over by a kernel."""
    options = _unwrapped(qtransform)[1] or {}
    return "xla" if is_traced(*options.values(), *values) else "auto"


def _puct(advantage: Advantage, exploration: select.Exploration) -> Select:
    def scores(stats: NodeStats, noise: RootNoise) -> Array:
        lead = jnp.sqrt(stats.count.astype(jnp.float32)) * exploration(stats.count)
        explore = lead * stats.prior / (stats.visits + 1).astype(jnp.float32)
        return advantage(stats) + explore

    return select.by_lot(scores)


def _or_chance(decide: Select, actions: int) -> Select:
    def scores(stats: NodeStats, noise: RootNoise) -> Array:
        lanes = jax.lax.broadcasted_iota(jnp.int32, stats.logits.shape, stats.logits.ndim - 1)
        first = jnp.max(jnp.where(lanes < actions, stats.logits, -jnp.inf))
        outcome = stats.prior / (stats.visits + 1).astype(jnp.float32)
        return jnp.where(first > -jnp.inf, decide(stats, noise), outcome)

    return scores


def _keys(key: Array, turn: Array) -> tuple[Array, Array]:
    """The next key of the loop and the model's, as mctx splits them; its walk has the third."""
    following, _, model_key = jax.random.split(key, 3)
    return following, model_key


def finite(logits: Any) -> Array:
    """f32 logits of which none counts as illegal; the order is kept."""
    logits = jnp.asarray(logits, jnp.float32)
    return jnp.where(logits == -jnp.inf, LOWEST, jnp.maximum(logits, SECOND))


def grow(
    params: Params,
    key: Array,
    known: Known,
    root: RootFnOutput,
    recurrent_fn: RecurrentFn,
    *,
    row: Array,
    num_simulations: int,
    max_depth: Any,
    loop_fn: LoopFn,
    encode: Callable[[Array], Array] = finite,
) -> tuple[tree.Tree, NodeStats]:
    """The engine's tree and the statistics of its roots.

    `row` [B, A] is the root's noise, -inf at invalid actions. No gradient goes through: that of
    a native function does not exist, and mctx's loops have none either.
    """
    rule, simulations = known.rule, num_simulations
    games, actions = root.prior_logits.shape
    schedule = None
    if rule.schedule is not None and simulations:
        schedule = rule.schedule.turns(jnp.sum(row > -jnp.inf, axis=-1))
    seed = jax.random.bits(jax.random.fold_in(key, TIES), (games,), jnp.uint32)
    drawn = tree.Noise(jax.lax.stop_gradient(row).astype(jnp.float32), seed, schedule)

    def step(key: Array, embedding: Any, action: Array) -> tuple[Any, tree.Leaf]:
        said, embedding = recurrent_fn(params, key, action, embedding)
        check_step(said, actions, games)
        rest = (jnp.asarray(x, jnp.float32) for x in (said.value, said.reward, said.discount))
        return jax.lax.stop_gradient((embedding, tree.Leaf(encode(said.prior_logits), *rest)))

    start = (encode(root.prior_logits), root.value, root.embedding)
    grown = engine.search(
        key, rule, *jax.lax.stop_gradient(start), drawn, step,
        simulations=simulations, max_depth=max_depth, loop=loop_fn, keys=_keys,
        kind="xla" if is_traced(max_depth) else known.kind,
    )  # fmt: skip
    return grown, tree.stats_of(grown, jnp.zeros(games, jnp.int32), seed)


def layout(grown: tree.Tree, invalid: Array, extra_data: Any) -> Tree[Any]:
    """The engine's tree as mctx lays it out."""
    games = jnp.arange(grown.count.shape[0])[:, None]
    nodes = grown.count.shape[1]
    # Past the end, and so dropped, where a node has no parent.
    edge = (games, jnp.where(grown.parent < 0, nodes, grown.parent), grown.action)

    def to_edges(x: Array) -> Array:
        return jnp.zeros(grown.child.shape, x.dtype).at[edge].set(x)

    def reached(x: Array) -> Array:
        there = (grown.count > 0).reshape(grown.count.shape + (1,) * (x.ndim - 2))
        return jnp.where(there, x, jnp.zeros((), x.dtype))

    logits = jnp.where(grown.logits == LOWEST, -jnp.inf, grown.logits)
    logits = jnp.where(grown.logits == SECOND, LOWEST, logits)
    return Tree(
        node_visits=grown.count,
        raw_values=grown.raw_value,
        node_values=grown.value,
        parents=grown.parent,
        action_from_parent=grown.action,
        children_index=grown.child,
        children_prior_logits=reached(logits),
        children_visits=grown.visits,
        children_rewards=to_edges(grown.reward),
        children_discounts=to_edges(grown.discount),
        children_values=to_edges(grown.value),
        embeddings=jax.tree.map(reached, grown.node),
        root_invalid_actions=invalid,
        extra_data=extra_data,
    )
