"""Searches that a clock ends: in time, for a whole batch, and honest about what they reached."""

import time
from functools import partial

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.arena import timed, tournament
from halfmove.arena.players import Timed, player
from halfmove.arena.round import clocked
from halfmove.arena.timed import TimedSearch, read_by, room
from halfmove.core.game import timestep
from halfmove.games import records
from halfmove.models import Rules
from halfmove.nets import NetConfig
from halfmove.search.planners import planner
from halfmove.selfplay.boards import Fixture, advance, set_up, stacked
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
    with pytest.raises(ValueError, match="only a search of simulations"):
        TimedSearch(lambda n: planner("prior"), mcts(GAME, 1)[1], seconds=1.0)


def test_room_is_a_power_of_two_within_the_memory():
    node = 20 * 9 + 11  # five numbers of four bytes an action; nine squares, a winner, a flag
    for memory in (node * 100, node * 128, node * 5000):
        found = room(GAME, memory, least=64, most=4096)
        assert found <= memory // node < 2 * found or found == 4096
    assert room(GAME, 0, least=64, most=4096) == 64


def test_simulations_without_a_tree_carry_their_memory_along_the_game(monkeypatch):
    """Eight simulations and a clock far away: what the planner of eight finds, move after move."""
    monkeypatch.setattr(timed, "LEAST", 8)
    monkeypatch.setattr(timed, "MOST", 8)
    model = Rules(GAME, NetConfig(kind="mlp", planes=4, blocks=1, head_width=4))
    variables = model.init(jax.random.key(0))
    quiet = {"dirichlet_fraction": 0.0, "temperature": 0.0}
    whole = {"truncate": "fixed", "horizon": 9}  # to the end, for the network has no values

    def planner_for(simulations):
        options = quiet | whole | {"leaves": 4, "learning_rate": 0.5}
        return planner("pgs", simulations=simulations, **options)

    who = Timed("pgs", TimedSearch(planner_for, model, variables, seconds=60.0))
    boards = [set_up(GAME, Fixture(i, (0, 1), (i,))) for i in range(2)]
    memory, plain = None, jax.jit(partial(planner_for(8), model=model))
    for turn in range(2):
        seen = jax.vmap(partial(timestep, GAME))(stacked([board.state for board in boards]))
        key = jax.random.key(turn)
        plan = plain(jax.random.clone(key), params=variables, timestep=seen, memory=memory)
        memory = plan.memory
        choices = clocked(GAME, who, boards, key)
        assert [choice.action for choice in choices] == plan.action.tolist()
        assert [choice.note.simulations for choice in choices] == [8, 8]
        for i, board in enumerate(boards):
            assert max(np.abs(x).max() for x in board.memory[board.to_play].change.values()) > 0
            for name, x in board.memory[board.to_play].change.items():
                np.testing.assert_allclose(x, memory.change[name][i], atol=1e-6)
            other = next(a for a in range(9) if board.legal[a] and a != choices[i].action)
            for move in (choices[i].action, other):
                advance(GAME, [board], [move])


def test_features_take_room_too():
    net = Rules(GAME, NetConfig(planes=16, blocks=1, head_width=4))
    seen = jax.vmap(partial(timestep, GAME))(positions((), (4,)))
    bytes_of = partial(read_by, model=net, variables=net.init(jax.random.key(0)), seen=seen)
    assert bytes_of(planner("pgs", simulations=8)) == 16 * 9 * 4
    assert bytes_of(planner("mcs", simulations=8)) == 0
    assert bytes_of(planner("muzero", simulations=8)) == 0
    assert room(GAME, 2**20, most=4096, features=2**12) == 128 < room(GAME, 2**20, most=4096)
