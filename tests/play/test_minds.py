"""The network of a run that was really trained, behind the protocols."""

import io
import re

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.core.game import timestep
from halfmove.games.go import Go
from halfmove.games.hex import Hex
from halfmove.play import htp, minds
from halfmove.play.seat import Limits
from halfmove.play.thinking import Thinker, opinions
from halfmove.train import zoo
from halfmove.train.durable import RunError
from halfmove.train.trained import saved
from tests.runs import small


@pytest.mark.slow
def test_a_network_thinks_as_its_planner_does(tmp_path):
    run = small(tmp_path / "run")
    game = games.make("tic_tac_toe")
    mind = minds.of_player(str(run))(game)
    state = games.play(game, game.init(jax.random.key(0)), 4)
    *_, opinion = opinions(Thinker(mind, seed=0).begin(state, budget=40))
    one = jax.tree.map(lambda x: x[None], timestep(game, state))
    key = jax.random.fold_in(jax.random.key(0), 1)  # that of a thinker's first search
    plan = mind.planner_for(40)(key, mind.model, mind.variables, one)
    assert opinion.action == int(plan.action[0])
    visits = np.zeros(9, int)
    for line in opinion.lines:
        visits[line.moves[0]] = line.visits
    np.testing.assert_array_equal(visits, plan.stats.visits[0])
    with pytest.raises(ValueError, match="learned tic_tac_toe"):
        minds.of_player(str(run))(Go(size=5))
    with pytest.raises(ValueError, match="for go, not for tic_tac_toe"):
        minds.named(str(run), None, Go)


def test_players_by_name(tmp_path):
    source, game = minds.named("mcts", None, Go)
    assert game == Go()
    assert source(Go(size=5)).game == Go(size=5)
    assert minds.named("mcts", "go size=7", Go)[1] == Go(size=7)
    with pytest.raises(ValueError, match="for go, not for hex"):
        minds.named("mcts", "hex", Go)
    with pytest.raises(ValueError, match="not a game for two"):
        minds.of_player("mcts")(games.make("2048"))
    with pytest.raises(RunError, match=r"no config\.json"):
        minds.named(str(tmp_path), None, Go)
    with pytest.raises(ValueError, match="unknown planner 'pgz'"):
        minds.named("hex7:pgz@4", None, Hex)


def test_any_searcher_of_the_arena_speaks():
    """Another planner than the run's, its options, and a stage of a run, by the arena's line."""
    line = "hex7:pgs@12 learning_rate=0.01 leaves=4"
    source, game = minds.named(line, None, Go, Hex)
    assert game == Hex(size=7)
    search = source(game).planner_for(5)
    assert (search.simulations, search.leaves, search.adapt.learning_rate) == (5, 4, 0.01)
    stage = f"{zoo.ROOT / 'hex7'}/checkpoints/{saved('hex7')[0]:08d}:mcs@12"
    assert minds.named(stage, None, Hex)[0](game).planner_for(5).adapt is None
    assert Limits().of(line) == Limits(simulations=12)
    assert Limits(seconds=2.0).of(line) == Limits(simulations=12, seconds=2.0)
    assert Limits(simulations=3).of(line) == Limits(simulations=3)
    assert Limits().of("mcts@0.5s") == Limits(seconds=0.5)
    assert Limits().of("mcts") == Limits()
    said = io.BytesIO()
    given = io.BytesIO(b"genmove black\nplay white a1\ngenmove black\n")
    assert htp.main(source, game, limits=Limits().of(line), seed=0, given=given, said=said) == 0
    assert re.fullmatch(r"= [a-g][1-7]\n\n=\n\n= [a-g][1-7]\n\n", said.getvalue().decode())
