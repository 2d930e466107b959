"""One lane's games as files, to look at: SGF, PGN, CSA where a game has such a form, else text."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from halfmove.core.game import Game
from halfmove.games import follow, records


class Lane:
    """The moves of the game that goes on in the first lane."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.moves: list[int] = []
        suffix = records.suffix(game)
        self.suffix = ".txt" if suffix == ".jsonl" else suffix  # made for people

    def add(self, action: Any, last: Any) -> Iterator[tuple[int, ...]]:
        """The games that ended with these moves [T], each as all its moves."""
        for move, ended in zip(np.asarray(action), np.asarray(last), strict=True):
            self.moves.append(int(move))
            if ended:
                if not self._game.chance:  # else the moves do not tell the game
                    yield tuple(self.moves)
                self.moves = []

    def text(self, moves: tuple[int, ...]) -> str:
        """A game as the text of a file."""
        game = self._game
        spot, names = follow.begin(game), []
        for move in moves:
            names.append(game.move_name(spot.state, move))
            before, spot = spot, follow.moved(game, spot, move)
        result = np.asarray(spot.reward, float)
        # Who has had enough says so instead of waiting for an answer to the last move.
        resigned = not spot.over
        if resigned:
            result = np.full(game.players, 1.0)
            result[before.player] = -1.0
        if self.suffix == ".txt":
            earned = " ".join(f"{x:+g}" for x in result)
            why = ", by resignation" if resigned else ""
            return f"{' '.join(names)}\nresult {earned}{why}\n\n{game.show(spot.state)}\n"
        record = records.Record(
            records.text_of(game), ("halfmove",) * game.players, moves,
            tuple(result.tolist()), "resignation" if resigned else "",
        )  # fmt: skip
        return records.write(game, record)
