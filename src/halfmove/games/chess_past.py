"""What games like chess remember of a game for its draws: positions that may come back.

A capture or a pawn's move cannot be undone, and 100 plies without one end the game. So the
positions since the last one, numbered by the plies since then, are all that can come back.
"""

import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array

FIFTY = 100  # plies without a capture or a pawn's move: a draw
GOES_ON, DRAWN, MATED = 0, 1, 2
SALT = np.random.default_rng(1927).integers(2**32, size=(2, 16), dtype=np.uint32) | np.uint32(1)


def key_of(words: Array) -> Array:
    """[2] u32, a hash of the words [n] u32 that say all that makes two positions the same."""
    count = words.shape[0]
    mixed = (words + SALT[:, :count]) * SALT[:, ::-1][:, :count]
    # The finaliser of MurmurHash3: each bit of a word moves every bit of the key.
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        mixed = (mixed ^ (mixed >> shift)) * np.uint32(factor)
    return jnp.sum(mixed, axis=1, dtype=jnp.uint32)


def remembered(keys: Array, key: Array, clock: Array) -> tuple[Array, Array]:
    """How often the position of `key` was there before, [] u8, and the keys with it, [100, 2].

    `clock`: plies since the last capture or pawn's move, this one's place among the keys.
    """
    slots = np.arange(FIFTY)
    same = jnp.all(keys == key, axis=1) & (slots < clock)
    return jnp.sum(same, dtype=jnp.uint8), jnp.where((slots == clock)[:, None], key, keys)


def verdict(stuck: Array, check: Array, drawn: Array) -> Array:
    """[] u8: GOES_ON, DRAWN or MATED, for a player without a move, in check, or a draw by rule."""
    ended = jnp.where(stuck & check, MATED, DRAWN)
    return jnp.where(stuck | drawn, ended, GOES_ON).astype(jnp.uint8)
