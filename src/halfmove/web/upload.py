"""Records that visitors bring: read as hostile."""

from halfmove.games import records
from halfmove.games.records import Record
from halfmove.web.rules import game_of

LARGEST = 200_000  # bytes
MOST = 10  # games of one file


def games_in(data: bytes) -> list[Record]:
    """The games of a file in any form that is read; ValueError says what is wrong with it.

    First without the moves: that tells which games they are before any rules run, and nothing
    is imported for a name (a game is one of this package, with options within bounds).
    """
    if len(data) > LARGEST:
        raise ValueError(f"the file is too large: at most {LARGEST // 1000} kB are read")
    if not data.strip():
        raise ValueError("the file is empty")
    try:
        text = records.decoded(data)
    except ValueError:
        raise ValueError("the file is no text in UTF-8, or KIF in Shift JIS") from None
    try:
        found = records.read(text, moves=False)
        if len(found) > MOST:
            raise ValueError(f"the file has {len(found)} games; at most {MOST} are read")
        for record in found:
            if game_of(record.game).chance:
                raise ValueError(f"no record tells what was drawn in {record.game}")
        return records.read(text)
    except (RecursionError, OverflowError) as error:
        raise ValueError(f"the file cannot be read: {error}") from None
