"""What people write about chess: FEN, UCI, algebraic notation, a drawn board."""

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from halfmove.games.chess_moves import HORSE, PLANES, PROMOTES, STEPS

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
MARKS = "pnbrqk"  # in the order of `chess_moves`, from 1
FILES = "abcdefgh"
HOMES = {"K": ("e1", "h1"), "Q": ("e1", "a1"), "k": ("e8", "h8"), "q": ("e8", "a8")}
PLANE_OF = {(int(r), int(f)): plane for plane, (r, f) in enumerate(STEPS) if plane < 64}
CASTLING = {"O-O": 2, "O-O-O": -2}  # files that the king moves
SAN = re.compile(r"([KQRBN])?([a-h])?([1-8])?(x)?([a-h][1-8])(?:=?([QRBN]))?[+#]?[!?]*")
UCI = re.compile(r"([a-h][1-8])([a-h][1-8])([a-zA-Z])?")
Wrong = Callable[[str, str], NoReturn]  # complains about a field


class Setup(NamedTuple):
    """A position as plain values, seen by white."""

    squares: str  # 64 marks, a1, b1, ... h8: "PNBRQKpnbrqk" or "."
    black: bool  # whether black is to move
    rights: str  # castling, of "KQkq"
    file: int  # of the pawn that just moved two squares, or -1
    clock: int  # plies since the last capture or pawn's move
    move: int  # from 1, as in FEN


def square_name(square: int) -> str:
    """`e4` for 28."""
    return FILES[square % 8] + str(square // 8 + 1)


def square_of(name: str) -> int:
    """28 for `e4`."""
    return FILES.index(name[0]) + 8 * (int(name[1]) - 1)


# -- FEN -----------------------------------------------------------------


def fen(setup: Setup) -> str:
    """All six fields. The fourth names the square behind a pawn that has just moved two."""
    board = write_rows([setup.squares[8 * r : 8 * r + 8] for r in range(7, -1, -1)])
    side = "b" if setup.black else "w"
    target = FILES[setup.file] + ("3" if setup.black else "6") if setup.file >= 0 else "-"
    return f"{board} {side} {setup.rights or '-'} {target} {setup.clock} {setup.move}"


def write_rows(rows: list[str]) -> str:
    """The first field of a FEN, the inverse of `parse_rows`."""
    return re.sub(r"\.+", lambda dots: str(len(dots[0])), "/".join(rows))


def parse_fen(text: str) -> Setup:
    """The position of a FEN; ValueError names the field that is wrong, and why."""

    def wrong(field: str, why: str) -> NoReturn:
        raise ValueError(f"FEN {text!r}: {field}: {why}")

    fields = text.split()
    if len(fields) != 6:
        raise ValueError(
            f"FEN {text!r} has {len(fields)} fields; it needs 6: pieces, side to move, "
            f"castling, en passant, plies without progress, move, as in {START!r}"
        )
    board, side, rights, target, clock, move = fields
    squares = _parse_board(board, wrong)
    if side not in ("w", "b"):
        wrong("side to move", f"{side!r} is neither w nor b")
    if rights != "-":
        _check_rights(rights, squares, wrong)
    file = -1
    if target != "-":
        file = _parse_target(target, side == "b", squares, wrong)
    counters = parse_counters(clock, move, wrong)
    held = "".join(mark for mark in "KQkq" if mark in rights)
    return Setup(squares, side == "b", held, file, *counters)


def parse_counters(clock: str, move: str, wrong: Wrong) -> tuple[int, int]:
    """The last two fields of a FEN."""
    for field, number, least, most in (
        ("plies without progress", clock, 0, 150),
        ("move", move, 1, 9999),
    ):
        if not (number.isascii() and number.isdigit() and least <= int(number) <= most):
            wrong(field, f"{number!r} is not a number from {least} to {most}")
    return int(clock), int(move)


def _parse_board(board: str, wrong: Wrong) -> str:
    rows = parse_rows(board, 8, wrong)
    if "p" in (rows[0] + rows[7]).lower():
        wrong("pieces", "a pawn stands on the first or the last rank")
    return "".join(reversed(rows))


def parse_rows(board: str, size: int, wrong: Wrong) -> list[str]:
    """The ranks of the first field of a FEN, the last rank first, with `.` for empty squares."""
    ranks = board.split("/")
    if len(ranks) != size:
        wrong("pieces", f"{len(ranks)} ranks between slashes, not {size}")
    digits = "12345678"[:size]
    rows = []
    for number, rank in zip(range(size, 0, -1), ranks, strict=True):
        for mark in rank:
            if mark.lower() not in MARKS and mark not in digits:
                wrong("pieces", f"{mark!r} in rank {number} is none of PNBRQKpnbrqk{digits}")
        row = "".join("." * int(mark) if mark.isdigit() else mark for mark in rank)
        if len(row) != size:
            wrong("pieces", f"rank {number}, {rank!r}, has {len(row)} squares, not {size}")
        rows.append(row)
    for mark, name in (("K", "white"), ("k", "black")):
        kings = "".join(rows).count(mark)
        if kings != 1:
            wrong("pieces", f"{name} has {kings} kings, not one")
    return rows


def _check_rights(rights: str, squares: str, wrong: Wrong) -> None:
    if not rights or set(rights) - set(HOMES) or len(set(rights)) != len(rights):
        wrong("castling", f"{rights!r} is neither - nor some of KQkq, each once")
    for mark in rights:
        king, rook = HOMES[mark]
        pieces = "KR" if mark.isupper() else "kr"
        if squares[square_of(king)] + squares[square_of(rook)] != pieces:
            wrong("castling", f"{mark} needs a king on {king} and a rook on {rook}")


def _parse_target(target: str, black: bool, squares: str, wrong: Wrong) -> int:
    rank = "3" if black else "6"
    if len(target) != 2 or target[0] not in FILES or target[1] != rank:
        side = "black" if black else "white"
        wrong("en passant", f"{target!r} is neither - nor a square of rank {rank} ({side} to move)")
    square, onward = square_of(target), 8 if black else -8
    pawn = squares[square + onward] == ("P" if black else "p")
    if not pawn or squares[square] + squares[square - onward] != "..":
        wrong("en passant", f"no pawn can have just moved over {target}")
    return square % 8


# -- moves ---------------------------------------------------------------


def ends(setup: Setup, action: int) -> tuple[int, int, str]:
    """Where an action begins and ends, seen by white (-1: off the board), and the
    letter of what it promotes to, if anything."""
    origin, plane = divmod(action, PLANES)
    rank, file = origin // 8 + int(STEPS[plane][0]), origin % 8 + int(STEPS[plane][1])
    target = 8 * rank + file if 0 <= rank < 8 and 0 <= file < 8 else -1
    turn = 56 if setup.black else 0
    pawn = setup.squares[origin ^ turn].lower() == "p"
    last = pawn and rank == 7
    letter = MARKS[int(PROMOTES[plane]) - 1] if last or plane >= 64 else ""
    return origin ^ turn, target ^ turn if target >= 0 else -1, letter


def uci(setup: Setup, action: int) -> str:
    """`e2e4`, `e7e8q`; `-` after the first square for an action that leaves the board."""
    if not 0 <= action < 64 * PLANES:
        raise ValueError(f"{action} is not an action of chess: 0 to {64 * PLANES - 1}")
    origin, target, letter = ends(setup, action)
    return square_name(origin) + (square_name(target) if target >= 0 else "-") + letter


def is_uci(text: str) -> bool:
    """Whether a move is written as two squares."""
    return UCI.fullmatch(text) is not None


def parse_uci(setup: Setup, text: str) -> int:
    """The action of a move in UCI, whether or not it is legal."""
    first, second, letter = UCI.fullmatch(text).groups()  # type: ignore[union-attr]
    origin, target = square_of(first), square_of(second)
    pawn = setup.squares[origin] == ("p" if setup.black else "P")
    if setup.black:
        origin, target = origin ^ 56, target ^ 56
    step = (target // 8 - origin // 8, target % 8 - origin % 8)
    if step not in PLANE_OF:
        raise ValueError(f"{text!r} is not a move of chess: no piece goes from {first} to {second}")
    last = pawn and target >= 56
    if last and letter is None:
        raise ValueError(f"{text!r} does not say what the pawn becomes: {text}q, r, b or n")
    if letter is None:
        return origin * PLANES + PLANE_OF[step]
    if letter not in "qrbn" or not last:
        why = "only a pawn on its last step is promoted" if letter in "qrbn" else "q, r, b or n"
        raise ValueError(f"{text!r} promotes to {letter!r}: {why}")
    if letter == "q":
        return origin * PLANES + PLANE_OF[step]
    if abs(step[1]) > 1 or step[0] != 1:
        raise ValueError(f"{text!r} is not a move of chess: no pawn goes from {first} to {second}")
    plane = 64 + 3 * (MARKS.index(letter) + 1 - HORSE) + step[1] + 1
    return origin * PLANES + plane


def san(setup: Setup, action: int, legal: list[int]) -> str:
    """Algebraic notation of a legal move, without the mark of check or mate."""
    origin, target, letter = ends(setup, action)
    piece = setup.squares[origin].upper()
    if piece == "K" and abs(target - origin) == 2:
        return "O-O" if target > origin else "O-O-O"
    takes = setup.squares[target] != "." or (piece == "P" and (target - origin) % 8 != 0)
    end = ("x" if takes else "") + square_name(target) + (f"={letter.upper()}" if letter else "")
    if piece == "P":
        return (FILES[origin % 8] if takes else "") + end
    rivals = {
        ends(setup, other)[0]
        for other in legal
        if ends(setup, other)[1] == target and setup.squares[ends(setup, other)[0]].upper() == piece
    } - {origin}
    name = square_name(origin)
    if not rivals:
        return piece + end
    if all(rival % 8 != origin % 8 for rival in rivals):
        return piece + name[0] + end
    if all(rival // 8 != origin // 8 for rival in rivals):
        return piece + name[1] + end
    return piece + name + end


def parse_san(setup: Setup, text: str, legal: list[int]) -> int:
    """The legal move that algebraic notation means; ValueError if none or several fit."""
    castling = text.rstrip("+#!?").replace("0", "O")
    match = SAN.fullmatch(text)
    if castling not in CASTLING and match is None:
        raise ValueError(
            f"{text!r} is not a move of chess: write two squares (e2e4, e7e8q) or "
            "algebraic notation (e4, Nf3, exd8=Q, O-O)"
        )
    found = [a for a in legal if _fits(setup, a, CASTLING.get(castling), match)]
    if not found:
        raise ValueError(f"{text!r} is not a legal move here")
    if len(found) > 1:
        names = ", ".join(uci(setup, action) for action in found)
        raise ValueError(f"{text!r} may mean any of {names}")
    return found[0]


def _fits(setup: Setup, action: int, castling: int | None, match: re.Match[str] | None) -> bool:
    origin, target, letter = ends(setup, action)
    piece = setup.squares[origin].upper()
    castles = piece == "K" and abs(target - origin) == 2
    if castling is not None or castles or match is None:
        return castles and castling == target - origin
    kind, file, rank, _, end, promoted = match.groups()
    name = square_name(origin)
    return (
        piece == (kind or "P")
        and square_name(target) == end
        and file in (None, name[0])
        and rank in (None, name[1])
        and letter == (promoted or "").lower()
    )


def drawn(setup: Setup) -> str:
    """The board as white sees it, with coordinates, and who is to move."""
    rows = [
        f"{rank + 1} " + " ".join(setup.squares[8 * rank : 8 * rank + 8])
        for rank in range(7, -1, -1)
    ]
    side = "black" if setup.black else "white"
    return "\n".join([*rows, "  " + " ".join(FILES), f"{side} to move"])
