"""FEN, UCI and algebraic notation of chess, against python-chess."""

import random

import chess
import jax
import numpy as np
import pytest

from halfmove.games import make, play
from halfmove.games.chess import Chess

GAME = Chess()
START = chess.STARTING_FEN


def positions(count: int, seed: int):
    """Boards from random games, some of them with castling, en passant and promotions near."""
    rng, board = random.Random(seed), chess.Board()
    while count:
        if board.is_game_over(claim_draw=True):
            board = chess.Board()
        board.push(rng.choice(list(board.legal_moves)))
        if rng.random() < 0.2 and not board.is_game_over(claim_draw=True):
            count -= 1
            yield board


@pytest.mark.parametrize(
    "fens",
    [
        [board.fen(en_passant="fen") for board in positions(12, 1)],
        [
            "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
            "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
            "8/8/8/2k5/3Pp3/8/8/4K2B b - d3 0 1",
            "3N1N2/8/3N1N2/8/k7/8/8/K7 w - - 0 1",
        ],
    ],
    ids=["random", "chosen"],
)
def test_every_move_has_its_names(fens):
    for fen in fens:
        state, board = jax.device_get(GAME.parse_position(fen)), chess.Board(fen)
        assert GAME.position(state) == fen
        found = {}
        for action in np.flatnonzero(GAME.legal(state)).tolist():
            uci, san = GAME.move_name(state, action), GAME.san(state, action)
            assert GAME.parse_move(state, uci) == action
            assert GAME.parse_move(state, san) == action
            found[uci] = san
        assert found == {move.uci(): board.san(move) for move in board.legal_moves}


def test_loose_notation():
    state = GAME.parse_position("r3k2r/1P6/8/8/8/8/8/R3K2R w KQkq - 0 1")
    for text, name in {
        "O-O": "e1g1",
        "0-0-0": "e1c1",
        "O-O+": "e1g1",
        "b8Q": "b7b8q",
        "bxa8=N": "b7a8n",
        "ba8=N": "b7a8n",
        "Ra1b1": "a1b1",
        "Rab1!?": "a1b1",
    }.items():
        assert GAME.move_name(state, GAME.parse_move(state, text)) == name


@pytest.mark.parametrize(
    ("fen", "text", "says"),
    [
        (START, "", "two squares"),
        (START, "e9e4", "two squares"),
        (START, "0000", "two squares"),
        (START, "hello", "two squares"),
        (START, "e2e4q", "only a pawn on its last step"),
        (START, "a1b4", "no piece goes from a1 to b4"),
        (START, "e4e4", "no piece goes"),
        (START, "Nd4", "not a legal move"),
        (START, "O-O", "not a legal move"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8", "what the pawn becomes"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8k", "q, r, b or n"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7c8n", "no p"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8", "not a legal move"),
        ("4k3/8/8/8/8/8/8/RN1K3R w - - 0 1", "Rg1g1", "not a legal move"),
        ("4k3/8/R7/8/8/8/8/R3K3 w - - 0 1", "Ra3", "a1a3, a6a3"),
    ],
)
def test_moves_that_are_none(fen, text, says):
    with pytest.raises(ValueError, match=says) as error:
        GAME.parse_move(GAME.parse_position(fen), text)
    assert repr(text) in str(error.value)


def test_illegal_moves_are_refused():
    state = GAME.init(jax.random.key(0))
    with pytest.raises(ValueError, match=r"'e2e5' is not legal here; legal: .*20 in all"):
        play(GAME, state, "e2e5")
    with pytest.raises(ValueError, match="e2e5 is not legal"):
        GAME.san(state, GAME.parse_move(state, "e2e5"))
    for action in (-1, 4672):
        with pytest.raises(ValueError, match="not an action of chess: 0 to 4671"):
            GAME.move_name(state, action)


def test_every_action_has_a_name():
    state = jax.device_get(GAME.init(jax.random.key(0)))
    for action in range(GAME.actions):
        name = GAME.move_name(state, action)
        if "-" not in name and name[4:] == "":
            assert GAME.parse_move(state, name) == action


@pytest.mark.parametrize(
    ("fen", "says"),
    [
        ("", "0 fields; it needs 6"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", "4 fields; it needs 6"),
        ("rnbqkbnr/pppppppp/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "pieces: 7 ranks"),
        ("rnbqkbnr/pppppppp/8/8/8/9/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "pieces: '9' in rank 3"),
        ("rnbqkbnr/pppppppp/8/8/8/7/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "rank 3, '7', has 7"),
        ("rnbqkbnr/ppppxppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "'x' in rank 7"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQQBNR w kq - 0 1", "white has 0 kings"),
        ("rnbqkbkr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "black has 2 kings"),
        ("rnbqkbnp/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQq - 0 1", "a pawn stands on"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1", "side to move: 'x'"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KX - 0 1", "castling: 'KX'"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KKkq - 0 1", "castling: 'KKkq'"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN1 w KQkq - 0 1", "a rook on h1"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e3 0 1", "rank 6 .white"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e6 0 1", "moved over e6"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq i6 0 1", "'i6' is neither"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - -1 1", "progress: '-1'"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 0", "move: '0'"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 x", "move: 'x'"),
        ("5k2/8/8/8/8/8/8/R3KR2 w Q - 0 1", "take the king of black"),
    ],
)
def test_malformed_fens(fen, says):
    with pytest.raises(ValueError, match=says) as error:
        GAME.parse_position(fen)
    assert repr(fen) in str(error.value)


def test_show():
    text = make("chess").show(GAME.parse_position("4k3/8/8/8/8/8/P7/4K3 b - - 3 20"))
    lines = text.splitlines()
    assert lines[0] == "8 . . . . k . . ."
    assert lines[6] == "2 P . . . . . . ."
    assert lines[-2:] == ["  a b c d e f g h", "black to move"]
