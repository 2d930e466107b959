"""Sets of squares of a chess board as bits: two words of 32, since JAX has no 64 by default.

Square `8 * rank + file`, a1 = 0, h8 = 63, is bit `square % 32` of the low word (ranks
1 to 4) or the high one. Every function works on arrays of sets, elementwise.
"""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, pytree

COMPASS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))  # N, NE, ..., NW
KNIGHT = ((2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1))  # ranks, files


@pytree
class Squares:
    """Sets of squares; the shape of an array of sets is that of each word."""

    lo: Array  # [...] u32, ranks 1 to 4
    hi: Array  # [...] u32, ranks 5 to 8

    def __and__(self, other: "Squares") -> "Squares":
        return Squares(self.lo & other.lo, self.hi & other.hi)

    def __or__(self, other: "Squares") -> "Squares":
        return Squares(self.lo | other.lo, self.hi | other.hi)

    def __xor__(self, other: "Squares") -> "Squares":
        return Squares(self.lo ^ other.lo, self.hi ^ other.hi)

    def __invert__(self) -> "Squares":
        return Squares(~self.lo, ~self.hi)

    def __getitem__(self, index: int | slice) -> "Squares":
        return Squares(self.lo[index], self.hi[index])

    def where(self, condition: Array) -> "Squares":
        """These sets where the condition holds, else the empty one."""
        zero = jnp.uint32(0)
        return Squares(jnp.where(condition, self.lo, zero), jnp.where(condition, self.hi, zero))

    def some(self) -> Array:
        """[...] bool, whether a set has a square."""
        return (self.lo | self.hi) != 0

    def count(self) -> Array:
        """[...] i32, the number of squares."""
        bits = jax.lax.population_count(self.lo) + jax.lax.population_count(self.hi)
        return bits.astype(jnp.int32)

    def union(self) -> "Squares":
        """The squares that are in any of the sets of an array [N]."""
        return Squares(_any_bit(self.lo), _any_bit(self.hi))


def constant(squares: Iterable[int]) -> Squares:
    """The set of these squares, known when a function is traced."""
    bits = sum(1 << square for square in set(squares))
    return Squares(np.uint32(bits & 0xFFFFFFFF), np.uint32(bits >> 32))  # type: ignore[arg-type]


def stack(sets: Iterable[Squares]) -> Squares:
    """An array [N, ...] of sets, broadcast to one shape."""
    sets = list(sets)
    lows = jnp.broadcast_arrays(*[s.lo for s in sets])
    highs = jnp.broadcast_arrays(*[s.hi for s in sets])
    return Squares(jnp.stack(lows), jnp.stack(highs))


def column(sets: Iterable[Squares]) -> Squares:
    """An array [N, 1] of single sets, to go beside arrays [N, M]."""
    rows = stack(sets)
    return Squares(rows.lo[:, None], rows.hi[:, None])


def single(square: Array) -> Squares:
    """The set of one square, [...] i32; none where it is not on the board."""
    bit = jnp.uint32(1) << (square & 31).astype(jnp.uint32)
    zero = jnp.uint32(0)
    low, high = square >> 5 == 0, square >> 5 == 1
    return Squares(jnp.where(low, bit, zero), jnp.where(high, bit, zero))


def flip(sets: Squares) -> Squares:
    """The same sets seen from the other side of the board: ranks 1 and 8 change places."""
    return Squares(_swap_bytes(sets.hi), _swap_bytes(sets.lo))


class Shift:
    """Moves sets by one step in each of N directions, given as (ranks, files)."""

    def __init__(self, steps: Iterable[tuple[int, int]]) -> None:
        steps = tuple(steps)
        offsets = np.array([8 * rank + file for rank, file in steps])
        self.up = np.maximum(offsets, 0).astype(np.uint32)
        self.down = np.maximum(-offsets, 0).astype(np.uint32)
        landing = [
            constant(8 * r + f for r in range(8) for f in range(8) if _inside(r - dr, f - df))
            for dr, df in steps
        ]
        self.keep = Squares(
            np.array([s.lo for s in landing]),  # type: ignore[arg-type]
            np.array([s.hi for s in landing]),  # type: ignore[arg-type]
        )

    def __call__(self, sets: Squares) -> Squares:
        """Sets [..., N] or [..., 1], moved; a square that would leave the board is dropped."""
        one, most = jnp.uint32(1), jnp.uint32(31)
        # Two shifts in place of one by 32 - n, which is undefined for n = 0.
        lo = sets.lo << self.up
        hi = (sets.hi << self.up) | ((sets.lo >> one) >> (most - self.up))
        return self.keep & Squares(
            (lo >> self.down) | ((hi << one) << (most - self.down)), hi >> self.down
        )


def _inside(rank: int, file: int) -> bool:
    return 0 <= rank < 8 and 0 <= file < 8


def _any_bit(words: Array) -> Array:
    return jax.lax.reduce(words, np.uint32(0), jax.lax.bitwise_or, (words.ndim - 1,))


def _swap_bytes(word: Array) -> Array:
    pairs = ((word & np.uint32(0x00FF00FF)) << 8) | ((word >> 8) & np.uint32(0x00FF00FF))
    return (pairs << 16) | (pairs >> 16)
