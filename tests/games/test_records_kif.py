"""Shogi as KIF: games that another program wrote, and files as servers write them."""

import datetime
import itertools

import hypothesis.strategies as st
import pytest
import shogi.KIF
from hypothesis import given, settings

from halfmove.games import records
from halfmove.games.records import RecordError, kif
from tests.games.record_play import SHOGI, play

FILE = """\
# ---- Kifu for Windows ----
開始日時：2020/05/01 10:00
棋戦：Spring
手合割：平手
先手：Ada
後手：Bob
手数----指手---------消費時間--
   1 ７六歩(77)   ( 0:01/00:00:01)
*value +0.2500; visits 7g7f:9 2g2f:3
   2 ３四歩(33)   ( 0:02/00:00:02)
*a comment of somebody
   3 ２二角成(88) ( 0:01/00:00:02)
   4 同　銀(31)
   5 ５五角打
   6 投了
まで5手で先手の勝ち
変化：2手
   2 ８四歩(83)
"""
MOVES = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]


def named(record):
    turns = list(records.replay(SHOGI, record))
    return [SHOGI.move_name(turn.state, turn.action) for turn in turns[:-1]]


def test_a_file_as_servers_write_it():
    (record,) = records.read(FILE)
    assert record.players == ("Ada", "Bob")
    assert record.info == {"date": "2020/05/01 10:00", "event": "Spring"}
    assert named(record) == MOVES
    assert (record.result, record.reason) == ((1.0, -1.0), "resignation")
    assert record.notes[0].value == 0.25
    assert sorted(record.notes[0].visits.values()) == [3, 9]
    assert record.notes[1] == records.Note()
    (short,) = records.read(FILE, moves=False)
    assert (short.players, short.result, short.moves) == (record.players, record.result, ())
    assert records.decoded(FILE.encode("cp932")) == FILE
    with pytest.raises(UnicodeDecodeError):
        records.decoded(b"\xff\xfe\x00 nothing")


@settings(max_examples=6)
@given(numbers=st.lists(st.integers(0, 10**6), max_size=40))
def test_games_that_another_program_wrote(cshogi, numbers, tmp_path_factory):
    turns = list(itertools.takewhile(lambda t: t.action is not None, play(SHOGI, numbers)))
    board, path = cshogi.Board(), tmp_path_factory.mktemp("kif") / "game.kif"
    writer = cshogi.KIF.Exporter(str(path))
    writer.header(["Ada", "Bob"], datetime.datetime(2020, 1, 2))
    for turn in turns:
        move = board.move_from_usi(SHOGI.move_name(turn.state, turn.action))
        writer.move(move)
        board.push(move)
    writer.end("resign")
    writer.close()
    (record,) = records.read(records.decoded(path.read_bytes()))
    assert record.moves == tuple(turn.action for turn in turns)
    assert record.result == ((-1.0, 1.0) if len(turns) % 2 == 0 else (1.0, -1.0))


def test_handicaps_begin_as_elsewhere():
    for name in kif.HANDICAPS:
        position, first = kif._position(SHOGI, name)
        known = shogi.KIF.Parser.HANDYCAP_SFENS[name]
        assert first == (0 if name == "平手" else 1)
        assert (position or known).split()[:3] == known.split()[:3]


@pytest.mark.parametrize(
    ("end", "result", "reason"),
    [
        ("   2 投了", (1.0, -1.0), "resignation"),
        ("   2 切れ負け ( 0:01/00:00:01)", (1.0, -1.0), "time"),
        ("   2 反則勝ち", (-1.0, 1.0), "illegal"),
        ("   2 入玉勝ち", (-1.0, 1.0), ""),
        ("   2 千日手", (0.0, 0.0), ""),
        ("   2 中断", None, ""),
        ("まで1手で後手の勝ち", (-1.0, 1.0), ""),
        ("まで1手で先手の反則負け", (-1.0, 1.0), "illegal"),
        ("", None, ""),
    ],
)
def test_ends(end, result, reason):
    (record,) = records.read(f"先手：a\n後手：b\n   1 ７六歩(77)\n{end}\n", moves=False)
    assert (record.result, record.reason) == (result, reason)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("   1 ７五歩(77)", r"line 2: move 1, 7g7e: not legal"),
        ("   1 ７六銀(77)", r"line 2: .*銀 does not stand on 77"),
        ("   1 nonsense", r"line 2: 'nonsense' is no move of KIF"),
        ("   1 同　歩(77)", r"line 2: 同"),
        ("   1 ７六玉", r"line 2: .*where does it come from"),
        ("手合割：その他", r"'その他' is not read here"),
        ("|v香v桂v銀v金v玉v金v銀v桂v香|一", r"line 2: a board drawn in text"),
    ],
)
def test_errors_say_where_and_why(line, message):
    with pytest.raises(RecordError, match=message):
        records.read(f"先手：Ada\n{line}\n")


@settings(max_examples=100)
@given(data=st.data())
def test_damage_is_named_or_harmless(data):
    text = FILE
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text = text[:at] + data.draw(st.text(max_size=3)) + text[at + 1 :]
    try:
        found = records.read(text, moves=False)
    except RecordError:
        return
    assert all(len(record.players) == 2 for record in found)
