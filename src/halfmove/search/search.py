"""A rule, a model and a position: the plan."""

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import (
    Array,
    Edge,
    Model,
    NodeStats,
    Plan,
    Prediction,
    RootNoise,
    pytree,
)
from halfmove.search import engine
from halfmove.search.numbers import switch, whole
from halfmove.search.rule import Rule
from halfmove.search.tree import Leaf, Noise, Tree, root_noise, stats_of


@dataclass(frozen=True)
class TreeSearch:
    """A planner: `rule` on a tree. Call it on a position, inside `jit` or not.

    `leaves` of one tree go into one model call, with virtual losses; 1 is
    exact. `tree=True` keeps the tree in the plan. `engine` is "kernel" (one
    compiled program: Pallas on a GPU, native code on a CPU), "xla" (plain
    operations, for every device and rule), "auto" (the first that can), or
    "interpreter" (the GPU's program, slowly, anywhere: to try a rule).
    """

    rule: Rule
    simulations: int
    max_depth: int | None = None
    leaves: int = 1
    tree: bool = False
    engine: str = "auto"

    def __post_init__(self) -> None:
        whole("simulations", self.simulations, 0)
        whole("leaves", self.leaves, 1)
        if self.max_depth is not None:
            whole("max_depth", self.max_depth, 1)
        switch("tree", self.tree)
        if self.engine not in engine.ENGINES:
            known = ", ".join(map(repr, engine.ENGINES))
            raise ValueError(f"engine must be one of {known}, got {self.engine!r}")

    def __call__(self, key: Array, model: Model, params: Any, timestep: Any) -> Plan:
        """Searches every game of the batch in `timestep`."""
        hashed(model)
        plan = _plan(self, model, key, params, timestep)
        if not isinstance(plan.action, jax.core.Tracer):
            complain(plan)
        return plan


@functools.partial(jax.jit, static_argnums=(0, 1))
def _plan(search: TreeSearch, model: Model, key: Array, params: Any, timestep: Any) -> Plan:
    keys = jax.random.split(key, 5)
    rule = search.rule
    root = rooted(rule, model, keys[:3], params, timestep)
    schedule = rounds = None
    if rule.schedule is not None and search.simulations:
        schedule = rule.schedule.turns(root.candidates)
        if search.leaves > 1:
            rounds = rule.schedule.rounds(root.candidates, search.leaves)
    noise = replace(root.noise, schedule=schedule)
    tree = engine.search(
        keys[3], rule, root.logits, root.value, root.node, noise,
        step_of(model, params, root.logits.shape[1]),
        simulations=search.simulations, leaves=search.leaves, rounds=rounds,
        max_depth=search.max_depth, kind=search.engine,
    )  # fmt: skip
    return decided(rule, keys[4], tree, noise, keep=search.tree)


@pytree
class Root:
    """Where a search begins."""

    logits: Array  # [B, A] f32, to search with
    value: Array  # [B] f32, what the model says
    node: Any  # [B, ...], the model's
    noise: Noise  # without a schedule
    candidates: Array  # [B] i32, legal actions that the noise leaves in


def rooted(rule: Rule, model: Model, keys: Array, params: Any, timestep: Any) -> Root:
    """The root, by three keys: for the model, the noise and the numbers of every visit."""
    node, prediction = model.root(params, keys[0], timestep)
    # A plan is a target, not a function to differentiate: its loops have no gradient.
    prediction = jax.lax.stop_gradient(prediction)
    logits = checked_logits(prediction)
    for path, x in jax.tree.leaves_with_path(node):
        if jnp.shape(x)[:1] != logits.shape[:1]:
            wanted = f"({logits.shape[0]}, ...), a row for each game"
            raise ValueError(
                f"model.root: {_named(path)} must have shape {wanted}, got {jnp.shape(x)}"
            )
    searched, row = (x.astype(jnp.float32) for x in rule.noise(keys[1], logits))
    seed = jax.random.bits(keys[2], logits.shape[:1], jnp.uint32)
    candidates = jnp.sum(row > -jnp.inf, axis=-1, where=logits > -jnp.inf)
    value = jnp.asarray(prediction.value, jnp.float32)
    return Root(searched, value, node, Noise(row, seed, None), candidates)


def step_of(model: Model, params: Any, actions: int) -> engine.Step:
    """The model's step as an engine takes it, its answers checked."""

    def step(key: Array, node: Any, action: Array) -> tuple[Any, Leaf]:
        after, edge, prediction = model.step(params, key, node, action)
        _check_alike(node, after)
        return after, leaf_of(edge, prediction, (action.shape[0], actions))

    return step


def _check_alike(before: Any, after: Any) -> None:
    """Raises unless a node can be kept where another one is."""
    built: Any
    found: Any
    built, found = jax.tree.structure(before), jax.tree.structure(after)
    if built != found:
        raise ValueError(f"model.step: node must be built as model.root's, {built}, got {found}")
    for (path, x), y in zip(jax.tree.leaves_with_path(before), jax.tree.leaves(after), strict=True):
        if jnp.shape(x) != jnp.shape(y) or not _kept(x, y):
            wanted = f"{_kind(x)}, as model.root's"
            raise ValueError(f"model.step: {_named(path)} must be {wanted}, got {_kind(y)}")


def _kept(old: Any, new: Any) -> bool:
    """Whether numbers of another kind lose nothing where those of the root's are kept."""
    kind, other = jax.typeof(old).dtype, jax.typeof(new).dtype
    if any(jnp.issubdtype(x, jax.dtypes.extended) for x in (kind, other)):
        return bool(kind == other)  # keys become nothing else
    # Of arrays, not of kinds: what comes of Python's numbers is as short as it is wanted.
    return bool(jnp.result_type(old, new) == kind)


def _kind(x: Any) -> str:
    return f"{jax.typeof(x).dtype}{list(jnp.shape(x))}"


def _named(path: Any) -> str:
    return f"node{jax.tree_util.keystr(path)}"


def leaf_of(edge: Edge, prediction: Prediction, shape: tuple[int, int]) -> Leaf:
    """What a model said after a move, checked; `shape` (N, A)."""
    below = checked_logits(prediction, shape)
    reward = _shaped("edge.reward", edge.reward, shape[:1])
    discount = _shaped("edge.discount", edge.discount, shape[:1])
    value, reward, discount = (
        jnp.asarray(x, jnp.float32) for x in (prediction.value, reward, discount)
    )
    return jax.lax.stop_gradient(Leaf(below, value, reward, discount))


def decided(rule: Rule, key: Array, tree: Tree, noise: Noise, *, keep: bool = False) -> Plan:
    """What the rule makes of a tree; `keep` leaves the tree in the plan."""
    stats = stats_of(tree, jnp.zeros(tree.count.shape[0], jnp.int32), noise.seed)
    # A simulation counts once in every node on its way.
    depth = jnp.sum(tree.count[:, 1:], axis=1) / jnp.maximum(tree.count[:, 0] - 1, 1)
    plan = plan_of(rule, key, stats, root_noise(noise, stats.count), depth)
    # Led by a policy that is no number a search finds nothing. Where a game is over it leads
    # nowhere: log_softmax of no legal move is NaN. One lane tells of its row (softmax).
    over = (tree.discount == 0).at[:, 0].set(False)
    broken = jnp.any(jnp.isnan(tree.prior[:, :, 0]) & ~over, axis=1)
    plan = replace(plan, value=jnp.where(broken, jnp.nan, plan.value))
    return replace(plan, tree=tree) if keep else plan


def plan_of(rule: Rule, key: Array, stats: NodeStats, noise: RootNoise, depth: Array) -> Plan:
    """What the rule makes of the roots' statistics."""
    policy = jax.vmap(rule.improve)(stats, noise)
    action = rule.act(key, stats, noise)
    return Plan(
        action=jnp.where(jnp.any(stats.legal, axis=-1), action, 0).astype(jnp.int32),
        policy=jnp.where(stats.legal, policy, 0.0),
        value=stats.value,
        stats=stats,
        noise=noise,
        depth=depth,
    )


def checked_logits(prediction: Prediction, shape: tuple[int, int] | None = None) -> Array:
    """f32 logits [B, A] with -inf at illegal actions."""
    logits = jnp.asarray(prediction.logits)
    if logits.ndim != 2 or (shape is not None and logits.shape != shape):
        wanted = "[games, actions]" if shape is None else f"{shape}, as at the root"
        raise ValueError(f"prediction.logits must have shape {wanted}, got {logits.shape}")
    if logits.shape[1] == 0:
        raise ValueError("prediction.logits: a game needs at least one action, got none")
    _shaped("prediction.value", prediction.value, logits.shape[:1])
    logits = logits.astype(jnp.float32)
    if prediction.legal is None:
        return logits
    legal = _shaped("prediction.legal", prediction.legal, logits.shape)
    return jnp.where(legal.astype(bool), logits, -jnp.inf)


def _shaped(name: str, x: Any, shape: tuple[int, ...]) -> Array:
    """`x` as an array; raises unless it has that shape."""
    x = jnp.asarray(x)
    if x.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {x.shape}")
    return x


def complain(plan: Plan) -> None:
    """Raises if a concrete plan was made from numbers no search can use."""
    logits, raw = np.asarray(plan.stats.logits), np.asarray(plan.stats.raw_value)
    for name, bad in (
        ("logits", np.isnan(logits).any(-1) | np.isposinf(logits).any(-1)),
        ("value", ~np.isfinite(raw)),
    ):
        if bad.any():
            raise ValueError(
                f"prediction.{name}: the model gave NaN or infinity at the root of game "
                f"{int(np.argmax(bad))} of {len(bad)}; expected finite numbers"
            )
    if not (logits > -np.inf).any():
        raise ValueError(
            "prediction.legal: no game of the batch has a legal action; expected at least one"
        )
    found, mean = np.asarray(plan.value), np.asarray(plan.stats.value)
    for name, bad in (
        ("prediction.value, edge.reward or edge.discount", ~np.isfinite(mean)),
        ("prediction.logits", ~np.isfinite(found)),
    ):
        if bad.any():
            raise ValueError(
                f"{name}: the model gave NaN or infinity below the root of game "
                f"{int(np.argmax(bad))} of {len(bad)}; expected finite numbers"
            )


def hashed(model: Model) -> None:
    """Raises unless the model can be told from others."""
    try:
        hash(model)
    except TypeError:
        raise TypeError(
            f"model must be hashable (compared by identity is enough), got {type(model).__name__}"
        ) from None
