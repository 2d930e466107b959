"""A game of Go as it is kept, and a move of it by plain XLA."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, pytree
from halfmove.games.go_bits import Bits, Grid, choose, narrow
from halfmove.games.go_rules import Info, Now, Rules, advance, area, areas, open_points
from halfmove.games.go_superko import Name

EXTRA = 4  # sets beside the boards: legal, in atari, gone from black, gone from white


@pytree
class State:
    """Few arrays rather than many fields: a search tree copies each of them on its own."""

    sets: Array  # [2 * history + EXTRA, W] i32: black, white, newest first; then the others
    info: Array  # [len(Info)] i32
    keys: Array  # [max_moves] i32: the names of all positions, oldest first
    lows: Array  # [max_moves] i16

    @property
    def known(self) -> Info:
        """The fields of `info`, each []."""
        return Info(*(self.info[..., i] for i in range(len(Info._fields))))

    @property
    def boards(self) -> Array:
        """[history, 2, W] i32, newest first."""
        boards = self.sets[:-EXTRA]
        return boards.reshape(-1, 2, boards.shape[-1])

    @property
    def legal(self) -> Array:
        """[W] i32, where a stone may be put."""
        return self.sets[-EXTRA]


@dataclass(frozen=True)
class Table:
    """The past in arrays."""

    keys: Array
    lows: Array

    def seek(self, start: Array, stored: Array, match: Callable[[Name], Array]) -> Array:
        """The first match."""
        index = np.arange(self.keys.shape[0])
        fits = match(Name(self.keys, self.lows.astype(jnp.int32)))
        return jnp.min(jnp.where(fits & (index >= start) & (index < stored), index, stored))

    def at(self, index: Array) -> Name:
        """One name."""
        return Name(self.keys[index], self.lows[index].astype(jnp.int32))


@narrow
@functools.partial(jax.jit, static_argnums=(0, 1))
def _first(size: int, suicide: bool, sets: Array, turn: Array) -> tuple[Array, Name]:
    """The legal points [W] and the name of a position (black, white, in atari) without a past."""
    grid = Grid(size)
    black, white, atari = (Bits((words,)) for words in sets)
    own, enemy = choose(turn == 1, white, black), choose(turn == 1, black, white)
    breathing, _, suicides = open_points(grid, own, enemy, atari, grid.board() - own - enemy)
    name = Name(jnp.int32(0), jnp.int32(0))
    name = name.changed(grid, (black, jnp.int32(0), 1), (white, jnp.int32(1), 1))
    return (breathing | suicides if suicide else breathing).parts[0], name


def begin(
    rules: Rules, history: int, black: np.ndarray, white: np.ndarray, atari: np.ndarray, turn: int
) -> State:
    """The state, in numpy, of a game that starts from boards [size, size] bool."""
    grid = Grid(rules.size)
    known = np.stack([grid.pack(x) for x in (black, white, atari)])
    with jax.ensure_compile_time_eval():
        legal, name = _first(rules.size, rules.suicide, jnp.asarray(known), jnp.int32(turn))
    sets = np.zeros((2 * history + EXTRA, grid.words), np.int32)
    sets[0], sets[1], sets[1 - EXTRA] = known
    sets[-EXTRA] = np.asarray(legal)
    info = dict.fromkeys(Info._fields, 0)
    info |= {"turn": turn, "stored": 1, "key": int(name.key), "low": int(name.low), "last": -1}
    keys, lows = np.zeros(rules.max_moves, np.int32), np.zeros(rules.max_moves, np.int16)
    keys[0], lows[0] = name.key, np.asarray(name.low).astype(np.int16)
    return State(sets, np.array(list(info.values()), np.int32), keys, lows)  # type: ignore[arg-type]


@narrow
@functools.partial(jax.jit, static_argnums=0)
def step(rules: Rules, state: State, action: Array) -> State:
    """The state after `action`, by plain XLA: the reference, and what runs without a GPU."""
    grid = Grid(rules.size)
    sets = [Bits((state.sets[i],)) for i in (0, 1, *range(-EXTRA, 0))]
    before = Now(state.known, *sets)
    after = advance(rules, grid, Table(state.keys, state.lows), before, action)
    newest = jnp.stack([after.black.parts[0], after.white.parts[0]])
    older = state.sets[: -EXTRA - 2]
    boards = jnp.concatenate([newest, older])
    moved = after.info.moves != before.info.moves
    rest = (after.legal, after.atari, after.black_gone, after.white_gone)
    sets_after = jnp.concatenate(
        [jnp.where(moved, boards, state.sets[:-EXTRA]), jnp.stack([x.parts[0] for x in rest])]
    )
    # The last position of a game is never compared with: there is no room for it.
    here = np.arange(rules.max_moves) == before.info.stored
    here = here & (after.info.stored > before.info.stored)
    return State(
        sets=sets_after,
        info=jnp.stack(after.info),
        keys=jnp.where(here, after.info.key, state.keys),
        lows=jnp.where(here, after.info.low.astype(jnp.int16), state.lows),
    )


@narrow
@functools.partial(jax.jit, static_argnums=0)
def lead(size: int, state: State) -> Array:
    """[] i32, black's area less white's."""
    return area(Grid(size), *_stones(state))


@narrow
def ownership(size: int, state: State) -> Array:
    """[size, size] i32: 1 black's area, -1 white's, 0 neither's."""
    grid = Grid(size)
    mine, theirs = areas(grid, *_stones(state))
    return grid.unpack(mine.parts[0]) - grid.unpack(theirs.parts[0])


def _stones(state: State) -> tuple[Bits, Bits]:
    black, white = state.boards[0]
    return Bits((black,)), Bits((white,))
