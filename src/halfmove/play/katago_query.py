"""What a line of KataGo's analysis protocol asks for.

Documented in KataGo's docs/Analysis_Engine.md. What a search here has no use for (priorities
aside: temperatures, names of settings) is read over.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halfmove.games.go_text import parse_vertex

PLAYERS = {"B": 0, "W": 1, "BLACK": 0, "WHITE": 1}
SIDES = ("BLACK", "WHITE", "SIDETOMOVE")
AREA = ("tromp-taylor", "chinese", "chinese-ogs", "chinese-kgs", "aga", "bga", "aga-button",
        "new-zealand", "stone-scoring", "french", "ing")  # fmt: skip
MOST_VISITS = 10**9
KOMI = 150.0

Move = tuple[int, int]  # player, action


class Refused(ValueError):  # noqa: N818
    """A query that cannot be answered, and the field that is wrong."""

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True)
class Query:
    """Positions of one game to look at."""

    name: str  # its id
    size: int
    komi: float | None
    stones: tuple[Move, ...]  # on the board before the first move
    first: int  # who moves first
    moves: tuple[Move, ...]
    turns: tuple[int, ...]  # to be looked at
    priorities: tuple[int, ...]  # of the turns
    visits: int | None
    seconds: float | None
    every: float  # seconds between reports
    policy: bool
    ownership: bool  # of the position
    moves_ownership: bool  # of the position after each move
    side: str  # as whom values are seen
    avoid: tuple[Move, ...]  # not to be thought of as the next move
    allow: tuple[Move, ...]  # if any: only these
    warnings: tuple[tuple[str, str], ...]  # field, text

    def player(self, turn: int) -> int:
        """Who moves then."""
        if turn < len(self.moves):
            return self.moves[turn][0]
        return 1 - self.moves[-1][0] if self.moves else self.first


def decoded(line: str) -> dict[str, Any]:
    """The object of a line; ValueError if it is none."""
    try:
        found = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a line of JSON: {error}"[:300]) from None
    if not isinstance(found, dict):
        raise ValueError("a query is a JSON object in one line")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def read(fields: dict[str, Any]) -> Query:
    """The query of these fields; Refused says which is wrong."""
    size = _size(fields)
    moves = _moves(size, fields.get("moves"), "moves")
    stones = _moves(size, fields.get("initialStones", []), "initialStones")
    if any(action == size * size for _, action in stones):
        raise Refused("a stone cannot be on pass", "initialStones")
    first = moves[0][0] if moves else 0
    if "initialPlayer" in fields:
        first = _player(fields["initialPlayer"], "initialPlayer")
    turns = fields.get("analyzeTurns", [len(moves)])
    if not (isinstance(turns, list) and all(_is_whole(t, 0, len(moves)) for t in turns)):
        raise Refused(f"must be a list of turns from 0 to {len(moves)}", "analyzeTurns")
    settings = fields.get("overrideSettings", {})
    if not isinstance(settings, dict):
        raise Refused("must be an object", "overrideSettings")
    side = settings.get("reportAnalysisWinratesAs", SIDES[0])
    if side not in SIDES:
        raise Refused(f"reportAnalysisWinratesAs is one of {', '.join(SIDES)}", "overrideSettings")
    visits = fields.get("maxVisits")
    if visits is not None and not _is_whole(visits, 1, MOST_VISITS):
        raise Refused(f"must be a whole number from 1 to {MOST_VISITS}", "maxVisits")
    every = _real(fields, "reportDuringSearchEvery", 1e-3, 1e6)
    return Query(
        name=fields["id"],
        size=size,
        komi=_komi(fields),
        stones=stones,
        first=first,
        moves=moves,
        turns=tuple(turns),
        priorities=_priorities(fields, len(turns)),
        visits=visits,
        seconds=_real(settings, "maxTime", 1e-3, 1e9),
        every=math.inf if every is None else every,
        policy=_switch(fields, "includePolicy"),
        ownership=_switch(fields, "includeOwnership"),
        moves_ownership=_switch(fields, "includeMovesOwnership"),
        side=side,
        avoid=_restricted(size, fields, "avoidMoves"),
        allow=_restricted(size, fields, "allowMoves"),
        warnings=_warnings(fields),
    )


def _switch(fields: dict[str, Any], field: str) -> bool:
    given = fields.get(field, False)
    if not isinstance(given, bool):
        raise Refused("must be true or false", field)
    return given


def _size(fields: dict[str, Any]) -> int:
    sizes = []
    for name in ("boardXSize", "boardYSize"):
        if not _is_whole(fields.get(name), 2, 19):
            raise Refused("must be a whole number from 2 to 19", name)
        sizes.append(fields[name])
    if sizes[0] != sizes[1]:
        raise Refused(f"boards are square here, not {sizes[0]}x{sizes[1]}", "boardYSize")
    return int(sizes[0])


def _komi(fields: dict[str, Any]) -> float | None:
    komi = _real(fields, "komi", -KOMI, KOMI)
    if komi is not None and 2 * komi % 1:
        raise Refused("must be a whole or a half number", "komi")
    return komi


def _moves(size: int, given: Any, field: str) -> tuple[Move, ...]:
    if not isinstance(given, list):
        raise Refused('must be a list such as [["B","C4"],["W","D4"]]', field)
    found = []
    for number, pair in enumerate(given):
        if not (isinstance(pair, list) and len(pair) == 2):
            raise Refused(f'number {number} is not a pair such as ["B","C4"]', field)
        found.append((_player(pair[0], field), _action(size, pair[1], field)))
    return tuple(found)


def _player(given: Any, field: str) -> int:
    if not (isinstance(given, str) and given.upper() in PLAYERS):
        raise Refused(f"a player is B or W, not {given!r:.40}", field)
    return PLAYERS[given.upper()]


def _action(size: int, given: Any, field: str) -> int:
    if not isinstance(given, str):
        raise Refused(f"a move is a text such as C4, not {given!r:.40}", field)
    try:
        return parse_vertex(size, given)
    except ValueError as error:
        raise Refused(f"{error}"[:300], field) from None


def _restricted(size: int, fields: dict[str, Any], field: str) -> tuple[Move, ...]:
    """Moves that are forbidden, or alone allowed, at the root."""
    given = fields.get(field, [])
    if not (isinstance(given, list) and all(isinstance(each, dict) for each in given)):
        raise Refused("must be a list of objects", field)
    found: list[Move] = []
    for each in given:
        player, moves = _player(each.get("player"), field), each.get("moves")
        if not isinstance(moves, list):
            raise Refused("each needs a list of moves", field)
        found += [(player, _action(size, move, field)) for move in moves]
    return tuple(found)


def _priorities(fields: dict[str, Any], count: int) -> tuple[int, ...]:
    one = fields.get("priority", 0)
    each = fields.get("priorities", [one] * count)
    whole = isinstance(each, list) and all(_is_whole(x, -(2**31), 2**31) for x in [one, *each])
    if not whole or len(each) != count:
        raise Refused("must be whole numbers, one for each of analyzeTurns", "priorities")
    return tuple(each)


def _warnings(fields: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    found = []
    rules = fields.get("rules", AREA[0])
    if isinstance(rules, dict):
        known = str(rules.get("scoring", "AREA")).upper() == "AREA"
    else:
        known = isinstance(rules, str) and rules.lower() in AREA
    if not known:
        found.append(("rules", "counted by area, with positional superko, all the same"))
    return tuple(found)


def _real(fields: dict[str, Any], name: str, least: float, most: float) -> float | None:
    given = fields.get(name)
    if given is None:
        return None
    real = isinstance(given, int | float) and not isinstance(given, bool)
    if not (real and least <= given <= most):
        raise Refused(f"{name} must be a number from {least:g} to {most:g}", name)
    return float(given)


def _is_whole(given: Any, least: int, most: int) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and least <= given <= most


def restricted(query: Query, player: int, legal: Sequence[int]) -> list[int]:
    """Which of the legal actions may be thought of; all if none were left."""
    avoid = {action for who, action in query.avoid if who == player}
    allow = {action for who, action in query.allow if who == player}
    left = [a for a in legal if a not in avoid and (not allow or a in allow)]
    return left or list(legal)
