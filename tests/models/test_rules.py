"""Known rules and a network, against the game itself played move by move."""

import functools
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.game import timestep
from halfmove.games.tic_tac_toe import State, TicTacToe
from halfmove.models import Rules
from halfmove.nets import NetConfig
from halfmove.search import planner

NET = NetConfig(planes=4, blocks=1, head_width=4, dtype="float32")
MODEL = Rules(TicTacToe(), NET)


def key():
    """A key that nothing has used yet."""
    return jax.random.key(3)


# x wins with 2, o loses anywhere but 2; the third is over, the fourth drawn by the last move.
POSITIONS = ["xx.oo....", "xx.o.....", "xxxoo....", "xoxxoxo.o"]


@functools.cache
def variables():
    return MODEL.init(key())


def states(positions):
    parsed = [MODEL.game.parse_position(p) for p in positions]
    return jax.tree.map(lambda *x: jnp.stack(x), *parsed)


def steps(positions):
    return jax.jit(jax.vmap(functools.partial(timestep, MODEL.game)))(states(positions))


step = jax.jit(MODEL.step)


def test_a_step_is_the_games_own():
    node, edge, prediction = step(variables(), key(), states(POSITIONS), jnp.array([2, 4, 0, 7]))
    boards = [MODEL.game.position(jax.tree.map(lambda x, i=i: x[i], node)) for i in range(4)]
    assert boards == ["xxxoo....", "xx.oo....", "xxxoo....", "xoxxoxoxo"]
    # The third was over before: nothing moves and nothing is earned.
    np.testing.assert_array_equal(edge.reward, [1, 0, 0, 0])
    np.testing.assert_array_equal(edge.discount, [0, -1, 0, 0])
    legal = [[c == "." for c in board] for board in boards]
    legal = np.array(legal) & (np.asarray(edge.discount) != 0)[:, None]
    np.testing.assert_array_equal(prediction.legal, legal)
    value = np.asarray(prediction.value)
    assert not value[[0, 2, 3]].any()
    assert value[1] != 0


def test_the_network_sees_what_the_game_shows():
    """A root and a step to the same position think the same; so does the training side."""
    shown = steps(["xx.oo...."])
    node, at_root = jax.jit(MODEL.root)(variables(), key(), shown)
    assert jax.tree.structure(node) == jax.tree.structure(shown.state)
    _, _, below = step(variables(), key(), states(["xx.o....."]), jnp.array([4]))
    np.testing.assert_allclose(at_root.logits, below.logits, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(at_root.value, below.value, rtol=1e-5, atol=1e-6)
    unroll = jax.jit(functools.partial(MODEL.unroll, train=False))
    outputs, stats = unroll(variables(), MODEL.observe(shown.state), jnp.zeros((1, 0), jnp.int32))
    np.testing.assert_allclose(outputs.policy[:, 0], at_root.logits, rtol=1e-5, atol=1e-6)
    decoded = MODEL.value_head.decode(outputs.value[:, 0])
    np.testing.assert_allclose(decoded, at_root.value, rtol=1e-5, atol=1e-6)
    assert outputs.reward is None
    jax.tree.map(np.testing.assert_array_equal, stats, variables()["stats"])


def test_a_finished_root_is_worth_nothing():
    _, prediction = jax.jit(MODEL.root)(variables(), key(), steps(["xxxoo....", "xx.oo...."]))
    assert float(prediction.value[0]) == 0
    assert float(prediction.value[1]) != 0


def test_a_search_finds_the_win_and_the_block_without_training():
    search = planner("alphazero", simulations=100, dirichlet_fraction=0.0, temperature=0.0)
    plan = search(key(), MODEL, variables(), steps(POSITIONS))
    np.testing.assert_array_equal(plan.action, [2, 2, 0, 7])
    assert float(plan.stats.q[0, 2]) == 1
    assert float(plan.stats.q[3, 7]) == 0
    visits = np.asarray(plan.stats.visits)
    assert not visits[~np.asarray([[c == "." for c in p] for p in POSITIONS])].any()


@dataclass(frozen=True)
class Short(TicTacToe):
    """Cut short after two moves."""

    def truncated(self, state: State):
        return (jnp.sum(state.board > 0) >= 2) & ~self.terminated(state)


def test_where_a_game_is_cut_short_the_networks_value_stands():
    model = Rules(Short(), NET)
    start = jax.tree.map(lambda x: x[None], model.game.parse_position("x........"))
    _, edge, prediction = jax.jit(model.step)(variables(), key(), start, jnp.array([4]))
    assert float(edge.discount[0]) == -1
    assert float(prediction.value[0]) != 0
    assert not np.asarray(prediction.legal).any()


@dataclass(frozen=True)
class Drunk(TicTacToe):
    """Wherever one means to move, one moves by chance."""

    chance: ClassVar[bool] = True

    def step(self, key: jax.Array, state: State, action: jax.Array):
        return super().step(key, state, jax.random.randint(key, (), 0, 9))


def test_chance_differs_between_games_and_discounts_are_kept():
    model = Rules(Drunk(), NET, discount=0.9)
    same = states(["........."] * 16)
    node, edge, _ = jax.jit(model.step)(variables(), key(), same, jnp.zeros(16, jnp.int32))
    assert len({np.asarray(board).tobytes() for board in node.board}) > 3
    np.testing.assert_allclose(edge.discount, -0.9)


def test_known_rules_are_not_unrolled():
    with pytest.raises(ValueError, match="K must be 0, got 2 actions"):
        MODEL.unroll(variables(), jnp.zeros((1, 3, 3, 2)), jnp.zeros((1, 2), int), train=True)
