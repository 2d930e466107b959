"""Sample games of a run: files that other programs read."""

import jax
import numpy as np

from halfmove import games
from halfmove.games import records
from halfmove.train.record import Lane


def told(text, moves, ends):
    game = games.read(text)
    lane = Lane(game)
    state, actions = game.init(jax.random.key(0)), []
    for move, end in zip(moves, ends, strict=True):
        actions.append(game.parse_move(state, move))
        state = game.init(jax.random.key(0)) if end else games.play(game, state, move)
    found = [lane.text(game) for game in lane.add(np.array(actions), np.array(ends))]
    assert not lane.moves
    return lane, found


def test_a_game_of_hex_is_an_sgf_with_its_winner():
    lane, (text,) = told("hex size=2", ["a1", "b1", "a2"], [False, False, True])
    assert lane.suffix == ".sgf"
    (record,) = records.read(text)
    *turns, end = records.replay(games.read(record.game), record)
    game = games.read(record.game)
    assert [game.move_name(t.state, t.action) for t in turns] == ["a1", "b1", "a2"]
    assert end.over
    assert record.result == (1.0, -1.0)
    assert not record.reason


def test_who_moves_and_gives_up_has_lost():
    _, found = told("hex size=3", ["a1", "b1", "c1"], [False, True, True])
    first, second = (records.read(text)[0] for text in found)
    assert first.result == (1.0, -1.0)  # the second player made the last move of two
    assert second.result == (-1.0, 1.0)
    assert first.reason == second.reason == "resignation"


def test_a_game_without_a_form_of_its_own_is_text():
    lane, (text,) = told("tic_tac_toe", ["0", "3", "1", "4", "2"], [False] * 4 + [True])
    assert lane.suffix == ".txt"
    assert text.startswith("0 3 1 4 2\nresult +1 -1\n")


def test_where_chance_plays_moves_tell_nothing():
    assert told("2048", ["left"], [True])[1] == []
