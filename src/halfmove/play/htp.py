"""HTP, the dialect of GTP that Hex programs speak (MoHex, HexGui): black joins top and bottom."""

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np

from halfmove.games.hex import COLOURS, Hex
from halfmove.play import gtp, gtp_seat
from halfmove.play.gtp import colour, exactly, nothing, whole
from halfmove.play.gtp_clock import Clocks
from halfmove.play.minds import Source
from halfmove.play.seat import Limits, Seat
from halfmove.play.server import Stream, opened


def main(
    source: Source,
    game: Hex,
    *,
    limits: Limits | None = None,
    seed: int | None = None,
    given: Stream | None = None,
    said: BinaryIO | None = None,
) -> int:
    """Speaks HTP on the standard streams, or on those given; the exit status."""
    lines, say = opened(given, said)
    seat = Seat(source, game, limits or Limits(), seed=seed)
    return gtp.serve(lines, say, HexCommands(seat).table())


class HexCommands:
    """What a controller may ask. A command that is refused has changed nothing."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._clocks = Clocks()

    @property
    def _game(self) -> Hex:
        game = self._seat.game
        assert isinstance(game, Hex)
        return game

    def table(self) -> dict[str, gtp.Handler]:
        """Every command by its name."""
        return {
            **gtp_seat.commands(self._seat, self._clocks),
            "boardsize": self._boardsize,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "final_score": self._final_score,
        }

    def _boardsize(self, arguments: Sequence[str]) -> str:
        """Width and height, or one number for both."""
        if len(arguments) not in (1, 2):
            raise ValueError("syntax error: expected a width and a height")
        sizes = {whole(word) for word in arguments}
        if len(sizes) > 1:
            raise ValueError("unacceptable size: a board has equal sides here")
        try:
            self._seat.change(replace(self._game, size=sizes.pop()))
        except ValueError as error:
            raise ValueError(f"unacceptable size: {error}") from error
        self._seat.begin_again()
        return ""

    def _play(self, arguments: Sequence[str]) -> str:
        who, move = exactly(arguments, "a colour", "a cell or swap-pieces")
        self._must_be(colour(who))
        try:
            action = self._game.parse_move(self._seat.state, move)
        except ValueError as error:
            raise ValueError(f"syntax error: {error}") from error
        try:
            self._seat.play(action)
        except ValueError as error:
            raise ValueError("illegal move") from error
        return ""

    def _genmove(self, arguments: Sequence[str]) -> str:
        player = colour(exactly(arguments, "a colour")[0])
        self._must_be(player)
        cells = self._game.cells
        moves = max(cells // 3 - len(self._seat.past) // 2, self._game.size)
        *_, opinion = self._seat.think(self._clocks.of(player), moves=moves, every=np.inf)
        name = self._game.move_name(self._seat.state, opinion.action)
        self._seat.play(opinion.action)
        return name

    def _reg_genmove(self, arguments: Sequence[str]) -> str:
        before = self._seat.past
        try:
            return self._genmove(arguments)
        finally:
            self._seat.past = before

    def _must_be(self, player: int) -> None:
        """Nobody passes in Hex, so turns can only alternate."""
        if self._seat.over:
            raise ValueError("illegal move: the game is over")
        if self._seat.to_play != player:
            raise ValueError(f"illegal move: it is the turn of {COLOURS[1 - player]}")

    def _final_score(self, arguments: Sequence[str]) -> str:
        nothing(arguments)
        if not self._seat.over:
            raise ValueError("cannot score: nobody has won yet")
        return "BW"[1 - self._seat.to_play] + "+"
