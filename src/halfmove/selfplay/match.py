"""Matches between two players, all games at once on the device, and what they say of strength.

plain = Contender(moves_of(*mcts(game, 100)))
mine = Contender(moves_of(planner("full_gumbel", simulations=32), model), variables)
result = match(key, game, mine, plain, games=128)
print(result.score.mean(), elo(result.score))
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import betaincinv

from halfmove.core.game import Game, State, over, timestep
from halfmove.core.types import Array, Model, Planner, TimeStep, pytree
from halfmove.models.rollouts import Rollouts, choose
from halfmove.search.planners import planner

# (key, variables, timestep [B]) -> action [B] i32. Rows of finished games may say anything.
# It is traced, and must be hashable: a match compiles once for each.
Mover = Callable[[Array, Any, TimeStep], Array]

DRAWS = 8  # rounds of random openings before those found must do


@dataclass(frozen=True)
class _Searching:
    planner: Planner
    model: Model

    def __call__(self, key: Array, variables: Any, timestep: TimeStep) -> Array:
        return self.planner(key, self.model, variables, timestep).action


def moves_of(planner: Planner, model: Model) -> Mover:
    """The moves that a planner chooses on a model."""
    return _Searching(planner, model)


def mcts(
    game: Game, simulations: int, *, c_puct: float = 3.0, playouts: int = 1
) -> tuple[Planner, Model]:
    """Plain Monte-Carlo tree search: random playouts, pUCT with equal priors, no noise.

    In connect four and Hex 5×5, with 50 and 200 simulations, 400 games each, a `c_puct` of 2
    to 6 came within 70 Elo of 3; 1 lost by 30 to 290.
    """
    search = planner(
        "alphazero" if game.players == 2 else "muzero",
        simulations=simulations,
        c_puct=c_puct,
        dirichlet_fraction=0.0,
        temperature=0.0,
    )
    return search, Rollouts(game, playouts)


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["variables"], meta_fields=["moves"]
)
@dataclass(frozen=True)
class Contender:
    """Who plays: the moves, and what they are computed with."""

    moves: Mover
    variables: Any = None


@dataclass(frozen=True)
class MatchResult:
    """What came of a match; games 2i and 2i + 1 begin alike, `one` first in the even ones."""

    score: np.ndarray  # [games] f32, of `one`: 1 won, 0.5 drawn or unfinished, 0 lost
    first: np.ndarray  # [games] bool, whether `one` made the first move after the opening
    plies: np.ndarray  # [games] i32, moves in all, those of the opening too
    finished: np.ndarray  # [games] bool; not: cut short, by the game or by the limit
    moves: np.ndarray  # [games, L] i32, the actions from the start; -1 after the end
    opening: int  # how many of them were random

    @property
    def fresh(self) -> np.ndarray:
        """[games] bool: False where an earlier game went the same way from the same side.

        Two players without chance who meet twice in one position tell nothing new.
        """
        rows = np.column_stack([self.first, self.moves])
        fresh = np.zeros(len(rows), bool)
        fresh[np.unique(rows, axis=0, return_index=True)[1]] = True
        return fresh

    @property
    def distinct(self) -> int:
        """How many different games were played."""
        return int(self.fresh.sum())


def match(
    key: Array,
    game: Game,
    one: Contender,
    other: Contender,
    *,
    games: int,
    opening: int = 2,
    limit: int = 1000,
) -> MatchResult:
    """`games` games of `one` against `other`.

    Each begins with `opening` random moves and is played twice from there, with sides changed.
    Openings differ as long as the game has enough; then they are repeated equally often.
    A game that is not over after `limit` more moves counts as a draw.
    """
    _check(game, games, opening, limit)
    draw, play = jax.random.split(key)
    seeds = _distinct(draw, game, games // 2, opening)
    table = jax.device_get(_play(game, opening, limit, play, one, other, seeds))
    for side, name in enumerate(("one", "other")):
        if (table.fault == side).any():
            row = int(np.argmax(table.fault == side))
            before = table.moves[row][: table.plies[row]].tolist()
            raise ValueError(
                f"{name} chose action {table.wrong[row]}, which is not legal after {before}"
            )
    length = int(table.plies.max())
    return MatchResult(
        score=np.where(table.finished, 0.5 + 0.5 * np.sign(table.lead), 0.5).astype(np.float32),
        first=np.arange(games) % 2 == 0,
        plies=table.plies,
        finished=table.finished,
        moves=table.moves[:, :length],
        opening=opening,
    )


def _check(game: Game, games: int, opening: int, limit: int) -> None:
    if game.players != 2:
        raise ValueError(f"a match is for two players, {game.name} has {game.players}")
    if games < 2 or games % 2:
        raise ValueError(f"games must be even, every opening is played twice; got {games}")
    for name, value, least in (("opening", opening, 0), ("limit", limit, 1)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


# -- openings ----------------------------------------------------------------


@pytree
class _Start:
    """A position after random moves."""

    state: State
    moves: Array  # [opening] i32
    earned: Array  # [2] f32, by each player on the way
    over: Array  # [] bool


def _opening(game: Game, opening: int, seed: Array) -> _Start:
    """The opening of that number, [] u32."""
    begin, key = jax.random.split(jax.random.key(seed))

    def turn(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], Any]:
        key, draw, chance = jax.random.split(carry[0], 3)
        action = choose(jax.random.bits(draw, (), jnp.uint32), game.legal(carry[1]))
        state = game.step(chance, carry[1], action)
        return (key, state), (action, game.reward(state))

    (_, state), (moves, reward) = jax.lax.scan(turn, (key, game.init(begin)), length=opening)
    return _Start(state, moves, jnp.sum(reward, axis=0), over(game, state))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _looks(game: Game, opening: int, count: int, key: Array) -> tuple[Array, Array, list[Array]]:
    """(seeds [count], whether each opening is over by then, what is seen of it)."""
    seeds = jax.random.bits(key, (count,), jnp.uint32)
    start = jax.vmap(functools.partial(_opening, game, opening))(seeds)
    seen = [jax.vmap(f)(start.state) for f in (game.observe, game.to_play, game.legal)]
    return seeds, start.over, seen


def _distinct(key: Array, game: Game, pairs: int, opening: int) -> np.ndarray:
    """[pairs] u32: openings whose positions look different, in turn if there are too few."""
    kept: dict[bytes, int] = {}
    for draw in jax.random.split(key, DRAWS):
        seeds, ended, seen = jax.device_get(_looks(game, opening, max(2 * pairs, 64), draw))
        for row in np.flatnonzero(~ended):
            kept.setdefault(b"".join(x[row].tobytes() for x in seen), seeds[row])
        if len(kept) >= pairs or not opening:
            break
    if not kept:
        raise ValueError(f"opening: {opening} random moves always ended the game; give fewer")
    return np.resize(list(kept.values())[:pairs], pairs).astype(np.uint32)


# -- play --------------------------------------------------------------------


@pytree
class _Table:
    """All games [G] of a match while they are played."""

    state: State
    seat: Array  # [G] i32, which player `one` is
    lead: Array  # [G] f32, what `one` has earned, less what the other has
    plies: Array  # [G] i32
    going: Array  # [G] bool
    finished: Array  # [G] bool, over by the rules
    fault: Array  # [G] i32: 0 `one`, 1 `other` chose an illegal action; -1 nobody
    wrong: Array  # [G] i32, that action
    moves: Array  # [G, opening + limit] i32


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _play(
    game: Game,
    opening: int,
    limit: int,
    key: Array,
    one: Contender,
    other: Contender,
    seeds: Array,
) -> _Table:
    """The table when all games are over."""
    table = _set_up(game, limit, jax.vmap(functools.partial(_opening, game, opening))(seeds))
    length = table.moves.shape[1]

    def turn(carry: tuple[Array, _Table]) -> tuple[Array, _Table]:
        key, table = carry
        key, chance, *keys = jax.random.split(key, 4)
        mover = jax.vmap(game.to_play)(table.state)
        side = jnp.where(table.going, (mover != table.seat).astype(jnp.int32), -1)
        action = jnp.full(side.shape, -1, jnp.int32)
        asked = jnp.zeros(side.shape, bool)
        for i, (own, who) in enumerate(zip(keys, (one, other), strict=True)):
            rows, mine = _turn_of(i, side, table.plies)
            chosen = who.moves(own, who.variables, _shown(game, table.state, rows))
            where = jnp.where(mine, rows, side.shape[0])
            action = action.at[where].set(chosen.astype(jnp.int32), mode="drop")
            asked = asked.at[where].set(True, mode="drop")
        return key, _moved(game, chance, table, side, action, asked, length)

    def more(carry: tuple[Array, _Table]) -> Array:
        return jnp.any(carry[1].going)

    return jax.lax.while_loop(more, turn, (key, table))[1]


def _set_up(game: Game, limit: int, start: _Start) -> _Table:
    """Every opening twice, `one` to move in the even games and `other` in the odd ones."""
    start = jax.tree.map(lambda x: jnp.repeat(x, 2, axis=0), start)
    games, opening = start.moves.shape
    seat = jax.vmap(game.to_play)(start.state) ^ (jnp.arange(games) % 2)
    sign = jnp.where(seat == 0, 1.0, -1.0)
    return _Table(
        state=start.state,
        seat=seat,
        lead=sign * (start.earned[:, 0] - start.earned[:, 1]),
        plies=jnp.full(games, opening, jnp.int32),
        going=~start.over,
        finished=jnp.zeros(games, bool),
        fault=jnp.full(games, -1, jnp.int32),
        wrong=jnp.full(games, -1, jnp.int32),
        moves=jnp.concatenate([start.moves, jnp.full((games, limit), -1, jnp.int32)], axis=1),
    )


def _turn_of(i: int, side: Array, plies: Array) -> tuple[Array, Array]:
    """(rows [G / 2], which of them are player i's turn): half of the games, i's own first.

    Where turns alternate these are all of i's, since i began in one half of the games only.
    Elsewhere some may have to wait; the shortest games go first, so that none waits for ever.
    Finished games fill the rest: a search is soon done with them.
    """
    ours = side == i
    most = jnp.iinfo(jnp.int32).max
    order = jnp.where(ours, plies, jnp.where(side < 0, most - 1, most))
    rows = jnp.argsort(order)[: side.shape[0] // 2]
    return rows, ours[rows]


def _shown(game: Game, state: State, rows: Array) -> TimeStep:
    return jax.vmap(functools.partial(timestep, game))(jax.tree.map(lambda x: x[rows], state))


def _moved(
    game: Game, key: Array, table: _Table, side: Array, action: Array, asked: Array, length: int
) -> _Table:
    """The table after `action` [G] in the games that were `asked` for one [G]."""
    games = jnp.arange(side.shape[0])
    legal = jax.vmap(game.legal)(table.state)
    known = (action >= 0) & (action < game.actions)
    legal = known & legal[games, jnp.clip(action, 0, game.actions - 1)]
    fault, moved = asked & ~legal, asked & legal
    after = jax.vmap(game.step)(
        jax.random.split(key, games.size), table.state, jnp.where(moved, action, 0)
    )

    def kept(new: Array, old: Array) -> Array:
        return jnp.where(moved.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    after = jax.tree.map(kept, after, table.state)
    reward = jax.vmap(game.reward)(after)
    sign = jnp.where(table.seat == 0, 1.0, -1.0)
    plies = table.plies + moved
    ended = jax.vmap(functools.partial(over, game))(after)
    return _Table(
        state=after,
        seat=table.seat,
        lead=table.lead + jnp.where(moved, sign * (reward[:, 0] - reward[:, 1]), 0.0),
        plies=plies,
        going=table.going & ~ended & ~fault & (plies < length),
        finished=table.finished | (moved & jax.vmap(game.terminated)(after)),
        fault=jnp.where(fault, side, table.fault),
        wrong=jnp.where(fault, action, table.wrong),
        moves=table.moves.at[games, jnp.where(moved, table.plies, length)].set(action, mode="drop"),
    )


# -- what it means -----------------------------------------------------------


@dataclass(frozen=True)
class Elo:
    """A difference of strength and its 95% interval, all finite."""

    difference: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.difference:+.0f} Elo ({self.low:+.0f} to {self.high:+.0f})"


def elo(score: np.ndarray) -> Elo:
    """What `score` [games] in {0, 0.5, 1} says: 400 log10(p / (1 - p)), p the expected score.

    Half a win and half a loss are added, Jeffreys' prior, so that 100% stays finite. The
    chances of win, draw and loss are then Dirichlet; p is taken as the Beta distribution of
    the same mean and variance, exact where nothing is drawn. Games are taken as independent:
    pairs that begin alike vary less, which makes the interval too wide rather than too narrow.
    """
    score = np.asarray(score, np.float64)
    if not score.size or not np.isin(score, (0.0, 0.5, 1.0)).all():
        raise ValueError(f"score must be games of 0, 0.5 or 1, at least one; got {score}")
    n = score.size + 1.0
    mean = (score.sum() + 0.5) / n
    square = ((score**2).sum() + 0.5) / n
    total = mean * (1 - mean) * (n + 1) / (square - mean**2) - 1
    won, lost = mean * total, (1 - mean) * total
    # Both tails from their own end: 1 - p loses its digits where p is near 1.
    low, high = (
        _rating(betaincinv(won, lost, q), betaincinv(lost, won, 1 - q)) for q in (0.025, 0.975)
    )
    return Elo(_rating(mean, 1 - mean), low, high)


def _rating(won: float, lost: float) -> float:
    return 400 * math.log10(won / lost)
