"""Shogi as KIF, the form of Japanese programs and servers; it is read and not written.

One game a file. A line names something (`先手：Ada`), is a move (`1 ７六歩(77)`: where to, what,
where from), the end (`投了`, resignation), or a comment. Variations behind the game and boards
drawn in text are not read. Files are UTF-8 or Shift JIS (`records.decoded`).
http://kakinoki.o.oo7.jp/kif_format.html
"""

import functools
import re

import numpy as np

from halfmove.games import shogi_text
from halfmove.games.follow import Spot
from halfmove.games.records import outcome
from halfmove.games.records.reading import Written, game_of, located, played, usable
from halfmove.games.records.record import Record, RecordError, one_line, text_of
from halfmove.games.shogi import START, Shogi

BEGINS = re.compile(r"^(?:手合割|先手|後手|上手|下手|手数|開始日時|棋戦)", re.MULTILINE)
NAMES = {"先手": 0, "下手": 0, "後手": 1, "上手": 1}
INFO = {"開始日時": "date", "棋戦": "event", "場所": "site"}
RANKS = "一二三四五六七八九"
# By their numbers in `shogi_moves`: pawn, lance, knight, silver, bishop, rook, gold, king, and the
# first six promoted.
PIECES = (
    ("歩",), ("香",), ("桂",), ("銀",), ("角",), ("飛",), ("金",), ("玉", "王"),
    ("と",), ("成香", "杏"), ("成桂", "圭"), ("成銀", "全"), ("馬",), ("龍", "竜"),
)  # fmt: skip
KINDS = {name: number for number, names in enumerate(PIECES, 1) for name in names}
DROPS = "PLNSBRG"
LINE = re.compile(r"\s*(\d+)\s+(\S.*)")
MOVE = re.compile(
    rf"(?:([1-9１-９])([{RANKS}])|同)[\s　]*({'|'.join(sorted(KINDS, key=len, reverse=True))})"
    r"(成|不成|打)?\s*(?:\(([1-9])([1-9])\))?[\s/:()\d]*\+?"
)
# The last line of a game -> who has won: 1 the player to move, -1 the other, 0 nobody; and why.
ENDS: dict[str, tuple[int | None, str]] = {
    "投了": (-1, "resignation"), "詰み": (-1, ""), "切れ負け": (-1, "time"),
    "反則負け": (-1, "illegal"), "反則勝ち": (1, "illegal"), "入玉勝ち": (1, ""),
    "勝ち宣言": (1, ""), "千日手": (0, ""), "持将棋": (0, ""), "引き分け": (0, ""),
    "中断": (None, ""),
}  # fmt: skip
SUMMARY = re.compile(r"まで\d+手で(先手|下手|後手|上手)の(勝ち|反則勝ち|反則負け)")
# What the stronger side plays without: squares of the first two ranks, file and rank.
HANDICAPS: dict[str, str] = {
    "平手": "", "香落ち": "11", "右香落ち": "91", "角落ち": "22", "飛車落ち": "82",
    "飛香落ち": "82 11", "二枚落ち": "82 22", "四枚落ち": "82 22 11 91",
    "六枚落ち": "82 22 11 91 21 81", "八枚落ち": "82 22 11 91 21 81 31 71",
    "十枚落ち": "82 22 11 91 21 81 31 71 41 61",
}  # fmt: skip


def read(text: str, *, moves: bool = True) -> list[Record]:
    """The game of a text; RecordError says where it is damaged.

    Without `moves` these are left out, and the rules are not asked.
    """
    told: dict[str, str] = {}
    written: list[tuple[int, str, str]] = []
    end = ("", 0)
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if line.startswith("変化"):
            break
        if line.startswith("|"):
            raise RecordError(f"line {number}: a board drawn in text is not read here")
        if line.startswith("*") and written and not end[0]:
            at, move, _ = written[-1]
            written[-1] = (at, move, line[1:].strip())
        elif (found := SUMMARY.match(line.strip())) and not end[0]:
            end = (f"{found[1]}の{found[2]}", number)
        elif (found := LINE.fullmatch(line)) and not end[0]:
            word = found[2].split("(")[0].strip()
            if word in ENDS:
                end = (word, number)
            else:
                written.append((number, found[2].strip(), ""))
        elif not line.startswith(("#", "*", "&", "手数", "まで")) and "：" in line:
            key, _, value = line.partition("：")
            told.setdefault(key.strip(), one_line(value))
    if not told and not written:
        raise RecordError("the text holds no game: a KIF file has lines such as 先手：Ada")
    return [_record(told, written, end, moves)]


def _record(
    told: dict[str, str], written: list[tuple[int, str, str]], end: tuple[str, int], moves: bool
) -> Record:
    game = game_of("shogi")
    assert isinstance(game, Shogi)
    with located("手合割"):
        position, first = _position(game, told.get("手合割", "平手"))
    found = played(game, position, _moves(written)) if moves else None
    player = found.player if found else (first + len(written)) % 2
    names = ["", ""]
    for key, side in NAMES.items():
        names[side] = told.get(key, names[side])
    result, reason = _ended(end[0], player)
    with located(f"line {end[1] or 1}"):
        return Record(
            game=text_of(game),
            players=(names[0], names[1]),
            moves=found.moves if found else (),
            result=result,
            reason=reason,
            position=position,
            info=usable({INFO[key]: value for key, value in told.items() if key in INFO}),
            notes=found.notes if found else (),
        )


def _position(game: Shogi, handicap: str) -> tuple[str, int]:
    """The SFEN of where a game with that handicap begins ("": as usual), and who moves first."""
    handicap = handicap.strip()
    if handicap not in HANDICAPS:
        raise ValueError(f"{handicap!r} is not read here, only {', '.join(HANDICAPS)}")
    if handicap == "平手":
        return "", 0
    rows = [re.sub(r"\d", lambda n: "1" * int(n[0]), row) for row in START.split()[0].split("/")]
    for square in HANDICAPS[handicap].split():
        row, file = int(square[1]) - 1, 9 - int(square[0])
        rows[row] = rows[row][:file] + "1" + rows[row][file + 1 :]
    board = "/".join(re.sub(r"1+", lambda gap: str(len(gap[0])), row) for row in rows)
    return game.position(game.parse_position(f"{board} w - 1")), 1


def _moves(written: list[tuple[int, str, str]]) -> list[Written]:
    found, last = [], ""
    for number, text, comment in written:
        match = MOVE.fullmatch(text)
        if match is None:
            raise RecordError(f"line {number}: {text[:40]!r} is no move of KIF, such as ７六歩(77)")
        if match[1]:
            last = _usi(int(match[1]), RANKS.index(match[2]) + 1)
        elif not last:
            raise RecordError(f"line {number}: 同 (the same square) in the first move")
        found.append(Written(f"line {number}", functools.partial(_action, match, last), comment))
    return found


def _usi(file: int, rank: int) -> str:
    return f"{file}{shogi_text.RANKS[rank - 1]}"


def _action(match: re.Match[str], to: str, turn: Spot) -> int:
    if turn.over:
        raise ValueError(f"{match[0]!r} after the end of the game")
    board, piece = np.asarray(turn.state.boards[0]), KINDS[match[3]]
    if not match[5]:
        if piece > len(DROPS):
            raise ValueError(f"{match[0]!r}: where does it come from?")
        return shogi_text.read_usi(board, turn.player, f"{DROPS[piece - 1]}*{to}")
    origin = 9 * (int(match[5]) - 1) + int(match[6]) - 1
    if piece != int(board[80 - origin if turn.player else origin]):
        raise ValueError(f"{match[0]!r}: {match[3]} does not stand on {match[5]}{match[6]}")
    plus = "+" if match[4] == "成" else ""
    source = _usi(int(match[5]), int(match[6]))
    return shogi_text.read_usi(board, turn.player, f"{source}{to}{plus}")


def _ended(mark: str, player: int) -> tuple[tuple[float, ...] | None, str]:
    """(result, reason) by the last line of a game, with who would move next."""
    if not mark:
        return None, ""
    if mark in ENDS:
        sign, reason = ENDS[mark]
        if sign is None or sign == 0:
            return outcome.result_of(None if sign is None else -1), reason
        return outcome.result_of(player if sign > 0 else 1 - player), reason
    name, _, how = mark.partition("の")
    winner = NAMES[name] if how.endswith("勝ち") else 1 - NAMES[name]
    return outcome.result_of(winner), "illegal" if how.startswith("反則") else ""
