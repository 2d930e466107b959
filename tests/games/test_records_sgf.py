"""Go and Hex as SGF: read again, beside GNU Go and sgfmill, and files that other people wrote."""

import shutil
import subprocess

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from halfmove import games
from halfmove.games import records
from halfmove.games.records import Record, RecordError, sgf_tree
from tests.games.record_play import (
    GO,
    HEX,
    damage,
    last,
    named,
    random_record,
    read_again,
    several,
)

GNUGO = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")


@pytest.mark.parametrize("game", [GO, HEX])
@settings(max_examples=8)
@given(data=st.data())
def test_what_is_written_is_read_again(game, data):
    read_again(data, game)


@pytest.mark.parametrize("game", [GO, HEX])
def test_several_games_in_one_file(game):
    several(game)


@pytest.mark.parametrize("game", [GO, HEX])
@pytest.mark.parametrize("form", ["", "json"])
@settings(max_examples=20)
@given(data=st.data())
def test_damage_is_named_or_harmless(game, form, data):
    damage(data, game, form)


@pytest.mark.slow
@pytest.mark.parametrize("game", [GO, HEX])
@settings(max_examples=200)
@given(data=st.data())
def test_long_games_and_damage_anywhere(game, data):
    read_again(data, game, length=150)
    damage(data, game, anywhere=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(;GM[1]KM[0.5]SZ[5];B[aa]\n;W[aa])", r"line 2, column 1: move 2, A5: not legal"),
        ("(;GM[1]KM[0.5]SZ[5];B[aa];B[bb])", r"line 1, column 26: black moves, but it is"),
        ("(;GM[1]KM[0.5]SZ[5];B[zz])", r"line 1, column 20: \[zz\] is no point"),
        ("(;GM[1]KM[0.5]SZ[5]\n;B[aa", r"line 2, column 3: the value of B has no end"),
        ("(;GM[1]KM[0.5]SZ[5];B[aa]", r"line 1, column 26: the text ends inside the game"),
        ("(;GM[1]KM[0.5]SZ[5];B[aa]) x", r"line 1, column 28: expected \( of a game"),
        ("(;GM[2])", r"line 1, column 2: GM\[2\] is no game"),
        ("(;GM[1]SZ[5:7])", r"SZ\[5:7\] is no size"),
        ("(;GM[1]KM[0.5]SZ[5];B[aa];AW[bb])", "stones are set up in the middle"),
        ("(;GM[1]KM[0.5]SZ[5];B[aa]W[bb])", "both players move"),
        ("(;GM[11]SZ[4];B[a1];W[swap-sides])", "only swap-pieces"),
        ("(;GM[11]SZ[4];B[e1])", "'e1' is not a square"),
    ],
)  # fmt: skip
def test_errors_say_where_and_why(text, message):
    with pytest.raises(RecordError, match=message):
        records.read(text)


def test_moves_after_the_end_are_refused():
    with pytest.raises(RecordError, match="game was over"):
        records.read("(;GM[1]KM[0.5]SZ[5];B[];W[];B[aa])")


# -- other people's -------------------------------------------------------------


class GnuGo:
    def __init__(self):
        self.process = subprocess.Popen([GNUGO, "--mode", "gtp", "--chinese-rules"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip

    def __call__(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = []
        while line := self.process.stdout.readline().strip():
            lines.append(line)
        assert lines[0].startswith("="), (command, lines)
        return " ".join(lines)[1:].split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


def stones(game, state):
    board = game.board(state).reshape(-1)
    return [sorted(game.move_name(state, int(i)) for i in np.flatnonzero(board == c))
            for c in (1, 2)]  # fmt: skip


@pytest.mark.skipif(GNUGO is None, reason="gnugo is not installed (Debian package gnugo)")
def test_gnugo_loads_the_same_positions(tmp_path):
    handicap = games.make("go", size=7, komi=0.5, handicap=3)
    cases = [(GO, random_record(GO, seed, length=40)) for seed in range(3)]
    begin = GO.position(last(GO, random_record(GO, 4, length=9)).state)
    cases.append((GO, random_record(GO, 5, length=9, position=begin)))
    cases.append((handicap, random_record(handicap, 6, length=20)))
    file = tmp_path / "game.sgf"
    with GnuGo() as gnugo:
        for game, record in cases:
            file.write_text(records.write(game, record), encoding="utf-8")
            colour = gnugo(f"loadsgf {file}")
            end = last(game, record)
            found = [sorted(gnugo(f"list_stones {colour}")) for colour in ("black", "white")]
            assert found == stones(game, end.state)
            assert gnugo("query_boardsize") == [str(game.size)]
            assert gnugo("get_komi") == ["0.5"]
            assert colour == [("black", "white")[end.player]]


def test_sgfmill_reads_the_same_games():
    sgf = pytest.importorskip("sgfmill.sgf", reason="sgfmill is not installed")
    boards = pytest.importorskip("sgfmill.boards")
    plays = pytest.importorskip("sgfmill.sgf_moves")
    for seed in range(3):
        record = random_record(GO, seed, length=60)
        record = Record(**{**vars(record), "players": ("[a\\]", "棋: b"), "reason": "time"})
        theirs = sgf.Sgf_game.from_string(records.write(GO, record))
        assert (theirs.get_size(), theirs.get_komi()) == (5, 0.5)
        assert (theirs.get_player_name("b"), theirs.get_player_name("w")) == record.players
        board, moves = plays.get_setup_and_moves(theirs, boards.Board(5))
        for colour, move in moves:
            if move is not None:
                board.play(*move, colour)
        mine = GO.board(last(GO, record).state)[::-1]
        found = [[{None: 0, "b": 1, "w": 2}[board.get(r, c)] for c in range(5)] for r in range(5)]
        assert mine.tolist() == found


@pytest.mark.parametrize(
    ("moves", "result", "reason", "written"),
    [
        (("C3", "pass", "pass"), (1.0, -1.0), "", "B+24.5"),  # 25 points less komi
        (("C3", "pass", "pass"), (-1.0, 1.0), "", "W+"),  # not what the rules say
        (("C3",), (-1.0, 1.0), "resignation", "W+R"),
        (("C3",), (1.0, -1.0), "time", "B+T"),
        (("C3",), (1.0, -1.0), "hang", "B+F"),
        (("C3",), (0.0, 0.0), "", "0"),
        (("C3",), None, "", "?"),
    ],
)
def test_results_of_go(moves, result, reason, written):
    record = Record(records.text_of(GO), ("a", "b"), named(GO, moves), result, reason)
    text = records.write(GO, record)
    assert f"RE[{written}]" in text
    bare = text.replace("reason: ", "")  # only RE tells it
    back = records.read(bare)[0]
    assert back.result == result
    assert back.reason == {"hang": "forfeit"}.get(reason, reason)


THEIR_SGF = """(;GaMe[1]FF[4]CA[UTF-8]SZ[5]KM[0.5]
AB[aa:ba][ee]AW[cc]PL[B]PB[One
two]PW[a\\]b\\\\c]RE[W+Resign]GC[Just a friendly game.]DT[2001-02-03]
;B[dd]C[a comment; with (marks) \\] \\
and a soft break];W[tt](;B[da]N[the game](;W[db])(;W[eb]))(;B[ab];W[bb]))
(;GM[1]SZ[5]KM[0.5]RE[Draw])"""


def test_somebody_elses_sgf():
    first, second = records.read(THEIR_SGF)
    assert first.game == records.text_of(GO)
    assert first.players == ("One two", "a]b\\c")
    assert (first.result, first.reason) == ((-1.0, 1.0), "resignation")
    assert first.info == {"date": "2001-02-03"}
    state = last(GO, first).state
    assert stones(GO, state) == [["A5", "B5", "D2", "D5", "E1"], ["C3", "D4"]]
    assert second == Record(records.text_of(GO), ("", ""), (), (0.0, 0.0))


def test_handicap_stones_on_their_usual_points_are_the_games():
    game = games.make("go", size=7, komi=0.5, handicap=3)
    usual = "(;GM[1]SZ[7]KM[0.5]HA[3]AB[ce][ec][cc];W[dd])"
    assert records.read(usual)[0].game == records.text_of(game)
    other = "(;GM[1]SZ[5]KM[0.5]HA[2]AB[aa][bb];W[cc])"
    found = records.read(other)[0]
    assert found.game == records.text_of(GO)
    assert stones(GO, last(GO, found).state) == [["A5", "B4"], ["C3"]]


def test_values_of_sgf_are_escaped():
    value = "a]b\\c[d\ne;f(g):h\\"
    (((node,),),) = [
        [line] for line in sgf_tree.parse(f"({sgf_tree.write_node([('C', [value])])})")
    ]
    assert node.properties == {"C": [value]}


def test_hex_as_others_write_it():
    """Conventional cells; a swapped stone changes colour and is mirrored."""
    text = "(;FF[4]GM[11]SZ[4];B[b1];W[swap-pieces];B[c3];W[d4];B[resign])"
    (record,) = records.read(text)
    assert record.game == records.text_of(HEX)
    assert len(record.moves) == 4
    end = last(HEX, record)
    assert HEX.position(end.state) == "(;FF[4]GM[11]SZ[4]AB[c3]AW[a2][d4]PL[B])"
    again = records.write(HEX, record)
    for part in ("GM[11]", "SZ[4]", ";B[b1]", ";W[swap-pieces]", ";B[c3]", ";W[d4]"):
        assert part in again
