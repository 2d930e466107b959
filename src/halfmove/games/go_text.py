"""Go in words: vertices, positions as SGF, boards for a terminal, handicap points."""

import re
from collections.abc import Sequence

import numpy as np

COLUMNS = "ABCDEFGHJKLMNOPQRST"  # no I
LETTERS = "abcdefghijklmnopqrs"  # SGF: column, then row from the top
PROPERTIES = re.compile(r"\s*([A-Za-z]+)((?:\s*\[[^\]]*\])+)")
VALUES = re.compile(r"\[([^\]]*)\]")


def vertex(size: int, action: int) -> str:
    """An action as GTP writes it: A1 is at the bottom left, row 0 of the board at the top."""
    if action == size * size:
        return "pass"
    row, column = divmod(action, size)
    return f"{COLUMNS[column]}{size - row}"


def parse_vertex(size: int, text: str) -> int:
    """The action of a GTP vertex or `pass`; ValueError says what is wrong with it."""
    name = text.strip().upper()
    if name == "PASS":
        return size * size
    letter, digits = name[:1], name[1:]
    known = letter in COLUMNS[:size] and digits.isascii() and digits.isdigit()
    if not (letter and known and 1 <= int(digits) <= size):
        corner = vertex(size, size - 1)
        raise ValueError(
            f"{text!r} is not a vertex of a {size}x{size} board: A1 to {corner} "
            "(there is no column I), or pass"
        )
    return (size - int(digits)) * size + COLUMNS.index(letter)


def handicap_points(size: int, stones: int) -> list[tuple[int, int]]:
    """(row, column) of the usual handicap stones, in GTP's order; ValueError if there are none."""
    most = 0 if size < 7 else 4 if size % 2 == 0 or size == 7 else 9
    if stones == 0:
        return []
    if not 2 <= stones <= most:
        possible = f"0 or 2 to {most}" if most else "0"
        raise ValueError(
            f"handicap on a {size}x{size} board can be {possible} stones, got {stones}"
        )
    low = 3 if size >= 13 else 2
    high, middle = size - 1 - low, size // 2
    corners = [(high, low), (low, high), (low, low), (high, high)]
    left_right, top_bottom = [(middle, low), (middle, high)], [(low, middle), (high, middle)]
    points = corners[: min(stones, 4)]
    if stones >= 6:
        points += left_right
    if stones >= 8:
        points += top_bottom
    if stones >= 5 and stones % 2:
        points.append((middle, middle))
    return points


def chains(board: np.ndarray) -> list[tuple[list[tuple[int, int]], set[tuple[int, int]]]]:
    """(stones, liberties) of every chain of a board [size, size]: 0 empty, else a colour."""
    size, found, seen = len(board), [], set()
    for start in zip(*np.nonzero(board), strict=True):
        if start in seen:
            continue
        stones, liberties = [start], set()
        seen.add(start)
        for row, column in stones:
            for near in (
                (row - 1, column),
                (row + 1, column),
                (row, column - 1),
                (row, column + 1),
            ):
                if not (0 <= near[0] < size and 0 <= near[1] < size):
                    continue
                if board[near] == 0:
                    liberties.add(near)
                elif board[near] == board[start] and near not in seen:
                    seen.add(near)
                    stones.append(near)
        found.append((stones, liberties))
    return found


def write_sgf(board: np.ndarray, komi: float, turn: int) -> str:
    """A position as the root of an SGF file on one line; stones row by row."""
    lists = []
    for name, colour in (("AB", 1), ("AW", 2)):
        at = "".join(f"[{LETTERS[c]}{LETTERS[r]}]" for r, c in np.argwhere(board == colour))
        lists.append(name + at if at else "")
    return f"(;GM[1]FF[4]SZ[{len(board)}]KM[{_number(komi)}]{lists[0]}{lists[1]}PL[{'BW'[turn]}])"


def _number(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def read_sgf(text: str, size: int, komi: float) -> tuple[np.ndarray, int]:
    """The board [size, size] (0, 1 black, 2 white) and who moves; ValueError says what is wrong."""
    found = _properties(text)
    known = ("GM", "FF", "SZ", "KM", "AB", "AW", "PL")
    for name in found:
        if name not in known:
            raise ValueError(f"a position of Go has no {name} (there are {', '.join(known)})")
    for name, expected in (("GM", 1.0), ("SZ", size), ("KM", komi)):
        _agree(name, found.get(name), expected)
    board = np.zeros((size, size), np.int8)
    for colour, name in ((1, "AB"), (2, "AW")):
        for point in found.get(name, ()):
            place = _place(point, size)
            if board[place]:
                raise ValueError(f"two stones on {point!r} in {text!r}")
            board[place] = colour
    player = found.get("PL", ["B"])
    if len(player) != 1 or player[0].upper() not in ("B", "W"):
        raise ValueError(f"PL must be [B] or [W], got {player}")
    for stones, liberties in chains(board):
        if not liberties:
            where = vertex(size, int(stones[0][0] * size + stones[0][1]))
            raise ValueError(f"the chain at {where} has no liberty in {text!r}")
    return board, "BW".index(player[0].upper())


def _properties(text: str) -> dict[str, list[str]]:
    inner = text.strip()
    if inner.startswith("(;") and inner.endswith(")"):
        inner = inner[2:-1]
    found: dict[str, list[str]] = {}
    at = 0
    inner = inner.rstrip()
    while at < len(inner) or not found:
        match = PROPERTIES.match(inner, at)
        if match is None:
            raise ValueError(
                f"{inner[at : at + 20]!r} is not a property in {text!r}; a position of Go looks "
                "like (;SZ[9]KM[7.5]AB[ee][ef]AW[de]PL[W])"
            )
        name = match[1].upper()
        if name in found:
            raise ValueError(f"{name} twice in {text!r}")
        found[name] = VALUES.findall(match[2])
        at = match.end()
    return found


def _agree(name: str, values: Sequence[str] | None, expected: float) -> None:
    if values is None:
        return
    try:
        given = [float(value) for value in values]
    except ValueError:
        given = []
    if given != [expected]:
        raise ValueError(
            f"{name}[{']['.join(values)}] does not fit this game's {name}[{_number(expected)}]"
        )


def _place(point: str, size: int) -> tuple[int, int]:
    letters = LETTERS[:size]
    if len(point) != 2 or not set(point) <= set(letters):
        raise ValueError(f"[{point}] is not a point of a {size}x{size} board: two of {letters}")
    return letters.index(point[1]), letters.index(point[0])


def draw(board: np.ndarray, last: int, turn: int, lost: tuple[int, int], result: str) -> str:
    """The board with its coordinates; the last stone stands in brackets."""
    size = len(board)
    names = "  " + "".join(f" {letter}" for letter in COLUMNS[:size])
    lines = [names]
    for row in range(size):
        marks = [" " + ".XO"[board[row, column]] for column in range(size)]
        line = f"{size - row:2d}{''.join(marks)} "
        if last >= 0 and last // size == row:
            at = 2 + 2 * (last % size)
            line = f"{line[:at]}({line[at + 1]}){line[at + 3 :]}"
        lines.append(f"{line}{size - row:d}")
    passed = " after a pass" if last == size * size else ""
    state = result or f"{('black (X)', 'white (O)')[turn]} to play{passed}"
    return "\n".join([*lines, names, f"{state}; captured: {lost[0]} X, {lost[1]} O"])
