"""Chess as PGN: read again, beside python-chess, and files that other people wrote."""

import io

import chess
import chess.pgn
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from halfmove.games import records
from halfmove.games.records import Note, Record, RecordError
from tests.games.record_play import CHESS, damage, last, named, random_record, read_again, several

FOOLS_MATE = ("f2f3", "e7e5", "g2g4", "d8h4")


@settings(max_examples=8)
@given(data=st.data())
def test_what_is_written_is_read_again(data):
    read_again(data, CHESS)


def test_several_games_in_one_file():
    several(CHESS)


@pytest.mark.parametrize("form", ["", "json"])
@settings(max_examples=20)
@given(data=st.data())
def test_damage_is_named_or_harmless(form, data):
    damage(data, CHESS, form)


@pytest.mark.slow
@settings(max_examples=200)
@given(data=st.data())
def test_long_games_and_damage_anywhere(data):
    read_again(data, CHESS, length=150)
    damage(data, CHESS, anywhere=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[White "A"]\n\n1. e4 e5 2. Ke3 *', r"line 3, column 13: 'Ke3' is not a legal move"),
        ('[White "A"]\n\n1. e4 } *', r"line 3, column 7: not a move of PGN"),
        ('[White "A]\n\n1. e4 *', r"line 1, column 1: not a tag of PGN"),
        ('[White "A"]\n\n1. e4 {never ends', r"line 3, column 7: not a comment of PGN"),
        ('[White "A"]\n\n1. e4 (1. d4 *', "the text ends inside a variation"),
        ('[White "A"]\n[FEN "x"]\n\n*', r"line 1, column 1: FEN 'x' has 1 fields"),
        ('[White "A"]\n[Variant "Atomic"]\n\n*', "'Atomic' is not chess"),
        ('[Result "2-0"]\n\n*', "Result '2-0'"),
    ],
)  # fmt: skip
def test_errors_say_where_and_why(text, message):
    with pytest.raises(RecordError, match=message):
        records.read(text)


def test_moves_after_the_end_are_refused():
    mate = '[White "A"]\n\n1. f3 e5 2. g4 Qh4# 3. a3 *'
    with pytest.raises(RecordError, match="line 3, column 24: a3 after the end"):
        records.read(mate)


# -- other people's -------------------------------------------------------------


def test_python_chess_reads_the_same_games():
    found = [random_record(CHESS, seed, length=60) for seed in range(3)]
    endgame = "8/P6k/8/8/8/8/p5K1/8 b - - 3 57"
    found.append(random_record(CHESS, 9, length=120, position=endgame))
    mate = Record("chess", ("Ada; {A} [1]", "Bob"), named(CHESS, FOOLS_MATE), (-1.0, 1.0),
                  notes=(Note(0.5, {}),) * 4)  # fmt: skip
    found.append(mate)
    file = io.StringIO(records.write_all(CHESS, found))
    for record in found:
        theirs = chess.pgn.read_game(file)
        assert theirs.errors == []
        assert theirs.headers["White"] == record.players[0]
        board = theirs.board()
        ours = list(records.replay(CHESS, record))
        for turn, node in zip(ours, theirs.mainline(), strict=False):
            assert node.move.uci() == CHESS.move_name(turn.state, turn.action)
            board.push(node.move)
        assert board.fen(en_passant="fen") == CHESS.position(ours[-1].state)
        assert board.ply() == theirs.board().ply() + len(record.moves)
    assert chess.pgn.read_game(file) is None
    assert theirs.headers["Result"] == "0-1"
    assert theirs.next().comment == "value +0.5000"


def test_moves_are_named_as_python_chess_names_them():
    """Checks, mates, castling, promotions, and pieces that need a file, a rank or both."""
    starts = ["", "4k3/8/8/8/R6R/8/8/R3K2R w KQ - 0 1", "7k/P1P5/8/8/8/8/8/K7 w - - 0 1",
              "1Q1Q4/7k/1Q1Q4/8/8/8/8/K7 w - - 0 1"]  # fmt: skip
    for seed, start in enumerate(starts):
        record = random_record(CHESS, seed, length=12, position=start)
        text = records.write(CHESS, record)
        board = chess.Board(start or chess.STARTING_FEN)
        tokens = [t for t in text.split("\n\n")[1].split() if not t[0].isdigit() and t != "*"]
        for token, turn in zip(tokens, records.replay(CHESS, record), strict=False):
            move = chess.Move.from_uci(CHESS.move_name(turn.state, turn.action))
            assert token == board.san(move)
            board.push(move)


THEIR_PGN = """% a line for another program
[Event "Paris Opera"]
[Site "Paris"]
[Date "1858.??.??"]
[Round "?"]
[White "Paul Morphy"]
[Black "Duke \\"Karl\\" / Count Isouard"]
[Result "1-0"]
[ECO "C41"]
[WhiteElo "2690"]

1.e4 e5 2.Nf3 d6 {Philidor} 3.d4 Bg4 $2 (3...exd4 4.Nxd4 (4.Qxd4 Nc6) Nf6) 4.dxe5 Bxf3
5.Qxf3 dxe5 6.Bc4 Nf6 ; a comment to the end of the line
7.Qb3 Qe7 8.Nc3 c6 9.Bg5 b5 10.Nxb5 cxb5 11.Bxb5+ Nbd7 12.0-0-0 Rd8 13.Rxd7 Rxd7 14.Rd1 Qe6
15.Bxd7+ Nxd7 16.Qb8+!! Nxb8 17.Rd8# 1-0

[White "A"]
[Black "B"]
[Result "1/2-1/2"]
[Termination "time forfeit"]

1. e4 1/2-1/2
"""


def test_somebody_elses_pgn():
    first, second = records.read(THEIR_PGN)
    assert first.players == ("Paul Morphy", 'Duke "Karl" / Count Isouard')
    assert first.result == (1.0, -1.0)
    assert first.info == {"event": "Paris Opera", "site": "Paris", "date": "1858.??.??",
                          "eCO": "C41", "whiteElo": "2690"}  # fmt: skip
    board = chess.pgn.read_game(io.StringIO(THEIR_PGN)).end().board()
    assert CHESS.position(last(CHESS, first).state) == board.fen(en_passant="fen")
    assert board.is_checkmate()
    assert (second.result, second.reason, len(second.moves)) == ((0.0, 0.0), "time", 1)
