"""Games followed on the host: by the same rules, and compiled once."""

import random
import threading

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.games import follow, play

HEX = games.make("hex", size=3, swap=True)


def test_a_game_goes_as_the_rules_say():
    rng = random.Random(1)
    state, spot = HEX.init(jax.random.key(0)), follow.begin(HEX)
    while not spot.over:
        np.testing.assert_array_equal(spot.legal, HEX.legal(state))
        assert spot.player == HEX.to_play(state)
        assert HEX.position(spot.state) == HEX.position(state)
        action = rng.choice(np.flatnonzero(spot.legal).tolist())
        state, spot = play(HEX, state, action), follow.moved(HEX, spot, action)
    assert HEX.terminated(state)
    np.testing.assert_array_equal(HEX.reward(spot.state), HEX.reward(state))


def test_a_position_is_where_it_begins():
    text = "(;FF[4]GM[11]SZ[3]AB[b2]AW[c1]PL[B])"
    spot = follow.begin(HEX, text)
    assert HEX.position(spot.state) == text
    assert [spot.legal.sum(), spot.player] == [7, 0]
    after = follow.moved(HEX, spot, HEX.parse_move(spot.state, "a3"))
    assert HEX.position(after.state) == "(;FF[4]GM[11]SZ[3]AB[b2][a3]AW[c1]PL[W])"


@pytest.mark.parametrize("action", [-1, 4, 10, 99])
def test_an_illegal_move_is_the_callers_mistake(action):
    spot = follow.moved(HEX, follow.begin(HEX), 4)
    spot = follow.moved(HEX, spot, 0)
    with pytest.raises(ValueError, match=f"action {action} is not legal in"):
        follow.moved(HEX, spot, action)


def test_many_threads_compile_once(monkeypatch):
    compiled = []
    inner = follow._compiled.__wrapped__
    monkeypatch.setattr(
        follow, "_compiled", follow.functools.cache(lambda game: compiled.append(1) or inner(game))
    )
    game, ends = games.make("hex", size=2), []

    def run():
        spot = follow.begin(game)
        while not spot.over:
            spot = follow.moved(game, spot, int(np.argmax(spot.legal)))
        ends.append(game.position(spot.state))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ends) == 8
    assert len(set(ends)) == 1
    assert len(compiled) == 1


def test_nobody_waits_while_another_game_is_compiled(monkeypatch):
    spot, entered, gate = follow.begin(HEX), threading.Event(), threading.Event()
    inner = follow._compiled.__wrapped__

    def slowly(game):
        entered.set()
        assert gate.wait(60)
        return inner(game)

    monkeypatch.setattr(follow, "_compiled", slowly)
    other = threading.Thread(target=follow.begin, args=(games.make("hex", size=2, swap=True),))
    other.start()
    follower = threading.Thread(target=follow.moved, args=(HEX, spot, 4), daemon=True)
    try:
        assert entered.wait(60)
        follower.start()
        follower.join(20)
        assert not follower.is_alive()
    finally:
        gate.set()
        other.join()
