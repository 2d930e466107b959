"""How games begin: `random:2`, `first` (every legal first move), or a file of game records."""

from pathlib import Path

import numpy as np

from halfmove import games
from halfmove.core.game import Game
from halfmove.games import records
from halfmove.games.follow import begin
from halfmove.selfplay.openings import Opening, random_openings


def openings(text: str, game: Game, *, count: int, seed: int) -> list[Opening]:
    """At most `count` different openings, as actions; ValueError says what is wrong."""
    if text == "first":
        return [(int(a),) for a in np.flatnonzero(begin(game).legal)]
    if text.startswith("random:"):
        moves = text.removeprefix("random:")
        if not (moves.isascii() and moves.isdigit()):
            raise ValueError(f"random openings are written random:MOVES, got {text!r}")
        return random_openings(game, int(moves), count, np.random.default_rng(seed))
    path = Path(text)
    if not path.is_file():
        raise ValueError(f"openings are `first`, `random:MOVES` or a file of records, got {text!r}")
    found = records.read(records.decoded(path.read_bytes()))
    for record in found:
        if games.read(record.game) != game or record.position:
            raise ValueError(f"{text}: a record is not of {records.text_of(game)} from its start")
    return list(dict.fromkeys(record.moves for record in found))[:count]
