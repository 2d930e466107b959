"""Any game as one line of JSON: the fields of a record, moves as actions."""

import collections
import json
from collections.abc import Iterable, Sequence
from typing import Any

from halfmove.core.game import Game
from halfmove.games.records.reading import game_of, located
from halfmove.games.records.record import Note, Record, RecordError, text_of
from halfmove.games.records.turns import Turn, replays

FIELDS = ("game", "players", "moves", "result", "reason", "position", "info", "notes")


def write(game: Game, record: Record, turns: Iterable[Turn] = ()) -> str:
    """One game; several in one file follow each other."""
    notes = [
        [note.value, {str(a): int(n) for a, n in note.visits.items()}]
        + ([] if note.simulations is None else [note.simulations])
        for note in record.notes
    ]
    values: dict[str, Any] = {**vars(record), "game": text_of(game), "notes": notes}
    kept = {name: values[name] for name in FIELDS if name in FIELDS[:4] or values[name]}
    return json.dumps(kept, ensure_ascii=False, allow_nan=False) + "\n"


def read(text: str, *, moves: bool = True) -> list[Record]:
    """Every game of a text; RecordError says where it is damaged.

    Without `moves` these are left out, and the rules are not asked. The moves of a game of
    chance are taken as they are.
    """
    found: list[tuple[int, Record]] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            place = f"line {number}, column {error.colno}"
            raise RecordError(f"{place}: {error.msg}") from error
        with located(f"line {number}"):
            found.append((number, _record(fields, moves)))
    if not found:
        raise RecordError("the text holds no game: each is one line of JSON")
    if moves:
        _checked(found)
    return [record for _, record in found]


def _checked(found: Sequence[tuple[int, Record]]) -> None:
    """Raises unless all moves are legal, and all games have their players."""
    alike: dict[str, list[tuple[int, Record]]] = {}
    for number, record in found:
        alike.setdefault(record.game, []).append((number, record))
    for name, mine in alike.items():
        with located(f"line {mine[0][0]}"):
            game = game_of(name)
        told = replays(game, [record for _, record in mine])
        for number, record in mine:
            with located(f"line {number}"):
                if len(record.players) != game.players:
                    raise ValueError(
                        f"{game.name} has {game.players} players, got {record.players}"
                    )
                if not game.chance:
                    collections.deque(next(told), maxlen=0)


def _record(fields: Any, moves: bool) -> Record:
    if not isinstance(fields, dict) or not {"game", "players", "moves"} <= fields.keys():
        raise ValueError("expected an object with game, players, moves")
    if others := fields.keys() - set(FIELDS):
        raise ValueError(f"{', '.join(sorted(others))}: the fields are {', '.join(FIELDS)}")
    kept = fields if moves else {**fields, "moves": [], "notes": []}
    try:
        notes = [
            Note(value, {int(action): int(n) for action, n in visits.items()}, *map(int, made))
            for value, visits, *made in kept.get("notes", [])
        ]
        result = kept.get("result")
        record = Record(
            game=str(kept["game"]),
            players=tuple(kept["players"]),
            moves=tuple(int(move) for move in kept["moves"]),
            result=None if result is None else tuple(float(x) for x in result),
            reason=kept.get("reason", ""),
            position=str(kept.get("position", "")),
            info=dict(kept.get("info", {})),
            notes=tuple(notes),
        )
    except (TypeError, AttributeError) as error:
        raise ValueError(f"a field is not of the kind it should be: {error}") from error
    return record
