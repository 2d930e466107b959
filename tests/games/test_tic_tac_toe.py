"""Tic-tac-toe against brute force: every string of nine marks, every position, every move."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.games import play
from halfmove.games.tic_tac_toe import TicTacToe
from tests.games.board_play import assert_illegal_changes_nothing, assert_symmetric, random_games

GAME = TicTacToe()


def winner(text):
    rows = [text[0:3], text[3:6], text[6:9]]
    columns = [text[0::3], text[1::3], text[2::3]]
    lines = [*rows, *columns, text[0] + text[4] + text[8], text[2] + text[4] + text[6]]
    return next((mark for mark in "xo" if mark * 3 in lines), None)


def following(text):
    """Action and position of every move, none when the game is over."""
    if winner(text):
        return []
    mark = "xo"[text.count("x") - text.count("o")]
    return [(i, text[:i] + mark + text[i + 1 :]) for i in range(9) if text[i] == "."]


@functools.cache
def value(text):
    """What best play earns the player to move."""
    if winner(text):
        return -1
    return max((-value(after) for _, after in following(text)), default=0)


@pytest.fixture(scope="module")
def reachable():
    found, fresh = {"." * 9}, ["." * 9]
    while fresh:
        new = {after for text in fresh for _, after in following(text)} - found
        found |= new
        fresh = list(new)
    return sorted(found)


@pytest.fixture(scope="module")
def states(reachable):
    read = [GAME.parse_position(text) for text in reachable]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *read)


def test_there_are_5478_positions(reachable):
    assert len(reachable) == 5478


def test_only_these_can_be_read(reachable):
    known = set(reachable)
    for marks in itertools.product(".xo", repeat=9):
        text = "".join(marks)
        if text in known:
            assert GAME.position(GAME.parse_position(text)) == text
        else:
            with pytest.raises(ValueError, match=r"too many|goes on"):
                GAME.parse_position(text)


@pytest.mark.parametrize("text", ["", "........", "..........", "X........", "....?....", "…" * 9])
def test_malformed_positions(text):
    with pytest.raises(ValueError, match="nine of"):
        GAME.parse_position(text)


def test_every_move_of_every_position(reachable, states):
    index = {text: i for i, text in enumerate(reachable)}
    legal, over, to_play = (
        np.asarray(jax.vmap(ask)(states)) for ask in (GAME.legal, GAME.terminated, GAME.to_play)
    )
    step = jax.vmap(jax.vmap(GAME.step, (None, None, 0)), (None, 0, None))
    after = jax.device_get(jax.jit(step)(jax.random.key(0), states, jnp.arange(9)))
    reward = np.asarray(jax.vmap(jax.vmap(GAME.reward))(after))
    for i, text in enumerate(reachable):
        moves = dict(following(text))
        assert set(np.flatnonzero(legal[i])) == set(moves)
        assert bool(over[i]) == (not moves)
        assert to_play[i] == text.count("x") - text.count("o")
        for action, then in moves.items():
            assert (after.board[i, action] == states.board[index[then]]).all()
            assert after.winner[i, action] == states.winner[index[then]]
            sign = {"x": 1, "o": -1, None: 0}[winner(then)]
            assert reward[i, action].tolist() == [sign, -sign]


def test_illegal_actions_change_nothing(states):
    assert_illegal_changes_nothing(GAME, states)


def test_best_play_draws(reachable, states):
    """Minimax over the game's own moves, from the last position to the first."""
    assert value("." * 9) == 0
    index = {text: i for i, text in enumerate(reachable)}
    values = np.zeros(len(reachable))
    legal = np.asarray(jax.vmap(GAME.legal)(states))
    step = jax.jit(jax.vmap(jax.vmap(GAME.step, (None, None, 0)), (None, 0, None)))
    after = step(jax.random.key(0), states, jnp.arange(9))
    boards, winners = np.asarray(after.board), np.asarray(after.winner)
    for text in sorted(reachable, key=lambda text: text.count(".")):
        i, best = index[text], []
        for action in np.flatnonzero(legal[i]):
            child = index["".join(".xo"[mark] for mark in boards[i, action])]
            best.append(1.0 if winners[i, action] else -values[child])
        values[i] = max(best, default=-1.0 if winner(text) else 0.0)
    assert values[index["." * 9]] == 0
    assert values.tolist() == [value(text) for text in reachable]


def test_symmetries():
    assert assert_symmetric(GAME, *random_games(GAME, 0, 200, 10)) == 8


def test_observation_is_the_movers():
    seen = np.asarray(GAME.observe(play(GAME, GAME.init(jax.random.key(0)), 5)))
    np.testing.assert_array_equal(np.argwhere(seen), [[1, 2, 1]])


def test_play_says_what_is_legal():
    state = GAME.parse_position("xoxoxoox.")
    with pytest.raises(ValueError, match="'0' is not legal here; legal: 8"):
        play(GAME, state, "0")
    with pytest.raises(ValueError, match="0 to 8"):
        play(GAME, state, "9")
    assert GAME.show(play(GAME, state, "8")) == "x o x\no x o\no x x"
