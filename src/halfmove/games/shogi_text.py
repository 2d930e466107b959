"""Shogi in writing: SFEN positions, USI moves, and a picture for a terminal.

Boards and hands are arrays as in `shogi_moves`, seen by the player to move: turn 0 is black.
"""

import re

import numpy as np

from halfmove.games.shogi_moves import (
    COMES_FROM,
    KINDS,
    KING,
    KNIGHT,
    LANCE,
    OFF,
    PAWN,
    PROMOTION,
    SQUARES,
)

Position = tuple[np.ndarray, np.ndarray, int, int]  # board [81], hands [2, 7], turn, ply

LETTERS = "PLNSBRGK"  # by piece number, from 1
HAND_ORDER = "RBGSNLP"
THERE_ARE = dict(zip(LETTERS, (18, 4, 4, 4, 2, 2, 4, 2), strict=True))
RANKS = "abcdefghi"
SIDES = ("black", "white")


def _letters(piece: int) -> str:
    """A piece of black's (positive) or white's as SFEN writes it; '' for none."""
    if piece == 0:
        return ""
    letter = LETTERS[(abs(piece) - 1) % PROMOTION]
    plus = "+" if abs(piece) > PROMOTION else ""
    return plus + (letter if piece > 0 else letter.lower())


def _absolute(board: np.ndarray, hands: np.ndarray, turn: int) -> tuple[np.ndarray, np.ndarray]:
    """The same from black's side; from there, the same as the player to move sees it."""
    return (-board[::-1], hands[::-1]) if turn else (board, hands)


def _hands(hands: np.ndarray) -> str:
    """Both hands as SFEN writes them, black's first."""
    text = ""
    for side, hand in enumerate(hands):
        for letter in HAND_ORDER:
            count = int(hand[LETTERS.index(letter)])
            if count:
                text += (str(count) if count > 1 else "") + (letter.lower() if side else letter)
    return text or "-"


def sfen(board: np.ndarray, hands: np.ndarray, turn: int, ply: int) -> str:
    """The position as SFEN."""
    board, hands = _absolute(board, hands, turn)
    rows = []
    for rank in range(9):
        cells = [_letters(int(board[9 * file + rank])) or "." for file in range(8, -1, -1)]
        rows.append(re.sub(r"\.+", lambda gap: str(len(gap[0])), "".join(cells)))
    return f"{'/'.join(rows)} {'bw'[turn]} {_hands(hands)} {ply + 1}"


def picture(board: np.ndarray, hands: np.ndarray, turn: int, ply: int) -> str:
    """The board as black sees it, with hands and who moves."""
    board, hands = _absolute(board, hands, turn)
    nothing = np.zeros_like(hands[0])
    white, black = _hands(np.stack([nothing, hands[1]])), _hands(np.stack([hands[0], nothing]))
    lines = [f"white's hand: {white}", "".join(f"{file:3}" for file in range(9, 0, -1))]
    for rank in range(9):
        cells = [_letters(int(board[9 * file + rank])) or "." for file in range(8, -1, -1)]
        lines.append("".join(f"{cell:>3}" for cell in cells) + f"  {RANKS[rank]}")
    return "\n".join([*lines, f"black's hand: {black}", f"move {ply + 1}, {SIDES[turn]} to play"])


def read_sfen(text: str) -> Position:
    """The position of an SFEN; ValueError says which part is wrong and why."""

    def wrong(part: str, why: str) -> ValueError:
        return ValueError(f"SFEN {text!r}: {part}: {why}")

    fields = text.split()
    if len(fields) not in (3, 4):
        raise wrong(f"{len(fields)} fields", "expected board, side, hands and move number")
    board = np.zeros(SQUARES, np.int8)
    rows = fields[0].split("/")
    if len(rows) != 9:
        raise wrong("board", f"expected 9 ranks between slashes, got {len(rows)}")
    for rank, row in enumerate(rows):
        try:
            cells = _row(row)
        except ValueError as error:
            raise wrong(f"rank {RANKS[rank]} ({row!r})", str(error)) from None
        board[9 * np.arange(8, -1, -1) + rank] = cells
    if fields[1] not in ("b", "w"):
        raise wrong("side to move", f"expected b or w, got {fields[1]!r}")
    try:
        hands = _read_hands(fields[2])
    except ValueError as error:
        raise wrong(f"hands ({fields[2]!r})", str(error)) from None
    number = fields[3] if len(fields) == 4 else "1"
    if not (number.isascii() and number.isdigit() and int(number) > 0):
        raise wrong("move number", f"expected a number from 1, got {number!r}")
    if why := _impossible(board, hands):
        raise wrong("position", why)
    turn = "bw".index(fields[1])
    board, hands = _absolute(board, hands, turn)
    return board.copy(), hands.copy(), turn, int(number) - 1


def _row(row: str) -> list[int]:
    cells: list[int] = []
    for item in re.findall(r"\+?.", row):
        letter = item[-1]
        if item in tuple("123456789"):
            cells += [0] * int(item)
        elif letter.upper() not in LETTERS or letter == "+":
            raise ValueError(f"{item!r} is no piece; pieces are {LETTERS}, in small for white")
        elif item[0] == "+" and letter.upper() in "GK":
            raise ValueError(f"{item!r} is no piece: gold and king do not promote")
        else:
            piece = LETTERS.index(letter.upper()) + 1 + (PROMOTION if item[0] == "+" else 0)
            cells.append(piece if letter.isupper() else -piece)
    if len(cells) != 9:
        raise ValueError(f"has {len(cells)} squares, expected 9")
    return cells


def _read_hands(text: str) -> np.ndarray:
    hands = np.zeros((2, KINDS), np.int8)
    if text == "-":
        return hands
    if not re.fullmatch(r"(\d*[A-Za-z])+", text, re.ASCII):
        raise ValueError("expected - or pieces with counts, such as R2Pg")
    for count, letter in re.findall(r"(\d*)([A-Za-z])", text):
        kind = LETTERS.find(letter.upper())
        if not 0 <= kind < KINDS:
            raise ValueError(f"{letter!r} cannot be in hand; {LETTERS[:KINDS]} can")
        number = int(count or 1)
        if not 1 <= number <= THERE_ARE[LETTERS[kind]]:
            raise ValueError(f"{count + letter!r}: there are 1 to {THERE_ARE[LETTERS[kind]]}")
        hands[int(letter.islower()), kind] += number
    return hands


def _impossible(board: np.ndarray, hands: np.ndarray) -> str:
    """Why no game has this position (black's view), or ''."""
    for side, name in ((1, "black"), (-1, "white")):
        mine = board * side
        kings = int((mine == KING).sum())
        if kings != 1:
            return f"{name} has {kings} kings, expected 1"
        pawns = (mine == PAWN).reshape(9, 9).sum(axis=1)
        if (pawns > 1).any():
            return f"{name} has {pawns.max()} pawns on file {int(pawns.argmax()) + 1}"
        ranks = np.arange(SQUARES) % 9 if side > 0 else 8 - np.arange(SQUARES) % 9
        stuck = np.isin(mine, (PAWN, LANCE)) & (ranks < 1) | (mine == KNIGHT) & (ranks < 2)
        if stuck.any():
            where = int(stuck.argmax())
            return f"{_letters(int(board[where]))} on {_square(where)} could never move again"
    for kind, letter in enumerate(LETTERS):
        on_board = (board != 0) & ((np.abs(board) - 1) % PROMOTION == kind)
        total = int(on_board.sum()) + (int(hands[:, kind].sum()) if kind < KINDS else 0)
        if total > THERE_ARE[letter]:
            return f"there are {total} of {letter}, at most {THERE_ARE[letter]} exist"
    return ""


def _square(square: int) -> str:
    return f"{square // 9 + 1}{RANKS[square % 9]}"


def _read_square(text: str) -> int:
    return 9 * (int(text[0]) - 1) + RANKS.index(text[1])


def _origin(board: np.ndarray, direction: int, to: int) -> int:
    """Where a move comes from: the first piece on its line, or `OFF`."""
    line = [int(s) for s in COMES_FROM[direction, to] if s != OFF]
    return next((s for s in line if board[s] != 0), OFF)


def usi(board: np.ndarray, turn: int, action: int) -> str:
    """An action of the player to move as USI writes it; its number if nothing moves so."""
    kind, to = divmod(action, SQUARES)
    there = _square(SQUARES - 1 - to if turn else to)
    if kind >= 20:
        return f"{LETTERS[kind - 20]}*{there}"
    start = _origin(board, kind % 10, to)
    if start == OFF:
        return str(action)
    return _square(SQUARES - 1 - start if turn else start) + there + ("+" if kind >= 10 else "")


def read_usi(board: np.ndarray, turn: int, text: str) -> int:
    """The action of a USI move; ValueError if there is none."""
    dropped = re.fullmatch(r"([A-Z])\*([1-9][a-i])", text)
    moved = re.fullmatch(r"([1-9][a-i])([1-9][a-i])(\+?)", text)
    if dropped:
        kind = LETTERS.find(dropped[1])
        if not 0 <= kind < KINDS:
            raise ValueError(f"{text!r}: {dropped[1]!r} cannot be dropped; {LETTERS[:KINDS]} can")
        to = _read_square(dropped[2])
        return (20 + kind) * SQUARES + (SQUARES - 1 - to if turn else to)
    if not moved:
        raise ValueError(f"{text!r} is no USI move: expected 7g7f, 8h2b+ or P*5e")
    start, to = (_read_square(s) for s in moved.groups()[:2])
    if turn:
        start, to = SQUARES - 1 - start, SQUARES - 1 - to
    if board[start] <= 0:
        raise ValueError(f"{text!r}: {SIDES[turn]} has no piece on {moved[1]}")
    for direction in range(10):
        if start in COMES_FROM[direction, to]:
            if _origin(board, direction, to) != start:
                raise ValueError(f"{text!r}: something stands between {moved[1]} and {moved[2]}")
            return (direction + 10 * bool(moved[3])) * SQUARES + to
    raise ValueError(f"{text!r}: no piece moves from {moved[1]} to {moved[2]}")
