"""Random openings, all different as long as the game has enough."""

import numpy as np

from halfmove.core.game import Game
from halfmove.games.follow import begin, moved

MISSES = 1000  # draws in a row that gave nothing new, after which all are taken to be found

Opening = tuple[int, ...]


def random_openings(game: Game, moves: int, count: int, rng: np.random.Generator) -> list[Opening]:
    """At most `count` different lines of so many random moves, none of which ends the game.

    ValueError if every line does.
    """
    found: dict[Opening, None] = {}
    misses = 0
    while len(found) < count and misses < (MISSES if moves else 1):
        spot = begin(game)
        line: list[int] = []
        while len(line) < moves and not spot.over:
            line.append(int(rng.choice(np.flatnonzero(spot.legal))))
            spot = moved(game, spot, line[-1])
        fresh = not spot.over and tuple(line) not in found
        misses = 0 if fresh else misses + 1
        if fresh:
            found[tuple(line)] = None
    if not found:
        raise ValueError(f"{moves} random moves always ended the game; give fewer")
    return list(found)
