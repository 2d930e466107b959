"""Sets of points of a Go board as bits in 32-bit words, and what they do.

A word holds as many rows as fit, each followed by one bit that is never set, so that
shifts by one and by a row need no care at the edges; the 32nd bit is never set either.
A set is either one array of W words (plain XLA, where one operation on many words is
cheap) or W scalars (a Pallas program, which has no shifts along an array). The rules are
written once for both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce, wraps
from operator import add, or_
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, pytree

LANES = 32  # bits of a word; bit j of word k is number LANES * k + j
F = TypeVar("F", bound=Callable[..., Any])


def narrow(function: F) -> F:
    """The function with plain numbers of 32 bits: where they have 64, so would sums of words."""

    @wraps(function)
    def run(*given: Any, **named: Any) -> Any:
        with jax.enable_x64(False):
            return function(*given, **named)

    return cast(F, run)


@pytree
class Bits:
    """A set of points: one part [W] i32, or W parts [] i32."""

    parts: tuple[Array, ...]

    def each(self, op: Callable[..., Array], *others: "Bits") -> "Bits":
        """`op` word by word."""
        return Bits(tuple(map(op, self.parts, *(other.parts for other in others))))

    def __and__(self, other: "Bits") -> "Bits":
        return self.each(lambda a, b: a & b, other)

    def __or__(self, other: "Bits") -> "Bits":
        return self.each(lambda a, b: a | b, other)

    def __sub__(self, other: "Bits") -> "Bits":
        return self.each(lambda a, b: a & ~b, other)

    def when(self, condition: Array) -> "Bits":
        """This set, or none."""
        return self.each(lambda a: jnp.where(condition, a, 0))

    def differs(self, other: "Bits") -> Array:
        """[] bool."""
        return self.each(lambda a, b: a ^ b, other).some()

    def some(self) -> Array:
        """[] bool, whether there is any point in it."""
        if len(self.parts) == 1 and self.parts[0].ndim:
            return jnp.any(self.parts[0] != 0)
        return reduce(or_, self.parts) != 0

    def total(self, count: Callable[[Array], Array]) -> Array:
        """The sum of `count` over the words."""
        if len(self.parts) == 1 and self.parts[0].ndim:
            return jnp.sum(count(self.parts[0]))
        return reduce(add, map(count, self.parts))

    def count(self) -> Array:
        """[] i32, how many points."""
        return self.total(jax.lax.population_count)

    def single(self) -> Array:
        """[] bool, whether it is exactly one point."""

        def few(word: Array) -> Array:
            return jnp.where(word == 0, 0, pick((word & (word - 1)) == 0, 1, 2))

        return self.total(few) == 1


def divided(number: Array, by: int) -> tuple[Array, Array]:
    """Quotient and remainder of numbers that are not negative, rounded as Triton rounds."""
    divisor = jnp.full_like(number, by)
    return jax.lax.div(number, divisor), jax.lax.rem(number, divisor)


def pick(condition: Array, yes: int, no: int) -> Array:
    """One constant or the other, i32.

    Of two Python numbers, Triton's `where` makes the type of the condition.
    """
    return jnp.where(condition, jnp.int32(yes), jnp.int32(no))


def choose(condition: Array, yes: Bits, no: Bits) -> Bits:
    """One set or the other."""
    return yes.each(lambda a, b: jnp.where(condition, a, b), no)


@dataclass(frozen=True)
class Grid:
    """The geometry of a board and its sets; `split` says that a set is W scalars."""

    size: int
    split: bool = False

    @property
    def stride(self) -> int:
        """Bits between a point and the one below it in the same word."""
        return self.size + 1

    @property
    def rows(self) -> int:
        """Rows of the board in a word."""
        return min(self.size, 31 // self.stride)

    @property
    def words(self) -> int:
        """W."""
        return -(-self.size // self.rows)

    @property
    def points(self) -> int:
        """Points of the board."""
        return self.size * self.size

    def pack(self, stones: np.ndarray) -> np.ndarray:
        """[W] i32 of a board [size, size] bool."""
        row, column = np.nonzero(stones)
        words = np.zeros(self.words, np.int32)
        np.bitwise_or.at(words, row // self.rows, 1 << (row % self.rows * self.stride + column))
        return words

    def unpack(self, words: Array) -> Array:
        """[..., size, size] i32, ones and zeros, of sets [..., W]."""
        shifts = self.stride * np.arange(self.rows)[:, None] + np.arange(self.size)
        bits = (words[..., None, None] >> jnp.asarray(shifts, jnp.int32)) & 1
        rows = bits.reshape(*words.shape[:-1], self.words * self.rows, self.size)
        return rows[..., : self.size, :]

    def constant(self, words: np.ndarray) -> Bits:
        """The set of words [W] known beforehand."""
        if self.split:
            return Bits(tuple(jnp.int32(int(word)) for word in words))
        return Bits((jnp.asarray(words, jnp.int32),))

    def board(self) -> Bits:
        """Every point."""
        return self.constant(self.pack(np.ones((self.size, self.size), bool)))

    def point(self, number: Array) -> Bits:
        """The point of that row-major number; none if it is not on the board."""
        known = (number >= 0) & (number < self.points)
        row, column = divided(jnp.where(known, number, 0), self.size)
        word, inner = divided(row, self.rows)
        bit = pick(known, 1, 0) << (inner * self.stride + column)
        if self.split:
            return Bits(tuple(jnp.where(word == k, bit, 0) for k in range(self.words)))
        return Bits((jnp.where(np.arange(self.words) == word, bit, 0),))

    def numbered(self, bit: Array) -> Bits:
        """The set of the one bit of that number (LANES * word + place)."""
        word, one = bit >> 5, jnp.ones_like(bit) << (bit & (LANES - 1))
        if self.split:
            return Bits(tuple(jnp.where(word == k, one, 0) for k in range(self.words)))
        return Bits((jnp.where(np.arange(self.words) == word, one, 0),))

    def first(self, points: Bits) -> Bits:
        """One point of a set, the same in both layouts; none if there is none."""
        if self.split:
            found, seen = [], jnp.zeros_like(points.parts[0])
            for word in points.parts:
                found.append(jnp.where(seen == 0, word & -word, 0))
                seen = seen | word
            return Bits(tuple(found))
        words, index = points.parts[0], np.arange(self.words)
        at = jnp.min(jnp.where(words != 0, index, self.words))
        return Bits((jnp.where(index == at, words & -words, 0),))

    def shifted(self, points: Bits) -> tuple[Bits, Bits]:
        """The words before and after each word."""
        if self.split:
            nothing = jnp.zeros_like(points.parts[0])
            return (
                Bits((nothing, *points.parts[:-1])),
                Bits((*points.parts[1:], nothing)),
            )
        words = points.parts[0]
        nothing = jnp.zeros(1, jnp.int32)
        return (
            Bits((jnp.concatenate([nothing, words[:-1]]),)),
            Bits((jnp.concatenate([words[1:], nothing]),)),
        )

    def arms(self, points: Bits) -> tuple[Bits, ...]:
        """A set moved by one to the right, left, below and above, with bits beyond the board."""
        stride, across = self.stride, self.stride * (self.rows - 1)
        before, after = self.shifted(points) if self.words > 1 else (points, points)

        def joined(inner: Bits, outer: Bits) -> Bits:
            if self.rows == 1:
                return outer
            return inner | outer if self.words > 1 else inner

        below = joined(points.each(lambda x: x << stride), before.each(lambda x: x >> across))
        above = joined(points.each(lambda x: x >> stride), after.each(lambda x: x << across))
        return points.each(lambda x: x << 1), points.each(lambda x: x >> 1), below, above

    def neighbours(self, points: Bits) -> Bits:
        """All points beside one of the set, and bits beyond the board: mask them off."""
        return reduce(or_, self.arms(points))

    def flood(self, seed: Bits, inside: Bits) -> Bits:
        """All points of `inside` joined to a point of `seed` that lies in it."""

        def grow(carry: tuple[Bits, Array]) -> tuple[Bits, Array]:
            points, _ = carry
            grown = (points | self.neighbours(points)) & inside
            if not self.split:  # a turn costs more than what it does
                grown = (grown | self.neighbours(grown)) & inside
            return grown, grown.differs(points)

        start = seed & inside
        return jax.lax.while_loop(lambda carry: carry[1], grow, (start, start.some()))[0]

    def together(self, task: Callable[..., Any], *arguments: Sequence[Bits]) -> list[Any]:
        """`task` for each of several sets of arguments, at once where that is cheaper."""
        if self.split:
            return list(map(task, *arguments))
        stacked = [jax.tree.map(lambda *x: jnp.stack(x), *argument) for argument in arguments]
        found = jax.vmap(task)(*stacked)
        return [jax.tree.map(lambda x: x[i], found) for i in range(len(arguments[0]))]  # noqa: B023

    def weigh(self, weights: Callable[[Any], Any], *terms: tuple[Bits, Array]) -> Array:
        """[] i32, the sum of factor * weights(number of the bit), modulo 2 ** 32.

        Over the points of each set and its factor; `weights` is also asked for constants.
        """
        if self.split:
            lane = jnp.arange(LANES, dtype=jnp.int32)
            sums = [
                factor * ((word >> lane) & 1) * weights(lane + LANES * k)
                for points, factor in terms
                for k, word in enumerate(points.parts)
            ]
            return jnp.sum(reduce(add, sums))
        lanes = np.arange(LANES, dtype=np.int32)
        numbers = lanes + LANES * np.arange(self.words, dtype=np.int32)[:, None]
        bits = [factor * ((points.parts[0][:, None] >> lanes) & 1) for points, factor in terms]
        return jnp.sum(reduce(add, bits) * weights(numbers))
