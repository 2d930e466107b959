"""Searches that a clock ends: in time, for a whole batch, and honest about what they reached."""

import time

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.arena import timed, tournament
from halfmove.arena.players import Timed, player
from halfmove.arena.timed import TimedSearch, room
from halfmove.games import records
from halfmove.search.planners import planner
from halfmove.selfplay.match import mcts

GAME = games.make("tic_tac_toe")


@pytest.fixture(autouse=True)
def one_size_of_tree(monkeypatch):
    """So that one search is compiled for each size of a batch."""
    monkeypatch.setattr(timed, "LEAST", 4096)
    monkeypatch.setattr(timed, "MOST", 4096)


def positions(*lines):
    states = []
    for line in lines:
        state = GAME.init(jax.random.key(0))
        for move in line:
            state = games.play(GAME, state, move)
        states.append(jax.device_get(state))
    return jax.tree.map(lambda *x: np.stack(x), *states)


def test_a_batch_has_the_time_and_tells_what_it_reached():
    search = player("mcts@0.2s", GAME).search
    # Two who win at once: 0 and 1 have two in a row, with the third square free.
    states = positions((0, 3, 1, 4), (8, 0, 4, 1, 5))
    search(jax.random.key(0), GAME, states)  # compiles
    began = time.monotonic()
    found = search(jax.random.key(1), GAME, states)
    took = time.monotonic() - began
    assert took < 0.2 + 0.5  # a busy machine
    assert took > 0.1 or (found.simulations == 4096).all()
    assert found.action.tolist() == [2, 2]
    assert (found.value > 0.5).all()
    assert (found.visits.sum(axis=1) == found.simulations).all()
    assert (found.simulations > 20).all()


def test_less_time_is_fewer_simulations_but_never_none(monkeypatch):
    search = player("mcts@0.2s", GAME).search
    states = positions((), (4,))
    long = search(jax.random.key(0), GAME, states)
    search.seconds = 1e-6
    short = search(jax.random.key(0), GAME, states)
    assert (short.simulations >= 1).all()
    assert (short.simulations < long.simulations / 4).all()


def test_halving_spends_what_the_time_is_expected_to_allow():
    """Gumbel paper, algorithm 2: every candidate once, then the better half again."""
    model = mcts(GAME, 1)[1]

    def planner_for(simulations):
        return planner("full_gumbel", simulations=simulations, gumbel_scale=0.0)

    search = TimedSearch(planner_for, model, seconds=0.05)
    states = positions((), (4,))
    search(jax.random.key(3), GAME, states)
    search._speed[2], search.seconds = 9.0 / 30, 30.0  # nine fit, and the clock is far away
    found = search(jax.random.key(3), GAME, states)
    assert found.simulations.tolist() == [9, 9]
    assert sorted(found.visits[0]) == [1] * 9
    assert sorted(found.visits[1]) == [0] + [1] * 7 + [2]


def test_the_record_of_a_tournament_has_the_simulations(tmp_path):
    names = ("mcts@0.02s", "random")
    plan = tournament.Plan("tic_tac_toe", names, 4, ((0, 1), (4, 8)), limit=4)
    seats = [player(name, GAME) for name in names]
    assert isinstance(seats[0], Timed)
    played = tournament.play(plan, GAME, seats, tmp_path / "t")
    for record in played:
        mine = record.notes[2:][record.players.index(names[0]) :: 2]
        assert mine
        assert all(note.simulations == sum(note.visits.values()) > 0 for note in mine)
        assert all(note.simulations is None for note in record.notes if note not in mine)
    assert records.read((tmp_path / "t" / "games.jsonl").read_text()) == played


def test_a_comment_keeps_the_simulations():
    game = games.make("hex", size=3)
    notes = (records.Note(0.25, {4: 8, 0: 3}, 12), records.Note(None, {}, 7), records.Note())
    record = records.Record("hex size=3", ("a", "b"), (4, 0, 1), notes=notes)
    (again,) = records.read(records.write(game, record, "sgf"))
    assert again.notes == notes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("mcts@0s", "seconds must be above 0"),
        ("mcts@..s", "seconds must be above 0"),
        ("mcts@1.5", "seconds are written with an s"),
        ("mcts@0", "whole number of at least 1"),
    ],
)
def test_what_is_no_budget(line, said):
    with pytest.raises(ValueError, match=said):
        player(line, GAME)


def test_what_has_no_search_has_no_clock():
    with pytest.raises(ValueError, match="only a tree search"):
        TimedSearch(lambda n: planner("prior"), mcts(GAME, 1)[1], seconds=1.0)


def test_room_is_a_power_of_two_within_the_memory():
    node = 20 * 9 + 11  # five numbers of four bytes an action; nine squares, a winner, a flag
    for memory in (node * 100, node * 128, node * 5000):
        found = room(GAME, memory, least=64, most=4096)
        assert found <= memory // node < 2 * found or found == 4096
    assert room(GAME, 0, least=64, most=4096) == 64
