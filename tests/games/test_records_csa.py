"""Shogi as CSA: read again, beside two other readers, and files that other people wrote."""

import hypothesis.strategies as st
import pytest
import shogi
import shogi.CSA
from hypothesis import given, settings

from halfmove.games import records
from halfmove.games.records import Record, RecordError
from tests.games.record_play import SHOGI, damage, last, named, random_record, read_again, several


@settings(max_examples=8)
@given(data=st.data())
def test_what_is_written_is_read_again(data):
    read_again(data, SHOGI)


def test_several_games_in_one_file():
    several(SHOGI)


@pytest.mark.parametrize("form", ["", "json"])
@settings(max_examples=20)
@given(data=st.data())
def test_damage_is_named_or_harmless(form, data):
    damage(data, SHOGI, form)


@pytest.mark.slow
@settings(max_examples=200)
@given(data=st.data())
def test_long_games_and_damage_anywhere(data):
    read_again(data, SHOGI, length=150)
    damage(data, SHOGI, anywhere=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("V2.2\nPI\n+\n+7776FU\n+2726FU", r"line 5: '\+2726FU': it is white's turn"),
        ("V2.2\nPI\n+\n+7775FU", r"line 4: move 1, 7g7e: not legal"),
        ("V2.2\nPI\n+\n+7776KI", r"line 4: '\+7776KI': KI does not come from 77"),
        ("V2.2\nPI\n+\n+7776", r"line 4: '\+7776' is no move of CSA"),
        ("V2.2\nPI\n+7776FU", "line 1: the game does not say who moves first"),
        ("V2.2\nPI\n+\n%TORYO\n-3334FU", "line 5: '-3334FU' after the end"),
        ("V2.2\nPI55FU\n+\n", "line 2: .* no FU on 55"),
        ("V2.2\nP1-XX\n+\n", "line 2: .*'-XX' is no piece"),
        ("V2.2\nhello\n+\n", "line 2: 'hello' is no line of CSA"),
    ],
)  # fmt: skip
def test_errors_say_where_and_why(text, message):
    with pytest.raises(RecordError, match=message):
        records.read(text)


# -- other people's -------------------------------------------------------------


def test_two_readers_of_csa_see_the_same_games(cshogi):
    start = "4k4/1r5b1/pp2p2pp/9/9/9/PP2P2PP/1B5R1/4K4 w 2P3pG 8"
    cases = [random_record(SHOGI, seed, length=90) for seed in range(2)]
    cases.append(random_record(SHOGI, 5, length=60, position=start))
    for record in cases:
        text = records.write(SHOGI, record)
        turns = list(records.replay(SHOGI, record))
        moves = [SHOGI.move_name(t.state, t.action) for t in turns[:-1]]
        if not record.position:  # python-shogi loses pieces of which several are in hand
            (theirs,) = shogi.CSA.Parser.parse_str(text)
            assert theirs["moves"] == moves
            assert theirs["names"] == list(record.players)
            board = shogi.Board(theirs["sfen"])
            for move in theirs["moves"]:
                board.push_usi(move)
            assert board.sfen().split()[:2] == SHOGI.position(turns[-1].state).split()[:2]
        (other,) = cshogi.CSA.Parser.parse_str(text)
        assert [cshogi.move_to_usi(move) for move in other.moves] == moves
        begun = cshogi.Board(SHOGI.position(turns[0].state))
        assert cshogi.Board(other.sfen).zobrist_hash() == begun.zobrist_hash()


@pytest.mark.parametrize(
    ("result", "reason", "mark", "won"),
    [
        ((1.0, -1.0), "resignation", "%TORYO", "b"),
        ((1.0, -1.0), "time", "%TIME_UP", "b"),
        ((-1.0, 1.0), "time", "%+ILLEGAL_ACTION", "w"),  # not the one to move: no mark for it
        ((1.0, -1.0), "crash: gone", "%-ILLEGAL_ACTION", "b"),
        ((-1.0, 1.0), "illegal", "%+ILLEGAL_ACTION", "w"),
        ((0.0, 0.0), "", "%HIKIWAKE", "-"),
        (None, "", "%CHUDAN", "-"),
    ],
)
def test_ends_of_shogi(result, reason, mark, won):
    moves = named(SHOGI, ("7g7f",))
    text = records.write(SHOGI, Record("shogi", ("a", "b"), moves, result, reason))
    assert text.splitlines()[-1] == mark
    assert shogi.CSA.Parser.parse_str(text)[0]["win"] == won
    bare = "\n".join(line for line in text.splitlines() if not line.startswith("'"))
    assert records.read(bare)[0].result == result


def test_the_end_by_the_rules_of_shogi():
    mate = "4k4/9/4G4/9/9/9/9/9/4K4 b G 1"
    moves = named(SHOGI, ("G*5b",), mate)
    text = records.write(SHOGI, Record("shogi", ("a", "b"), moves, (1.0, -1.0), position=mate))
    assert text.splitlines()[-1] == "%TSUMI"
    around = ("2h3h", "8b7b", "3h2h", "7b8b") * 3
    again = Record("shogi", ("a", "b"), named(SHOGI, around), (0.0, 0.0))
    assert last(SHOGI, again).over
    assert records.write(SHOGI, again).splitlines()[-1] == "%SENNICHITE"


THEIR_CSA = """'CSA encoding=UTF-8
V2.2
N+NAKAHARA
N-YONENAGA
$EVENT:13th World Computer Shogi Championship
$TIME_LIMIT:00:25+00
PI82HI22KA
-
-5142OU
T12
+2726FU,T6
-3142GI
%TORYO
/
V2.2
P1-KY-KE-GI-KI-OU-KI-GI-KE-KY
P2 * -HI *  *  *  *  * -KA *
P3-FU-FU-FU-FU-FU-FU-FU-FU-FU
P4 *  *  *  *  *  *  *  *  *
P5 *  *  *  *  *  *  *  *  *
P6 *  *  *  *  *  *  *  *  *
P7+FU+FU+FU+FU+FU+FU+FU+FU+FU
P8 * +KA *  *  *  *  * +HI *
P9+KY+KE+GI+KI+OU+KI+GI+KE+KY
+
+7776FU
-3334FU
+8822UM
%KACHI
"""


def test_somebody_elses_csa():
    text = THEIR_CSA.replace("-3142GI", "-4232OU")
    first, second = records.read(text)
    start = "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    assert first.position == start
    assert first.players == ("NAKAHARA", "YONENAGA")
    assert first.info["event"] == "13th World Computer Shogi Championship"
    names = [SHOGI.move_name(t.state, t.action) for t in records.replay(SHOGI, first)
             if t.action is not None]  # fmt: skip
    assert names == ["5a4b", "2g2f", "4b3b"]
    assert (first.result, first.reason) == ((-1.0, 1.0), "resignation")
    assert (second.position, second.result) == ("", (-1.0, 1.0))  # white declares a win
    board = shogi.Board()
    for move in ("7g7f", "3c3d", "8h2b+"):
        board.push_usi(move)
    assert SHOGI.position(last(SHOGI, second).state) == board.sfen()
