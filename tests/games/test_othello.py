"""Othello against a referee in plain Python, against pgx, and by known counts."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmove.games import play
from halfmove.games.othello import Othello
from tests.games.board_play import (
    assert_illegal_changes_nothing,
    assert_positions_go_on,
    assert_same,
    assert_symmetric,
    perft,
    pick,
    random_games,
    shown,
)
from tests.games.board_referees import OthelloReferee

GAME = Othello()
GAMES, LENGTH = 500, 72  # 60 discs, and passes
START = "---------------------------OX------XO--------------------------- X"


@pytest.fixture(scope="module")
def played():
    states, actions = random_games(GAME, 0, GAMES, LENGTH)
    said = shown(GAME, states)
    assert said["over"][-1].all()
    return states, actions, said


def test_random_games_as_the_referee_says(played):
    _, actions, said = played
    results, passes, early = set(), 0, 0
    for b in range(GAMES):
        referee = OthelloReferee()
        for t in range(LENGTH):
            assert set(np.flatnonzero(said["legal"][t, b])) == referee.legal()
            assert said["over"][t, b] == (referee.result is not None)
            if referee.result is not None:
                assert not said["legal"][t:, b].any()
                assert not said["reward"][t + 1 :, b].any()
                break
            assert said["to_play"][t, b] == referee.to_play
            referee.play(int(actions[t, b]))
            passes += int(actions[t, b] == 64)
            assert tuple(said["reward"][t + 1, b]) == (referee.result or (0, 0))
        results.add(referee.result)
        early += len(referee.discs) < 64
    assert results == {(1, -1), (-1, 1), (0, 0)}
    assert passes > 50
    assert early > 1


def test_random_games_as_pgx_plays_them(played):
    """pgx ends a game that nobody can go on with only after two passes."""
    states, actions, said = played
    env, some = pgx.make("othello"), 200
    ours = {name: answers[:, :some] for name, answers in said.items()}
    moves = np.where(ours["over"][:-1], 64, actions[:, :some])
    start = jax.vmap(env.init)(jax.random.split(jax.random.key(1), some))

    def move(state, action):
        after = jax.vmap(env.step)(state, action)
        return after, (after.legal_action_mask, after.rewards, after.observation)

    run = jax.jit(functools.partial(jax.lax.scan, move))
    last, (legal, rewards, seen) = run(start, jnp.asarray(moves))
    assert last.terminated.all()
    going = ~ours["over"][1:]
    np.testing.assert_array_equal(ours["legal"][1:][going], np.asarray(legal)[going])
    look = jax.jit(jax.vmap(jax.vmap(GAME.observe)))(pick(states, slice(1, None), slice(some)))
    np.testing.assert_array_equal(np.asarray(look)[going], np.asarray(seen)[going])
    first = np.asarray(start.current_player)
    theirs = np.asarray(rewards)[:, np.arange(some), first].sum(0)
    np.testing.assert_array_equal(ours["reward"][..., 0].sum(0), theirs)


def test_perft():
    """The counts every Othello program gives for the start."""
    assert perft(GAME, 8) == [4, 12, 56, 244, 1396, 8200, 55092, 390216]


@pytest.mark.slow
def test_perft_deeper():
    """Programs that count a finished game as one leaf give 24571284: 228 end with move nine."""
    assert perft(GAME, 10, chunk=2**17)[8:] == [3005288, 24571284 - 228]


@pytest.mark.parametrize("at", [0, 40, 58, LENGTH])
def test_illegal_actions_change_nothing(played, at):
    assert_illegal_changes_nothing(GAME, pick(played[0], at, slice(100)))


def test_symmetries(played):
    states, actions, _ = played
    some = slice(100)
    assert assert_symmetric(GAME, pick(states, slice(None), some), actions[:, some]) == 4


def test_start_is_its_position():
    assert_same(GAME.init(jax.random.key(0)), GAME.parse_position(START))
    assert GAME.position(GAME.init(jax.random.key(0))) == START


def test_by_hand():
    """Black d3 turns d4; white may then answer on the two diagonals and the row (c3, e3, c5)."""
    state = play(GAME, GAME.init(jax.random.key(0)), "d3")
    assert GAME.position(state)[:64].count("X") == 4
    names = {GAME.move_name(state, int(a)) for a in np.flatnonzero(GAME.legal(state))}
    assert names == {"c3", "e3", "c5"}


def test_pass_only_when_nothing_else(played):
    said = played[2]
    passing = said["legal"][..., 64]
    assert passing.any()
    assert not said["legal"][..., :64][passing].any()


def test_wiped_out_is_over():
    text = "X" * 36 + "O" + "-" * 27 + " X"
    state = play(GAME, GAME.parse_position(text), "f5")
    assert GAME.terminated(state)
    assert GAME.reward(state).tolist() == [1, -1]
    assert "O" not in GAME.position(state)[:64]


def test_move_names():
    for action in range(65):
        assert GAME.parse_move(None, GAME.move_name(None, action)) == action
    assert GAME.move_name(None, 0) == "a1"
    assert GAME.move_name(None, 7) == "h1"
    assert GAME.move_name(None, 56) == "a8"
    assert GAME.parse_move(None, " PASS ") == 64
    assert GAME.parse_move(None, "H8") == 63


@given(st.text(max_size=4))
def test_other_names_are_refused(text):
    names = {GAME.move_name(None, action) for action in range(65)}
    if text.strip().lower() in names:
        assert GAME.move_name(None, GAME.parse_move(None, text)) == text.strip().lower()
    else:
        with pytest.raises(ValueError, match="a1 to h8"):
            GAME.parse_move(None, text)


@pytest.mark.parametrize("at", [0, 7, 33, 57])
def test_positions_go_on(played, at):
    states, actions, _ = played
    some = slice(100, 140)
    assert_positions_go_on(GAME, pick(states, slice(None), some), actions[:, some], at)


@given(t=st.integers(0, LENGTH), b=st.integers(0, GAMES - 1))
def test_positions_round_trip(played, t, b):
    state = pick(played[0], t, b)
    read = GAME.parse_position(GAME.position(state))
    for name in ("mine", "theirs", "moves", "turn", "over"):
        np.testing.assert_array_equal(getattr(read, name), getattr(state, name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "64 of"),
        (START[:-2], "X or O to move"),
        (START[1:], "64 of"),
        (START.replace("O", "W"), "64 of"),
        (START[:-1] + "B", "X or O to move"),
        ("-" * 64 + " X", "never empty"),
        (START.replace("O", "-", 1), "never empty"),
    ],
)
def test_malformed_positions(text, message):
    with pytest.raises(ValueError, match=message):
        GAME.parse_position(text)


def test_show():
    lines = GAME.show(GAME.init(jax.random.key(0))).splitlines()
    assert lines[0] == "  a b c d e f g h"
    assert lines[4] == "4 - - - O X - - -"
    assert lines[5] == "5 - - - X O - - -"
    assert lines[-1] == "X 2, O 2, X to move"


def test_action_planes():
    planes = jax.vmap(GAME.action_planes)(jnp.arange(65))
    np.testing.assert_array_equal(planes.reshape(65, 64), np.eye(65, 64))
