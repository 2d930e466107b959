"""Whole games of real engines against random legal moves, refereed by our rules."""

import random
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from halfmove.arena.engines import RESIGN
from halfmove.arena.engines.presets import GAMES, PRESETS
from halfmove.games.follow import begin, moved


def needs(program):
    """A mark that skips a test without the program, and says where it is found."""
    package = PRESETS[program].package
    return pytest.mark.skipif(
        not (shutil.which(program) or shutil.which(program, path=GAMES)),
        reason=f"{program} is not installed (Debian package {package}): no game with it is played",
    )


@dataclass(frozen=True)
class Played:
    """What came of a game."""

    names: list[str]  # the moves as the game writes them
    end: Any  # Spot
    resigned: bool
    score: str  # the engine's word for the result


def whole_game(engine, game, *, seed, side, opening=2):
    """The game that the engine plays as player `side` after random moves."""
    rng = random.Random(seed)
    spot, actions, names = begin(game), [], []

    def step(action):
        nonlocal spot
        names.append(game.move_name(spot.state, action))
        spot = moved(game, spot, action)

    for _ in range(opening):
        actions.append(int(rng.choice(np.flatnonzero(spot.legal))))
        step(actions[-1])
    engine.new_game(game, actions)
    while not spot.over:
        if spot.player == side:
            action = engine.choose()
            if action == RESIGN:
                return Played(names, spot, True, "")
        else:
            action = int(rng.choice(np.flatnonzero(spot.legal)))
            engine.play(action)
        step(action)
    return Played(names, spot, False, engine.final_score())
