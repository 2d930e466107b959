"""Connect four against a referee in plain Python and against pgx."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmove.games import play
from halfmove.games.connect_four import ConnectFour
from tests.games.board_play import (
    assert_illegal_changes_nothing,
    assert_positions_go_on,
    assert_symmetric,
    perft,
    pick,
    random_games,
    shown,
)
from tests.games.board_referees import ConnectFourReferee

GAME = ConnectFour()
GAMES, LENGTH = 1200, 43


@pytest.fixture(scope="module")
def played():
    states, actions = random_games(GAME, 0, GAMES, LENGTH)
    return states, actions, shown(GAME, states)


def test_random_games_as_the_referee_says(played):
    _, actions, said = played
    results = set()
    for b in range(GAMES):
        referee = ConnectFourReferee()
        for t in range(LENGTH):
            assert set(np.flatnonzero(said["legal"][t, b])) == referee.legal()
            assert said["over"][t, b] == (referee.result is not None)
            if referee.result is not None:
                assert not said["reward"][t + 1, b].any()
                continue
            assert said["to_play"][t, b] == referee.to_play
            referee.play(int(actions[t, b]))
            assert tuple(said["reward"][t + 1, b]) == (referee.result or (0, 0))
        results.add(referee.result)
    assert results == {(1, -1), (-1, 1), (0, 0)}


def test_random_games_as_pgx_plays_them(played):
    _, actions, said = played
    env, some = pgx.make("connect_four"), 400
    start = jax.vmap(env.init)(jax.random.split(jax.random.key(1), some))

    def move(state, action):
        after = jax.vmap(env.step)(state, action)
        return after, (after.legal_action_mask, after.terminated, after.rewards)

    run = jax.jit(functools.partial(jax.lax.scan, move))
    _, (legal, over, rewards) = run(start, jnp.asarray(actions[:, :some]))
    ours = {name: answers[1:, :some] for name, answers in said.items()}
    np.testing.assert_array_equal(ours["over"], over)
    np.testing.assert_array_equal(ours["legal"][~ours["over"]], np.asarray(legal)[~ours["over"]])
    first = np.asarray(start.current_player)
    np.testing.assert_array_equal(ours["reward"][..., 0], rewards[:, np.arange(some), first])


def test_perft():
    assert perft(GAME, 7) == [7, 49, 343, 2401, 16807, 117649, 823536]


@pytest.mark.parametrize("at", [0, 12, 20, LENGTH])
def test_illegal_actions_change_nothing(played, at):
    assert_illegal_changes_nothing(GAME, pick(played[0], at, slice(200)))


def test_symmetries(played):
    states, actions, _ = played
    some = slice(100)
    assert assert_symmetric(GAME, pick(states, slice(None), some), actions[:, some]) == 2


def test_observation_is_the_movers():
    state = play(GAME, GAME.init(jax.random.key(0)), "3")
    seen = np.asarray(GAME.observe(state))
    assert seen[5, 2].tolist() == [0, 1]
    assert seen.sum() == 1
    seen = np.asarray(GAME.observe(play(GAME, state, "3")))
    assert (seen[5, 2].tolist(), seen[4, 2].tolist()) == ([1, 0], [0, 1])


def test_action_planes():
    planes = np.asarray(GAME.action_planes(jnp.int32(4)))
    assert planes.shape == (6, 7, 1)
    np.testing.assert_array_equal(np.argwhere(planes.all(axis=(0, 2))), [[4]])
    assert planes.sum() == 6


def test_move_names():
    state = GAME.init(jax.random.key(0))
    for action in range(7):
        name = GAME.move_name(state, action)
        assert name == str(action + 1)
        assert GAME.parse_move(state, name) == action
        assert GAME.parse_move(state, "abcdefg"[action].upper()) == action


@given(st.text(max_size=3))
def test_other_names_are_refused(text):
    state = None
    if text.strip().lower() in set("1234567abcdefg"):
        assert 0 <= GAME.parse_move(state, text) < 7
    else:
        with pytest.raises(ValueError, match="1 to 7"):
            GAME.parse_move(state, text)


@pytest.mark.parametrize("at", [0, 5, 16, 24, 42])
def test_positions_go_on(played, at):
    states, actions, _ = played
    some = slice(100, 140)
    assert_positions_go_on(GAME, pick(states, slice(None), some), actions[:, some], at)


@given(t=st.integers(0, LENGTH), b=st.integers(0, GAMES - 1))
def test_positions_round_trip(played, t, b):
    states, _, said = played
    state = pick(states, t, b)
    text = GAME.position(state)
    read = GAME.parse_position(text)
    assert GAME.position(read) == text
    assert bool(GAME.terminated(read)) == said["over"][t, b]
    np.testing.assert_array_equal(GAME.legal(read), said["legal"][t, b])
    np.testing.assert_array_equal(GAME.observe(read), GAME.observe(state))


E = "......."


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([E] * 5, "six rows of seven"),
        ([E] * 5 + ["......"], "six rows of seven"),
        ([E] * 5 + ["..y...."], "six rows of seven"),
        ([E] * 4 + ["..x....", E], "nothing below"),
        ([E] * 5 + ["..xx..."], "too many"),
        ([E] * 5 + ["..o...."], "too many"),
        ([E] * 4 + [".o.....", "oooxxxx"], "goes on"),  # x won, and o moved on
        ([E] * 4 + ["oooo...", "xxxx..."], "goes on"),  # both
        ([E, E, "x.....x", "x.....x", "xoo..ox", "xoo.oox"], "goes on"),  # two fours, two moves
        ([E] * 4 + ["ooxo...", "xxxxo.."], "goes on"),  # the four is older than the last move
    ],
)
def test_impossible_positions(rows, message):
    with pytest.raises(ValueError, match=message):
        GAME.parse_position("/".join(rows))


def test_a_move_may_make_two_fours():
    state = GAME.parse_position("/".join([E, E, "xxxx...", "xooo...", "xoox...", "xoxoo.."]))
    assert GAME.terminated(state)
    assert not GAME.legal(state).any()


def test_show():
    state = play(GAME, play(GAME, GAME.init(jax.random.key(0)), "4"), "4")
    assert GAME.show(state).splitlines()[3:] == [
        ". . . . . . .",
        ". . . o . . .",
        ". . . x . . .",
        "1 2 3 4 5 6 7",
    ]
