"""How games begin: `random:2`, `first` (every legal first move), or a file of game records."""

from pathlib import Path

import numpy as np

from halfmove import games
from halfmove.core.game import Game
from halfmove.games import records
from halfmove.games.follow import begin, moved

MISSES = 100  # draws in a row that gave nothing new, after which all are taken to be found

Opening = tuple[int, ...]


def openings(text: str, game: Game, *, count: int, seed: int) -> list[Opening]:
    """At most `count` different openings, as actions; ValueError says what is wrong."""
    if text == "first":
        return [(int(a),) for a in np.flatnonzero(begin(game).legal)]
    if text.startswith("random:"):
        moves = text.removeprefix("random:")
        if not (moves.isascii() and moves.isdigit()):
            raise ValueError(f"random openings are written random:MOVES, got {text!r}")
        return _random(game, int(moves), count, np.random.default_rng(seed))
    path = Path(text)
    if not path.is_file():
        raise ValueError(f"openings are `first`, `random:MOVES` or a file of records, got {text!r}")
    found = records.read(path.read_text(encoding="utf-8"))
    for record in found:
        if games.read(record.game) != game or record.position:
            raise ValueError(f"{text}: a record is not of {records.text_of(game)} from its start")
    return list(dict.fromkeys(record.moves for record in found))[:count]


def _random(game: Game, moves: int, count: int, rng: np.random.Generator) -> list[Opening]:
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
