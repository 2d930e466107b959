"""How games begin: `random:2`, `first` (every legal first move), or a file of game records."""

from pathlib import Path

import jax
import numpy as np

from halfmove import games
from halfmove.core.game import Game, over
from halfmove.games import records

TRIES = 50  # draws for each opening that is wanted

Opening = tuple[int, ...]


def openings(text: str, game: Game, *, count: int, seed: int) -> list[Opening]:
    """At most `count` different openings, as actions; ValueError says what is wrong."""
    if text == "first":
        legal = np.asarray(game.legal(game.init(jax.random.key(0))))
        return [(int(a),) for a in np.flatnonzero(legal)]
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
    for _ in range(TRIES * count):
        state, line = game.init(jax.random.key(0)), []
        for _ in range(moves):
            legal = np.flatnonzero(np.asarray(game.legal(state)))
            if not len(legal):
                break
            line.append(int(rng.choice(legal)))
            state = games.play(game, state, line[-1])
        if not bool(over(game, state)):
            found.setdefault(tuple(line))
        if len(found) == count or not moves:
            break
    if not found:
        raise ValueError(f"{moves} random moves always ended the game; give fewer")
    return list(found)
