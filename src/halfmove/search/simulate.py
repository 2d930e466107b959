"""Simulations without a tree: from the root's action on, moves are sampled until one says stop.

K simulations of each of B games run side by side. Where a model repeats itself the states of
earlier simulations are remembered, and the model is asked only for states that are new.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise, pytree
from halfmove.search import sequences
from halfmove.search.rule import TINY, Rule, best, softmax
from halfmove.search.sequences import Sequences
from halfmove.search.tree import Leaf, random_row

QUARTERS = 4  # into which the simulations of a batch are divided where a turn costs its rows

# (key, nodes [N, ...], actions [N]) -> (nodes, what the model says of them, features)
Step = Callable[[Array, Any, Array], tuple[Any, Leaf, Any]]


@pytree
class Store:
    """States that simulations came to; slot 0 is the root."""

    node: Any  # [B, S, ...], the model's
    logits: Array  # [B, S, A] f32, of the model; -inf marks an illegal action
    value: Array  # [B, S] f32
    reward: Array  # [B, S] f32, of the move that leads here
    discount: Array  # [B, S] f32
    action: Array  # [B, S] i32, that move
    over: Array  # [B, S] bool, whether no move follows
    features: Any  # [B, S, ...], what an adapted policy reads, or None


@pytree
class Rows:
    """K simulations of B games, under way."""

    number: Array  # [B, K] i32, which simulations of the search these are
    limit: Array  # [B, K] i32, the longest they may get
    at: Array  # [B, K] i32, slot of the state
    known: Array  # [B, K] i32, number of the action sequence
    action: Array  # [B, K] i32, the next move
    length: Array  # [B, K] i32, moves made
    log: Array  # [B, K] f32, log-probability of the moves made and the next
    path: Array  # [B, K, L + 1] i32, slots of all states, the root's first
    going: Array  # [B, K] bool


@dataclass(frozen=True)
class Task:
    """What a batch of simulations needs to know."""

    rule: Rule
    seed: Array  # [B] u32
    step: Step
    logits: Callable[[Store, Rows], Array] | None  # as `Guide` has them
    threshold: float  # a sequence less likely is long enough; 0: no matter
    new: bool  # whether a sequence is long enough when it is new
    distinct: bool  # whether it must be new among the simulations of this batch too
    remember: int  # how many sequences are remembered, of the first simulations
    cached: bool  # whether the states are, too
    rows: int  # of a model call, at most
    costly: bool  # whether `logits` are those of a whole network

    def policy(self, store: Store, rows: Rows) -> Array:
        """[B, K, A]: logits of what the rows' next moves are sampled from."""
        if self.logits is not None:
            return self.logits(store, rows)
        return store.logits[jnp.arange(rows.at.shape[0])[:, None], rows.at]

    def own(self, number: Array) -> Array:
        """[B, K] i32: where simulations put what they find; past what is kept, in turn."""
        return 1 + jnp.where(number < self.remember, number, self.remember + _columns(number))


def at_a_time(count: int, *, costly: bool) -> int:
    """How many of `count` rows of a game are worth a turn of their own.

    On a CPU, and where a whole network says what a row does next, a turn takes as long as it has
    rows, and few of them are wanted; else as long as its launches, however many rows they have.
    """
    return max(1, count // QUARTERS) if costly or jax.default_backend() == "cpu" else count


def _columns(rows: Array) -> Array:
    return jnp.broadcast_to(jnp.arange(rows.shape[1], dtype=jnp.int32), rows.shape)


def store_of(node: Any, logits: Array, value: Array, features: Any, room: int) -> Store:
    """A store with room for so many states, the root's [B, ...] among them."""
    games = logits.shape[0]

    def wide(x: Array) -> Array:
        # A slot is written before it is read.
        return jax.lax.empty((games, room, *x.shape[1:]), x.dtype).at[:, 0].set(x)

    nothing = jnp.zeros(games)
    return Store(
        node=jax.tree.map(wide, node),
        logits=wide(logits),
        value=wide(value),
        reward=wide(nothing),
        discount=wide(nothing),
        action=wide(nothing.astype(jnp.int32)),
        over=wide(nothing != 0),
        features=jax.tree.map(wide, features),
    )


def begin(store: Store, action: Array, number: Array, limit: Array, on: Array, depth: int) -> Rows:
    """Simulations `number` [K] of at most `limit` [K] moves that begin with `action` [B, K].

    Only those that are `on` [B, K]; `depth` is the greatest limit there may be.
    """
    zero = jnp.zeros(action.shape, jnp.int32)
    prior = jnp.take_along_axis(softmax(store.logits[:, 0]), action, axis=-1)
    return Rows(
        number=zero + number,
        limit=zero + limit,
        at=zero,
        known=zero,
        action=action,
        length=zero,
        log=jnp.log(jnp.maximum(prior, TINY)),
        path=jnp.zeros((*action.shape, depth + 1), jnp.int32),
        going=on,
    )


def simulate(
    task: Task, key: Array, store: Store, seen: Sequences, rows: Rows
) -> tuple[Store, Sequences, Rows]:
    """All of them to their end."""
    seen = sequences.forget(seen, 1 + task.remember)
    turn = _turn_cached if task.cached else _turn

    def more(carry: Any) -> Array:
        return jnp.any(carry[-1].going)

    def body(carry: Any) -> Any:
        number, *rest = carry
        return number + 1, *turn(task, jax.random.fold_in(key, number), number, *rest)

    return jax.lax.while_loop(more, body, (jnp.int32(0), store, seen, rows))[1:]


def _turn_cached(
    task: Task, key: Array, turn: Array, store: Store, seen: Sequences, rows: Rows
) -> tuple[Store, Sequences, Rows]:
    """Every row as far as states are known, then one model call for those that are not.

    Of rows that want the same state the first stops there and the others go on from it, as if
    they had come one after the other: all that wait for it are let go at the same time.
    """
    rows = _walk(task, store, seen, rows)
    asks = rows.going
    if task.distinct:
        ahead = sequences.leader(rows.at, rows.action, asks)
        asks &= ahead == _columns(asks)
    own = task.own(rows.number)
    store, told = _ask(task, key, store, rows, own, asks)
    seen = sequences.put(seen, own, rows.at, rows.action, told)
    rows = _arrive(store, rows, own, own, told)
    return store, seen, replace(rows, going=rows.going & ~told)


def _walk(task: Task, store: Store, seen: Sequences, rows: Rows) -> Rows:
    """The rows moved on through states that are remembered.

    By the policy of some of these states at a time: many rows stand in few of them.
    """
    games, count = rows.at.shape
    every, some = jnp.arange(games)[:, None], count
    if task.logits is not None:
        some = at_a_time(count, costly=task.costly)

    def moved(rows: Rows, on: Array) -> tuple[Rows, Array]:
        """By their next moves where these lead to known states; who has to choose again."""
        child = sequences.find(seen, rows.at, rows.action)
        on = on & (child > 0)
        rows = _stopped(task, _arrive(store, rows, child, child, on), store)
        return rows, on & rows.going

    def asked(rows: Rows, asks: Array) -> tuple[Array, Array]:
        """Logits [B, K, A] for rows in some of the states asked for; which rows these are."""
        if some == count:
            return task.policy(store, rows), asks
        first = sequences.leader(rows.at, rows.at, asks)
        who = jnp.argsort(~asks | (first != _columns(first)), axis=1, stable=True)[:, :some]
        logits = task.policy(store, jax.tree.map(lambda x: x[every, who], rows))
        same = first[:, :, None] == who[:, None]
        return logits[every, sequences.first(same)], asks & jnp.any(same, axis=-1)

    def body(carry: tuple[Rows, Array]) -> tuple[Rows, Array]:
        rows, asks = carry
        logits, on = asked(rows, asks)
        rows, again = moved(_choose(task, store, rows, logits, on), on)
        return rows, asks & (again | ~on)

    def more(carry: tuple[Rows, Array]) -> Array:
        return jnp.any(carry[1])

    return jax.lax.while_loop(more, body, moved(rows, rows.going))[0]


def _turn(
    task: Task, key: Array, turn: Array, store: Store, seen: Sequences, rows: Rows
) -> tuple[Store, Sequences, Rows]:
    """One move of every row, by one model call."""
    asks, k = rows.going, _columns(rows.at)
    slot = 1 + turn * k.shape[1] + k
    store, _ = _ask(task, key, store, rows, slot, asks)
    number, ends = rows.known, jnp.zeros_like(asks)
    if task.new:
        own = task.own(rows.number)
        number = sequences.find(seen, rows.known, rows.action)
        fresh = asks & (number == 0)
        ahead = k
        if task.distinct:
            ahead = sequences.leader(rows.known, rows.action, fresh)
        ends = fresh & (ahead == k)
        seen = sequences.put(seen, own, rows.known, rows.action, ends)
        number = jnp.where(number > 0, number, jnp.take_along_axis(own, ahead, axis=1))
    rows = _stopped(task, _arrive(store, rows, slot, number, asks), store)
    rows = replace(rows, going=rows.going & ~ends)
    return store, seen, _choose(task, store, rows, task.policy(store, rows), rows.going)


def _ask(
    task: Task, key: Array, store: Store, rows: Rows, slot: Array, asks: Array
) -> tuple[Store, Array]:
    """The store with the states behind the next moves, at `slot`, and which rows were told.

    One model call for the first `task.rows` that ask [B, K].
    """
    games, count = asks.shape
    every = games * count
    size = min(task.rows, every) if task.cached else every
    if size == every:
        row, fits = jnp.arange(every), asks.reshape(-1)
    else:
        row = jnp.nonzero(asks.reshape(-1), size=size, fill_value=every)[0]
        fits = row < every
    game, k = jnp.minimum(row // count, games - 1), row % count
    action = rows.action[game, k]
    parents = jax.tree.map(lambda x: x[game, rows.at[game, k]], store.node)
    node, leaf, features = task.step(key, parents, action)
    # Those that do not fit go past the end, each to a place of its own.
    where = jnp.where(fits, slot[game, k], store.value.shape[1] + jnp.arange(size))

    def put(old: Array, new: Array) -> Array:
        return old.at[game, where].set(new, mode="drop", unique_indices=True)

    over = (leaf.discount == 0) | ~jnp.any(leaf.logits > -jnp.inf, axis=-1)
    found = Store(node, leaf.logits, leaf.value, leaf.reward, leaf.discount, action, over, features)
    told = jnp.zeros(every, bool).at[row].set(fits, mode="drop").reshape(asks.shape)
    return jax.tree.map(put, store, found), told


def _arrive(store: Store, rows: Rows, slot: Array, number: Array, on: Array) -> Rows:
    """The rows that are `on` at their next state."""
    games, count, room = rows.path.shape
    length = rows.length + on
    place = (jnp.arange(games)[:, None], jnp.arange(count), jnp.where(on, length, room))
    return replace(
        rows,
        at=jnp.where(on, slot, rows.at),
        known=jnp.where(on, number, rows.known),
        length=length,
        path=rows.path.at[place].set(slot, mode="drop"),
    )


def _stopped(task: Task, rows: Rows, store: Store) -> Rows:
    """Those at their end, and those that are long enough, go on no more."""
    ends = jnp.take_along_axis(store.over, rows.at, axis=1) | (rows.length >= rows.limit)
    if task.threshold > 0:
        ends |= rows.log < jnp.log(task.threshold)
    return replace(rows, going=rows.going & ~(ends & (rows.length > 0)))


def _choose(task: Task, store: Store, rows: Rows, logits: Array, on: Array) -> Rows:
    """The rows that are `on` with their next move, by the rule on the policy of their state."""
    prior, actions = softmax(logits), logits.shape[-1]
    one = jnp.take_along_axis(store.value, rows.at, axis=1)
    nothing = jnp.zeros_like(prior)
    stats = NodeStats(
        logits=logits,
        prior=prior,
        visits=nothing.astype(jnp.int32),
        q=nothing,
        count=jnp.ones_like(rows.length),
        value=one,
        raw_value=one,
        q_min=one,
        q_max=one,
        random=random_row(
            task.seed[:, None, None], 1 + rows.number[..., None], rows.length[..., None],
            jnp.arange(actions),
        ),
    )  # fmt: skip
    away = RootNoise(row=jnp.zeros(actions), want=jnp.int32(0))
    scores = jax.vmap(jax.vmap(task.rule.select, (0, None)), (0, None))(stats, away)
    action = best(jnp.where(stats.legal, scores, -jnp.inf))
    likely = jnp.take_along_axis(prior, action[..., None], axis=-1)[..., 0]
    return replace(
        rows,
        action=jnp.where(on, action, rows.action),
        log=rows.log + jnp.where(on, jnp.log(jnp.maximum(likely, TINY)), 0.0),
    )


def backward(
    store: Store, rows: Rows, visit: Callable[[Any, Array, Array, Array], Any], carry: Any
) -> tuple[Array, Any]:
    """The returns at the root [B, K], and what `visit` makes of those on the way to it.

    G_i = reward + discount · G_{i+1} for the player who made move i, from the value of the last
    state on; `visit(carry, i, G_i, on)` for i from the last move to the second (i = 1), where
    `on` [B, K] says which simulations have a move i.
    """

    def before(total: Array, i: Any) -> tuple[Array, Array]:
        slot = rows.path[:, :, i + 1]
        reward, discount = (
            jnp.take_along_axis(x, slot, axis=1) for x in (store.reward, store.discount)
        )
        on = i < rows.length
        return jnp.where(on, reward + discount * total, total), on

    def turn(back: Array, state: tuple[Array, Any]) -> tuple[Array, Any]:
        i = longest - 1 - back
        total, on = before(state[0], i)
        return total, visit(state[1], i, total, on)

    longest = jnp.max(rows.length)
    last = jnp.take_along_axis(store.value, rows.at, axis=1)
    total, carry = jax.lax.fori_loop(0, longest - 1, turn, (last, carry))
    return before(total, 0)[0], carry
