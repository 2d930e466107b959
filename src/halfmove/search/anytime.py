"""A search that can be stopped at any moment: run in slices, its tree kept on the device.

    slices = Anytime(planner("full_gumbel", simulations=800), model, capacity=1024)
    going = slices.begin(key, params, timestep, budget=800)
    going = slices.go_on(params, going, 0, 32)  # turns 0 to 31
    look = slices.look(going)

A slice may have any length and a budget any size up to the capacity; nothing compiles again.
Run to the end of its budget it gives exactly what the planner of that budget gives (but for
`gumbel_replacement`, which draws as many actions as it considers when it is made).
A turn is a model call of a tree search, and a batch of simulations without a tree.
"""

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, Model, Plan, pytree
from halfmove.search import engine, rollout, sequences
from halfmove.search.halving import Halving, batches, table
from halfmove.search.rollout import RolloutSearch
from halfmove.search.search import TreeSearch, decided, rooted, step_of
from halfmove.search.tree import Noise, Tree, changed


@pytree
class Going:
    """A tree search under way."""

    carry: Any  # the engine's, between two turns
    noise: Noise
    rounds: Array  # [B, capacity] i32, leaves of every turn
    act_key: Array  # of the move


@pytree
class Look:
    """What a search has found so far; node 0 is the root, node i > 0 hangs below an earlier one.

    Without a tree the nodes are the action sequences seen, visited as often as there are
    different ones below them; where they do not lead to the same state again, the root's alone.
    """

    plan: Plan
    count: Array  # [B, N] i32, visits of the node, which are those of the edge to it; 0: none
    parent: Array  # [B, N] i32
    action: Array  # [B, N] i32, the action that leads here
    reward: Array  # [B, N] f32, of the edge that leads here
    discount: Array  # [B, N] f32
    legal: Array  # [B, N] i32, how many actions the node has


@dataclass(frozen=True)
class Anytime:
    """`search` in slices, with room for `capacity` simulations."""

    search: TreeSearch | RolloutSearch
    model: Model
    capacity: int

    def __post_init__(self) -> None:
        if self.capacity < 1:
            raise ValueError(f"capacity must be at least 1 simulation, got {self.capacity}")
        if not isinstance(self.search, (TreeSearch, RolloutSearch)):
            raise TypeError(f"only a search of this package runs in slices, got {self.search!r}")
        schedule = self.search.rule.schedule
        if schedule is not None and not isinstance(schedule, Halving):
            raise TypeError(f"only the schedule of halving fits other budgets, got {schedule!r}")

    def turns(self, budget: int) -> int:
        """Turns that a budget of simulations takes at most."""
        if isinstance(self._static, RolloutSearch):
            return math.ceil(budget / self._static.at_once)
        return int(np.count_nonzero(self._rounds(budget).max(axis=0)))

    def begin(
        self, key: Array, params: Any, timestep: Any, *, budget: int, memory: Any = None
    ) -> Any:
        """The search before its first turn; `memory` of the last plan of these games."""
        if not 0 <= budget <= self.capacity:
            raise ValueError(f"budget must be 0 to {self.capacity} simulations, got {budget}")
        if isinstance(self._static, RolloutSearch):
            if memory is None:  # of the same shapes, so that nothing compiles for the second move
                games = jax.tree.leaves(timestep)[0].shape[0]
                memory = self._static.begin(self.model, params, games)
            return _begin_treeless(
                self._static, self.model, key, params, timestep, memory, np.int32(budget)
            )
        return _begin(
            self._static,
            self.model,
            key,
            params,
            timestep,
            self._want(budget),
            self._rounds(budget),
        )

    def go_on(self, params: Any, going: Any, start: int, stop: int) -> Any:
        """The same search after turns `start` to `stop - 1`; the one given is used up."""
        bounds = np.asarray([start, stop], np.int32)
        if isinstance(self._static, RolloutSearch):
            keys = (going.loop_key, going.act_key)
            rest = replace(going, loop_key=None, act_key=None)
            return _go_on_treeless(self._static, self.model, params, rest, keys, bounds)
        carry, rest = going.carry, replace(going, carry=None)
        return _go_on(self._static, self.model, params, carry, rest, bounds)

    def memory(self, going: Any) -> Any:
        """What the next move of these games takes up; None: the search carries nothing along."""
        return going.memory if isinstance(self._static, RolloutSearch) else None

    def look(self, going: Any) -> Look:
        """What it would decide now."""
        if isinstance(self._static, RolloutSearch):
            return _look_treeless(self._static, self.model, going)
        return _look(self._static, self.model, going)

    @functools.cached_property
    def _static(self) -> TreeSearch | RolloutSearch:
        """All that the programs are compiled for: no budget."""
        rule = replace(self.search.rule, schedule=None)
        return replace(self.search, rule=rule, simulations=self.capacity)

    def _considered(self, budget: int) -> tuple[int, int]:
        """(most candidates of the schedule with that budget, and with any)."""
        schedule = self.search.rule.schedule
        most = schedule.considered if isinstance(schedule, Halving) else 0
        return min(most, max(budget, 1)), most

    def _want(self, budget: int) -> np.ndarray | None:
        """The visit count to raise at every turn, by candidates. [considered + 1, capacity]."""
        if self.search.rule.schedule is None:
            return None
        considered, most = self._considered(budget)
        rows = table(considered, max(budget, 1))
        # Behind its end a schedule is read at its last turn.
        return np.pad(rows, ((0, most - considered), (0, self.capacity - rows.shape[1])), "edge")

    def _rounds(self, budget: int) -> np.ndarray:
        """Leaves of every turn, by candidates. [considered + 1, capacity], 0 after the last."""
        considered, most = self._considered(budget)
        leaves = self.search.leaves
        rows = np.zeros((most + 1, self.capacity), np.int32)
        for candidates, row in enumerate(rows):
            # Without phases, or one by one, all lots but the last are full.
            lots = batches(min(candidates, considered) if leaves > 1 else 0, budget, leaves)
            row[: len(lots)] = lots
        return rows


@functools.partial(jax.jit, static_argnums=(0, 1))
def _begin(
    search: TreeSearch, model: Model, key: Array, params: Any, timestep: Any, want: Any, rounds: Any
) -> Going:
    # The keys of `TreeSearch`, so that the same key gives the same search.
    keys = jax.random.split(key, 5)
    root = rooted(search.rule, model, keys[:3], params, timestep)
    row = jnp.minimum(root.candidates, rounds.shape[0] - 1)
    noise = replace(root.noise, schedule=None if want is None else want[row])
    step = step_of(model, params, root.logits.shape[1])
    carry = _turns(search, step, noise, rounds[row]).begin(
        keys[3], root.logits, root.value, root.node
    )
    return Going(carry, noise, rounds[row], keys[4])


@functools.partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _go_on(
    search: TreeSearch, model: Model, params: Any, carry: Any, going: Going, bounds: Array
) -> Going:
    step = step_of(model, params, going.noise.row.shape[1])
    body = _turns(search, step, going.noise, going.rounds).body
    return replace(going, carry=jax.lax.fori_loop(bounds[0], bounds[1], body, carry))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _look(search: TreeSearch, model: Model, going: Going) -> Look:
    tree = tree_of(search, model, going)
    # A GPU has walked ahead: what is under way there is not part of the answer.
    tree = changed(tree, pending=None)
    # However often it is asked, the same tree gives the same move.
    key = jax.random.clone(going.act_key)
    return Look(
        plan=decided(search.rule, key, tree, going.noise),
        count=tree.count,
        parent=tree.parent,
        action=tree.action,
        reward=tree.reward,
        discount=tree.discount,
        legal=jnp.sum(tree.logits > -jnp.inf, axis=-1),
    )


def tree_of(search: TreeSearch, model: Model, going: Going) -> Tree:
    """The tree of a search under way; to be called under `jit`."""
    step = step_of(model, None, going.noise.row.shape[1])  # of its shape alone: nothing is run
    return _turns(search, step, going.noise, going.rounds).tree(going.carry)


def _turns(search: TreeSearch, step: engine.Step, noise: Noise, rounds: Array) -> engine.Turns:
    return engine.turns(
        search.rule, noise, step, rounds,
        simulations=search.simulations, leaves=search.leaves,
        max_depth=search.max_depth, kind=search.engine,
    )  # fmt: skip


# -- without a tree ----------------------------------------------------------


@functools.partial(jax.jit, static_argnums=(0, 1))
def _begin_treeless(
    search: RolloutSearch, model: Model, key: Array, params: Any, timestep: Any, memory: Any,
    budget: Array,
) -> rollout.Going:  # fmt: skip
    return rollout.begun(search, model, key, params, timestep, memory, budget)


@functools.partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _go_on_treeless(
    search: RolloutSearch, model: Model, params: Any, going: rollout.Going, keys: Any, bounds: Array
) -> rollout.Going:
    going = replace(going, loop_key=keys[0], act_key=keys[1])

    def body(turn: Array, going: rollout.Going) -> rollout.Going:
        return rollout.batch(search, model, params, going, turn)

    return jax.lax.fori_loop(bounds[0], bounds[1], body, going)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _look_treeless(search: RolloutSearch, model: Model, going: rollout.Going) -> Look:
    # However often it is asked, the same simulations give the same move.
    again = replace(going, act_key=jax.random.clone(going.act_key))
    plan = rollout.decided(search, again)
    visits = plan.stats.visits
    games, actions = visits.shape
    total = 1 + jnp.sum(visits, axis=-1, keepdims=True)
    legal = jnp.sum(going.store.logits > -jnp.inf, axis=-1)
    if search.cached(model, going.store.node):
        seen, store = going.seen, going.store
        count = sequences.below(seen).at[:, :1].set(total)
        return Look(plan, count, seen.parent, seen.action, store.reward, store.discount, legal)
    children = jnp.arange(actions + 1) - 1
    row = jnp.broadcast_to(children, (games, actions + 1))
    return Look(
        plan=plan,
        count=jnp.concatenate([total, visits], axis=1),
        parent=jnp.where(row < 0, -1, 0),
        action=row,
        reward=jnp.zeros(row.shape),
        discount=jnp.ones(row.shape),
        legal=jnp.where(row < 0, legal[:, :1], 0),
    )
