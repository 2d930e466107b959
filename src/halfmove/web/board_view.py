"""A game's board for a page that knows no rules: places, pieces, and which move is where.

All is read off what every game says of itself: its text (`Game.show`) has the pieces, the names
of its moves the places. A place is a number, row by row from the top left;
where moves are made nowhere (2048), those behind the last are the moves themselves.
"""

import functools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmove.arena.board import EMPTY, squares
from halfmove.core.game import Game
from halfmove.games.board import square_name
from halfmove.games.follow import Spot
from halfmove.games.go import Go
from halfmove.games.go_text import vertex
from halfmove.games.twenty_forty_eight import MOVES

# A drop, where from, where to, and what it becomes: P*5e, 7g7f+, e7e8q, D4.
MOVE = re.compile(r"(?:([A-Z])\*)?([a-z]\d+|\d[a-z])([a-z]\d+|\d[a-z])?([+a-z])?")
HAND = re.compile(r"^(black|white)'s hand: (.*)$", re.MULTILINE)
HELD = re.compile(r"(\d*)([A-Za-z])")


@dataclass(frozen=True)
class Style:
    """How a kind of board looks; `tests/web` draws one of each."""

    shape: str  # squares, points, hexes, holes, or tiles with an arrow on each side
    pieces: str  # stones, discs, marks, chess, shogi or numbers
    colours: tuple[str, ...]  # of the first and the second player
    firsts: str = ""  # marks of the first player; "": capital letters
    checkered: bool = False


STONES = ("Black", "White")
STYLES = {
    "go": Style("points", "stones", STONES, "X"),
    "hex": Style("hexes", "stones", STONES, "B"),
    "othello": Style("squares", "discs", STONES, "X"),
    "connect_four": Style("holes", "discs", ("Red", "Yellow"), "x"),
    "tic_tac_toe": Style("squares", "marks", ("X", "O"), "x"),
    "chess": Style("squares", "chess", ("White", "Black"), checkered=True),
    "gardner_chess": Style("squares", "chess", ("White", "Black"), checkered=True),
    "shogi": Style("squares", "shogi", STONES),
    "animal_shogi": Style("squares", "shogi", STONES),
    "2048": Style("tiles", "numbers", ("Player",)),
}


@functools.lru_cache(maxsize=256)
def board_of(game: Game) -> dict[str, Any]:
    """What stays the same during a game: the places with their names, and how they look."""
    style = STYLES[game.name]
    rows, columns = game.observation_shape[:2]
    name = _namer(game, rows, columns)
    places = [name(place) for place in range(rows * columns)]
    if style.shape == "tiles":
        places += MOVES
    across, down = _labels(game, rows, columns)
    return {
        "shape": style.shape,
        "pieces": style.pieces,
        "colours": style.colours,
        "checkered": style.checkered,
        "rows": rows,
        "columns": columns,
        "places": places,
        "across": across,
        "down": down,
        "stars": _stars(game),
        "hands": game.name in ("shogi", "animal_shogi"),
    }


def _namer(game: Game, rows: int, columns: int) -> Callable[[int], str]:
    """The name of a place, as the game's moves name it."""
    if isinstance(game, Go):
        return lambda place: vertex(columns, place)
    if game.name == "shogi":
        return lambda place: f"{columns - place % columns}{chr(ord('a') + place // columns)}"
    if game.name == "tic_tac_toe":
        return str
    if game.name == "2048":
        return lambda place: f"row {place // columns + 1}, column {place % columns + 1}"
    if game.name in ("hex", "othello"):
        return lambda place: square_name(place, columns)
    # From below, as in chess: the same names with the rows the other way round.
    return lambda place: square_name((rows - 1 - place // columns) * columns + place % columns,
                                     columns)  # fmt: skip


def _labels(game: Game, rows: int, columns: int) -> tuple[list[str], list[str]]:
    """Of the columns and of the rows."""
    letters = [chr(ord("a") + i) for i in range(max(rows, columns))]
    if isinstance(game, Go):
        names = [vertex(columns, i)[0] for i in range(columns)]
        return names, [str(rows - i) for i in range(rows)]
    if game.name == "shogi":
        return [str(columns - i) for i in range(columns)], letters[:rows]
    if game.name in ("tic_tac_toe", "2048"):
        return [], []
    if game.name == "connect_four":
        return [str(i + 1) for i in range(columns)], []
    if game.name in ("hex", "othello"):
        return letters[:columns], [str(i + 1) for i in range(rows)]
    return letters[:columns], [str(rows - i) for i in range(rows)]


def _stars(game: Game) -> list[int]:
    """The points of a Go board that are marked, the usual ones for handicap stones."""
    if not isinstance(game, Go) or game.size < 7:
        return []
    edge = 2 if game.size < 13 else 3
    lines = [edge, game.size - 1 - edge]
    if game.size % 2 and game.size > 9:
        lines.append(game.size // 2)
    points = [row * game.size + column for row in lines for column in lines]
    if game.size == 9:
        points.append(40)
    return sorted(points)


def position_of(game: Game, spot: Spot, before: Spot | None, action: int | None) -> dict[str, Any]:
    """What changes: pieces, hands, whose turn it is, legal moves, and the move before."""
    text = game.show(spot.state)
    legal = [] if spot.over else [
        move_of(game, spot, int(a)) for a in np.flatnonzero(spot.legal)
    ]  # fmt: skip
    return {
        "pieces": pieces(game, text),
        "hands": _hands(text),
        "lost": _lost(game, spot, text),
        "toPlay": spot.player,
        "over": spot.over,
        "legal": legal,
        "last": None if before is None or action is None else move_of(game, before, action),
        "status": _status(text),
    }


def pieces(game: Game, text: str) -> dict[int, tuple[str, int]]:
    """Place -> (mark, player), of a game's text."""
    style, columns = STYLES[game.name], board_of(game)["columns"]
    if style.shape == "tiles":
        return {place: (mark, 0) for place, mark in enumerate(text.split()) if mark not in EMPTY}
    found = {}
    for (row, column), mark in squares(text).items():
        if mark[0] not in EMPTY:
            first = mark[0] in style.firsts if style.firsts else mark[0].strip("+").isupper()
            found[row * columns + column] = (mark[0], 0 if first else 1)
    return found


def move_of(game: Game, spot: Spot, action: int) -> dict[str, Any]:
    """A move: its name, and the places at which it is made; none for passing and swapping."""
    name = game.move_name(spot.state, action)
    found = {"action": action, "name": name, "to": _target(game, spot, action, name)}
    if game.name in ("go", "hex", "othello", "connect_four", "tic_tac_toe", "2048"):
        return found
    parts = MOVE.fullmatch(name)
    if parts:
        drop, start, end, becomes = parts.groups()
        where = _numbers(game)
        if end:
            found |= {"from": where[start]}
        if drop:
            found |= {"drop": drop}
        if becomes:
            found |= {"becomes": becomes}
    return found


@functools.lru_cache(maxsize=256)
def _numbers(game: Game) -> dict[str, int]:
    return {name: place for place, name in enumerate(board_of(game)["places"])}


def _target(game: Game, spot: Spot, action: int, name: str) -> int | None:
    """Where a piece ends up."""
    if game.name == "connect_four":
        height, width = game.observation_shape[:2]
        taken = pieces(game, game.show(spot.state))
        free = [row for row in range(height) if row * width + action not in taken]
        return max(free, default=0) * width + action
    where = _numbers(game)
    if name in where:
        return where[name]
    parts = MOVE.fullmatch(name)
    return where.get(parts[3] or parts[2]) if parts else None


def _hands(text: str) -> list[dict[str, int]]:
    """What each player may drop, by the piece's capital letter."""
    held: list[dict[str, int]] = [{}, {}]
    for side, written in HAND.findall(text):
        hand = held[0 if side == "black" else 1]
        for count, letter in HELD.findall(written):
            hand[letter.upper()] = hand.get(letter.upper(), 0) + int(count or 1)
    return held


FULL = {"chess": "pppppppprrnnbbq", "gardner_chess": "ppppprnbq"}


def _lost(game: Game, spot: Spot, text: str) -> list[str]:
    """What each player has lost: a number of stones, or the letters of pieces."""
    if isinstance(game, Go):
        known = spot.state.known
        return [str(int(known.black_lost)), str(int(known.white_lost))]
    if game.name not in FULL:
        return ["", ""]
    there = [Counter(), Counter()]  # type: list[Counter[str]]
    for mark, side in pieces(game, text).values():
        there[side][mark.lower()] += 1
    full = Counter(FULL[game.name])
    return ["".join(sorted((full - mine).elements(), key="qrbnp".index)) for mine in there]


def _status(text: str) -> str:
    """The last line of a game's text, where it is a sentence and not a row of the board."""
    last = text.rstrip().rpartition("\n")[2].strip()
    return last if re.search(r"[a-z]{3}|,", last) else ""
