"""The action sequences that simulations have gone through, to know when one is new.

A sequence is an earlier one and one more action: two numbers each, whatever its length, and
no hashes that could meet. Nothing is known of a sequence but that it was seen.
"""

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, pytree

NONE = -1


@pytree
class Sequences:
    """B sets of them with room for S; number 0 is the empty sequence."""

    parent: Array  # [B, S] i32, the sequence without its last action; NONE: nothing here
    action: Array  # [B, S] i32, the last action


def empty(games: int, room: int) -> Sequences:
    """Nothing but the empty sequence."""
    return Sequences(jnp.full((games, room), NONE, jnp.int32), jnp.zeros((games, room), jnp.int32))


def find(seen: Sequences, parent: Array, action: Array) -> Array:
    """[B, K] i32: the number of each `parent` [B, K] with one more `action` [B, K]; 0 if new."""
    same = parent[:, :, None] == seen.parent[:, None]
    same &= action[:, :, None] == seen.action[:, None]
    # The first of equal ones, always the same: what follows was put below it.
    return first(same)


def leader(parent: Array, action: Array, on: Array) -> Array:
    """[B, K] i32: the first row of those `on` [B, K] with the same parent and action."""
    same = (parent[:, :, None] == parent[:, None]) & (action[:, :, None] == action[:, None])
    return first(same & on[:, None])


def first(there: Array) -> Array:
    """The first along the last axis, 0 where there is none. Faster on a CPU than argmax."""
    last = there.shape[-1]
    found = jnp.min(jnp.where(there, jnp.arange(last, dtype=jnp.int32), last), axis=-1)
    return jnp.where(found < last, found, 0)


def put(seen: Sequences, number: Array, parent: Array, action: Array, on: Array) -> Sequences:
    """With the sequences of the rows that are `on` [B, K], at `number` [B, K]."""
    games = jnp.arange(number.shape[0])[:, None]
    where = jnp.where(on, number, seen.parent.shape[1])
    return Sequences(
        seen.parent.at[games, where].set(parent, mode="drop"),
        seen.action.at[games, where].set(action, mode="drop"),
    )


def forget(seen: Sequences, start: int) -> Sequences:
    """Without those from number `start` on."""
    if start >= seen.parent.shape[1]:
        return seen
    return Sequences(seen.parent.at[:, start:].set(NONE), seen.action)


def below(seen: Sequences) -> Array:
    """[B, S] i32: how many of the sequences begin with each, itself among them."""
    games, room = seen.parent.shape
    every = jnp.arange(games)

    def climb(back: Array, count: Array) -> Array:
        number = room - 1 - back  # a sequence comes after what it begins with
        parent = seen.parent[:, number]
        return count.at[every, jnp.where(parent >= 0, parent, room)].add(
            count[:, number], mode="drop"
        )

    own = (seen.parent >= 0).astype(jnp.int32)
    return jax.lax.fori_loop(0, room - 1, climb, own)
