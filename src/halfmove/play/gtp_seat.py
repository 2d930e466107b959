"""The commands of GTP that are the same for every game: the board, taking back, clocks."""

from collections.abc import Sequence

from halfmove.play import gtp
from halfmove.play.gtp import nothing
from halfmove.play.gtp_clock import Clocks
from halfmove.play.seat import Seat


def commands(seat: Seat, clocks: Clocks) -> dict[str, gtp.Handler]:
    """By their names."""

    def clear_board(arguments: Sequence[str]) -> str:
        nothing(arguments)
        seat.begin_again()
        return ""

    def undo(arguments: Sequence[str]) -> str:
        nothing(arguments)
        if len(seat.past) < 2:
            raise ValueError("cannot undo")
        seat.past = seat.past[:-1]
        return ""

    def timed(change: gtp.Handler) -> gtp.Handler:
        """A command that starts clocks: what must be compiled is compiled before they run."""

        def handler(arguments: Sequence[str]) -> str:
            change(arguments)
            if clocks.of(0) is not None:
                seat.warm()
            return ""

        return handler

    return {
        "clear_board": clear_board,
        "undo": undo,
        "showboard": lambda arguments: nothing(arguments) or "\n" + seat.game.show(seat.state),
        "time_settings": timed(clocks.settings),
        "kgs-time_settings": timed(clocks.kgs_settings),
        "time_left": clocks.time_left,
    }
