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
    searched, row = (x.astype(jnp.float32) for x in rule.noise(keys[1], logits))
    seed = jax.random.bits(keys[2], logits.shape[:1], jnp.uint32)
    candidates = jnp.sum(row > -jnp.inf, axis=-1, where=logits > -jnp.inf)
    value = prediction.value.astype(jnp.float32)
    return Root(searched, value, node, Noise(row, seed, None), candidates)


def step_of(model: Model, params: Any, actions: int) -> engine.Step:
    """The model's step as an engine takes it, its answers checked."""

    def step(key: Array, node: Any, action: Array) -> tuple[Any, Leaf]:
        node, edge, prediction = model.step(params, key, node, action)
        return node, leaf_of(edge, prediction, (action.shape[0], actions))

    return step


def leaf_of(edge: Edge, prediction: Prediction, shape: tuple[int, int]) -> Leaf:
    """What a model said after a move, checked; `shape` (N, A)."""
    for name, x in (("reward", edge.reward), ("discount", edge.discount)):
        if x.shape != shape[:1]:
            raise ValueError(f"edge.{name} must have shape {shape[:1]}, got {x.shape}")
    below = checked_logits(prediction, shape)
    value, reward, discount = (
        x.astype(jnp.float32) for x in (prediction.value, edge.reward, edge.discount)
    )
    return jax.lax.stop_gradient(Leaf(below, value, reward, discount))


def decided(rule: Rule, key: Array, tree: Tree, noise: Noise, *, keep: bool = False) -> Plan:
    """What the rule makes of a tree; `keep` leaves the tree in the plan."""
    stats = stats_of(tree, jnp.zeros(tree.count.shape[0], jnp.int32), noise.seed)
    # A simulation counts once in every node on its way.
    depth = jnp.sum(tree.count[:, 1:], axis=1) / jnp.maximum(tree.count[:, 0] - 1, 1)
    plan = plan_of(rule, key, stats, root_noise(noise, stats.count), depth)
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
    if prediction.value.shape != logits.shape[:1]:
        raise ValueError(
            f"prediction.value must have shape {logits.shape[:1]}, got {prediction.value.shape}"
        )
    logits = logits.astype(jnp.float32)
    if prediction.legal is None:
        return logits
    if prediction.legal.shape != logits.shape:
        raise ValueError(
            f"prediction.legal must have shape {logits.shape}, got {prediction.legal.shape}"
        )
    return jnp.where(prediction.legal.astype(bool), logits, -jnp.inf)


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
    bad = ~np.isfinite(np.asarray(plan.value))
    if bad.any():
        raise ValueError(
            "prediction.value, edge.reward or edge.discount: the model gave NaN or infinity below "
            f"the root of game {int(np.argmax(bad))} of {len(bad)}; expected finite numbers"
        )


def hashed(model: Model) -> None:
    """Raises unless the model can be told from others."""
    try:
        hash(model)
    except TypeError:
        raise TypeError(
            f"model must be hashable (compared by identity is enough), got {type(model).__name__}"
        ) from None
