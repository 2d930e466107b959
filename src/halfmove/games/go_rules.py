"""The rules of Go on bits: one move of one game, for plain XLA and for a Pallas program.

Nothing is found again from the whole board. The stones of all chains in atari (one
liberty) are kept: a move captures the chains in atari beside it, and only chains beside
the stones that came and went have other liberties than before. A move is legal if it
touches an empty point, an own chain not in atari or an enemy chain in atari, and if the
board after it is new (positional superko).
"""

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

import jax.numpy as jnp

from halfmove.core.types import Array
from halfmove.games.go_bits import Bits, Grid, choose, pick
from halfmove.games.go_superko import Name, Past, Side, without_repeats


@dataclass(frozen=True)
class Rules:
    """The options that matter here."""

    size: int
    komi: float
    suicide: bool
    max_moves: int


class Info(NamedTuple):
    """What is known of a game beside its stones, each [] i32."""

    turn: Array  # 0 black, 1 white
    moves: Array
    passes: Array  # in a row, up to now
    over: Array  # 0 or 1
    earned: Array  # what the last move earned black: -1, 0, 1
    stored: Array  # names in the past, this position's included
    key: Array  # this position's name
    low: Array
    last: Array  # the last action, -1 before the first
    black_lost: Array  # stones
    white_lost: Array


class Now(NamedTuple):
    """A game but for its past."""

    info: Info
    black: Bits
    white: Bits
    legal: Bits
    atari: Bits  # stones of either colour whose chain has exactly one liberty
    black_gone: Bits  # points that a stone of this colour was ever taken from
    white_gone: Bits


class _Placed(NamedTuple):
    """The boards after a stone."""

    own: Bits
    enemy: Bits
    taken: Bits  # stones of the enemy
    lost: Bits  # stones of the player who moved


def advance(rules: Rules, grid: Grid, past: Past, now: Now, action: Array) -> Now:
    """The game after `action` [] i32. An illegal one changes nothing and earns nothing."""
    info = now.info
    stone = grid.point(action) & now.legal
    stands = stone.some()
    moved = stands | ((action == grid.points) & (info.over == 0))
    white = info.turn == 1
    own, enemy = choose(white, now.white, now.black), choose(white, now.black, now.white)
    after = _place(rules, grid, own, enemy, now.atari, stone)
    atari = _atari(grid, after, now.atari, stone)
    black, white_ = choose(white, after.enemy, after.own), choose(white, after.own, after.enemy)
    black_gone = now.black_gone | choose(white, after.taken, after.lost)
    white_gone = now.white_gone | choose(white, after.lost, after.taken)

    changes = [(stone, info.turn, 1), (after.taken, 1 - info.turn, -1)]
    if rules.suicide:
        changes.append((after.lost, info.turn, -1))
    name = Name(info.key, info.low).changed(grid, *changes)
    moves = info.moves + pick(moved, 1, 0)
    passes = jnp.where(stands, 0, info.passes + pick(moved, 1, 0))
    ended = moved & ((passes == 2) | (moves == rules.max_moves))
    turn = jnp.where(moved, 1 - info.turn, info.turn)
    side = Side(after.enemy, after.own, atari, turn, name, info.stored)
    gone = choose(white, black_gone, white_gone)
    legal = _legal(rules, grid, past, side, gone, moved & ~ended)
    taken, lost = after.taken.count(), after.lost.count()
    known = Info(
        turn=turn,
        moves=moves,
        passes=passes,
        over=jnp.where(ended, 1, info.over),
        earned=_result(grid, rules.komi, black, white_, ended),
        stored=info.stored + pick(stands, 1, 0),
        key=name.key,
        low=name.low,
        last=jnp.where(moved, action, info.last),
        black_lost=info.black_lost + jnp.where(white, taken, lost),
        white_lost=info.white_lost + jnp.where(white, lost, taken),
    )
    legal = choose(moved, legal, now.legal)
    return Now(known, black, white_, legal, atari, black_gone, white_gone)


def _place(rules: Rules, grid: Grid, own: Bits, enemy: Bits, atari: Bits, stone: Bits) -> _Placed:
    """The boards after a legal stone (or none), and the stones that went."""
    taken = grid.flood(grid.neighbours(stone) & enemy & atari, enemy)
    own, enemy = own | stone, enemy - taken
    lost = taken - taken
    if rules.suicide:
        chain = grid.flood(stone, own)
        free = grid.neighbours(chain) & (grid.board() - own - enemy)
        lost = chain.when(~free.some())
        own = own - lost
    return _Placed(own, enemy, taken, lost)


def _atari(grid: Grid, after: _Placed, atari: Bits, stone: Bits) -> Bits:
    """The stones in atari after a move, from those before it.

    The chains to look at: the stone's own, up to four of the enemy beside it, and those
    beside stones that went. Of the last, one in atari has two liberties now, its old one
    (not taken by the stone, which would have joined or captured the chain) and a new one.
    """
    own, enemy = after.own, after.enemy
    empty = grid.board() - own - enemy
    freed = grid.neighbours(after.taken | after.lost) & atari
    seeds = [stone, *grid.arms(stone), freed]
    sides = [own, *([enemy] * 4), choose(after.lost.some(), enemy, own)]

    def look(seed: Bits, side: Bits) -> tuple[Bits, Bits]:
        chain = grid.flood(seed, side)
        return chain, chain.when((grid.neighbours(chain) & empty).single())

    chains = grid.together(look, seeds, sides)
    seen, short = (reduce(or_, found) for found in zip(*chains, strict=True))
    return ((atari & (own | enemy)) - seen) | short


def _legal(rules: Rules, grid: Grid, past: Past, side: Side, gone: Bits, goes_on: Array) -> Bits:
    """The points where the player to move may put a stone; none if the game is over."""
    # Emptied where the game does not go on, so that no loop has anything to do.
    empty = (grid.board() - side.own - side.enemy).when(goes_on)
    breathing, takes, suicides = open_points(grid, side.own, side.enemy, side.atari, empty)
    if not rules.suicide:
        return without_repeats(grid, past, side, breathing, gone, takes, None)
    return without_repeats(grid, past, side, breathing | suicides, gone, takes, suicides)


def open_points(
    grid: Grid, own: Bits, enemy: Bits, atari: Bits, empty: Bits
) -> tuple[Bits, Bits, Bits]:
    """Points where a stone would have a liberty, where it captures, where it is suicide.

    Suicide of several stones: of one alone it would leave the board as it was.
    """
    hunted = enemy & atari
    breathing = grid.neighbours(empty | (own - atari) | hunted) & empty
    takes = grid.neighbours(hunted) & empty
    return breathing, takes, (grid.neighbours(own) & empty) - breathing


def areas(grid: Grid, black: Bits, white: Bits) -> tuple[Bits, Bits]:
    """Black's area and white's: stones, and empty points that reach one colour only."""
    empty = grid.board() - black - white
    reached = grid.together(
        lambda stones: grid.flood(grid.neighbours(stones), empty), [black, white]
    )
    return black | (reached[0] - reached[1]), white | (reached[1] - reached[0])


def area(grid: Grid, black: Bits, white: Bits) -> Array:
    """[] i32, black's area less white's."""
    mine, theirs = areas(grid, black, white)
    return mine.count() - theirs.count()


def _result(grid: Grid, komi: float, black: Bits, white: Bits, ended: Array) -> Array:
    """[] i32, what the end of the game earned black: -1, 0 or 1; 0 if this is not the end."""
    # No stones, no flood: only games that end pay for their score.
    points = area(grid, black.when(ended), white.when(ended)).astype(jnp.float32)
    sign = pick(points > komi, 1, 0) - pick(points < komi, 1, 0)
    return jnp.where(ended, sign, 0)
