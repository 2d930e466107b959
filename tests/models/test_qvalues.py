"""Action values: what they say of a position, and what an update may change."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.types import TimeStep
from halfmove.learn.loss import LossConfig, loss
from halfmove.learn.targets import Targets
from halfmove.models import QValues, Spec
from halfmove.nets import HeadConfig, NetConfig
from halfmove.search import planner

A, N = 4, 3
MODEL = QValues(
    Spec((5,), A, discount=0.9),
    NetConfig(kind="mlp", planes=8, blocks=1, norm="none", value=HeadConfig("linear")),
)
OBSERVATION = np.random.default_rng(0).normal(size=(N, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def variables():
    made = MODEL.init(jax.random.key(0))
    return jax.tree.map(lambda x: x + 0.3 * jax.random.normal(jax.random.key(1), x.shape), made)


def seen(legal):
    never = np.zeros(N, bool)
    return TimeStep(OBSERVATION, OBSERVATION, legal, never * 0, np.zeros((N, 1)), never, never)


def test_a_position_is_worth_its_best_legal_action_and_that_is_played(variables):
    everything = np.ones((N, A), bool)
    _, whole = MODEL.root(variables, jax.random.key(0), seen(everything))
    q = np.asarray(whole.logits)
    np.testing.assert_allclose(whole.value, q.max(-1), rtol=1e-6)
    assert (q.max(-1) > q.min(-1)).all()
    legal = np.arange(A) != q.argmax(-1)[:, None]
    plan = planner("prior", temperature=0.0)(jax.random.key(0), MODEL, variables, seen(legal))
    wanted = np.where(legal, q, -np.inf)
    np.testing.assert_allclose(plan.value, wanted.max(-1), rtol=1e-6)
    np.testing.assert_array_equal(plan.action, wanted.argmax(-1))


def test_only_the_value_of_the_action_played_is_learned(variables):
    played = np.array([[2], [0], [2]])
    ones = np.ones((N, 1), np.float32)
    goal = np.array([[1.0], [-2.0], [0.5]], np.float32)
    targets = Targets(
        played=played, policy=np.full((N, 1, A), 1 / A, np.float32), policy_mask=ones, value=goal,
        value_mask=ones, reward=0 * ones, reward_mask=0 * ones, weight=ones[:, 0],
    )  # fmt: skip

    def total(given):
        config = LossConfig(l2=0.0, policy_weight=0.0)
        return loss(MODEL, config, given, OBSERVATION, targets)[0]

    _, said = MODEL.root(variables, jax.random.key(0), seen(np.ones((N, A), bool)))
    q = np.take_along_axis(np.asarray(said.logits), played, axis=1)
    value, gradient = jax.value_and_grad(total)(variables)
    assert float(value) == pytest.approx(float(np.mean((q - goal) ** 2)), rel=1e-5)
    last = gradient["params"]["ScalarHead_0"]["Dense_1"]["bias"]
    assert np.flatnonzero(np.asarray(last)).tolist() == [0, 2]


def test_the_policy_is_no_business_of_the_loss(variables):
    raw, _ = MODEL.unroll(variables, OBSERVATION, jnp.zeros((N, 0), jnp.int32), train=True)
    assert raw.value.shape == (N, 1, A, 1)

    def sharp(given):
        out, _ = MODEL.unroll(given, OBSERVATION, jnp.zeros((N, 0), jnp.int32), train=True)
        return jnp.sum(out.policy**2)

    assert not any(x.any() for x in jax.tree.leaves(jax.grad(sharp)(variables)))


def test_it_cannot_be_searched_or_unrolled(variables):
    with pytest.raises(ValueError, match="no model to search in"):
        planner("muzero", simulations=2)(
            jax.random.key(0), MODEL, variables, seen(np.ones((N, A), bool))
        )
    with pytest.raises(ValueError, match="K must be 0, got 2"):
        MODEL.unroll(variables, OBSERVATION, jnp.zeros((N, 2), jnp.int32), train=True)
