"""Go and Hex as SGF, FF[4].

Go (GM[1]): points of two letters, a pass is B[]. Hex (GM[11]): cells such as a1, black joins
top and bottom and moves first; a swap is W[swap-pieces], where the stone changes its colour
and its cell is mirrored. Files that say swap-sides instead are not read: whose name and
whose result they mean afterwards is not agreed on. What SGF has no property for (the
options of the game, the reason of its end, settings) stands line by line in GC[].
https://www.red-bean.com/sgf/go.html, https://www.red-bean.com/sgf/hex.html
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

from halfmove.core.game import Game
from halfmove.games import go_text
from halfmove.games.follow import Spot
from halfmove.games.go import Go
from halfmove.games.hex import SWAP, Hex
from halfmove.games.records import outcome
from halfmove.games.records.notes import write_note
from halfmove.games.records.reading import (
    Written,
    game_of,
    located,
    places,
    played,
    usable,
)
from halfmove.games.records.record import Record, RecordError, one_line, text_of
from halfmove.games.records.sgf_tree import Node, parse, write_node
from halfmove.games.records.turns import Turn

KIND = {Go: "1", Hex: "11"}
GAME_INFO = {"EV": "event", "PC": "site", "DT": "date", "RO": "round"}
ENDS = {"resignation": "R", "time": "T", "forfeit": "F"}
LEAVES = ("resign", "forfeit")  # moves of Hex that end the game
SETUP = ("AB", "AW", "AE")
Place = Callable[[int], str]  # of an offset in the text that is read


# -- writing -----------------------------------------------------------------


def write(game: Game, record: Record, turns: Iterable[Turn]) -> str:
    """One game; several in one file follow each other."""
    nodes: list[str] = []
    for i, turn in enumerate(turns):
        if turn.action is None:
            nodes.insert(0, _root(game, record, turn))
            break
        note = write_note(game, turn, record.notes[i]) if record.notes else ""
        move = ("BW"[turn.player], [_name(game, turn, turn.action)])
        nodes.append(write_node([move, ("C", [note] if note else [])]))
    return "(" + "\n".join(nodes) + ")\n"


def _name(game: Game, turn: Spot, action: int) -> str:
    if not isinstance(game, Go):
        return game.move_name(turn.state, action)
    return "" if action == game.size**2 else _point(*divmod(action, game.size))


def _point(row: int, column: int) -> str:
    return go_text.LETTERS[column] + go_text.LETTERS[row]


def _root(game: Game, record: Record, last: Spot) -> str:
    assert isinstance(game, Go | Hex)
    own = [("reason", record.reason)] if record.reason else []
    rest = {key: value for key, value in record.info.items() if key not in GAME_INFO.values()}
    lines = [("game", text_of(game)), *own, *rest.items()]
    properties = [
        ("FF", ["4"]),
        ("GM", [KIND[type(game)]]),
        ("CA", ["UTF-8"]),
        ("AP", ["Halfmove"]),
        ("SZ", [str(game.size)]),
        *_rules(game),
        ("PB", [record.players[0]]),
        ("PW", [record.players[1]]),
        ("RE", [_result(game, record, last)]),
        *[(name, [record.info[key]]) for name, key in GAME_INFO.items() if key in record.info],
        ("GC", ["\n".join(f"{key}: {value}" for key, value in lines)]),
    ]
    if record.position:
        given = parse(record.position)[0][0]
        properties += [(name, given.properties.get(name, [])) for name in ("AB", "AW", "PL")]
    elif isinstance(game, Go) and game.handicap:
        points = go_text.handicap_points(game.size, game.handicap)
        properties += [("AB", [_point(*point) for point in points]), ("PL", ["W"])]
    return write_node(properties)


def _rules(game: Game) -> list[tuple[str, list[str]]]:
    if not isinstance(game, Go):
        return []
    rules = "Tromp-Taylor" if game.suicide else "Chinese"
    stones = [("HA", [str(game.handicap)])] if game.handicap else []
    return [("KM", [f"{game.komi:g}"]), ("RU", [rules]), *stones]


def _result(game: Game, record: Record, last: Spot) -> str:
    """RE: `B+3.5`, `W+R`, `0`, `?`."""
    winner = outcome.winner(record)
    if winner is None or winner < 0:
        return "?" if winner is None else "0"
    end = ENDS.get(outcome.kind(record.reason), "")
    if isinstance(game, Go) and not end and last.over:
        lead = float(game.score(last.state))
        end = f"{abs(lead):g}" if (lead > 0) == (winner == 0) and lead else ""
    return f"{'BW'[winner]}+{end}"


# -- reading -----------------------------------------------------------------


def read(text: str, *, moves: bool = True) -> list[Record]:
    """Every game of a text; RecordError says where it is damaged.

    Without `moves` these are left out, and the rules are not asked.
    """
    place = places(text)
    return [_record(place, line, moves) for line in parse(text)]


def _record(place: Place, line: Sequence[Node], moves: bool) -> Record:
    root = line[0]
    with located(place(root.at)):
        info = _told(root)
        game = _game(info.pop("game", ""), line)
        winner, reason = _ended(root.first("RE"))
        record = Record(
            game=text_of(game),
            players=(one_line(root.first("PB")), one_line(root.first("PW"))),
            result=outcome.result_of(winner),
            reason=info.pop("reason", reason),
            info=usable(info),
        )
        if not moves:
            return record
        start, position = _setup(game, line)
    written = _moves(place, game, line[start:])
    found = played(game, position, written)
    return Record(
        **{**vars(record), "position": position, "moves": found.moves, "notes": found.notes}
    )


def _told(root: Node) -> dict[str, str]:
    """What the properties and the lines of GC say, by name."""
    told = {
        key: one_line(root.first(name))
        for name, key in GAME_INFO.items()
        if name in root.properties
    }
    for line in root.first("GC").splitlines():
        key, colon, value = line.partition(": ")
        told.setdefault(key, one_line(value)) if colon else None
    return told


def _game(told: str, line: Sequence[Node]) -> Game:
    root = line[0]
    kind, size = root.first("GM", "1").strip(), root.first("SZ").strip()
    if kind not in KIND.values():
        raise ValueError(f"GM[{kind}] is no game that is read here: 1 is Go, 11 is Hex")
    if told:
        game = game_of(told, ("go", "hex"))
        if KIND.get(type(game)) != kind or (size and size != str(game.size)):  # type: ignore[attr-defined]
            raise ValueError(f"GM[{kind}]SZ[{size}] does not fit the game {told!r}")
        return game
    if size and not (size.isascii() and size.isdigit()):
        raise ValueError(f"SZ[{size}] is no size of a square board")
    if kind == "11":
        swap = any(node.first("W").lower() == SWAP for node in line)
        return Hex(size=int(size or 11), swap=swap)
    komi = float(root.first("KM", "0") or "0")
    loose = root.first("RU").strip().lower() in ("tromp-taylor", "nz", "goe")
    plain = Go(size=int(size or 19), komi=komi, suicide=loose)
    handicap, stones = root.first("HA", "0").strip(), root.properties.get("AB", [])
    if handicap.isdigit() and int(handicap) == len(stones) >= 2 and "AW" not in root.properties:
        return dataclasses.replace(plain, handicap=_usual(plain, stones))
    return plain


def _usual(game: Go, stones: Sequence[str]) -> int:
    """How many handicap stones these are, or 0 if they stand elsewhere than usual."""
    try:
        points = go_text.handicap_points(game.size, len(stones))
    except ValueError:
        return 0
    return len(stones) if {_point(*point) for point in points} == set(stones) else 0


def _setup(game: Game, line: Sequence[Node]) -> tuple[int, str]:
    """How many nodes come before the first move, and the position that they set up."""
    start = next((i for i, node in enumerate(line) if _movers(node)), len(line))
    stones: dict[str, list[str]] = {"AB": [], "AW": []}
    turn = ""
    for node in line[:start]:
        if "AE" in node.properties:
            raise ValueError("AE takes stones away before the first move; that is not read")
        for name in stones:
            stones[name] += _cells(game, node.properties.get(name, []))
        turn = node.first("PL", turn).strip().upper()[:1]
    if isinstance(game, Go) and game.handicap:
        return start, ""
    if not (stones["AB"] or stones["AW"] or turn == "W"):
        return start, ""
    first = (_movers(line[start]) if start < len(line) else "") or "B"
    handed = line[0].first("HA", "0").strip() not in ("", "0", "1") and not stones["AW"]
    root = [
        ("GM", [KIND[type(game)]]),
        ("FF", ["4"]),
        ("SZ", [str(game.size)]),  # type: ignore[attr-defined]
        *stones.items(),
        ("PL", [turn or ("W" if handed and start == len(line) else first[0])]),
    ]
    return start, game.position(game.parse_position(f"({write_node(root)})"))


def _movers(node: Node) -> str:
    return "".join(name for name in "BW" if name in node.properties)


def _cells(game: Game, values: Sequence[str]) -> list[str]:
    """Points, those of rectangles (`aa:cc`) one by one; Hex has none of these."""
    points: list[str] = []
    for value in values:
        corner, colon, other = value.strip().partition(":")
        if not colon or isinstance(game, Hex):
            points.append(value.strip().lower() if isinstance(game, Hex) else value.strip())
            continue
        if len(corner) != 2 or len(other) != 2 or not set(corner + other) <= set(go_text.LETTERS):
            raise ValueError(f"[{value}] is no rectangle of points, such as [aa:cc]")
        (left, top), (right, bottom) = (map(go_text.LETTERS.index, c) for c in (corner, other))
        points += [_point(r, c) for r in range(top, bottom + 1) for c in range(left, right + 1)]
    return points


def _moves(place: Place, game: Game, line: Sequence[Node]) -> list[Written]:
    written = []
    for node in line:
        movers = _movers(node)
        if len(movers) > 1:
            raise RecordError(f"{place(node.at)}: both players move in one node")
        if any(name in node.properties for name in SETUP):
            raise RecordError(f"{place(node.at)}: stones are set up in the middle of the game")
        if not movers:
            continue
        value = node.first(movers).strip()
        if isinstance(game, Hex) and value.lower() in LEAVES:
            break
        read = functools.partial(_action, game, "BW".index(movers), value)
        written.append(Written(place(node.at), read, node.first("C")))
    return written


def _action(game: Game, mover: int, value: str, turn: Spot) -> int:
    if mover != turn.player and not turn.over:
        names = ("black", "white")
        raise ValueError(f"{names[mover]} moves, but it is {names[turn.player]}'s turn")
    if isinstance(game, Hex):
        if value.lower() == "swap-sides":
            raise ValueError("swap-sides is not read, only swap-pieces: who is black afterwards?")
        return game.parse_move(turn.state, value)
    assert isinstance(game, Go)
    if value == "" or (value == "tt" and game.size <= 19):
        return game.size**2
    letters = go_text.LETTERS[: game.size]
    if len(value) != 2 or not set(value) <= set(letters):
        raise ValueError(f"[{value}] is no point of this board: two of {letters}, or [] to pass")
    return letters.index(value[1]) * game.size + letters.index(value[0])


def _ended(text: str) -> tuple[int | None, str]:
    """(who won, why) of RE: 0 or 1, -1 for a draw, None if it does not say."""
    result = text.strip().lower()
    if result in ("0", "draw"):
        return -1, ""
    side, plus, how = result.partition("+")
    if side not in ("b", "w") or not plus:
        return None, ""
    ends: dict[str, str] = {"r": "resignation", "t": "time", "f": "forfeit"}
    return "bw".index(side), ends.get(how[:1], "")
