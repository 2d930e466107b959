"""One lane's games as files, to look at: SGF, PGN, CSA where a game has such a form, else text."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from halfmove import games
from halfmove.core.game import Game, over
from halfmove.games import records


class Lane:
    """The moves of the game that goes on in the first lane."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.moves: list[int] = []
        suffix = records.suffix(game)
        self.suffix = ".txt" if suffix == ".jsonl" else suffix  # made for people

    def add(self, action: Any, last: Any) -> Iterator[str]:
        """The games that ended with these moves [T], each as the text of a file."""
        for move, ended in zip(np.asarray(action), np.asarray(last), strict=True):
            self.moves.append(int(move))
            if ended:
                if not self._game.chance:  # else the moves do not tell the game
                    yield self._text()
                self.moves = []

    def _text(self) -> str:
        game = self._game
        state, names = game.init(jax.random.key(0)), []
        for move in self.moves:
            names.append(game.move_name(state, move))
            before, state = state, games.play(game, state, move)
        result = np.asarray(game.reward(state), float)
        # Who has had enough says so instead of waiting for an answer to the last move.
        resigned = not over(game, state)
        if resigned:
            result = np.full(game.players, 1.0)
            result[int(game.to_play(before))] = -1.0
        if self.suffix == ".txt":
            earned = " ".join(f"{x:+g}" for x in result)
            why = ", by resignation" if resigned else ""
            return f"{' '.join(names)}\nresult {earned}{why}\n\n{game.show(state)}\n"
        record = records.Record(
            records.text_of(game), ("halfmove",) * game.players, tuple(self.moves),
            tuple(result.tolist()), "resignation" if resigned else "",
        )  # fmt: skip
        return records.write(game, record)
