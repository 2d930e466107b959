"""Planning without a tree: Monte Carlo Search, and Policy Gradient Search on top of it.

A simulation's first move is the root rule's (pUCT over the means of what earlier ones
returned); later ones are sampled from a policy until the simulation is long enough; its last
state is valued by the model. Policy Gradient Search paper, sections 2.4 and 3.
"""

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Model, NodeStats, Plan, pytree
from halfmove.search import adapt as adapting
from halfmove.search import sequences, simulate
from halfmove.search.adapt import Adapt
from halfmove.search.guide import Guide, features_of, guide
from halfmove.search.numbers import whole
from halfmove.search.rule import Rule, best, softmax
from halfmove.search.search import checked_logits, complain, hashed, plan_of
from halfmove.search.sequences import Sequences
from halfmove.search.simulate import Rows, Store, Task
from halfmove.search.tree import Noise, random_row, root_noise, with_pending
from halfmove.search.unfrozen import Pair, repeats, shared

TRUNCATIONS = ("new", "fixed", "growing", "probability")
ENGINES = ("auto", "xla")
LONGEST = 64  # moves of a simulation where no max_depth is given
AT_ONCE = 8  # rows of a model call that are not worth splitting
PARTS = 4  # model calls that a batch of simulations is split into, at least


@dataclass(frozen=True)
class RolloutSearch:
    """A planner: simulations without a tree. Call it on a position, inside `jit` or not.

    `leaves` simulations of one game run at once, with virtual losses at the root. They end at
    the end of the game, after `max_depth` moves (None: 64), and by `truncate`: "new" where the
    action sequence differs from every earlier one of this search; "fixed" after `horizon` moves;
    "growing" after 1 move at first and `horizon` in the end; "probability" where the sequence is
    less likely than `threshold`. The paper does not say whether simulations that run at once know
    of each other: here they do, as if they came one after the other, and end in different states.
    With `distinct=False` each knows only of earlier batches; fewer model calls, fewer states.
    `remember` caps the sequences and states that are kept: those of the first so many
    simulations (None: all). A model that says it repeats itself (`model.repeats`) is asked once
    for every sequence; else, as in a game of chance, anew in every simulation.
    """

    rule: Rule
    simulations: int
    max_depth: int | None = None
    leaves: int = 32
    truncate: str = "new"
    horizon: int = 8
    threshold: float = 0.01
    distinct: bool = True
    remember: int | None = None
    adapt: Adapt | None = None
    tree: bool = False
    engine: str = "auto"

    def __post_init__(self) -> None:
        least = {"simulations": 1, "leaves": 1, "horizon": 1, "max_depth": 1, "remember": 0}
        for name, bound in least.items():
            if getattr(self, name) is not None or name in ("simulations", "leaves", "horizon"):
                whole(name, getattr(self, name), bound)
        if self.truncate not in TRUNCATIONS:
            known = ", ".join(map(repr, TRUNCATIONS))
            raise ValueError(f"truncate must be one of {known}, got {self.truncate!r}")
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold must be above 0 and at most 1, got {self.threshold}")
        if self.engine not in ENGINES:
            known = " or ".join(map(repr, ENGINES))
            raise ValueError(f"engine must be {known} without a tree, got {self.engine!r}")
        if self.tree:
            raise ValueError("tree must be False: simulations without a tree leave none to keep")

    def begin(self, model: Model, params: Any, games: int) -> Any:
        """The memory of so many new games: what was adapted, nothing yet."""
        return () if self.adapt is None else adapting.fresh(self.adapt, model, params, games)

    def __call__(
        self, key: Array, model: Model, params: Any, timestep: Any, memory: Any = None
    ) -> Plan:
        """Searches every game of the batch in `timestep`; `memory` of their last plans."""
        hashed(model)
        plan = _plan(self, model, key, params, timestep, memory)
        if not isinstance(plan.action, jax.core.Tracer):
            complain(plan)
        return plan

    @property
    def at_once(self) -> int:
        """K, simulations of a batch."""
        return min(self.leaves, self.simulations)

    @property
    def batches(self) -> int:
        """Batches that all simulations take."""
        return math.ceil(self.simulations / self.at_once)

    @property
    def depth(self) -> int:
        """L, moves of the longest simulation."""
        most = min(self.simulations, LONGEST) if self.truncate == "new" else LONGEST
        most = most if self.max_depth is None else self.max_depth
        return min(most, self.horizon) if self.truncate in ("fixed", "growing") else most

    @property
    def kept(self) -> int:
        """Sequences that are remembered."""
        most = self.simulations if self.truncate == "new" else 0
        return most if self.remember is None else min(most, self.remember)

    def cached(self, model: Model, node: Any) -> bool:
        """Whether states such as `node` are remembered with their sequences."""
        return self.truncate == "new" and not isinstance(node, Pair) and repeats(model)


@pytree
class Going:
    """A search under way."""

    raw: Array  # [B] f32, what the model says of the root
    noise: Noise
    store: Store
    seen: Sequences
    visits: Array  # [B, A] i32, of the root
    total: Array  # [B, A] f32, sum of what they returned
    q_min: Array  # [B] f32, least of the root's value and of its means so far
    q_max: Array  # [B] f32
    moves: Array  # [B] i32, of all simulations
    budget: Array  # [] i32, simulations that will run
    timestep: Any  # where games have states of their own
    memory: Any  # [B, ...]
    loop_key: Array
    act_key: Array


@functools.partial(jax.jit, static_argnums=(0, 1))
def _plan(
    search: RolloutSearch, model: Model, key: Array, params: Any, timestep: Any, memory: Any
) -> Plan:
    going = begun(search, model, key, params, timestep, memory, search.simulations)

    def body(turn: Array, going: Going) -> Going:
        return batch(search, model, params, going, turn)

    return decided(search, jax.lax.fori_loop(0, search.batches, body, going))


def begun(
    search: RolloutSearch, model: Model, key: Array, params: Any, timestep: Any, memory: Any,
    budget: int | Array,
) -> Going:  # fmt: skip
    """The search before its first batch."""
    root_key, noise_key, seed_key, loop_key, act_key = jax.random.split(key, 5)
    node, prediction = model.root(params, root_key, timestep)
    prediction = jax.lax.stop_gradient(prediction)
    logits, row = search.rule.noise(noise_key, checked_logits(prediction))
    games, actions = logits.shape
    if memory is None:
        memory = search.begin(model, params, games)
    adapt, features = search.adapt, None
    if adapt is not None and not adapt.everything:
        features = features_of(model, prediction)
    elif adapt is not None and not (repeats(model) and shared(node)):
        node = Pair(node, node)
    cached, kept, k = search.cached(model, node), search.kept, search.at_once
    # Past what is remembered, and where nothing is, a batch has its own places.
    spare = k if kept < search.simulations else 0
    room = 1 + kept + spare if cached else 1 + search.depth * k
    value = jnp.asarray(prediction.value, jnp.float32)
    return Going(
        raw=value,
        noise=Noise(row, jax.random.bits(seed_key, (games,), jnp.uint32), None),
        store=simulate.store_of(node, logits, value, features, room),
        seen=sequences.empty(games, 1 + kept + spare if search.truncate == "new" else 1),
        visits=jnp.zeros((games, actions), jnp.int32),
        total=jnp.zeros((games, actions)),
        q_min=value,
        q_max=value,
        moves=jnp.zeros(games, jnp.int32),
        budget=jnp.asarray(budget, jnp.int32),
        timestep=timestep if isinstance(node, Pair) else None,
        memory=memory,
        loop_key=loop_key,
        act_key=act_key,
    )


def batch(search: RolloutSearch, model: Model, params: Any, going: Going, turn: Array) -> Going:
    """The search after one more batch of simulations."""
    k = search.at_once
    number = turn * k + jnp.arange(k, dtype=jnp.int32)
    action = _first_moves(search.rule, going, number)
    alive = jnp.any(going.store.logits[:, 0] > -jnp.inf, axis=-1)
    on = alive[:, None] & (number < going.budget)
    root_key, key = jax.random.split(jax.random.fold_in(going.loop_key, turn))

    keys = (root_key, jax.random.clone(key))
    by = guide(search.adapt, model, params, going.store, going.memory, keys, going.timestep)
    task = _task(search, model, going, by)
    limit = jnp.full(number.shape, search.depth, jnp.int32)
    if search.truncate == "growing":
        limit = 1 + number * (search.depth - 1) // jnp.maximum(going.budget - 1, 1)
    rows = simulate.begin(by.store, action, number, limit, on, search.depth)
    store, seen, rows = simulate.simulate(task, key, by.store, going.seen, rows)
    returned, memory = by.learn(store, rows)
    going = replace(going, store=store, seen=seen, memory=memory)
    return _counted(going, rows, action, on, returned)


def _task(search: RolloutSearch, model: Model, going: Going, by: Guide) -> Task:
    every = len(going.raw) * search.at_once
    return Task(
        rule=search.rule,
        seed=going.noise.seed,
        step=by.step,
        logits=by.logits,
        threshold=search.threshold if search.truncate == "probability" else 0.0,
        new=search.truncate == "new",
        distinct=search.distinct,
        remember=search.kept,
        cached=search.cached(model, going.store.node),
        rows=max(AT_ONCE, every // PARTS) if search.distinct else every,
        costly=search.adapt is not None and search.adapt.everything,
    )


def _stats(rule: Rule, going: Going, pending: Array | None = None) -> NodeStats:
    """Of the roots, [B, A] and [B]; `pending` [B, A] simulations count as losses."""
    visits = going.visits
    q = going.total / jnp.maximum(visits, 1)
    value = (going.raw + jnp.sum(going.total, axis=-1)) / (1 + jnp.sum(visits, axis=-1))
    if pending is not None:
        visits, q = with_pending(
            visits, q, pending, value[:, None], going.q_min[:, None], rule.untried
        )
    count = 1 + jnp.sum(visits, axis=-1)
    logits = going.store.logits[:, 0]
    lanes = jnp.arange(logits.shape[-1])
    zero = jnp.zeros((len(count), 1), jnp.int32)
    return NodeStats(
        logits=logits,
        prior=softmax(logits),
        visits=visits,
        q=q,
        count=count,
        value=value,
        raw_value=going.raw,
        q_min=going.q_min,
        q_max=going.q_max,
        random=random_row(going.noise.seed[:, None], zero, count[:, None], lanes),
    )


def _first_moves(rule: Rule, going: Going, number: Array) -> Array:
    """[B, K] i32: the roots' moves, each chosen as if those before it had lost."""
    games, actions = going.visits.shape
    allowed = (going.store.logits[:, 0] > -jnp.inf) & (going.noise.row > -jnp.inf)

    def choose(pending: Array, on: Array) -> tuple[Array, Array]:
        stats = _stats(rule, going, pending)
        scores = jax.vmap(rule.select_root)(stats, root_noise(going.noise, stats.count))
        action = best(jnp.where(allowed, scores, -jnp.inf))
        return pending.at[jnp.arange(games), action].add(on.astype(jnp.int32)), action

    pending = jnp.zeros((games, actions), jnp.int32)
    return jax.lax.scan(choose, pending, number < going.budget)[1].T


def _counted(going: Going, rows: Rows, action: Array, on: Array, returned: Array) -> Going:
    """With what the simulations returned [B, K], those that were `on`."""
    games = jnp.arange(len(action))[:, None]
    visits = going.visits.at[games, action].add(on.astype(jnp.int32))
    total = going.total.at[games, action].add(jnp.where(on, returned, 0.0))
    q = total / jnp.maximum(visits, 1)
    low = jnp.min(jnp.where(visits > 0, q, jnp.inf), axis=-1)
    high = jnp.max(jnp.where(visits > 0, q, -jnp.inf), axis=-1)
    return replace(
        going,
        visits=visits,
        total=total,
        q_min=jnp.minimum(going.q_min, low),
        q_max=jnp.maximum(going.q_max, high),
        moves=going.moves + jnp.sum(rows.length, axis=1),
    )


def decided(search: RolloutSearch, going: Going) -> Plan:
    """What the rule makes of the simulations so far."""
    stats = _stats(search.rule, going)
    depth = going.moves / jnp.maximum(stats.count - 1, 1)
    plan = plan_of(search.rule, going.act_key, stats, root_noise(going.noise, stats.count), depth)
    return replace(plan, memory=going.memory)
