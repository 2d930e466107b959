"""A search that is stopped, and what it then thinks, against plain Python."""

import functools
import time

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.arena.players import Mind
from halfmove.play.clock import Clock, seconds
from halfmove.play.opinion import Line
from halfmove.play.thinking import Thinker, Thinking, opinions
from halfmove.search import anytime
from tests.play.minds import Even, even

GAME = games.make("tic_tac_toe")
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@functools.cache
def solved(board, player):
    """(result for the player to move, plies to it if both hurry or delay), by brute force."""
    if any(all(board[i] == 1 - player for i in line) for line in LINES):
        return -1, 0
    if None not in board:
        return 0, 0
    best = (-2, 0)
    for i in range(9):
        if board[i] is None:
            result, plies = solved((*board[:i], player, *board[i + 1 :]), 1 - player)
            result, plies = -result, plies + 1
            hurry = -plies if result > 0 else plies
            if (result, hurry) > (best[0], -best[1] if best[0] > 0 else best[1]):
                best = (result, plies)
    return best


@pytest.fixture(autouse=True)
def one_size_of_tree(monkeypatch):
    """So that one search is compiled for all."""
    monkeypatch.setattr("halfmove.play.thinking.LEAST", 2048)
    monkeypatch.setattr("halfmove.play.thinking.MOST", 2048)


@pytest.fixture(scope="module")
def thinker():
    return Thinker(even(GAME), seed=0)


def after(moves):
    state = GAME.init(jax.random.key(0))
    for move in moves:
        state = games.play(GAME, state, move)
    return state


def board_of(moves):
    board = [None] * 9
    for number, move in enumerate(moves):
        board[move] = number % 2
    return tuple(board)


def last(thinking, **options):
    *_, opinion = opinions(thinking, **options)
    return opinion


@pytest.mark.parametrize("moves", [(0, 1, 3, 2), (0, 4, 8, 2), (4, 1, 0), (0, 1, 4), (0, 8, 4, 1)])
def test_what_is_proven_is_true(thinker, moves):
    opinion = last(thinker.begin(after(moves), budget=2000))
    player = len(moves) % 2
    assert {line.moves[0] for line in opinion.lines} <= set(range(9)) - set(moves)
    proven = 0
    for line in opinion.lines:
        board = board_of((*moves, line.moves[0]))
        result, plies = solved(board, 1 - player)
        if line.mate is None:
            continue
        proven += 1
        assert np.sign(line.mate) == -result
        # A proof found by sampling is no shorter than the shortest, and no longer than the board.
        assert plies + 1 <= abs(line.mate) <= 9 - len(moves)
    best = solved(board_of(moves), player)[0]
    if best > 0:
        assert opinion.lines[0].mate is not None
        assert opinion.lines[0].mate > 0
    assert proven or best == 0


def test_the_lines_are_games(thinker):
    moves = (4, 0)
    opinion = last(thinker.begin(after(moves), budget=300))
    assert sum(line.visits for line in opinion.lines) == opinion.nodes == 300
    assert opinion.lines[0].moves[0] == opinion.action
    assert opinion.depth == len(opinion.lines[0].moves) <= opinion.deepest <= 7
    for line in opinion.lines:
        after((*moves, *line.moves))  # raises unless all are legal
        assert 0 <= line.lcb <= line.winrate <= 1


def test_only_some_moves(thinker):
    opinion = last(thinker.begin(after(()), budget=50, only=[3, 7]))
    assert {line.moves[0] for line in opinion.lines} == {3, 7}


@pytest.fixture
def slow(monkeypatch):
    """One turn a slice, and a fiftieth of a second for each."""
    turn = Thinking.go_on

    def slowly(self, seconds):
        time.sleep(0.02)
        turn(self, 0.0)

    monkeypatch.setattr(Thinking, "go_on", slowly)


def test_it_stops_when_told(thinker, slow):
    asked = []

    def stopped():
        asked.append(None)
        return len(asked) == 3

    thinking = thinker.begin(after(()), budget=thinker.most)
    opinion = last(thinking, stopped=stopped)
    assert len(asked) == opinion.nodes == 3
    assert not thinking.done
    assert 0 <= opinion.action < 9


def test_it_stops_in_time(thinker, slow):
    thinker.warm(after(()))
    thinking = thinker.begin(after(()), budget=thinker.most)
    began = time.monotonic()
    found = list(opinions(thinking, deadline=lambda: began + 0.3, every=0.05))
    assert 0.25 < time.monotonic() - began < 3.0  # far apart: the machine may be busy
    nodes = [opinion.nodes for opinion in found]
    assert len(nodes) >= 2
    assert nodes == sorted(nodes)
    assert nodes[-1] <= 15


def test_another_budget_compiles_nothing(thinker):
    last(thinker.begin(after(()), budget=64))
    before = anytime._go_on._cache_size()
    for budget in (1, 2, 33, 63):
        assert last(thinker.begin(after(()), budget=budget)).nodes == budget
    assert anytime._go_on._cache_size() == before
    assert len(thinker._made) == 1


def test_a_tree_fits_into_its_memory(thinker, monkeypatch):
    assert thinker.most == 2048
    assert last(thinker.begin(after(()), budget=10**6)).nodes == 2048
    monkeypatch.undo()
    game = games.make("hex", size=11)  # 121 actions of 20 bytes, and the cells of a state
    assert Thinker(even(game), memory=2**20).most == 256
    assert Thinker(even(game), memory=1).most == 64
    assert Thinker(even(game), memory=2**40).most == 2**14


def test_a_mind_that_cannot_be_sliced_is_refused():
    mind = Mind(GAME, Even(GAME), None, lambda n: lambda *a: None)
    with pytest.raises(ValueError, match="stopped at any moment"):
        Thinker(mind).begin(after(()))


def test_values_are_win_rates():
    line = Line((0,), 100, -0.5, 0.25)
    assert line.winrate == 0.25
    # Two standard errors of 100 games won in a quarter.
    assert line.lcb == pytest.approx(0.25 - 2 * (0.25 * 0.75 / 100) ** 0.5)


@pytest.mark.parametrize("left", [0.0, 0.05, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("moves", [None, 1, 2, 10])
@pytest.mark.parametrize("period", [0.0, 5.0])
def test_no_clock_runs_out(left, moves, period):
    """A game in which every move takes what it is given, and a little more."""
    given = seconds(Clock(left, moves=moves, period=period), 30)
    assert given >= 0.01
    if left + period >= 1.0:
        clock = left
        for number in range(moves or 200):
            to_go = None if moves is None else moves - number
            took = seconds(Clock(clock, moves=to_go, period=period), max(30 - number, 10)) + 0.02
            clock -= max(0.0, took - period)
            if clock < 0.3:
                break  # nobody can play on without time
            assert clock > 0
    assert seconds(Clock(10.0, increment=2.0), 30) > seconds(Clock(10.0), 30)
