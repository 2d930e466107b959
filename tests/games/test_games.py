"""Finding games by name, and playing moves by hand."""

import jax
import numpy as np
import pytest

from halfmove import games

EXPECTED = {
    "2048", "animal_shogi", "chess", "connect_four", "gardner_chess", "go", "hex", "othello",
    "shogi", "tic_tac_toe",
}  # fmt: skip


def test_every_game_is_found():
    assert set(games.names()) == EXPECTED
    assert games.make("go", size=5) == games.make("go", size=5) != games.make("go", size=7)


@pytest.mark.parametrize(("name", "options", "message"), [
    ("goo", {}, r"unknown game 'goo' \(did you mean 'go'\?\); there are 2048, "),
    ("tic_tac_toe", {"size": 4}, "has no option 'size'; it has no options"),
    ("hex", {"sise": 4}, "has no option 'sise'; its options are size, swap"),
    ("go", {"size": 1}, "2"),
    ("go", {"komi": ";0"}, "go: komi must be of type float, got ';0'"),
    ("go", {"size": True}, "size must be of type int, got True"),
    ("go", {"max_moves": 2.5}, r"max_moves must be of type int \| None, got 2.5"),
    ("hex", {"swap": 1}, "swap must be of type bool, got 1"),
    ("hex", {"size": 20}, "19"),
    ("no.such.module:Game", {}, "no game at 'no.such.module:Game'"),
    ("math:sqrt", {}, "'math:sqrt' is no game"),
])  # fmt: skip
def test_what_does_not_exist_is_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        games.make(name, **options)


def test_a_game_of_ones_own_needs_no_registration():
    assert games.make("halfmove.games.tic_tac_toe:TicTacToe").name == "tic_tac_toe"


def test_play_refuses_what_is_not_legal_and_changes_nothing():
    game = games.make("tic_tac_toe")
    state = games.play(game, game.init(jax.random.key(0)), 4)
    before = np.array(state.board)
    for move, message in (("4", "not legal here; legal: 0, 1"), (9, "not legal"), ("x", "0 to 8")):
        with pytest.raises(ValueError, match=message):
            games.play(game, state, move)
    np.testing.assert_array_equal(before, state.board)
    assert games.play(game, state, "0").board[0] == 2
