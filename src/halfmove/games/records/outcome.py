"""Why games end, and results between two, in the words that the formats share."""

from collections.abc import Sequence

from halfmove.games.records.record import Record

# The first word of a reason that is none of the rules', and what kind of end it is.
KINDS = {
    "resignation": "resignation",
    "time": "time",
    "forfeit": "forfeit",
    "crash": "forfeit",
    "hang": "forfeit",
    "rubbish": "forfeit",
    "illegal": "forfeit",
}


def kind(reason: str) -> str:
    """`resignation`, `time`, `forfeit` or "" of a reason, `crash: no answer` for one."""
    words = reason.replace(":", " ").replace(",", " ").split()
    return KINDS.get(words[0].lower(), "") if words else ""


def winner(record: Record) -> int | None:
    """The player who won, -1 for a draw, None if nobody knows; ValueError for other results."""
    if record.result is None:
        return None
    outcomes: list[Sequence[float]] = [(1, -1), (-1, 1), (0, 0)]
    if record.result not in outcomes:
        raise ValueError(f"a result between two is (1, -1), (-1, 1) or (0, 0), got {record.result}")
    return (0, 1, -1)[outcomes.index(record.result)]


def result_of(winner: int | None) -> tuple[float, ...] | None:
    """The result of `winner`: 0 or 1, -1 for a draw, None."""
    return None if winner is None else ((1.0, -1.0), (-1.0, 1.0), (0.0, 0.0))[winner]
