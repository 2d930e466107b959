"""What a planner carries along a game, where a program tells the whole game every time."""

import io

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.arena.players import Mind
from halfmove.models import Rules
from halfmove.nets import NetConfig
from halfmove.play import htp, uci
from halfmove.play.seat import Limits, Seat
from halfmove.play.thinking import Thinker
from halfmove.search import planner

GAME = games.make("tic_tac_toe")
MODEL = Rules(GAME, NetConfig(kind="mlp", planes=4, blocks=1, head_width=4))


HEX = games.make("hex", size=3)
HEX_MODEL = Rules(HEX, NetConfig(kind="mlp", planes=4, blocks=1, head_width=4))


def pgs(game, model=MODEL):
    """Policy Gradient Search with a network that knows nothing."""

    def planner_for(simulations):
        return planner(
            "pgs", simulations=simulations, leaves=4, learning_rate=0.5,
            dirichlet_fraction=0.0, temperature=0.0,
            truncate="fixed", horizon=9,  # to the end, for the network has no values
        )  # fmt: skip

    return Mind(game, model, model.init(jax.random.key(0)), planner_for)


def pgs_of_hex(game):
    return pgs(game, HEX_MODEL)


@pytest.fixture
def given(monkeypatch):
    """The memories that searches begin with."""
    monkeypatch.setattr("halfmove.play.thinking.LEAST", 8)
    monkeypatch.setattr("halfmove.play.thinking.MOST", 8)
    found, begin = [], Thinker.begin

    def begun(self, state, **options):
        found.append(jax.device_get(options["memory"]))
        return begin(self, state, **options)

    monkeypatch.setattr(Thinker, "begin", begun)
    return found


def size(memory):
    return 0.0 if memory is None else max(np.abs(x).max() for x in memory.change.values())


def test_a_game_told_from_the_start_goes_on(given):
    first = "position startpos moves 4"
    lines = (
        first,
        f"{first} 0 8",
        f"{first} 0 8 2 6",  # thought about beforehand, and then not played
        f"{first} 0 8 2 7",
        "position startpos moves 3 0 8 2 7",  # another game
        first,
    )
    text = "".join(f"{line}\ngo nodes 8\n" for line in lines)
    text += f"ucinewgame\n{first} 0\ngo nodes 8\n"
    said = io.BytesIO()
    uci.main(pgs, GAME, limits=Limits(simulations=8), seed=0,
             given=io.BytesIO(text.encode()), said=said)  # fmt: skip
    assert said.getvalue().decode().count("bestmove") == 7
    assert [memory is None for memory in given] == [True, False, False, False, True, True, True]
    sizes = [size(memory) for memory in given]
    assert 0 < sizes[1] != sizes[2]
    # Of the search before the one of the move that was not played.
    jax.tree.map(np.testing.assert_array_equal, given[2], given[3])


def test_the_memory_is_that_of_the_search_before(given):
    seat = Seat(pgs, GAME, Limits(simulations=8), seed=0)
    thinking = seat.begin(budget=8)
    while not thinking.done:
        thinking.go_on(0.0)
    seat.past = [seat.fresh()]  # told again
    for move in (4, 0):
        seat.play(move)
    seat.begin(budget=8)
    assert size(given[1]) > 0
    jax.tree.map(np.testing.assert_array_equal, given[1], jax.device_get(thinking.memory))


def test_a_position_looked_at_again_is_searched_as_at_first(given):
    seat = Seat(pgs, GAME, Limits(simulations=8), seed=0)

    def search():
        thinking = seat.begin(budget=8)
        while not thinking.done:
            thinking.go_on(0.0)

    search()
    search()  # the same once more, as `reg_genmove` does
    assert [memory is None for memory in given] == [True, True]
    seat.play(4)
    search()
    seat.past = seat.past[:-1]  # taken back
    search()
    assert [memory is None for memory in given] == [True, True, False, True]


@pytest.mark.parametrize("command", ["clear_board", "boardsize 3"])
def test_a_board_that_is_cleared_begins_a_new_game(given, command):
    lines = ("genmove b", command, "genmove b", "play w a1", "genmove b", command, "play b a1",
             "genmove w", "")  # fmt: skip
    said = io.BytesIO()
    htp.main(pgs_of_hex, HEX, limits=Limits(simulations=8), seed=0,
             given=io.BytesIO("\n".join(lines).encode()), said=said)  # fmt: skip
    assert "?" not in said.getvalue().decode()
    assert [memory is None for memory in given] == [True, True, False, True]
