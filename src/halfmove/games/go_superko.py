"""Positional superko: which moves would make a position of this game again.

A position goes by a name, a sum of one number per stone, so that the name after a move
follows from the name before it. Only the names of the past are kept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from halfmove.core.types import Array
from halfmove.games.go_bits import LANES, Bits, Grid, choose, pick


def _signed(number: int) -> int:
    number %= 1 << 32
    return number - (1 << 32) if number >> 31 else number


def _inverse(number: int) -> int:
    return _signed(pow(number, -1, 1 << 32))


# A name has 32 + 16 bits: two different positions share one with probability 2 ** -48. A
# game of 722 moves compares at most some 10 ** 8 pairs of positions, so in fewer than one
# of a million such games a legal move is lost to chance.
ROUNDS = (_signed(0x9E3779B1), _signed(0x2C1B3C6D))  # odd, so that `number` can be undone
LOW_ROUNDS = (_signed(0xC2B2AE35), _signed(0x7FEB352D))
COLOURS = (1, _signed(0xB5297A4D))  # how much more a black and a white stone count; odd
LOW_COLOURS = (1, 0x68E3)


def _fold(x: Any) -> Any:
    """Its own inverse."""
    return x ^ ((x >> 16) & 0xFFFF)


def number(bit: Any, rounds: tuple[int, int] = ROUNDS) -> Any:
    """What a stone on that bit adds to the name, before its colour."""
    return _fold(_fold((bit + 1) * rounds[0]) * rounds[1])


def low_number(bit: Any) -> Any:
    """The same for the lower part of the name."""
    return number(bit, LOW_ROUNDS)


def bit_of(stone: Any) -> Any:
    """The bit whose `number` this is."""
    return _fold(_fold(stone) * _inverse(ROUNDS[1])) * _inverse(ROUNDS[0]) - 1


class Name(NamedTuple):
    """What stands for a whole position; of `low` only 16 bits count."""

    key: Array  # [...] i32
    low: Array  # [...] i32

    def changed(self, grid: Grid, *stones: tuple[Bits, Array, int]) -> "Name":
        """The name after sets of stones of a colour came (1) or went (-1)."""
        keys = [(s, sign * pick(colour == 0, *COLOURS)) for s, colour, sign in stones]
        lows = [(s, sign * pick(colour == 0, *LOW_COLOURS)) for s, colour, sign in stones]
        return Name(self.key + grid.weigh(number, *keys), self.low + grid.weigh(low_number, *lows))

    def same(self, other: "Name") -> Array:
        """[...] bool."""
        return (self.key == other.key) & (((self.low ^ other.low) & 0xFFFF) == 0)


class Past(Protocol):
    """The names of a game's positions, however they are stored."""

    def seek(self, start: Array, stored: Array, match: Callable[[Name], Array]) -> Array:
        """[] i32, the first from `start` on of those `stored` that matches; else `stored`."""

    def at(self, index: Array) -> Name:
        """One of them."""


class Side(NamedTuple):
    """A position as the player to move sees it."""

    own: Bits
    enemy: Bits
    atari: Bits
    colour: Array  # [] i32
    name: Name
    stored: Array  # [] i32, names in the past; this position may be missing there


def without_repeats(
    grid: Grid, past: Past, side: Side, legal: Bits, gone: Bits, takes: Bits, suicides: Bits | None
) -> Bits:
    """The moves of `legal` that make a new position.

    A position that comes back has a stone on the point played, where there is none now: so
    the point is in `gone`, from where a stone of this colour was ever taken. Only for a
    suicide (of several stones) this is not so.
    """
    suspects = takes & gone & legal
    if suicides is not None:
        suspects = suspects | (suicides & legal)
    legal = _without_taking(grid, past, side, legal, suspects, takes, suicides is not None)
    quiet = (legal & gone) - takes
    if suicides is not None:
        quiet = quiet - suicides
    return _without_quiet(grid, past, side, legal, quiet.some())


def _without_taking(
    grid: Grid, past: Past, side: Side, legal: Bits, suspects: Bits, takes: Bits, suicide: bool
) -> Bits:
    """Without the moves among `suspects` that take stones and make an earlier position."""

    def judge(carry: tuple[Bits, Bits]) -> tuple[Bits, Bits]:
        todo, legal = carry
        point = grid.first(todo)
        seed, inside = grid.neighbours(point) & side.enemy & side.atari, side.enemy
        come, loser = point, 1 - side.colour
        if suicide:
            captures = (point & takes).some()
            seed = choose(captures, seed, grid.neighbours(point) & side.own)
            inside = choose(captures, inside, side.own)
            come, loser = point.when(captures), jnp.where(captures, loser, side.colour)
        taken = grid.flood(seed, inside)
        after = side.name.changed(grid, (come, side.colour, 1), (taken, loser, -1))
        met = past.seek(jnp.zeros_like(side.stored), side.stored, after.same)
        return todo - point, legal - point.when(met < side.stored)

    return jax.lax.while_loop(lambda c: c[0].some(), judge, (suspects, legal))[1]


def _without_quiet(grid: Grid, past: Past, side: Side, legal: Bits, any_: Array) -> Bits:
    """Without the moves that take nothing and make an earlier position.

    Such a position differs from this one by one stone, and the difference of their names
    says on which bit: one look at each name of the past is enough for all moves.
    """
    key_colour = pick(side.colour == 0, 1, _inverse(COLOURS[1]))
    low_colour = pick(side.colour == 0, *LOW_COLOURS)

    def bit(name: Name) -> Array:
        return bit_of((name.key - side.name.key) * key_colour)

    def match(name: Name) -> Array:
        one = bit(name)
        low = side.name.low + low_colour * low_number(one)
        near = (one >= 0) & (one < LANES * grid.words)
        return near & (((low ^ name.low) & 0xFFFF) == 0)

    def strike(carry: tuple[Array, Bits]) -> tuple[Array, Bits]:
        start, legal = carry
        met = past.seek(start, side.stored, match)
        # Beyond the last one there is nothing to look at: any of them will do.
        point = grid.numbered(bit(past.at(jnp.minimum(met, side.stored - 1))))
        return met + 1, legal - point.when(met < side.stored)

    start = jnp.where(any_, 0, side.stored)
    return jax.lax.while_loop(lambda c: c[0] < side.stored, strike, (start, legal))[1]
