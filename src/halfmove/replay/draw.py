"""Drawing positions of a ring in proportion to their mass, without rejection.

In three steps, each among few: a lane by its sum, a block of columns in that lane by its sum, a
column in that block. One sum over ten million f32 numbers would leave a draw with no bits to tell
neighbours apart; here every step has its own random number and adds up only some hundred. Where
masses are equal every step counts in whole numbers, and is exact.
"""

import jax
import jax.numpy as jnp

from halfmove.core.types import Array


def positions(key: Array, mass: Array, n: int) -> tuple[Array, Array]:
    """n (lane, column) [n] i32, independent, each with probability mass / sum of `mass`.

    `mass` [lanes, length] is bool (all that are True equally), or f32 and not negative. Nothing
    without mass is drawn, unless all is.
    """
    lanes, length = mass.shape
    block = block_of(length)
    blocks = mass.reshape(lanes, length // block, block)
    sums = sums_of(mass)
    lane_key, block_key, column_key = jax.random.split(key, 3)
    lane = _pick(lane_key, jnp.sum(sums, axis=-1)[None], n)
    group = _pick(block_key, sums[lane], n)
    column = _pick(column_key, blocks[lane, group].astype(sums.dtype), n)
    return lane, group * block + column


def sums_of(mass: Array) -> Array:
    """[lanes, blocks], the sums over blocks of columns: i32 for bool, else f32."""
    lanes, length = mass.shape
    block = block_of(length)
    blocks = mass.reshape(lanes, length // block, block)
    if mass.dtype != bool:
        return jnp.sum(blocks, axis=-1)
    # Bytes that cannot overflow: a ring of whole numbers would be four times as much to read.
    narrow = jnp.uint8 if block < 256 else jnp.int32
    return jnp.sum(blocks, axis=-1, dtype=narrow).astype(jnp.int32)


def block_of(length: int) -> int:
    """The divisor of `length` nearest to its root, so that both later draws are among few."""
    divisors = [d for d in range(1, length + 1) if length % d == 0]
    return min(divisors, key=lambda d: d + length // d)


def _pick(key: Array, mass: Array, n: int) -> Array:
    """[n] i32: one of the entries of each row of `mass`, [n, W] or one row for all."""
    below = jnp.cumsum(mass, axis=-1)
    total = below[:, -1:]
    if jnp.issubdtype(mass.dtype, jnp.integer):
        at = jax.random.randint(key, (n, 1), 0, jnp.maximum(total, 1))
    else:
        at = jax.random.uniform(key, (n, 1)) * total
    # A sum of floats may be rounded to its end, or fall by a bit where a zero is added: then the
    # first that is passed has no mass. So ask for mass too, and fall back to the last that has it.
    some = mass > 0
    passed = (below > at) & some
    last = mass.shape[-1] - 1 - jnp.argmax(some[:, ::-1], axis=-1)
    return jnp.where(jnp.any(passed, axis=-1), jnp.argmax(passed, axis=-1), last).astype(jnp.int32)
