"""A ring of self-play's moves, and fair samples of it.

    replay = Replay(lanes=1024, length=4096, chunk=16, window=6)
    store = replay.empty(steps)              # steps [1024, 16], or their shapes
    store = replay.add(store, steps)         # overwrites the oldest
    sample = replay.sample(store, key, 256)

All functions are pure, run under `jit` on whatever device the store is on, and change the store in
place when it is donated (`jax.jit(replay.add, donate_argnums=0)`).

Flashbax's trajectory buffers have the same ring. They are not used because a move here becomes
eligible by what happens after it (its game ends), learns its outcome then, and has its policy and
value rewritten by reanalysis, none of which they can say.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Step
from halfmove.replay import draw, outcome, policies
from halfmove.replay.store import Context, Final, Sample, Store

NEVER = 2**31 - 1  # the time of an end that has not come


@dataclass(frozen=True)
class Replay:
    """The last `length` moves of each of `lanes` games at once.

    A move is eligible if its target is known: with `finished_only` once its game has ended by its
    rules (games cut short never are), else once `window` moves from it on are there or its game
    is over. All eligible moves are equally likely, or as p^alpha if `kind` is "prioritised".

    A lane always has a game that goes on, so the very newest moves that are eligible come from
    short games; `length` should hold many games for this not to matter.
    """

    lanes: int
    length: int  # moves kept of each lane; a multiple of `chunk`
    chunk: int  # T, moves of each lane that one `add` brings
    window: int  # L, moves of one sample
    context: int = 0  # C, earlier moves that come with a sample, for observations that look back
    finished_only: bool = False
    kind: Literal["uniform", "prioritised"] = "uniform"
    alpha: float = 1.0
    beta: float = 1.0
    floor: float = 1e-3  # the least priority
    normalise: bool = False  # divide importance weights by the greatest of the batch
    dense: int = 512  # policies of more actions than this are kept as their largest entries,
    largest: int = 64  # this many of them
    half: bool = True  # dense policies as f16
    ends: bool = False  # whether a sample brings the last move of its game
    first: int = 0  # if not 0: only the newest moves are eligible, so many at first,
    growth: float = 0.75  # then as the moves played so far to this power (KataGo's window)

    def __post_init__(self) -> None:
        least = {"lanes": 1, "length": 1, "chunk": 1, "window": 1, "context": 0, "largest": 1}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise ValueError(f"{name} must be at least {bound}, got {getattr(self, name)}")
        if self.length % self.chunk:
            raise ValueError(
                f"length must be a multiple of chunk ({self.chunk}), got {self.length}; "
                f"the next is {-(-self.length // self.chunk) * self.chunk}"
            )
        if self.length < self.window + self.context:
            raise ValueError(
                f"length must hold a window of {self.window} and a context of {self.context}, "
                f"got {self.length}"
            )
        if self.capacity >= 2**31:
            raise ValueError(f"lanes * length must be less than 2**31, got {self.capacity}")
        if self.kind not in ("uniform", "prioritised"):
            raise ValueError(f"kind must be 'uniform' or 'prioritised', got {self.kind!r}")
        if self.first < 0 or not 0 <= self.growth <= 1:
            raise ValueError(
                "first must be at least 0 and growth from 0 to 1, "
                f"got {self.first} and {self.growth}"
            )
        if self.alpha < 0 or self.beta < 0 or not self.floor > 0:
            raise ValueError(
                "alpha and beta must be at least 0 and floor greater than 0, "
                f"got {self.alpha}, {self.beta} and {self.floor}"
            )

    @property
    def capacity(self) -> int:
        """Moves that a full store holds."""
        return self.lanes * self.length

    def empty(self, example: Step) -> Store:
        """A store for moves like `example`, [B, T] arrays or their shapes."""
        kept = jax.eval_shape(self.kept, example)
        room = (self.lanes, self.length)
        prioritised = self.kind == "prioritised"
        return Store(
            steps=jax.tree.map(lambda x: jnp.zeros(room + x.shape[2:], x.dtype), kept),
            outcome=jnp.zeros(room, jnp.float32),
            side=jnp.full(room, outcome.CUT, jnp.int8),
            running=outcome.begin(self.lanes),
            head=jnp.zeros((), jnp.int32),
            priority=jnp.zeros(room, jnp.float32) if prioritised else None,
            top=jnp.ones((), jnp.float32) if prioritised else None,
            end=jnp.full(room, NEVER, jnp.int32) if self.ends else None,
        )

    def add(self, store: Store, steps: Step) -> Store:
        """The store with T more moves in every lane, [lanes, T]; the oldest make room."""
        if steps.action.shape != (self.lanes, self.chunk):
            raise ValueError(
                f"steps must be [lanes, chunk] = {(self.lanes, self.chunk)}, "
                f"got {steps.action.shape}"
            )
        running, new = outcome.enter(store.running, steps)
        earlier = outcome.settled(store.outcome, store.side, new.total[:, None], new.end[:, None])
        column = store.head % self.length

        def put(ring: Array, chunk: Array) -> Array:
            start = (jnp.int32(0), column, *(jnp.int32(0),) * (ring.ndim - 2))
            return jax.lax.dynamic_update_slice(ring, chunk.astype(ring.dtype), start)

        priority = store.priority
        if priority is not None and store.top is not None:
            priority = put(priority, jnp.broadcast_to(store.top, steps.action.shape))
        end = store.end
        if end is not None:
            times = jnp.where(steps.last, store.head + jnp.arange(self.chunk), NEVER)
            times = jax.lax.cummin(times, axis=1, reverse=True)
            end = put(jnp.where(jnp.abs(store.side) == 1, times[:, :1], end), times)
        return Store(
            steps=jax.tree.map(put, store.steps, self.kept(steps)),
            outcome=put(earlier[0], new.outcome),
            side=put(earlier[1], new.side),
            running=running,
            head=store.head + self.chunk,
            priority=priority,
            top=store.top,
            end=end,
        )

    def sample(self, store: Store, key: Array, n: int) -> Sample:
        """n windows, drawn independently; weight 0 everywhere if no move is eligible."""
        eligible = self.eligible(store)
        priority = store.priority
        mass = eligible if priority is None else jnp.where(eligible, priority, 0.0)
        lane, column = draw.positions(key, mass, n)
        sample = self.at(store, lane, self._times(store)[column])
        count = jnp.sum(draw.sums_of(eligible))
        weight = jnp.ones(n)
        if priority is not None:
            chance = mass[lane, column] / jnp.sum(mass)
            weight = jnp.where(count > 0, count * chance, 1.0) ** -self.beta
            weight = weight / jnp.max(weight) if self.normalise else weight
        weight = jnp.where(count > 0, weight, 0.0)
        return replace(sample, weight=weight)

    def at(self, store: Store, lane: Array, time: Array) -> Sample:
        """The windows that begin with moves `time` [n] of `lane` [n], with weight 1.

        Where such a move is not there (any more) the mask is all False.
        """
        times = time[:, None] + jnp.arange(-self.context, self.window)
        lanes, columns = lane[:, None], times % self.length
        there = (times >= jnp.maximum(store.head - self.length, 0)) & (times < store.head)
        c = self.context
        steps: Step = jax.tree.map(lambda ring: ring[lanes, columns[:, c:]], store.steps)
        steps = replace(steps, policy=policies.rebuilt(steps.policy))
        ended = jnp.cumsum(steps.last, axis=1, dtype=jnp.int32) - steps.last
        mask = there[:, c:] & there[:, c : c + 1] & (ended == 0)
        known = mask[:, 0] & (store.side[lane, columns[:, c]] == outcome.ENDED)
        result = store.outcome[lanes, columns[:, c:]]
        return Sample(
            lane=lane,
            time=time,
            weight=jnp.ones(lane.shape),
            window=steps,
            mask=mask,
            outcome=jnp.where(mask & known[:, None], result, 0.0),
            known=known,
            age=store.head - 1 - time,
            context=self._before(store, lanes, columns[:, :c], there[:, :c]) if c else None,
            final=None if store.end is None else self._final(store, lane, columns[:, c]),
        )

    def reprioritise(self, store: Store, lane: Array, time: Array, priority: Array) -> Store:
        """The store with p = `priority` [n] of those moves, such as |ν - z|.

        Moves that were overwritten since are passed over. A priority that is no number counts
        as the greatest so far.
        """
        if store.priority is None or store.top is None:
            raise ValueError("a uniform replay has no priorities; kind must be 'prioritised'")
        raised = jnp.maximum(priority.astype(jnp.float32), self.floor) ** self.alpha
        raised = jnp.where(jnp.isfinite(raised), raised, store.top)
        column = self._writable(store, lane, time)
        top = jnp.max(jnp.where(column < self.length, raised, 0.0), initial=0.0)
        return replace(
            store,
            priority=store.priority.at[lane, column].set(raised, mode="drop"),
            top=jnp.maximum(store.top, top),
        )

    def rewrite(self, store: Store, lane: Array, time: Array, policy: Array, value: Array) -> Store:
        """The store with what a new search found for those moves: policy [n, A], value [n].

        They then count as searched (weight 1). Moves overwritten since are passed over.
        """
        column = self._writable(store, lane, time)

        def put(ring: Array, new: Array) -> Array:
            return ring.at[lane, column].set(new.astype(ring.dtype), mode="drop")

        old = store.steps
        steps = replace(
            old,
            policy=jax.tree.map(put, old.policy, self._policy(policy)),
            value=put(old.value, value),
            weight=put(old.weight, jnp.ones(lane.shape)),
        )
        return replace(store, steps=steps)

    def cut_short(self, store: Store, lanes: Array | bool = True) -> Store:
        """The store when nothing follows the newest moves of these lanes, [lanes] bool or all.

        Their games have no end.
        """
        newest = (store.head - 1) % self.length
        here = jnp.broadcast_to(lanes, (self.lanes,))
        going = here[:, None] & (jnp.abs(store.side) == 1)
        last = store.steps.last
        new = outcome.begin(self.lanes)
        return replace(
            store,
            steps=replace(store.steps, last=last.at[:, newest].set(last[:, newest] | here)),
            side=jnp.where(going, jnp.int8(outcome.CUT), store.side),
            running=jax.tree.map(lambda a, b: jnp.where(here, a, b), new, store.running),
        )

    def eligible(self, store: Store) -> Array:
        """[lanes, length] bool, the moves that may be sampled."""
        times = self._times(store)
        oldest = store.head - self.length
        # Where nothing was overwritten yet, nothing is missing before the first move of all.
        there = (times >= 0) & ((times - self.context >= oldest) | (oldest <= 0))
        if self.first:
            few = self.first / self.lanes
            there &= times >= store.head - few * jnp.maximum(store.head / few, 1.0) ** self.growth
        if self.finished_only:
            return there & (store.side == outcome.ENDED)
        complete = times + self.window <= store.head
        return there & (complete | (jnp.abs(store.side) != 1))

    def metrics(self, store: Store) -> dict[str, Array]:
        """Moves held, the share of them that is eligible, the mean age of those, in moves."""
        size = jnp.minimum(store.head, self.length) * self.lanes
        columns = jnp.sum(self.eligible(store), axis=0, dtype=jnp.int32)
        count = jnp.sum(columns)
        ages = jnp.sum(columns * (store.head - 1 - self._times(store)).astype(jnp.float32))
        return {
            "size": size,
            "eligible": count / jnp.maximum(size, 1),
            "age": ages / jnp.maximum(count, 1),
        }

    def _times(self, store: Store) -> Array:
        """[length] i32, the number of the move in each column; negative: none yet."""
        newest = store.head - 1
        return newest - (newest - jnp.arange(self.length)) % self.length

    def kept(self, steps: Step) -> Step:
        """The moves as the store keeps them; those that `kept` has given stay as they are."""
        return replace(steps, policy=self._policy(steps.policy))

    def _policy(self, policy: Array | policies.Pairs) -> Any:
        if isinstance(policy, policies.Pairs):
            return policy
        many = policy.shape[-1] > self.dense
        return policies.keep(policy, largest=self.largest if many else None, half=self.half)

    def _before(self, store: Store, lanes: Array, columns: Array, there: Array) -> Context:
        state, action, last = jax.tree.map(
            lambda ring: ring[lanes, columns],
            (store.steps.state, store.steps.action, store.steps.last),
        )
        # Counted from the end: a move belongs to the window's game if no game ended at it or later.
        ends = jnp.cumsum(last[:, ::-1], axis=1, dtype=jnp.int32)[:, ::-1]
        return Context(state, action, there & (ends == 0))

    def _final(self, store: Store, lane: Array, column: Array) -> Final:
        assert store.end is not None
        at = store.end[lane, column] % self.length
        state, action = jax.tree.map(
            lambda ring: ring[lane, at], (store.steps.state, store.steps.action)
        )
        return Final(state, action)

    def _writable(self, store: Store, lane: Array, time: Array) -> Array:
        """[n] i32, the columns of moves that are still there; `length` where not, or said before.

        Of two entries for one move only one may be written: the fields of a move would come from
        different ones, on a GPU even parts of one policy.
        """
        there = (time >= jnp.maximum(store.head - self.length, 0)) & (time < store.head)
        column = time % self.length
        place = jnp.where(there, lane * self.length + column, -1)
        order = jnp.argsort(place, stable=True)
        ordered = place[order]
        first = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
        first = jnp.zeros(place.shape, bool).at[order].set(first)
        return jnp.where(there & first, column, self.length)
