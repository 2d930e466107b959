"""Repeated positions in games without irreversible moves: four bytes for every ply.

A position is kept as a hash of 31 bits, and a bit that says whether its mover is in check
(a function of the position, so that equal positions still have equal words). Two different
positions share a word in one game of 512 plies with probability 6e-5; it takes several
more to make a repetition of it.
"""

import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array


def word(cells: Array, turn: Array, check: Array) -> Array:
    """[] u32, the position: small numbers `cells` [n], who moves, whether in check.

    The sum of a mixed word per cell and content (the finaliser of MurmurHash3).
    """
    place = np.arange(1, cells.shape[0] + 1, dtype=np.uint32) * np.uint32(0x9E3779B9)
    x = (cells.astype(jnp.int32).astype(jnp.uint32) * jnp.uint32(0x85EBCA77)) ^ place
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    total = jnp.sum(x ^ (x >> 16), dtype=jnp.uint32)
    total += jnp.where(turn > 0, jnp.uint32(0x27D4EB2F), jnp.uint32(0))
    total = (total ^ (total >> 15)) * jnp.uint32(0x2C1B3C6D)
    total ^= total >> 13
    return (total & ~jnp.uint32(1)) | check.astype(jnp.uint32)


def earlier(words: Array, now: Array, ply: Array) -> Array:
    """[T] bool: at which plies before `ply` the game stood as it does now."""
    return (words == now) & (jnp.arange(words.shape[0]) < ply)


def perpetual(words: Array, same: Array, now: Array, ply: Array) -> tuple[Array, Array]:
    """Whether every move since the first such position was a check: (the last mover, the other).

    `same` [T] is what `earlier` said; both are True if the position never stood before.
    """
    at = jnp.arange(words.shape[0])
    since = (at > jnp.argmax(same)) & (at < ply)
    quiet = since & (words & 1 == 0)
    mine = (ply - at) % 2 == 0
    return ~jnp.any(quiet & mine) & (now & 1 == 1), ~jnp.any(quiet & ~mine)
