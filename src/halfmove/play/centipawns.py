"""Values as chess and shogi programs write them."""

from collections.abc import Callable
from math import log, tan

from halfmove.play.opinion import Line

# A line -> the words behind `score`.
Scores = Callable[[Line], str]

MOST = 9999  # centipawns; whoever is surer says how many moves to mate


def chess(line: Line) -> str:
    """`cp 34` or `mate 3`, in moves.

    cp = 90 tan(1.5637541897 v), which is how Lc0 turns a value into centipawns.
    """
    if line.mate is not None:
        moves = (abs(line.mate) + 1) // 2
        return f"mate {moves if line.mate > 0 else -moves}"
    return f"cp {_bounded(90 * tan(1.5637541897 * max(-1.0, min(1.0, line.value))))}"


def shogi(line: Line) -> str:
    """`cp 34` or `mate 5`, in plies.

    cp = 600 log(w / (1 - w)) of the win rate w, Ponanza's constant, which shogi programs share.
    """
    if line.mate is not None:
        return f"mate {line.mate}"
    rate = min(1 - 1e-9, max(1e-9, line.winrate))
    return f"cp {_bounded(600 * log(rate / (1 - rate)))}"


def _bounded(score: float) -> int:
    return max(-MOST, min(MOST, round(score)))
