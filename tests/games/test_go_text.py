"""Go in words: vertices, positions, boards, and what is said of bad ones."""

import hypothesis
import hypothesis.strategies as st
import jax
import numpy as np
import pytest

from halfmove.games import make
from tests.games.go_positions import moves, rows_of, sgf
from tests.games.go_referee import Referee

KEY = jax.random.key(0)


@pytest.mark.parametrize(("size", "action", "name"), [
    (9, 0, "A9"), (9, 8, "J9"), (9, 80, "J1"), (9, 72, "A1"), (9, 81, "pass"), (9, 40, "E5"),
    (19, 0, "A19"), (19, 18, "T19"), (19, 8, "J19"), (19, 7, "H19"), (2, 3, "B1"),
])  # fmt: skip
def test_vertices(size, action, name):
    game = make("go", size=size)
    state = game.init(KEY)
    assert game.move_name(state, action) == name
    assert game.parse_move(state, name) == game.parse_move(state, f" {name.lower()} ") == action


@pytest.mark.parametrize("text", [
    "", "I5", "A0", "A10", "K1", "A", "5", "AA5", "A-1", "A1.0", "resign", "A²",
])  # fmt: skip
def test_what_is_not_a_vertex_is_said(text):
    game = make("go")
    with pytest.raises(ValueError, match="not a vertex of a 9x9 board: A1 to J9") as error:
        game.parse_move(game.init(KEY), text)
    assert repr(text) in str(error.value)


@hypothesis.given(size=st.sampled_from([2, 5, 9, 14, 19]), data=st.data())
@hypothesis.settings(max_examples=40)
def test_moves_and_positions_round_trip(size, data):
    game = make("go", size=size, komi=data.draw(st.floats(-400, 400)))
    action = data.draw(st.integers(0, size * size))
    assert game.parse_move(None, game.move_name(None, action)) == action
    marks = data.draw(st.lists(st.sampled_from("..XO"), min_size=size**2, max_size=size**2))
    rows = "\n".join("".join(marks[i : i + size]) for i in range(0, size**2, size))
    text = sgf(rows, data.draw(st.sampled_from("BW")))
    player = "XO"[text.endswith("PL[W])")]
    referee = Referee(size, board="".join(marks), turn=player)
    if any(mark != "." and not referee.breathes(p) for p, mark in enumerate(marks)):
        with pytest.raises(ValueError, match="has no liberty"):
            game.parse_position(text)
        return
    state = game.parse_position(text)
    assert rows_of(game, state) == rows.split()
    line = game.position(state)
    again = game.parse_position(line)
    assert game.position(again) == line
    jax.tree.map(np.testing.assert_array_equal, state, again)
    assert set(np.flatnonzero(game.legal(state))) == referee.legal()


@pytest.mark.parametrize(("text", "message"), [
    ("", "'' is not a property.*looks like"),
    ("(;)", "is not a property"),
    ("hello", "is not a property.*looks like"),
    ("(;SZ[9]AB[aa]", "is not a property"),
    ("(;SZ[13])", r"SZ\[13\] does not fit this game's SZ\[9\]"),
    ("(;SZ[nine])", r"SZ\[nine\] does not fit"),
    ("(;KM[6.5])", r"KM\[6.5\] does not fit this game's KM\[7.5\]"),
    ("(;GM[2])", r"GM\[2\] does not fit"),
    ("(;AB[jj])", r"\[jj\] is not a point of a 9x9 board"),
    ("(;AB[a])", r"\[a\] is not a point"),
    ("(;AB[aa][aa])", "two stones on 'aa'"),
    ("(;AB[aa]AW[aa])", "two stones on 'aa'"),
    ("(;AB[aa]AB[bb])", "AB twice"),
    ("(;PL[X])", "PL must be"),
    ("(;AB[aa]B[bb])", "has no B"),
    ("(;AB[aa]AW[ab][ba])", "the chain at A9 has no liberty"),
])  # fmt: skip
def test_what_is_not_a_position_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        make("go").parse_position(text)


@pytest.mark.parametrize(("options", "message"), [
    ({"size": 1}, "size must be 2 to 19, got 1"),
    ({"size": 20}, "size must be 2 to 19, got 20"),
    ({"komi": float("nan")}, "komi must be a finite number"),
    ({"handicap": 1}, "handicap on a 9x9 board can be 0 or 2 to 9 stones, got 1"),
    ({"size": 8, "handicap": 5}, "0 or 2 to 4 stones, got 5"),
    ({"size": 5, "handicap": 2}, "can be 0 stones, got 2"),
    ({"history": 0}, "history must be at least 1"),
    ({"max_moves": 0}, "max_moves must be at least 1"),
    ({"engine": "cuda"}, "engine must be one of auto, xla, kernel; got 'cuda'"),
    ({"sise": 9}, "go has no option 'sise'"),
])  # fmt: skip
def test_bad_options_are_said(options, message):
    with pytest.raises(ValueError, match=message):
        make("go", **options)


def test_the_board_is_shown_with_its_coordinates():
    game = make("go", size=5)
    state = moves(game, game.init(KEY), (1, 2), (2, 2))
    assert game.show(state).splitlines() == [
        "   A B C D E",
        " 5 . . . . . 5",
        " 4 . . X . . 4",
        " 3 . .(O). . 3",
        " 2 . . . . . 2",
        " 1 . . . . . 1",
        "   A B C D E",
        "black (X) to play; captured: 0 X, 0 O",
    ]
