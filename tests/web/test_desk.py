"""Searches of many visitors: one batch, legal moves, few programs, honest faults."""

import asyncio
import functools
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from halfmove.arena.players import player
from halfmove.games.follow import begin
from halfmove.web.desk import SIZES, Ask, Desk
from halfmove.web.rules import game_of, spot_after
from tests.web.networks import ENGINE

TOE = game_of("tic_tac_toe")
LINE = "mcts@64"  # one program for most of these tests


@pytest.fixture(scope="module")
def desk():
    made = Desk()
    yield made
    made.close()


def warm(desk):
    desk.ask(Ask(TOE, LINE, "", ())).result(60)


def awaited(ask, work):
    """What a coroutine gives, in a thread of its own: this one may have a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(ask(work))).result(60)


def together(desk, asks):
    """Asks while the device's thread is busy, so that all wait when it comes back."""
    gate = threading.Event()
    entered = threading.Event()

    def hold():
        entered.set()
        gate.wait(10)

    threading.Thread(target=awaited, args=(desk.run, hold), daemon=True).start()
    assert entered.wait(10)
    futures = [desk.ask(ask) for ask in asks]
    gate.set()
    return [future.result(60) for future in futures]


def test_those_who_ask_together_are_one_batch(desk):
    warm(desk)
    moves = [(a, b) for a in range(9) for b in range(9) if a != b][:4]
    asks = functools.partial(map, functools.partial(Ask, TOE, LINE, ""))
    for _ in range(1000):  # until the program of that size is there
        before = len(desk.batches)
        found = together(desk, list(asks(moves)))
        if len(desk.batches) == before + 1:
            break
    assert desk.batches[before:] == [4]
    for some, choice in zip(moves, found, strict=True):
        assert spot_after(TOE, "", some).legal[choice.action]
        assert -1 <= choice.note.value <= 1


def test_everybody_gets_the_answer_to_their_own_question(desk):
    # Each wins at once or loses, which 64 simulations do not overlook.
    wins = {(0, 3, 1, 4): 2, (3, 0, 4, 1): 5, (6, 0, 7, 1): 8, (0, 1, 3, 4): 6}
    found = together(desk, [Ask(TOE, LINE, "", moves) for moves in wins])
    assert [choice.action for choice in found] == list(wins.values())


@pytest.mark.slow  # compiles the largest batch
def test_more_than_the_largest_batch_are_answered(desk):
    asks = [Ask(TOE, LINE, "", ()) for _ in range(SIZES[-1] + 3)]
    assert len(together(desk, asks)) == SIZES[-1] + 3


def test_faults_are_told_and_the_next_is_answered(desk):
    with pytest.raises(ValueError, match="over"):
        desk.ask(Ask(TOE, LINE, "", (0, 3, 1, 4, 2))).result(60)
    with pytest.raises(Exception, match="no player"):
        desk.ask(Ask(TOE, "nobody@3", "", ())).result(60)
    with pytest.raises(ValueError, match="cannot play"):
        desk.ask(Ask(TOE, "person", "", ())).result(60)
    warm(desk)


def test_simple_players(desk):
    assert 0 <= desk.ask(Ask(TOE, "random", "", ())).result(60).action < 9
    perfect = desk.ask(Ask(TOE, "perfect", "", (0, 8, 1))).result(60)
    assert perfect.action == 2


@pytest.mark.slow  # compiles a search of every size that it tries
def test_a_player_with_a_clock(desk):
    ask, states = Ask(TOE, "mcts@0.5s", "", (0, 3, 1, 4)), set()
    desk.ask(ask)
    while not ask.answer.done():
        states.add(ask.state)
        time.sleep(0.01)
    assert ask.answer.result().action == 2
    assert ask.answer.result().note.simulations > 10
    assert "compiling" in states
    assert ask.took <= 0.5  # being compiled does not count on its clock


def test_an_outside_engine(desk, tmp_path):
    program = tmp_path / "engine.py"
    program.write_text(ENGINE)
    go, line = game_of("go size=5"), f"gtp:{sys.executable} {program}"
    assert desk.ask(Ask(go, line, "", ())).result(60).action == 25
    assert desk.ask(Ask(go, line, "", (12,))).result(60).fault == "resignation"
    assert len(desk._outsiders) == 1


def test_work_of_others_waits_its_turn_and_tells_its_faults(desk):
    assert awaited(desk.run, lambda: threading.current_thread().name) == "device"
    assert awaited(desk.aside, lambda: threading.current_thread().name) != "device"
    with pytest.raises(ZeroDivisionError):
        awaited(desk.run, lambda: 1 // 0)
    warm(desk)


def test_compiling_is_said():
    made = Desk()
    try:
        ask = Ask(TOE, LINE, "", ())
        made.ask(ask)
        states = set()
        while not ask.answer.done():
            states.add(ask.status()["state"])
        assert "compiling" in states
        assert ask.took > 0
    finally:
        made.close()
    with pytest.raises(ValueError, match="stopped"):
        made.ask(Ask(TOE, "mcts@3", "", ()))


def test_who_comes_while_it_is_compiled_waits_and_is_answered(monkeypatch):
    gate = threading.Event()

    def slowly(line, game):
        assert gate.wait(60)
        return player(line, game)

    monkeypatch.setattr("halfmove.web.desk.player", slowly)
    made = Desk()
    try:
        first, *others = asks = [Ask(TOE, LINE, "", (a,)) for a in range(3)]
        made.ask(first)
        while first.state != "compiling":
            pass
        for ask in others:
            made.ask(ask)
        while any(ask.state != "compiling" for ask in others):
            pass
        # Others are served meanwhile.
        assert awaited(made.run, lambda: "served") == "served"
        gate.set()
        for ask in asks:
            assert spot_after(TOE, "", ask.moves).legal[ask.answer.result(60).action]
    finally:
        gate.set()
        made.close()


def test_what_is_carried_belongs_to_one_table(desk):
    one, other = Ask(TOE, LINE, "", (), "one"), Ask(TOE, LINE, "", (), "other")
    together(desk, [one, other])
    assert desk._carried["one", LINE] is not desk._carried["other", LINE]
    assert np.array_equal(begin(TOE).legal, spot_after(TOE, "", ()).legal)


def test_a_position_that_belongs_to_no_table_carries_nothing(desk):
    """Analysis asks so: what it finds must not depend on what was looked at before."""
    for moves in ((), (4,), (4, 0)):
        desk.ask(Ask(TOE, LINE, "", moves)).result(60)
    assert not [table for table, _ in desk._carried if not table]
