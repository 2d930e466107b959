"""What a planner carries along a game: kept from move to move, new with every game."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove import games
from halfmove.envs.gymnasium import Gymnasium
from halfmove.models import Rules
from halfmove.models.rollouts import Rollouts
from halfmove.nets import NetConfig
from halfmove.search import TreeSearch, planner
from halfmove.selfplay import SelfPlay
from halfmove.selfplay.boards import Searcher
from halfmove.selfplay.host import HostPlay
from halfmove.selfplay.match import match
from tests.selfplay.test_host import Flat, Ladder

LANES, CHUNK = 6, 7
PRIOR = planner("prior")


@dataclass(frozen=True)
class Counting:
    """Counts the searches of every game; the count is the search's value."""

    search: TreeSearch = PRIOR

    def begin(self, model, params, games):
        return {"searches": jnp.zeros(games, jnp.int32)}

    def __call__(self, key, model, params, timestep, memory=None):
        plan = self.search(key, model, params, timestep)
        if memory is None:
            memory = self.begin(model, params, len(plan.value))
        before = memory["searches"]
        return replace(plan, value=before.astype(jnp.float32), memory={"searches": before + 1})


def test_self_play_begins_anew_where_a_game_does():
    game = games.make("tic_tac_toe")
    selfplay = SelfPlay(game, Rollouts(game), Counting(), LANES, CHUNK)
    begin, first, second = jax.random.split(jax.random.key(3), 3)
    lanes, play = selfplay.begin(begin), jax.jit(selfplay.play)
    ended = 0
    for key in (first, second):
        lanes, steps, _ = play(None, lanes, key)
        made = (np.asarray(steps.state.board) > 0).sum(-1)
        np.testing.assert_array_equal(steps.value, made)
        np.testing.assert_array_equal(lanes.memory["searches"], lanes.moves)
        ended += int(np.asarray(steps.last).sum())
    assert ended > 2


def test_episodes_of_an_environment_begin_anew_too():
    with Gymnasium(Ladder, envs=3) as env:
        play = HostPlay(env, Flat(2, 1.0), Counting(), 12, explore=0)
        for seed in (0, 1):  # begun again, as after a checkpoint
            begin, key = jax.random.split(jax.random.key(seed))
            _, steps, _ = play.play({}, play.begin(begin), key)
            np.testing.assert_array_equal(steps.value, steps.state[..., 0])  # the height


def test_two_players_have_a_memory_each():
    game = games.make("tic_tac_toe")
    one, other = (Searcher(name, Counting(), Rollouts(game)) for name in ("one", "other"))
    for record in match(jax.random.key(0), game, one, other, games=4, opening=1):
        values = [note.value for note in record.notes[1:]]
        assert values[0::2] == list(range(len(values[0::2])))
        assert values[1::2] == list(range(len(values[1::2])))


@pytest.mark.slow
def test_policy_gradient_search_plays_itself():
    game = games.make("tic_tac_toe")
    model = Rules(game, NetConfig(planes=4, blocks=1))
    variables = model.init(jax.random.key(1))
    search = planner("pgs", simulations=12, leaves=4, learning_rate=0.1)
    selfplay = SelfPlay(game, model, search, LANES, CHUNK)
    begin, key = jax.random.split(jax.random.key(0))
    lanes, steps, _ = jax.jit(selfplay.play)(variables, selfplay.begin(begin, variables), key)
    learned = np.abs(lanes.memory.change["params/Dense_0/bias"]).max(-1)
    new = np.asarray(lanes.moves) == 0
    assert (learned[new] == 0).all()
    assert (learned[~new] > 0).all()
    assert np.asarray(steps.last).any()
    with pytest.raises(ValueError, match="none were given"):
        selfplay.begin(jax.random.key(5))
