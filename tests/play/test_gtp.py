"""GTP: how lines are read and answered, and every command of the standard for Go."""

import re
import time

import numpy as np
import pytest

from halfmove.arena.players import Mind
from halfmove.games.go import Go
from halfmove.games.go_text import handicap_points
from halfmove.play import gtp, gtp_go
from halfmove.play.seat import Limits
from tests.play.minds import Live, even, spoken

GAME = Go(size=5, komi=0.5)
LIMITS = Limits(simulations=8)
# Every command that version 2 of the standard knows, section 6.3.
STANDARD = (
    "protocol_version name version known_command list_commands quit boardsize clear_board komi "
    "fixed_handicap place_free_handicap set_free_handicap play genmove undo time_settings "
    "time_left final_score final_status_list loadsgf reg_genmove showboard"
)


@pytest.fixture(autouse=True)
def one_size_of_tree(monkeypatch):
    """So that one search is compiled for all."""
    monkeypatch.setattr("halfmove.play.thinking.LEAST", 2048)
    monkeypatch.setattr("halfmove.play.thinking.MOST", 2048)


def talk(*lines):
    """The answers to these lines: (mark, number, text) each."""
    text = spoken(gtp_go.main, GAME, "\n".join(lines) + "\n", limits=LIMITS)
    assert text.endswith("\n\n")
    found = []
    for answer in text[:-2].split("\n\n"):
        parts = re.fullmatch(r"([=?])(\d*) ?(.*)", answer, re.DOTALL)
        assert parts, answer
        found.append(parts.groups())
    return found


def texts(*lines):
    return [text for _, _, text in talk(*lines)]


def test_lines_as_the_standard_reads_them():
    assert gtp.parse("  12\tplay\x07  b c3 # a comment") == gtp.Command("12", "play", ("b", "c3"))
    assert gtp.parse("name") == gtp.Command("", "name", ())
    assert gtp.parse("12") == gtp.Command("12", "", ())
    for nothing in ("", "   ", "# only a comment", "\t\x01"):
        assert gtp.parse(nothing) is None


def test_answers_have_marks_numbers_and_an_empty_line():
    text = spoken(
        gtp_go.main, GAME, "7 name\n\n# hello\nfoo\n8 foo\n9\nprotocol_version\r\nquit\nname"
    )
    assert text == (
        "=7 Halfmove\n\n? unknown command\n\n?8 unknown command\n\n?9 unknown command\n\n"
        "= 2\n\n=\n\n"
    )


def test_all_commands_of_the_standard():
    (listed,) = texts("list_commands")
    assert set(STANDARD.split()) <= set(listed.split("\n"))
    more = ("kgs-time_settings", "lz-analyze", "kata-analyze", "lz-genmove_analyze")
    assert {*more, "kata-genmove_analyze"} <= set(listed.split("\n"))
    assert texts("known_command genmove", "known_command no") == ["true", "false"]


def board(text):
    """The stones of `showboard`, from the top: `.XO`."""
    rows = [re.sub(r"[()]", " ", row).split()[1:-1] for row in text.splitlines()[2:7]]
    return ["".join(row) for row in rows]


def test_moves_and_taking_back():
    *_, shown = texts("play black c3", "play W D4", "play b pass", "showboard")
    assert board(shown) == [".....", "...O.", "..X..", ".....", "....."]
    *_, shown = texts("play b c3", "play w d4", "undo", "showboard")
    assert board(shown) == [".....", ".....", "..X..", ".....", "....."]
    assert talk("undo")[0][::2] == ("?", "cannot undo")
    assert talk("play b c3", "play w c3")[1][::2] == ("?", "illegal move")


def test_one_colour_may_move_many_times():
    setup = ["play b a1", "play b b1", "play b c1", "play w a2", "play w b2", "play w c2"]
    *_, shown = texts(*setup, "showboard")
    assert board(shown) == [".....", ".....", ".....", "OOO..", "XXX.."]
    # A capture by the last of them.
    *_, shown = texts(*setup, "play w d1", "showboard")
    assert board(shown) == [".....", ".....", ".....", "OOO..", "...O."]


def test_play_goes_on_after_two_passes():
    *answers, shown = talk("play b c3", "play w pass", "play b pass", "play b d3", "play w b3",
                           "showboard")  # fmt: skip
    assert {mark for mark, _, _ in answers} == {"="}
    assert board(shown[2]) == [".....", ".....", ".OXX.", ".....", "....."]


def test_ko():
    ko = ["play b b3", "play w c3", "play b a2", "play w d2", "play b b1", "play w c1",
          "play w b2", "play b c2"]  # fmt: skip
    assert talk(*ko)[-1][0] == "="
    assert talk(*ko, "play w b2")[-1][::2] == ("?", "illegal move")
    assert talk(*ko, "play w e5", "play b e4", "play w b2")[-1][0] == "="


def test_genmove_plays_and_reg_genmove_does_not():
    _, move, shown = texts("play b c3", "genmove w", "showboard")
    if move != "pass":
        assert board(shown)[5 - int(move[1:])]["ABCDE".index(move[0])] == "O"
    _, move, shown = texts("play b c3", "reg_genmove w", "showboard")
    assert re.fullmatch("[A-E][1-5]|pass", move)
    assert "O" not in "".join(board(shown))


def test_scores():
    assert texts("final_score") == ["W+0.5"]
    assert texts("play b c3", "final_score")[1] == "B+24.5"
    assert texts("komi 25", "play b c3", "final_score")[2] == "0"
    stones = texts("play b c3", "play b c4", "play w a1", "final_status_list alive")[3]
    assert sorted(sorted(line.split()) for line in stones.split("\n")) == [["A1"], ["C3", "C4"]]
    assert texts("play b c3", "final_status_list dead", "final_status_list seki")[1:] == ["", ""]
    assert talk("final_status_list ill")[0][0] == "?"


def test_handicap():
    fixed, shown = texts("boardsize 9", "fixed_handicap 4", "showboard")[1:]
    expected = {f"{'ABCDEFGHJ'[c]}{9 - r}" for r, c in handicap_points(9, 4)}
    assert set(fixed.split()) == expected
    assert "white (O) to play" in shown
    assert talk("fixed_handicap 2")[0][2].startswith("invalid number of stones")  # 5x5 has none
    assert talk("boardsize 9", "fixed_handicap 1")[1][0] == "?"
    placed = texts("place_free_handicap 3")[0].split()
    assert len(placed) == len(set(placed)) == 3
    assert len(texts("place_free_handicap 24")[0].split()) == 24
    assert talk("place_free_handicap 25")[0][::2] == ("?", "invalid number of stones")
    *_, shown = texts("set_free_handicap a1 b2 c3", "showboard")
    assert sum(row.count("X") for row in board(shown)) == 3
    for bad in ("", "a1", "a1 a1", "a1 z9", "a1 pass"):
        assert talk(f"set_free_handicap {bad}")[0][2].startswith("bad vertex list")
    for command in ("fixed_handicap 2", "place_free_handicap 2", "set_free_handicap a1 b1"):
        assert talk("play b c3", command)[1][2] == "board not empty"


def test_boards_of_another_size():
    assert texts("boardsize 7", "showboard")[1].splitlines()[2].split()[0] == "7"
    for size in ("1", "20", "25", "1000000", "-5", "x", ""):
        assert talk(f"boardsize {size}")[0][0] == "?"
    assert talk("boardsize 99")[0][2].startswith("unacceptable size")
    *_, shown = texts("play b c3", "boardsize 20", "showboard")
    assert "X" in "".join(board(shown))  # refused, so nothing has changed


def only_five(game: Go) -> Mind:
    if game.size != 5:
        raise ValueError("this network learned go size=5, and plays nothing else")
    return even(game)


def test_a_network_refuses_other_boards(monkeypatch):
    monkeypatch.setattr("tests.play.minds.even", only_five)
    assert talk("boardsize 9")[0][2].startswith("unacceptable size: this network learned")
    assert talk("boardsize 5", "komi 3.5", "clear_board")[2][0] == "="


def test_loadsgf(tmp_path):
    file = tmp_path / "game.sgf"
    file.write_text("(;GM[1]FF[4]SZ[5]KM[0.5];B[cc];W[bb](;B[dd])(;B[aa]))")
    *_, shown = texts(f"loadsgf {file}", "showboard")
    assert board(shown) == [".....", ".O...", "..X..", "...X.", "....."]
    *_, shown = texts(f"loadsgf {file} 2", "showboard")  # before the second move
    assert board(shown) == [".....", ".....", "..X..", ".....", "....."]
    assert texts(f"loadsgf {file}", "undo", "undo", "undo", "undo")[-1] == "cannot undo"
    assert texts(f"loadsgf {file}", "undo", "undo", "final_score")[-1] == "B+24.5"
    file.write_text("(;GM[1]SZ[5]KM[0.5]HA[2]AB[bb][dd];W[cc])")
    *_, shown = texts(f"loadsgf {file}", "showboard")
    assert board(shown) == [".....", ".X...", "..O..", "...X.", "....."]
    for bad in ("(;GM[1]SZ[5];B[cc];W[cc])", "(;GM[1]SZ[5", "", "\x00\xff", "(;GM[11]SZ[5];B[a1])"):
        file.write_text(bad)
        mark, _, text = talk("play b a1", f"loadsgf {file}", "showboard")[1]
        assert mark == "?"
        assert text.startswith("cannot load file")
    assert talk("loadsgf /nowhere/at/all")[0][2].startswith("cannot load file")


@pytest.mark.slow
def test_loadsgf_with_the_usual_handicap(tmp_path):
    file = tmp_path / "game.sgf"
    file.write_text("(;GM[1]SZ[9]HA[2]AB[gc][cg];W[ee])")
    *_, shown, _ = texts(f"loadsgf {file}", "showboard", "genmove b")
    rows = [row.split() for row in shown.splitlines()[2:11]]
    assert (rows[2][7], rows[6][3]) == ("X", "X")


# -- clocks ------------------------------------------------------------------


def test_clocks():
    clocks = gtp_go.Clocks()
    assert clocks.of(0) is None
    clocks.settings(["300", "0", "0"])
    assert (clocks.of(1).left, clocks.of(1).moves) == (300, None)
    clocks.time_left(["w", "12", "0"])
    assert clocks.of(1).left == 12
    clocks.settings(["0", "60", "5"])  # Canadian from the start
    assert (clocks.of(0).left, clocks.of(0).moves) == (60, 5)
    clocks.time_left(["b", "20", "2"])
    assert (clocks.of(0).left, clocks.of(0).moves) == (20, 2)
    clocks.settings(["0", "1", "0"])  # the standard's way to say: no limit
    assert clocks.of(0) is None
    clocks.kgs_settings(["byoyomi", "10", "30", "3"])
    assert (clocks.of(0).left, clocks.of(0).period) == (10, 30)
    clocks.time_left(["b", "25", "3"])
    assert (clocks.of(0).left, clocks.of(0).period) == (0, 25)
    clocks.kgs_settings(["none"])
    assert clocks.of(0) is None
    for bad in ([], ["canadian"], ["absolute"], ["hourglass", "3"], ["byoyomi", "1", "2", "x"]):
        with pytest.raises(ValueError, match="syntax error"):
            clocks.kgs_settings(bad)


def test_it_moves_in_time():
    began = time.monotonic()
    lines = ["time_settings 20 0 0", "time_left b 1 0", "genmove b"]
    text = spoken(gtp_go.main, GAME, "\n".join(lines), limits=Limits())
    assert re.search(r"= ([A-E][1-5]|pass)\n\n$", text)
    assert time.monotonic() - began < 60  # what it compiles is not on the clock


# -- analysis ----------------------------------------------------------------


def sabaki(line):
    """An analysis as Sabaki reads it: moves by (visits, win rate in percent, variation)."""
    found = {}
    for part in re.split(r"\s*info\s+", line)[1:]:
        tail = re.search(r"(pass|[A-Za-z]\d+)(\s+(pass|[A-Za-z]\d+))*$", part.strip())
        words = part[: tail.start()].split()[:-1]
        told = dict(zip(words[::2], words[1::2], strict=True))
        rate = float(told["winrate"])
        rate = rate * 100 if "." in told["winrate"] else rate / 100
        found[told["move"]] = (int(told["visits"]), rate, tail[0].split())
    return found


@pytest.mark.parametrize("form", ["lz", "kata"])
def test_a_stream_ends_with_the_next_line(form):
    live = Live(gtp_go.main, GAME, limits=LIMITS)
    live.tell("play b c3")
    live.hear(lambda line: line == "")
    live.tell(f"3 {form}-analyze w 1")
    assert live.hear(lambda line: line.startswith("="))[-1] == "=3"
    first, *_, last = live.hear(lambda line: True) + live.hear(lambda line: True)
    live.tell("name")
    rest = live.hear(lambda line: line == "= Halfmove")
    assert "" in rest  # the stream's own end
    one, two = sabaki(first), sabaki(last)
    assert sum(visits for visits, _, _ in two.values()) > sum(v for v, _, _ in one.values()) > 0
    for move, (_, rate, moves) in two.items():
        assert 0 <= rate <= 100
        assert moves[0] == move != "C3"
    live.hear(lambda line: line == "")
    live.tell("showboard")
    assert "O" not in "".join(board("\n".join(live.hear(lambda line: line == ""))))
    assert live.end() == 0


def test_what_an_analysis_may_be_asked():
    for words in ("", "b", "b 50", "50", "interval 50", "b 50 minmoves 3 maxmoves 2",
                  "b 10 ownership true", "b 10 avoid b c3,d4 5 avoid w a1 5",
                  "allow b a1,b1 1"):  # fmt: skip
        answer = talk(f"lz-analyze {words}", "name")[0]
        assert answer[0] == "=", words
        moves = sabaki(answer[2].strip())
        assert moves
        if "maxmoves" in words:
            assert len(moves) <= 2
        if "avoid" in words:
            assert not {"C3", "D4"} & set(moves)
        if "allow" in words:
            assert set(moves) <= {"A1", "B1"}
    for bad in ("x", "b x", "b 10 avoid", "b 10 avoid b z9 1", "b 10 maxmoves 0", "b -1"):
        assert talk(f"kata-analyze {bad}")[0][0] == "?", bad


def test_a_move_with_its_analysis():
    for form in ("lz", "kata"):
        first, shown = texts(f"{form}-genmove_analyze b 100", "showboard")
        *lines, play = first.strip().split("\n")
        assert re.fullmatch(r"play ([A-E][1-5]|pass)", play)
        found = sabaki(lines[-1])
        assert sum(visits for visits, _, _ in found.values()) == 8
        assert next(iter(found)) == play.split()[1]
        assert ("X" in "".join(board(shown))) == (play != "play pass")


def test_numbers_of_an_opinion():
    from halfmove.play import analysis
    from halfmove.play.opinion import Line, Opinion

    line = Line((12, 25), 50, 0.5, 0.125)
    opinion, wish = Opinion(12, 0.5, 50, 2, 2, (line,)), analysis.Wish(player=0)
    said = analysis.info(opinion, "lz", lambda a: f"V{a}", wish, None)
    low = 0.75 - 2 * np.sqrt(0.75 * 0.25 / 50)
    assert said == (
        f"info move V12 visits 50 winrate 7500 prior 1250 lcb {round(1e4 * low)} order 0 pv V12 V25"
    )
