"""Matches between two players who search, all games at once, for the strength of a network.

plain = Searcher("mcts", *mcts(game, 100))
mine = Searcher("mine", planner("full_gumbel", simulations=32), model, variables)
played = match(key, game, mine, plain, games=128)
print(score(played, "mine"), table(rate(results_of(played))))
"""

from collections.abc import Sequence

import jax
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, Model, Planner
from halfmove.games.records import Record
from halfmove.models.rollouts import Rollouts
from halfmove.search.planners import planner
from halfmove.selfplay.boards import (
    Board,
    Choice,
    Fixture,
    Searcher,
    play,
    record_of,
    searched,
    set_up,
)
from halfmove.selfplay.openings import random_openings


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


def match(
    key: Array,
    game: Game,
    one: Searcher,
    other: Searcher,
    *,
    games: int,
    opening: int = 2,
    limit: int = 1000,
) -> list[Record]:
    """`games` games of `one` against `other`; games 2i and 2i + 1 begin alike, sides changed.

    Each begins with `opening` random moves. These differ as long as the game has enough lines;
    then they are repeated equally often. A game of more than `limit` moves is a draw.
    """
    if one.name == other.name:
        raise ValueError(f"two players must have two names, got {one.name!r} twice")
    _check(game, games, opening, limit)
    draw, choose_key = jax.random.split(key)
    rng = np.random.default_rng(int(jax.random.bits(draw)))
    lines = random_openings(game, opening, games // 2, rng)
    fixtures = [
        Fixture(i, (0, 1) if i % 2 == 0 else (1, 0), lines[i // 2 % len(lines)])
        for i in range(games)
    ]
    boards = [set_up(game, fixture) for fixture in fixtures]
    # Half of the games: where turns alternate no player has more to move, and one program does.
    rows = games // 2

    def choose(going: list[Board], turn: int) -> list[Choice]:
        found: dict[int, Choice] = {}
        for number, who in enumerate((one, other)):
            mine = [board for board in going if board.mover == number]
            for at in range(0, len(mine), rows):
                part = mine[at : at + rows]
                fresh = jax.random.fold_in(choose_key, 4 * turn + 2 * (at > 0) + number)
                chosen = searched(game, who, part, fresh, rows)
                found |= {b.fixture.number: c for b, c in zip(part, chosen, strict=True)}
        return [found[board.fixture.number] for board in going]

    play(game, boards, choose, limit=limit)
    return [record_of(game, (one.name, other.name), board) for board in boards]


def score(played: Sequence[Record], name: str) -> float:
    """The share of the points that a player has made."""
    points = [
        0.5 + record.result[record.players.index(name)] / 2
        for record in played
        if record.result is not None and name in record.players
    ]
    return float(np.mean(points))


def _check(game: Game, games: int, opening: int, limit: int) -> None:
    if game.players != 2:
        raise ValueError(f"a match is for two players, {game.name} has {game.players}")
    if game.chance:
        raise ValueError(f"a match is for games without chance, which {game.name} is not")
    if games < 2 or games % 2:
        raise ValueError(f"games must be even, every opening is played twice; got {games}")
    for name, value, least in (("opening", opening, 0), ("limit", limit, 1)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
