"""What a page is told of a board, against other programs and against what moves do."""

import chess
import numpy as np
import pytest
import shogi

from halfmove import games
from halfmove.games.follow import begin, moved
from halfmove.web import rules
from halfmove.web.board_view import STYLES, board_of, move_of, pieces, position_of

LINES = ("go size=5", "hex size=4 swap=true", "othello", "connect_four", "tic_tac_toe", "chess",
         "gardner_chess", "shogi", "animal_shogi")  # fmt: skip


def test_every_game_has_a_board():
    assert set(rules.names()) == set(STYLES) == set(games.names())


@pytest.mark.parametrize("line", LINES)
def test_a_move_brings_its_piece_where_the_page_is_told(line):
    game = rules.game_of(line)
    rng = np.random.default_rng(1)
    spot, seen = begin(game), 0
    for _ in range(60):
        if spot.over:
            break
        action = int(rng.choice(np.flatnonzero(spot.legal)))
        told = move_of(game, spot, action)
        before = pieces(game, game.show(spot.state))
        after = moved(game, spot, action)
        now = pieces(game, game.show(after.state))
        if told["name"] in ("pass", "swap-pieces"):
            assert told["to"] is None
        else:
            assert now[told["to"]][1] == spot.player
            assert before.get(told["to"]) is None or before[told["to"]][1] != spot.player
            if "from" in told:
                assert before[told["from"]][1] == spot.player
                assert told["from"] not in now
            seen += 1
        spot = after
    assert seen > 3


@pytest.mark.parametrize("line", LINES)
def test_a_position_is_told_whole(line):
    game = rules.game_of(line)
    spot = begin(game)
    told = position_of(game, spot, None, None)
    assert [move["action"] for move in told["legal"]] == np.flatnonzero(spot.legal).tolist()
    names = board_of(game)["places"]
    assert len(set(names)) == len(names) == board_of(game)["rows"] * board_of(game)["columns"]
    for move in told["legal"]:
        assert game.parse_move(spot.state, move["name"]) == move["action"]


def test_chess_as_python_chess_sees_it():
    game = rules.game_of("chess")
    names = board_of(game)["places"]
    for fen in (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 b - - 0 1",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    ):
        board, spot = chess.Board(fen), begin(game, fen)
        told = position_of(game, spot, None, None)
        there = {
            names.index(chess.square_name(square)): (piece.symbol(), 0 if piece.color else 1)
            for square, piece in board.piece_map().items()
        }
        assert told["pieces"] == there
        legal = {(names[m["from"]] + names[m["to"]] + m.get("becomes", "")) for m in told["legal"]}
        assert legal == {move.uci() for move in board.legal_moves}


def test_shogi_as_python_shogi_sees_it():
    game = rules.game_of("shogi")
    names = board_of(game)["places"]
    sfen = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1"
    board, spot = shogi.Board(sfen), begin(game, sfen)
    told = position_of(game, spot, None, None)
    assert told["hands"] == [{"G": 1, "R": 1}, {"P": 5, "N": 1, "S": 1, "G": 1}]
    there = {
        names.index(shogi.SQUARE_NAMES[square]): (piece.symbol(), piece.color)
        for square in shogi.SQUARES
        if (piece := board.piece_at(square)) is not None
    }
    assert told["pieces"] == there
    legal = {
        (f"{m['drop']}*" if "drop" in m else names[m["from"]])
        + names[m["to"]]
        + m.get("becomes", "")
        for m in told["legal"]
    }
    assert legal == {move.usi() for move in board.legal_moves}


def test_what_was_lost():
    game = rules.game_of("chess")
    spot = begin(game, "rnbqkb1r/pppp1ppp/8/4p3/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1")
    assert position_of(game, spot, None, None)["lost"] == ["q", "n"]
    go = rules.game_of("go size=5")
    spot = begin(go)
    for name in ("A1", "A2", "E5", "B1"):
        spot = moved(go, spot, go.parse_move(spot.state, name))
    assert position_of(go, spot, None, None)["lost"] == ["1", "0"]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("antigravity:x", "not played here"),
        ("2048 size=5", "no option"),
        ("", "not played here"),
        ("go history=100000000", "history"),
        ("go komi=1e300", "komi must be within"),
        ("go komi=0.123", "whole or a half"),
        ("go size=9 engine=kernel", "engine"),
        ("go size=[1]", "size must be a number"),
        ("hex size=99", "2 to 19"),
        ("hex colour=3", "no option"),
        ("hex " + "x" * 300, "options"),
    ],
)
def test_lines_of_games_from_outside(line, wrong):
    with pytest.raises(ValueError, match=wrong):
        rules.game_of(line)
