"""Learned dynamics: one unroll is a root and steps, and gradients are halved."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.game import timestep
from halfmove.core.types import TimeStep
from halfmove.envs import history
from halfmove.games.tic_tac_toe import TicTacToe
from halfmove.models import Learned, Spec, learned
from halfmove.nets import HeadConfig, NetConfig
from halfmove.search import planner


class Turning(TicTacToe):
    """Each player sees the board from an end of its own."""

    def passed(self, planes):
        return planes[::-1]


NET = NetConfig(planes=4, blocks=1, head_width=4, dtype="float32")
BOARD = Learned(Spec.of_game(TicTacToe()), NET)
TURNING = Learned(Spec.of_game(Turning()), NET)
VECTOR = Learned(
    Spec((3,), 2, discount=0.9),
    replace(NET, kind="mlp", norm="layer", value=HeadConfig("categorical", size=4)),
)


def key():
    """A key that nothing has used yet."""
    return jax.random.key(5)


@functools.cache
def variables(model):
    return model.init(key())


def shown(observation, actions, count):
    no, reward = jnp.zeros(count, bool), jnp.zeros((count, 1))
    legal, mover = jnp.ones((count, actions), bool), jnp.zeros(count, jnp.int32)
    return TimeStep(observation, observation, legal, mover, reward, no, no)


@functools.cache
def board_steps(count):
    @jax.jit
    def run(key):
        one = jax.vmap(TicTacToe().init)(jax.random.split(key, count))
        moved = jax.vmap(TicTacToe().step, in_axes=(None, 0, 0))(key, one, jnp.arange(count))
        return jax.vmap(functools.partial(timestep, TicTacToe()))(moved)

    return run(key())


def vector_steps(count):
    return shown(jax.random.normal(jax.random.key(1), (count, 3)), 2, count)


CASES = {
    "board": (BOARD, board_steps, -1.0),
    "turning board": (TURNING, board_steps, -1.0),
    "vector": (VECTOR, vector_steps, 0.9),
}


@pytest.mark.parametrize("case", CASES)
def test_an_unroll_is_a_root_and_steps(case):
    model, steps, discount = CASES[case]
    shown = steps(3)
    action = jnp.array([[1, 0], [0, 1], [1, 1]], jnp.int32)

    @jax.jit
    def both(variables):
        node, first = model.root(variables, key(), shown)
        found = [(node, None, first)]
        for k in range(2):
            found.append(model.step(variables, key(), found[-1][0], action[:, k]))
        observation = model.observe(shown.state)
        return found, model.unroll(variables, observation, action, train=False)[0]

    found, outputs = both(variables(model))
    for k, (node, edge, prediction) in enumerate(found):
        np.testing.assert_allclose(outputs.policy[:, k], prediction.logits, rtol=1e-4, atol=1e-5)
        value = model.value_head.decode(outputs.value[:, k])
        np.testing.assert_allclose(value, prediction.value, rtol=1e-4, atol=1e-5)
        flat = np.asarray(node).reshape(3, -1)
        np.testing.assert_allclose(flat.min(1), 0, atol=1e-6)
        np.testing.assert_allclose(flat.max(1), 1, atol=1e-6)
        if edge is not None:
            reward = model.reward_head.decode(outputs.reward[:, k])
            np.testing.assert_allclose(reward, edge.reward, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(edge.discount, discount)
            assert prediction.legal is None
    np.testing.assert_array_equal(found[0][2].legal, shown.legal)


def test_an_action_changes_what_follows():
    twice = jnp.broadcast_to(jax.random.uniform(key(), (1, 3, 3, 4)), (2, 3, 3, 4))
    after, _, _ = jax.jit(BOARD.step)(variables(BOARD), key(), twice, jnp.array([3, 4]))
    assert float(jnp.abs(after[0] - after[1]).max()) > 1e-3


def test_a_board_that_lies_before_who_moves_is_turned():
    """By the model, so that its dynamics need not learn to; what is asked of it is asked after."""
    node, action = jax.random.uniform(key(), (2, 3, 3, 4)), jnp.array([0, 5])
    plain, _, _ = jax.jit(BOARD.step)(variables(BOARD), key(), node, action)
    turned, _, said = jax.jit(TURNING.step)(variables(BOARD), key(), node, action)
    np.testing.assert_allclose(turned, plain[:, ::-1], rtol=1e-6)
    logits, _ = BOARD.network.apply(variables(BOARD), plain[:, ::-1], False, method="predict")
    np.testing.assert_allclose(said.logits, logits, rtol=1e-4, atol=1e-5)


def test_the_gradient_is_halved_at_every_step(monkeypatch):
    """What step 2 asks of the representation is a quarter of the full gradient."""

    params = variables(VECTOR)["params"]

    def gradients():
        def asked(first):
            given = {"params": {**params, "representation": first}, "stats": {}}
            x, action = vector_steps(2).observation, jnp.zeros((2, 2), jnp.int32)
            outputs, _ = VECTOR.unroll(given, x, action, train=True)
            return jnp.sum(outputs.policy**2, axis=(0, 2))

        found = jax.jit(jax.jacrev(asked))(params["representation"])
        return np.asarray(found["Linear_0"]["kernel"])

    scaled = gradients()
    monkeypatch.setattr(learned, "halved", lambda x: x)
    for k, full in enumerate(gradients()):
        assert np.abs(full).max() > 0
        np.testing.assert_allclose(scaled[k], full / 2**k, rtol=1e-4, atol=1e-9)


def test_statistics_move_in_training_and_keep_their_shape():
    step = board_steps(3)
    run = jax.jit(functools.partial(BOARD.unroll, train=True))
    _, stats = run(variables(BOARD), step.observation, jnp.zeros((3, 3), jnp.int32))
    before = variables(BOARD)["stats"]
    assert jax.tree.map(jnp.shape, stats) == jax.tree.map(jnp.shape, before)
    seen = {
        part: float(stats[part]["Linear_0"]["norm"]["seen"])
        for part in ("representation", "dynamics", "policy", "value", "reward")
    }
    # The dynamics run three times, the heads once over all of it.
    assert seen == {"representation": 1, "dynamics": 3, "policy": 1, "value": 1, "reward": 1}


def test_moves_written_out_as_for_a_gpu_are_the_same(monkeypatch):
    step, actions = board_steps(3), jnp.array([[0, 4, 8], [3, 1, 2], [8, 0, 7]])

    def found():
        run = jax.jit(functools.partial(BOARD.unroll, train=True))
        given = variables(BOARD), step.observation, actions
        return run.lower(*given).as_text().count("stablehlo.while"), run(*given)

    loops, expected = found()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    written_out, outputs = found()
    assert (loops, written_out) == (1, 0)
    same = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5)
    jax.tree.map(same, outputs, expected)


def test_frames_and_bytes_are_read_as_planes():
    frame = np.random.default_rng(0).integers(0, 255, (2, 20, 16, 3), np.uint8)
    past = history.push(history.begin(frame, 2), frame, np.array([1, 2]), np.zeros(2, bool))
    step = shown(past, 4, 2)
    spec = Spec.of_timestep(step, discount=0.99)
    assert spec == Spec((20, 16, 8), 4, 1, 0.99)
    np.testing.assert_allclose(learned.read(frame), frame / 255.0, rtol=1e-6)
    model = Learned(spec, replace(NET, kind="atari"))
    node, prediction = jax.eval_shape(lambda: model.root(model.init(key()), key(), step))
    assert node.shape == (2, 2, 1, 4)
    assert prediction.logits.shape == (2, 4)


def test_a_planner_runs_on_vectors():
    plan = planner("gumbel", simulations=6)(key(), VECTOR, variables(VECTOR), vector_steps(3))
    np.testing.assert_allclose(np.asarray(plan.policy).sum(-1), 1, rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(plan.stats.visits).sum(-1), 6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Learned(Spec((4,), 2)), 'kind="tower" reads boards or images .* use kind="mlp"'),
        (lambda: Spec((4,), 2, players=3), "players must be 1 or 2, got 3"),
        (lambda: Spec((4,), 2, discount=0.0), "discount must be above 0"),
        (lambda: Spec((4,), 0), "actions must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
