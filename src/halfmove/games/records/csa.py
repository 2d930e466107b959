"""Shogi as CSA, V2.2: who played, where it began, a line for every move, how it ended.

What CSA has no line for (the options of the game, the reason of its end, the result, settings,
notes on moves) stands in comments: `'reason: crash`, and `'* value +0.1250` behind a move.
Several games in one file are parted by a line of one slash.
http://www2.computer-shogi.org/protocol/record_v22.html
"""

import functools
import re
from collections.abc import Iterable, Sequence

import numpy as np

from halfmove.core.game import Game
from halfmove.games import shogi_text
from halfmove.games.follow import Spot
from halfmove.games.records import outcome
from halfmove.games.records.notes import write_note
from halfmove.games.records.reading import Written, game_of, located, played, usable
from halfmove.games.records.record import Record, RecordError, one_line, text_of
from halfmove.games.records.turns import Turn
from halfmove.games.shogi import START, Shogi

# Pieces by their numbers in `shogi_moves`: pawn, lance, knight, silver, bishop, rook, gold,
# king, and the first six promoted.
PIECES = ("FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY")
LETTERS = ("P", "L", "N", "S", "B", "R", "G", "K", "+P", "+L", "+N", "+S", "+B", "+R")
HIRATE = START.split()[0]
SIGNS = "+-"
INFO = {"EVENT": "event", "SITE": "site", "START_TIME": "date"}
MOVE = re.compile(r"([+-])([0-9]{2})([1-9]{2})([A-Z]{2})")
LOST = ("%TORYO", "%TSUMI", "%TIME_UP", "%ILLEGAL_MOVE")  # by the player to move
WON = ("%KACHI",)
DRAWS = ("%SENNICHITE", "%JISHOGI", "%HIKIWAKE")
REASONS = {"%TORYO": "resignation", "%TIME_UP": "time", "%ILLEGAL_MOVE": "illegal"}
REASONS |= {"%+ILLEGAL_ACTION": "illegal", "%-ILLEGAL_ACTION": "illegal"}


# -- writing -----------------------------------------------------------------


def write(game: Game, record: Record, turns: Iterable[Turn]) -> str:
    """One game; a line of one slash stands between several."""
    assert isinstance(game, Shogi)
    lines = _head(game, record)
    for i, turn in enumerate(turns):
        if turn.action is None:
            lines.append(_end(record, turn))
            break
        lines.append(_written(game, turn, turn.action))
        note = write_note(game, turn, record.notes[i]) if record.notes else ""
        if note:
            lines.append(f"'* {note}")
    return "\n".join([*lines, ""])


def _head(game: Shogi, record: Record) -> list[str]:
    lines = ["V2.2", f"N+{record.players[0]}", f"N-{record.players[1]}"]
    kept = {key: name for name, key in INFO.items()}
    lines += [f"${kept[key]}:{value}" for key, value in record.info.items() if key in kept]
    told = [("game", text_of(game)), ("reason", record.reason)]
    if record.result is not None:
        told.append(("result", " ".join(f"{x:g}" for x in record.result)))
    told += [(key, value) for key, value in record.info.items() if key not in kept]
    lines += [f"'{key}: {value}" for key, value in told if value]
    sfen = game.position(game.parse_position(record.position)) if record.position else START
    board, side, hands, number = sfen.split()
    if number != "1":
        lines.append(f"'ply: {number}")  # CSA counts from its own beginning
    if sfen.split()[:3] == START.split()[:3]:
        return [*lines, "PI", "+"]
    return [*lines, *_board(board), *_hands(hands), SIGNS["bw".index(side)]]


def _board(sfen: str) -> list[str]:
    rows = []
    for rank, row in enumerate(sfen.split("/"), 1):
        cells = ""
        for item in re.findall(r"\+?[A-Za-z]|\d", row):
            if item.isdigit():
                cells += " * " * int(item)
            else:
                sign = SIGNS[item[-1].islower()]
                cells += sign + PIECES[LETTERS.index(item.upper())]
        rows.append(f"P{rank}{cells}")
    return rows


def _hands(sfen: str) -> list[str]:
    held = ["", ""]
    for count, letter in re.findall(r"(\d*)([A-Za-z])", sfen):
        piece = PIECES[LETTERS.index(letter.upper())]
        held[letter.islower()] += f"00{piece}" * int(count or 1)
    return [f"P{sign}{pieces}" for sign, pieces in zip(SIGNS, held, strict=True) if pieces]


def _written(game: Shogi, turn: Spot, action: int) -> str:
    """`+7776FU`: sides, squares and the piece as it stands after the move."""
    name = game.move_name(turn.state, action)
    sign = SIGNS[turn.player]
    if name[1] == "*":
        return f"{sign}00{_square(name[2:4])}{PIECES[LETTERS.index(name[0])]}"
    origin = 9 * (int(name[0]) - 1) + shogi_text.RANKS.index(name[1])
    piece = int(np.asarray(turn.state.boards[0])[80 - origin if turn.player else origin])
    piece += 8 if name.endswith("+") else 0
    return f"{sign}{_square(name[:2])}{_square(name[2:4])}{PIECES[piece - 1]}"


def _square(usi: str) -> str:
    return f"{usi[0]}{shogi_text.RANKS.index(usi[1]) + 1}"


def _end(record: Record, last: Spot) -> str:
    winner, kind = outcome.winner(record), outcome.kind(record.reason)
    if winner is None:
        return "%CHUDAN"
    if winner < 0:
        return "%SENNICHITE" if last.over and _repeated(last) else "%HIKIWAKE"
    loser = 1 - winner
    if last.over and not kind:
        # Perpetual check: whoever gave it broke the rules.
        return "%TSUMI" if loser == last.player else f"%{SIGNS[loser]}ILLEGAL_ACTION"
    mark = {"resignation": "%TORYO", "time": "%TIME_UP"}.get(kind)
    if mark and loser == last.player:
        return mark
    return f"%{SIGNS[loser]}ILLEGAL_ACTION"


def _repeated(last: Spot) -> bool:
    return int(last.state.repeats[0]) >= 3


# -- reading -----------------------------------------------------------------


def read(text: str, *, moves: bool = True) -> list[Record]:
    """Every game of a text; RecordError says where it is damaged.

    Without `moves` these are left out, and the rules are not asked.
    """
    found: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if line.strip() == "/":
            found.append([])
            continue
        if line[:1] == "V" and found[-1]:  # files put together without a line between them
            found.append([])
        # Several statements may share a line, parted by commas; not those that are free text.
        parts = [line] if line[:1] in ("'", "$", "N") else line.split(",")
        found[-1] += [(number, part.rstrip()) for part in parts if part.strip()]
    games_found = [lines for lines in found if any(not line.startswith("'") for _, line in lines)]
    if not games_found:
        raise RecordError("the text holds no game: a CSA file begins with V2.2")
    return [_record(lines, moves) for lines in games_found]


def _record(lines: Sequence[tuple[int, str]], moves: bool) -> Record:
    told: dict[str, str] = {}
    names, end = ["", ""], (0, "")
    setup: list[tuple[int, str]] = []
    written: list[tuple[int, str, str]] = []
    side: int | None = None
    for at, line in lines:
        if end[1] and line[0] not in "'T":
            raise RecordError(f"line {at}: {line!r} after the end, {end[1]}")
        if line[0] == "'":
            _comment(line, told, written)
        elif line[:2] in ("N+", "N-"):
            names[SIGNS.index(line[1])] = one_line(line[2:])
        elif line[0] == "$":
            key, _, value = line[1:].partition(":")
            told.setdefault(INFO.get(key, key[:1].lower() + key[1:]), one_line(value))
        elif line[0] == "P":
            setup.append((at, line))
        elif line in tuple(SIGNS):
            side = SIGNS.index(line)
        elif line[0] in SIGNS:
            written.append((at, line, ""))
        elif line[0] == "%":
            end = (at, line)
        elif line[0] not in "TV":  # time spent, version
            raise RecordError(f"line {at}: {line!r} is no line of CSA")
    begins = lines[0][0]
    if side is None:
        raise RecordError(f"line {begins}: the game does not say who moves first, + or -")
    with located(f"line {begins}"):
        game = game_of(told.pop("game", "shogi"), ("shogi",))
        assert isinstance(game, Shogi)
    number = told.pop("ply", "1")
    position = _position(setup, side, number, game) if moves else ""
    found = played(game, position, _moves(written)) if moves else None
    player = found.player if found else (side + len(written)) % 2
    with located(f"line {end[0] or begins}"):
        result, reason = _ended(end[1], player, told.pop("result", ""))
        return Record(
            game=text_of(game),
            players=(names[0], names[1]),
            moves=found.moves if found else (),
            result=result,
            reason=told.pop("reason", reason),
            position=position,
            info=usable(told),
            notes=found.notes if found else (),
        )


def _comment(line: str, told: dict[str, str], written: list[tuple[int, str, str]]) -> None:
    if line.startswith("'*"):
        if written:
            number, move, _ = written[-1]
            written[-1] = (number, move, line[2:].strip())
        return
    key, colon, value = line[1:].partition(": ")
    if colon:
        told.setdefault(key, one_line(value))


def _moves(written: Sequence[tuple[int, str, str]]) -> list[Written]:
    return [
        Written(f"line {number}", functools.partial(_action, line), comment)
        for number, line, comment in written
    ]


def _action(line: str, turn: Spot) -> int:
    found = MOVE.fullmatch(line)
    if found is None or found[4] not in PIECES:
        raise ValueError(f"{line!r} is no move of CSA, such as +7776FU")
    if turn.over:
        raise ValueError(f"{line!r} after the end of the game")
    player, piece = SIGNS.index(found[1]), PIECES.index(found[4]) + 1
    if player != turn.player:
        raise ValueError(f"{line!r}: it is {shogi_text.SIDES[turn.player]}'s turn")
    board, to = np.asarray(turn.state.boards[0]), _usi(found[3])
    if found[2] == "00":
        return shogi_text.read_usi(board, player, f"{LETTERS[piece - 1]}*{to}")
    if "0" in found[2]:
        raise ValueError(f"{line!r}: {found[2]} is no square")
    origin = 9 * (int(found[2][0]) - 1) + int(found[2][1]) - 1
    moved = int(board[80 - origin if player else origin])
    if piece not in (moved, moved + 8):
        raise ValueError(f"{line!r}: {found[4]} does not come from {found[2]}")
    plus = "+" if piece == moved + 8 else ""
    return shogi_text.read_usi(board, player, f"{_usi(found[2])}{to}{plus}")


def _usi(csa: str) -> str:
    return f"{csa[0]}{shogi_text.RANKS[int(csa[1]) - 1]}"


def _ended(mark: str, player: int, told: str) -> tuple[tuple[float, ...] | None, str]:
    """(result, reason) of the line that ends a game, if it does not tell its result itself."""
    winner: int | None = None
    if mark in LOST + WON:
        winner = player if mark in WON else 1 - player
    elif mark in DRAWS:
        winner = -1
    elif mark in ("%+ILLEGAL_ACTION", "%-ILLEGAL_ACTION"):
        winner = 1 - SIGNS.index(mark[1])
    reason = REASONS.get(mark, "")
    if told:
        return tuple(float(x) for x in told.split()), ""
    return outcome.result_of(winner), reason


def _position(setup: Sequence[tuple[int, str]], side: int, number: str, game: Shogi) -> str:
    """The SFEN of the lines that set up a game, "" where it begins as usual."""
    hands = [[0] * 7, [0] * 7]
    cells = [["1"] * 9 for _ in range(9)]  # by rank, file 9 first
    for at_line, line in setup:
        with located(f"line {at_line}"):
            _place(line, cells, hands)
    board = "/".join("".join(row) for row in cells)
    board = re.sub(r"1+", lambda gap: str(len(gap[0])), board)
    held = "".join(
        (str(n) if n > 1 else "") + (LETTERS[kind].lower() if white else LETTERS[kind])
        for white, hand in enumerate(hands)
        for kind, n in enumerate(hand)
        if n
    )
    sfen = f"{board if setup else HIRATE} {'bw'[side]} {held or '-'} {number}"
    if sfen == START:
        return ""
    with located(f"line {setup[0][0] if setup else 1}"):
        return game.position(game.parse_position(sfen))


def _place(line: str, cells: list[list[str]], hands: list[list[int]]) -> None:
    """Puts the pieces of one line on the board and into the hands."""
    if line.startswith("PI"):
        for row, text in zip(cells, HIRATE.split("/"), strict=True):
            row[:] = re.sub(r"\d", lambda n: "1" * int(n[0]), text)
        for square, piece in _pairs(line[2:]):
            row, file = cells[int(square[1]) - 1], 9 - int(square[0])
            if row[file].upper() != LETTERS[PIECES.index(piece)]:
                raise ValueError(f"{line!r}: there is no {piece} on {square} to take away")
            row[file] = "1"
    elif re.match(r"P[1-9]", line):
        marks = [line[i : i + 3] for i in range(2, 29, 3)]
        for file, mark in enumerate(marks):
            if mark.strip() in ("*", ""):
                continue
            if mark[0] not in SIGNS or mark[1:] not in PIECES:
                raise ValueError(f"{line!r}: {mark!r} is no piece, such as +FU")
            letters = LETTERS[PIECES.index(mark[1:])]
            cells[int(line[1]) - 1][file] = letters if mark[0] == "+" else letters.lower()
    elif line[1:2] in SIGNS and len(line) > 1:
        side = SIGNS.index(line[1])
        for square, piece in _pairs(line[2:]):
            kind = PIECES.index(piece)
            if square == "00" and kind < 7:
                hands[side][kind] += 1
            elif "0" in square:
                raise ValueError(f"{line!r}: {square}{piece} is neither on a square nor in hand")
            else:
                mark = LETTERS[kind].lower() if side else LETTERS[kind]
                cells[int(square[1]) - 1][9 - int(square[0])] = mark
    else:
        raise ValueError(f"{line!r} sets up no position: PI, P1 to P9, P+ or P-")


def _pairs(text: str) -> list[tuple[str, str]]:
    """(square, piece) of `22KA82HI`; `AL`, all that are left, is not read."""
    if not re.fullmatch(r"(?:[0-9]{2}[A-Z]{2})*", text):
        raise ValueError(f"{text!r} is no list of squares and pieces, such as 22KA82HI")
    pairs = [(text[i : i + 2], text[i + 2 : i + 4]) for i in range(0, len(text), 4)]
    for _, piece in pairs:
        if piece not in PIECES:
            raise ValueError(f"{piece!r} is none of {', '.join(PIECES)}")
    return pairs
