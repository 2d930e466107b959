"""What every reader of records needs: where it is, and the moves followed by the rules."""

import bisect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from halfmove import games
from halfmove.core.game import Game
from halfmove.games.follow import Spot, begin
from halfmove.games.records.notes import read_note
from halfmove.games.records.record import KEY, TAKEN, Note, RecordError, one_line
from halfmove.games.records.turns import follow


def where(text: str, at: int) -> str:
    """`line 3, column 14` of an offset into a text."""
    return places(text)(at)


def places(text: str) -> Callable[[int], str]:
    """`where` of one text, for many offsets."""
    lines = [found.start() for found in re.finditer("\n", text)]

    def place(at: int) -> str:
        line = bisect.bisect_left(lines, at)
        return f"line {line + 1}, column {at - (lines[line - 1] if line else -1)}"

    return place


@contextmanager
def located(place: str) -> Iterator[None]:
    """Says of every ValueError inside where it was."""
    try:
        yield
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(f"{place}: {error}") from error


def game_of(text: str, names: Sequence[str] = ()) -> Game:
    """The game that a file names, one of `names`; ValueError if there is none."""
    if names and text.split()[:1] not in [[name] for name in names]:
        raise ValueError(f"such a file holds {' or '.join(names)} here, not {text!r}")
    try:
        return games.read(text)
    except TypeError as error:
        raise ValueError(f"{text!r} has an option that is not of its kind: {error}") from error


@dataclass(frozen=True)
class Written:
    """A move as it stands in a file."""

    place: str
    read: Callable[[Spot], int]  # ValueError if it cannot be read
    comment: str = ""


@dataclass(frozen=True)
class Played:
    """What the moves of a file are."""

    moves: tuple[int, ...]
    notes: tuple[Note, ...]
    player: int  # who would move next


def played(game: Game, position: str, written: Sequence[Written]) -> Played:
    """The actions of moves from a position, each of them legal; RecordError says which is not."""
    turns = follow(game, begin(game, position), (move.read for move in written))
    moves, notes = [], []
    for move in written:
        with located(move.place):
            turn = next(turns)
        assert turn.action is not None
        moves.append(turn.action)
        notes.append(read_note(game, turn, move.comment))
    kept = tuple(notes) if any(note != Note() for note in notes) else ()
    return Played(tuple(moves), kept, next(turns).player)


def usable(info: Mapping[str, str]) -> dict[str, str]:
    """The entries of somebody else's file that a record may hold."""
    fitting = {key: one_line(value) for key, value in info.items() if KEY.fullmatch(key)}
    return {key: value for key, value in fitting.items() if value and key not in TAKEN}
