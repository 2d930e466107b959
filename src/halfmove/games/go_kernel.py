"""A move of Go as one Pallas program per game, the rules of go_rules.py on scalars.

`jax.vmap` of `step` is one launch for the whole batch. Loops carry scalars only (Triton
cannot lay out carried vectors); vectors have a power of two of lanes, and masks.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

from halfmove.core.types import Array
from halfmove.games.go_bits import Bits, Grid, divided, narrow, pick
from halfmove.games.go_rules import Info, Now, Rules, advance
from halfmove.games.go_state import EXTRA, State
from halfmove.games.go_superko import Name

WIDTH = 256  # names looked at, or words copied, at once


@dataclass(frozen=True)
class Memory:
    """The past in the memory of the GPU."""

    keys: Any
    lows: Any

    def load(self, index: Array) -> Name:
        """The names at `index` [WIDTH], zero beyond the last."""
        inside = index < self.keys.shape[0]
        low = plt.load(self.lows.at[index], mask=inside, other=0)
        return Name(plt.load(self.keys.at[index], mask=inside, other=0), low.astype(jnp.int32))

    def seek(self, start: Array, stored: Array, match: Callable[[Name], Array]) -> Array:
        """The first match; looks at no more names than there are."""

        def look(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            at, _ = carry
            index = at + jnp.arange(WIDTH, dtype=jnp.int32)
            fits = match(self.load(index)) & (index < stored)
            return at + WIDTH, jnp.min(jnp.where(fits, index, stored))

        def on(carry: tuple[Array, Array]) -> Array:
            return (carry[0] < stored) & (carry[1] == stored)

        return jax.lax.while_loop(on, look, (start, stored))[1]

    def at(self, index: Array) -> Name:
        """One name."""
        return Name(self.keys[index], self.lows[index].astype(jnp.int32))


@narrow
@functools.partial(jax.jit, static_argnums=0, static_argnames="interpret")
def step(rules: Rules, state: State, action: Array, *, interpret: bool = False) -> State:
    """The state after `action`; equal to `go_state.step`."""
    leaves = (state.sets, state.info, state.keys, state.lows)
    out = pl.pallas_call(
        functools.partial(_program, rules),
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves],
        interpret=interpret,
        compiler_params=None if interpret else plt.CompilerParams(num_warps=1, num_stages=1),
    )(jnp.reshape(action, (1,)), *leaves)
    return State(*out)


def _program(rules: Rules, action: Any, *refs: Any) -> None:
    (sets, info, keys, lows), out = refs[:4], refs[4:]
    grid = Grid(rules.size, split=True)
    rows = sets.shape[0]
    places = (0, 1, *range(rows - EXTRA, rows))
    known = Info(*(info[jnp.int32(i)] for i in range(len(Info._fields))))
    before = Now(known, *(_load(grid, sets, row) for row in places))
    after = advance(rules, grid, Memory(keys, lows), before, action[jnp.int32(0)])
    _store(out[0], places, after[1:])
    for i, value in enumerate(after.info):
        out[1][jnp.int32(i)] = value
    moved = after.info.moves != before.info.moves
    _age(sets, out[0], rows - EXTRA, moved)
    new = jnp.where(after.info.stored != before.info.stored, before.info.stored, -1)
    _remember(Memory(keys, lows), Memory(*out[2:]), new, after.info)


def _load(grid: Grid, sets: Any, row: int) -> Bits:
    return Bits(tuple(sets[jnp.int32(row), jnp.int32(k)] for k in range(grid.words)))


def _store(sets: Any, places: tuple[int, ...], values: tuple[Bits, ...]) -> None:
    for row, value in zip(places, values, strict=True):
        for k, word in enumerate(value.parts):
            sets[jnp.int32(row), jnp.int32(k)] = word


def _age(sets: Any, out: Any, rows: int, moved: Array) -> None:
    """Copies the older boards, one turn (two rows) further on if there was a move."""
    words = sets.shape[1]
    back = pick(moved, 2, 0)
    for first in range(2 * words, rows * words, WIDTH):
        index = first + jnp.arange(WIDTH, dtype=jnp.int32)
        (row, word), inside = divided(index, words), index < rows * words
        old = plt.load(sets.at[row - back, word], mask=inside, other=0)
        plt.store(out.at[row, word], old, mask=inside)


def _remember(past: Memory, out: Memory, new: Array, info: Info) -> None:
    """Copies the names, with this position's at index `new`."""
    for first in range(0, past.keys.shape[0], WIDTH):
        index = first + jnp.arange(WIDTH, dtype=jnp.int32)
        inside = index < past.keys.shape[0]
        name = past.load(index)
        key = jnp.where(index == new, info.key, name.key)
        low = jnp.where(index == new, info.low, name.low)
        plt.store(out.keys.at[index], key, mask=inside)
        plt.store(out.lows.at[index], low.astype(jnp.int16), mask=inside)
