"""The network of a run that was really trained, behind the protocols."""

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.core.game import timestep
from halfmove.games.go import Go
from halfmove.play import minds
from halfmove.play.thinking import Thinker, opinions
from halfmove.train.durable import RunError
from tests.runs import small


@pytest.mark.slow
def test_a_network_thinks_as_its_planner_does(tmp_path):
    run = small(tmp_path / "run")
    game = games.make("tic_tac_toe")
    mind = minds.of_run(run)(game)
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
        minds.of_run(run)(Go(size=5))
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
        minds.of_mcts()(games.make("2048"))
    with pytest.raises(RunError, match=r"no config\.json"):
        minds.named(str(tmp_path), None, Go)
