"""One lane's games as text, to look at."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from halfmove import games
from halfmove.core.game import Game


class Record:
    """The moves of the game that goes on in the first lane."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.moves: list[int] = []

    def add(self, action: Any, last: Any) -> Iterator[str]:
        """The games that ended with these moves [T], as text."""
        for move, ended in zip(np.asarray(action), np.asarray(last), strict=True):
            self.moves.append(int(move))
            if ended:
                if not self._game.chance:  # else the moves do not tell the game
                    yield self._text()
                self.moves = []

    def _text(self) -> str:
        state = self._game.init(jax.random.key(0))
        names = []
        for move in self.moves:
            names.append(self._game.move_name(state, move))
            state = games.play(self._game, state, move)
        result = [f"{x:+g}" for x in np.asarray(self._game.reward(state))]
        moves = " ".join(names)
        return f"{moves}\nresult {' '.join(result)}\n\n{self._game.show(state)}\n"
