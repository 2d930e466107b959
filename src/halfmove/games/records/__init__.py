"""Games that were played, written and read: SGF (Go, Hex), PGN (chess), CSA (shogi), JSON lines.

Shogi as KIF is read too.

text = records.write(game, Record(records.text_of(game), ("Ada", "Bob"), (40, 30), (1.0, -1.0)))
assert records.read(text)[0].moves == (40, 30)
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from types import ModuleType

from halfmove import games
from halfmove.core.game import Game
from halfmove.games.chess import Chess
from halfmove.games.go import Go
from halfmove.games.hex import Hex
from halfmove.games.records import csa, json_line, kif, pgn, sgf
from halfmove.games.records.record import Note, Record, RecordError, one_line, text_of
from halfmove.games.records.turns import Turn, replay, replays
from halfmove.games.shogi import Shogi

__all__ = [
    "Note", "Record", "RecordError", "Turn", "decoded", "one_line", "read", "replay", "suffix",
    "text_of", "write", "write_all",
]  # fmt: skip

# The module, how file names end, and what stands between two records.
FORMS: dict[str, tuple[ModuleType, str, str]] = {
    "sgf": (sgf, ".sgf", ""),
    "pgn": (pgn, ".pgn", ""),
    "csa": (csa, ".csa", "/\n"),
    "kif": (kif, ".kif", ""),
    "json": (json_line, ".jsonl", ""),
}
CSA = re.compile(r"['$/]|V\d|N[+-]|P[I1+-]")  # how it may begin
USUAL: dict[type[Game], str] = {Go: "sgf", Hex: "sgf", Chess: "pgn", Shogi: "csa"}


def suffix(game: Game) -> str:
    """How the name of a file with records of this game ends: `.sgf`."""
    return FORMS[USUAL.get(type(game), "json")][1]


def write(game: Game, record: Record, form: str = "") -> str:
    """A record as text in the game's usual form, or in `form`; any game can be `json`.

    Texts may follow each other in a file, but those of CSA need a line of one slash between them
    for other readers than ours.
    ValueError if a move is not legal (not asked for JSON) or the result is none of that form.
    """
    return write_all(game, [record], form)


def write_all(game: Game, records: Iterable[Record], form: str = "") -> str:
    """Several records of one game as the text of one file."""
    usual = USUAL.get(type(game), "json")
    form = form or usual
    if form not in (usual, "json"):
        raise ValueError(f"{game.name} is written as {usual} or json, not as {form!r}")
    module, _, between = FORMS[form]
    name, texts, records = text_of(game), [], list(records)
    turns: Iterator[Iterator[Turn]] = itertools.repeat(iter(()))  # JSON does not ask for them
    if form != "json":
        turns = replays(game, records)
    for record in records:
        if record.game != name and games.read(record.game) != game:
            raise ValueError(f"a record of {record.game!r} is not one of {name!r}")
        if len(record.players) != game.players:
            raise ValueError(f"{game.name} has {game.players} players, got {record.players}")
        texts.append(module.write(game, record, next(turns)))
    return between.join(texts)


def decoded(data: bytes) -> str:
    """The text of a file: UTF-8, or a KIF file in Shift JIS. ValueError if it is neither."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp932", "replace")
        if kif.BEGINS.search(text) and "\N{REPLACEMENT CHARACTER}" not in text:
            return text
        raise


def read(text: str, *, moves: bool = True) -> list[Record]:
    """Every record of a text, whatever its form; RecordError says where it is damaged.

    All moves are legal by our rules. Without `moves` these are left out and the rules are not
    asked, which is fast and enough for ratings.
    """
    start = text.removeprefix("\ufeff").lstrip()
    if not start:
        raise RecordError("the text is empty")
    form = {"(": "sgf", "{": "json", "[": "pgn"}.get(start[0])
    if form is None:
        form = "csa" if CSA.match(start) else "kif" if kif.BEGINS.search(start) else "pgn"
    found: list[Record] = FORMS[form][0].read(text, moves=moves)
    return found
