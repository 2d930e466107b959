"""A game of chance, played with a tree and without one."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.cli import main
from halfmove.experiments import chance
from halfmove.experiments.chance import Scored
from halfmove.experiments.chance import Test as Task
from halfmove.nets import HeadConfig
from halfmove.train.parts import model_of
from halfmove.train.presets import preset
from halfmove.train.trained import Trained


def ignorant(name):
    """A network that has learned nothing of a game yet."""
    config, game = preset(name), games.make(name)
    value = HeadConfig("categorical", size=20)
    net = replace(config.net, kind="mlp", planes=4, blocks=1, head_width=4, value=value)
    model = model_of(replace(config, net=net), game)
    return Trained(config, game, model, model.init(jax.random.key(0)), 0)


@pytest.fixture
def run(monkeypatch):
    """The name of a run of 2048."""
    monkeypatch.setattr(chance, "trained", lambda run: ignorant("2048"))
    return "somewhere"


@pytest.mark.slow
def test_every_planner_plays_with_as_many_calls(run, capsys):
    words = "--calls 6 --horizon 2 --leaves 2 --games 3 --limit 3 --rate 0.5 --seed 1"
    assert main(["chance", run, *words.split()]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert "3 games of 2048, 6 model calls a move" in head
    names, calls = zip(*[(row.split()[0], float(row.split()[-1])) for row in rows], strict=True)
    assert names == chance.ROWS
    assert calls == (0.0, 6.0, 6.0, 6.0)


def test_points_and_moves_are_those_of_the_games():
    """What was merged is all that the score counts."""
    row = chance.scored(ignorant("2048"), "network", Task(games=4, limit=40))
    assert (row.moves > 20).all()
    assert (row.moves <= 40).all()
    # Of the tiles that come, 2 or 4 for each move, n 2s make at most n (log2 n) points.
    assert (row.scores >= 4).all()
    assert (row.scores <= 4 * 42 * np.log2(42)).all()


def test_simulations_without_a_tree_have_as_many_calls():
    """Two games of three moves: nobody is at the end of one so soon."""
    task = Task(calls=6, horizon=2, leaves=2, games=2, limit=3)
    assert chance.scored(ignorant("2048"), "mcs", task).calls == 6.0
    assert chance.planner_of(ignorant("2048"), "mcts", task).simulations == 6


def test_the_interval_of_a_mean():
    row = Scored("", np.array([1.0, 3.0, 5.0, 7.0]), np.ones(4), 1.0)
    spread = 1.96 * np.sqrt(20 / 3) / 2
    np.testing.assert_allclose(row.interval, (4 - spread, 4 + spread))


@pytest.mark.parametrize(("words", "said"), [
    ("--calls 30", "calls must be a multiple of the horizon, 4, got 30"),
    ("--calls 16", "leaves must be fewer than the 4 simulations of 16 calls, got 4"),
    ("--games 1", "games must be at least 2"),
])  # fmt: skip
def test_mistakes_are_named(words, said, capsys):
    assert main(["chance", "nowhere", *words.split()]) == 1
    assert said in capsys.readouterr().err


def test_a_game_without_chance_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(chance, "trained", lambda run: ignorant("tic_tac_toe"))
    assert main(["chance", "somewhere"]) == 1
    assert "tic_tac_toe, which is no game of one player and chance" in capsys.readouterr().err
