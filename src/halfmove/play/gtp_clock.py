"""The clocks of GTP: `time_settings`, `kgs-time_settings` and `time_left`."""

from collections.abc import Sequence
from dataclasses import dataclass

from halfmove.play.clock import Clock
from halfmove.play.gtp import colour, exactly, real, whole


@dataclass(frozen=True)
class _System:
    """How time is given, in seconds."""

    main: float
    extra: float = 0.0  # of every period afterwards
    stones: int = 0  # to be played in a period
    each: bool = False  # Japanese: a period for every stone, `stones` of them


class Clocks:
    """The clocks of both players. Where none was set there is no hurry."""

    def __init__(self) -> None:
        self._system: _System | None = None
        self._left: dict[int, tuple[float, int]] = {}  # player -> (seconds, stones)

    def of(self, player: int) -> Clock | None:
        """What a player has, None: no limit."""
        system = self._system
        if system is None:
            return None
        left, stones = self._left.get(player, (system.main, 0))
        if not stones and left <= 0:  # the main time is used up, or there never was any
            left, stones = system.extra, system.stones
        if system.each:
            period = system.extra
            return Clock(0.0 if stones else left, period=min(period, left) if stones else period)
        return Clock(left, moves=stones or None)

    def settings(self, arguments: Sequence[str]) -> str:
        """main time, byo-yomi time, byo-yomi stones: Canadian, or absolute without the last two."""
        words = exactly(arguments, "main time", "byo-yomi time", "byo-yomi stones")
        main, extra, stones = _seconds(words[0]), _seconds(words[1]), whole(words[2])
        # The standard's way to say that there is no limit.
        unlimited = extra > 0 and not stones
        self._start(None if unlimited else _System(main, extra, stones))
        return ""

    def kgs_settings(self, arguments: Sequence[str]) -> str:
        """none, absolute, byoyomi or canadian, and its numbers."""
        kind, *words = arguments or ("",)
        if kind == "none":
            exactly(words)
            self._start(None)
        elif kind == "absolute":
            self._start(_System(_seconds(exactly(words, "main time")[0])))
        elif kind in ("byoyomi", "canadian"):
            numbers = exactly(words, "main time", "the time of a period", "periods or stones")
            main, extra, stones = _seconds(numbers[0]), _seconds(numbers[1]), whole(numbers[2], 1)
            self._start(_System(main, extra, stones, each=kind == "byoyomi"))
        else:
            raise ValueError(
                f"syntax error: {kind!r:.80} is none of none, absolute, byoyomi, canadian"
            )
        return ""

    def time_left(self, arguments: Sequence[str]) -> str:
        """colour, seconds, stones (KGS: periods); 0 stones while it is main time."""
        who, left, stones = exactly(arguments, "a colour", "seconds", "stones")
        told = colour(who), (_seconds(left), whole(stones))
        self._left[told[0]] = told[1]
        return ""

    def _start(self, system: _System | None) -> None:
        self._system = system
        self._left = {}


def _seconds(text: str) -> float:
    return max(0.0, real(text))
