"""UCI and USI: a dialogue in both, with python-chess and python-shogi as judges."""

import re
import time

import chess
import pytest
import shogi

from halfmove.games.chess import Chess
from halfmove.games.gardner_chess import GardnerChess
from halfmove.games.shogi import Shogi
from halfmove.play import centipawns, uci, usi
from halfmove.play.go_words import Asked, asked
from halfmove.play.opinion import Line
from halfmove.play.seat import Limits
from tests.play.minds import Live, spoken

# The dialogue is the same for every game: Gardner's, on 25 squares, compiles fastest.
GAME = GardnerChess()
LIMITS = Limits(simulations=20)
MATE = "position fen k4/5/1K3/5/4R w - - 0 1"  # e1e5, and nothing else
LOST = "position fen k4/2K2/5/3R1/5 b - - 0 1"  # a5a4 is forced, and d2a2 mates


@pytest.fixture(autouse=True)
def one_size_of_tree(monkeypatch):
    """So that one search is compiled for all."""
    monkeypatch.setattr("halfmove.play.thinking.LEAST", 256)
    monkeypatch.setattr("halfmove.play.thinking.MOST", 256)


def talk(*lines, game=GAME, main=uci.main):
    return spoken(main, game, "\n".join(lines) + "\n", limits=LIMITS).splitlines()


def best(lines):
    (found,) = [line for line in lines if line.startswith("bestmove")]
    return found.split()[1]


def test_the_greeting():
    lines = talk("uci", "isready")
    assert lines[-1] == "readyok"
    assert lines[-2] == "uciok"
    assert lines[0].startswith("id name ")
    assert "option name MultiPV type spin default 1 min 1 max 256" in lines


def judged(lines, board, parse):
    """Whether the last variation and the move are legal by somebody else's rules."""
    *_, info, move = lines
    words = dict(re.findall(r"(depth|seldepth|nodes|nps|time) (\d+)", info))
    assert int(words["depth"]) <= int(words["seldepth"])
    line = info.partition(" pv ")[2].split()
    assert line
    for name in line:
        found = parse(name)
        assert found in board.legal_moves
        board.push(found)
    ponder = ["ponder", line[1]] if len(line) > 1 else []
    assert move.split() == ["bestmove", line[0], *ponder]
    return int(words["nodes"])


@pytest.mark.slow
def test_chess_by_python_chess():
    board = chess.Board()
    board.push_uci("e2e4")
    board.push_uci("e7e5")
    lines = talk("position startpos moves e2e4 e7e5", "go nodes 60", game=Chess())
    assert judged(lines, board, chess.Move.from_uci) == 60
    castles = "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 0 8"
    lines = talk(f"position fen {castles}", "go nodes 80 searchmoves e1g1 e1c1", game=Chess())
    assert judged(lines, chess.Board(castles), chess.Move.from_uci) == 80
    back_rank = "position fen 6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"
    lines = talk(back_rank, "go nodes 200", game=Chess())
    assert best(lines) == "a1a8"
    assert " score mate 1 " in lines[-2]


def test_a_move_and_what_it_is_worth():
    lines = talk("position startpos moves b2b3 a4b3", "go nodes 30")
    words = dict(re.findall(r"(depth|seldepth|multipv|nodes|score cp) (-?\d+)", lines[-2]))
    assert int(words["nodes"]) == 30
    assert int(words["depth"]) <= int(words["seldepth"])
    variation = lines[-2].partition(" pv ")[2].split()
    assert lines[-1].split()[1] == variation[0]


def test_mate_is_said_when_it_is_proven():
    lines = talk(MATE, "go nodes 200")
    assert best(lines) == "e1e5"
    assert " score mate 1 " in lines[-2]
    lines = talk(LOST, "go nodes 256")
    assert best(lines) == "a5a4"
    assert " score mate -1 " in lines[-2]
    lines = talk(MATE, "go mate 1")
    assert best(lines) == "e1e5"


def test_several_variations():
    lines = talk("setoption name MultiPV value 3", MATE, "go nodes 40")
    last = [line for line in lines if " nodes 40 " in line][-3:]
    assert [re.search(r"multipv (\d)", line)[1] for line in last] == ["1", "2", "3"]
    assert len({line.partition(" pv ")[2].split()[0] for line in last}) == 3


def test_only_some_moves():
    lines = talk("position startpos", "go nodes 20 searchmoves a2a3 e2e3")
    assert best(lines) in ("a2a3", "e2e3")
    assert "error" in talk("position startpos", "go nodes 20 searchmoves a2a5")[0]


def test_positions_that_are_over():
    over = "position fen k3R/5/1K3/5/5 b - - 0 1"
    assert best(talk(over, "go nodes 5")) == "(none)"


def test_depth():
    lines = talk(MATE, "go depth 2")
    assert int(re.search(r"depth (\d+)", lines[-2])[1]) >= 2


@pytest.mark.parametrize(
    "bad",
    [
        "position", "position fen", "position fen x y z", "position startpos moves e2e5",
        "position startpos moves a4a3", "position startpos a2a3", "position startpos moves \ud7ff",
        "position fen 5/5/5/5/5 w - - 0 1", "go nodes", "go nodes x", "go nodes -",
        "go depth 99999999999999999999999", "go fast", "setoption", "setoption name",
        "setoption name MultiPV", "setoption name MultiPV value 0", "setoption name X value 1",
        "setoption value 1 name MultiPV", "fly", "overlong-line",
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_and_changes_nothing(bad):
    """The mate of before is still on the board."""
    lines = talk(MATE, bad, "go nodes 60")
    assert lines[0].startswith("info string error: ")
    assert best(lines) == "e1e5"


def test_stop_and_isready_while_it_thinks():
    live = Live(uci.main, GAME)
    live.tell("position startpos")
    live.tell("go infinite")
    live.tell("isready")
    assert live.hear(lambda line: line == "readyok")
    time.sleep(0.3)
    live.tell(MATE)  # waits until the search is over
    live.tell("stop")
    first = live.hear(lambda line: line.startswith("bestmove"))[-1].split()[1]
    assert first in ("b1c3", "b1a3", "a2a3", "b2b3", "c2c3", "d2d3", "e2e3")
    live.tell("go nodes 100")
    second = live.hear(lambda line: line.startswith("bestmove"))[-1].split()[1]
    assert second == "e1e5"
    assert live.end() == 0


def test_no_move_before_stop_even_if_all_is_searched():
    live = Live(uci.main, GAME)
    live.tell(MATE)
    live.tell("go infinite")
    time.sleep(1.0)  # 256 simulations are over by then, or the test says nothing
    live.tell("isready")
    heard = live.hear(lambda line: line == "readyok")
    assert not any(line.startswith("bestmove") for line in heard)
    live.tell("stop")
    assert live.hear(lambda line: line.startswith("bestmove"))[-1].split()[1] == "e1e5"
    assert live.end() == 0


def test_pondering():
    live = Live(uci.main, GAME)
    live.tell("position startpos moves b2b3")
    live.tell("go ponder wtime 1000 btime 1000")
    time.sleep(0.5)
    live.tell("isready")
    assert live.hear(lambda line: line == "readyok")[-1] == "readyok"
    live.tell("ponderhit")
    began = time.monotonic()
    live.hear(lambda line: line.startswith("bestmove"))
    assert time.monotonic() - began < 5
    assert live.end() == 0


@pytest.mark.parametrize(
    "words",
    [
        "movetime 300", "wtime 3000 btime 10", "wtime 900 btime 9 winc 100",
        "wtime 400 btime 1 movestogo 1", "wtime -20 btime 5",
    ],
)  # fmt: skip
def test_it_moves_in_time(words):
    live = Live(uci.main, GAME)
    live.tell("position startpos")
    live.tell("isready")
    live.hear(lambda line: line == "readyok")
    began = time.monotonic()
    live.tell(f"go {words}")
    live.hear(lambda line: line.startswith("bestmove"))
    assert time.monotonic() - began < 3.0
    live.tell("quit")
    assert live.end() == 0


def test_the_end_of_the_input_ends_it():
    live = Live(uci.main, GAME)
    live.tell("go infinite")
    time.sleep(0.2)
    assert live.end() == 0


# -- words -------------------------------------------------------------------


def test_the_words_of_go():
    def go(text, clocks=("wtime", "btime")):
        return asked(text.split(), clocks)

    white, black = go("wtime 60000 btime 50000 winc 1000 movestogo 20").clocks
    assert (white.left, white.increment, white.moves) == (60, 1, 20)
    assert (black.left, black.increment) == (50, 0)
    first, second = go("btime 3000 wtime 0 byoyomi 10000", ("btime", "wtime")).clocks
    assert (first.left, first.period, second.left) == (3, 10, 0)
    assert go("infinite") == Asked(open=True)
    assert go("searchmoves e2e4 d2d4 nodes 5").only == ("e2e4", "d2d4")
    assert go("").plain


def test_centipawns():
    def line(value, mate=None):
        return Line((0,), 1, value, 0.5, mate)

    assert centipawns.chess(line(0.0)) == centipawns.shogi(line(0.0)) == "cp 0"
    assert centipawns.chess(line(1.0)) == "cp 9999"
    assert centipawns.shogi(line(-1.0)) == "cp -9999"
    assert centipawns.shogi(line(0.5)) == "cp 659"  # 600 ln 3
    assert centipawns.chess(line(0.5)) == "cp 89"  # 90 tan(0.78187709485)
    assert [centipawns.chess(line(1.0, n)) for n in (1, 2, 3, -2)] == [
        "mate 1", "mate 1", "mate 2", "mate -1"
    ]  # fmt: skip
    assert centipawns.shogi(line(1.0, 3)) == "mate 3"


# -- shogi -------------------------------------------------------------------


@pytest.mark.slow
def test_shogi_by_python_shogi():
    said = talk(
        "usi",
        "setoption name USI_Ponder value true",
        "isready",
        "usinewgame",
        "position startpos moves 7g7f 3c3d",
        "go btime 0 wtime 0 byoyomi 500",
        game=Shogi(),
        main=usi.main,
    )
    assert "usiok" in said
    assert "readyok" in said
    board = shogi.Board()
    board.push_usi("7g7f")
    board.push_usi("3c3d")
    judged(said, board, shogi.Move.from_usi)

    sfen = "4k4/9/4G4/9/9/9/9/9/4K4 b G 1"
    go = "go nodes 100 searchmoves 5i5h G*1a G*5b"
    said = talk(f"position sfen {sfen}", go, game=Shogi(), main=usi.main)
    board = shogi.Board(sfen)
    board.push_usi(best(said))
    assert board.is_checkmate()
    assert " score mate 1 " in said[-2]


def test_what_is_shogis_own():
    said = talk(
        "usi", "go mate infinite", MATE, "usinewgame", "gameover win",
        "go btime 0 wtime 0 byoyomi 100 nodes x", main=usi.main,
    )  # fmt: skip
    assert said[said.index("usiok") + 1] == "checkmate notimplemented"
    assert said[-2].startswith("info string error: a position is startpos or sfen")
    assert said[-1].startswith("info string error: syntax error")
