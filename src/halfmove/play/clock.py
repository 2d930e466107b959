"""How long to think about one move."""

from dataclasses import dataclass

SAFETY = 0.1  # seconds for all that is not searching: pipes, the GUI, the last slice


@dataclass(frozen=True)
class Clock:
    """What a player has, in seconds."""

    left: float  # until the flag falls, or until the next period of time begins
    increment: float = 0.0  # added after every move
    period: float = 0.0  # byo-yomi: for every move, once `left` is used up
    moves: int | None = None  # to be made with `left` before there is more; None: all


def seconds(clock: Clock, moves: int) -> float:
    """For this move, if about `moves` more will have to be made with what is left."""
    expected = max(1, moves if clock.moves is None else min(moves, clock.moves))
    share = clock.left / expected + 0.8 * clock.increment + clock.period
    # Never all of it: there must be a move after this one, and a slice may take longer.
    most = clock.left + clock.period - SAFETY
    if clock.moves is None or clock.moves > 1:
        most = min(most, 0.5 * clock.left + clock.period)
    return max(0.01, min(share - SAFETY / 2, most))
