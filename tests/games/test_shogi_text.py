"""SFEN and USI against python-shogi, and what is said of mistakes."""

import random

import jax
import numpy as np
import pytest
import shogi as python_shogi
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmove import games
from halfmove.games.shogi import START, Shogi

GAME = Shogi(history=1)
one_step = jax.jit(GAME.step)
legal_of = jax.jit(GAME.legal)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=2)
def test_round_trips_along_a_game_of_python_shogi(seed):
    """Names of all legal moves and the text of the position are python-shogi's, move by move."""
    rng = random.Random(seed)
    board, state = python_shogi.Board(), GAME.init(jax.random.key(0))
    for ply in range(rng.choice((3, 40, 120))):
        assert GAME.position(state) == board.sfen()
        legal = np.nonzero(legal_of(state))[0]
        if ply % 15 == 0:
            names = {GAME.move_name(state, int(a)): int(a) for a in legal}
            assert set(names) == {move.usi() for move in board.legal_moves}
            assert all(GAME.parse_move(state, name) == a for name, a in names.items())
            again = GAME.parse_position(board.sfen())
            assert GAME.position(again) == board.sfen()
            np.testing.assert_array_equal(legal_of(again), legal_of(state))
            np.testing.assert_array_equal(GAME.to_play(again), GAME.to_play(state))
        if not len(legal):
            break
        action = rng.choice(legal.tolist())
        board.push_usi(GAME.move_name(state, action))
        state = one_step(jax.random.key(0), state, action)


def test_hands_in_any_order_and_no_move_number():
    state = GAME.parse_position("4k4/9/9/9/9/9/9/9/4K4 w p2RSl3P")
    assert GAME.position(state) == "4k4/9/9/9/9/9/9/9/4K4 w 2RS3Plp 1"
    assert int(GAME.to_play(state)) == 1


def test_show():
    state = GAME.parse_position(
        "lnsgkgsnl/1r5+B1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL w B 4"
    )
    lines = GAME.show(state).splitlines()
    assert lines[0] == "white's hand: -"
    assert lines[-2] == "black's hand: B"
    assert lines[-1] == "move 4, white to play"
    assert lines[1].split() == list("987654321")
    assert lines[3].split() == [".", "r", ".", ".", ".", ".", ".", "+B", ".", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "0 fields"),
        ("startpos", "1 fields"),
        ("9/9/9 b - 1", "expected 9 ranks between slashes, got 3"),
        (START.replace("1r5b1", "1r5b"), r"rank b \('1r5b'\): has 8 squares"),
        (START.replace("1r5b1", "1r5b2"), "has 10 squares"),
        (START.replace("1r5b1", "1r5x1"), "'x' is no piece; pieces are PLNSBRGK"),
        (START.replace("lnsgk", "lns+gk"), "'.g' is no piece: gold and king do not promote"),
        (START.replace("lnsg", "lns0g"), "'0' is no piece"),
        (START.replace("/1B5R1", "/1B5R+"), "rank h"),
        (START.replace(" b ", " x "), "side to move: expected b or w, got 'x'"),
        (START.replace(" - ", " K "), "'K' cannot be in hand"),
        (START.replace(" - ", " 2 "), "hands"),
        (START.replace(" - ", " 0P "), "there are 1 to 18"),
        (START.replace(" - ", " P "), "there are 19 of P, at most 18 exist"),
        (START.replace("- 1", "- 0"), "move number: expected a number from 1, got '0'"),
        (START.replace("- 1", "- one"), "move number"),
        (START.replace("- 1", "- 600"), "move 600 is beyond the limit of 512"),
        ("9/9/9/9/9/9/9/9/4K4 b - 1", "white has 0 kings"),
        ("4k4/9/9/9/9/9/9/9/3KK4 b - 1", "black has 2 kings"),
        ("4k4/9/9/P8/9/P8/9/9/4K4 b - 1", "black has 2 pawns on file 9"),
        ("N3k4/9/9/9/9/9/9/9/4K4 b - 1", "N on 9a could never move again"),
        ("4k4/9/9/9/9/9/9/9/p3K4 b - 1", "p on 9i could never move again"),
        ("4k4/9/9/9/9/9/9/4r4/4K4 w - 1", "the side to move could take the king"),
    ],
)
def test_bad_sfen_says_what_is_wrong(text, says):
    with pytest.raises(ValueError, match=says):
        GAME.parse_position(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no USI move: expected 7g7f, 8h2b. or P.5e"),
        ("7g7", "is no USI move"),
        ("7j7f", "is no USI move"),
        ("7g7f=", "is no USI move"),
        ("p*5e", "is no USI move"),
        ("K*5e", "'K' cannot be dropped; PLNSBRG can"),
        ("5e5d", "black has no piece on 5e"),
        ("3c3d", "black has no piece on 3c"),
        ("7g6d", "no piece moves from 7g to 6d"),
        ("2h2f", "something stands between 2h and 2f"),
        ("7g7e", "'7g7e' is not legal here"),
        ("P*5e", r"'P\*5e' is not legal here; legal: .* \(30 in all\)"),
        ("7g7f+", "is not legal here"),
    ],
)
def test_bad_moves_say_what_is_wrong(text, says):
    with pytest.raises(ValueError, match=says):
        games.play(GAME, GAME.init(jax.random.key(0)), text)


@pytest.mark.parametrize("options", [{"history": 0}, {"history": 101}, {"max_moves": 0}])
def test_bad_options(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be 1 to"):
        Shogi(**options)
