"""Games followed on the host: by the same rules, and compiled once."""

import dataclasses
import random
import threading

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.games import follow, play
from halfmove.games.records import Record, text_of, turns

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


@pytest.mark.parametrize(
    "game", [HEX, games.make("go", size=3), games.make("connect_four")], ids=str
)
def test_many_games_side_by_side_go_as_one_by_one(game, monkeypatch):
    """Games of all lengths, one that breaks off at an illegal move, one from a position."""
    rng = random.Random(2)
    played = []
    for _ in range(follow.TOGETHER + 3):
        spot, moves = follow.begin(game), []
        while not spot.over and rng.random() > 0.05:
            moves.append(rng.choice(np.flatnonzero(spot.legal).tolist()))
            spot = follow.moved(game, spot, moves[-1])
        played.append(Record(text_of(game), ("a", "b"), tuple(moves), None))
    first = played[0].moves[0] if played[0].moves else 0
    played[5] = dataclasses.replace(played[5], moves=(first, game.actions, 0))
    after = follow.moved(game, follow.begin(game), first)
    played[7] = dataclasses.replace(played[7], moves=(), position=game.position(after.state))
    alone = [told(turns.replay(game, record)) for record in played]
    monkeypatch.setattr(turns, "MANY", 0)
    steps = []
    beside = follow.moved_together
    monkeypatch.setattr(
        turns, "moved_together", lambda *given: steps.append(len(given[1])) or beside(*given)
    )
    together = [told(each) for each in turns.replays(game, played)]
    assert together == alone
    assert alone[5][-1].startswith("move 2, action")
    assert sum(steps) == sum(len(r.moves) for r in played) - 2


def told(each):
    """Every turn of a game, and how it broke off."""
    found = []
    try:
        for turn in each:
            leaves = [np.asarray(x).tolist() for x in jax.tree.leaves(turn.state)]
            found.append((leaves, turn.legal.tolist(), turn.player, turn.over, turn.action))
            found.append(turn.reward.tolist())
    except ValueError as error:
        found.append(str(error))
    return found
