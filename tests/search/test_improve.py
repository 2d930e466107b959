"""Completed Q, its scales and the improved policy, on examples worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.types import NodeStats, RootNoise
from halfmove.search import improve, scaling

NO_NOISE = RootNoise(row=jnp.zeros(4), want=jnp.int32(0))


def node(**changes) -> NodeStats:
    """Priors 1/2, 1/4, 1/4 and one illegal action; two visits, one, none."""
    prior = jnp.array([0.5, 0.25, 0.25, 0.0])
    fields = {
        "logits": jnp.log(prior),
        "prior": prior,
        "visits": jnp.array([2, 1, 0, 0]),
        "q": jnp.array([1.0, -1.0, 0.0, 0.0]),
        "count": jnp.int32(4),
        "value": jnp.float32(0.375),
        "raw_value": jnp.float32(0.5),
        "q_min": jnp.float32(-2.0),
        "q_max": jnp.float32(2.0),
        "random": jnp.zeros(4),
    }
    return NodeStats(**{**fields, **changes})


def test_v_mix_by_hand():
    # Σπq / Σπ over the visited: (1/2 - 1/4) / (3/4) = 1/3; (1/2 + 3 · 1/3) / 4 = 3/8.
    assert improve.mixed_value(node()) == pytest.approx(0.375, abs=1e-6)


def test_v_mix_of_an_unvisited_node_is_its_raw_value():
    fresh = node(visits=jnp.zeros(4, jnp.int32), q=jnp.zeros(4))
    assert improve.mixed_value(fresh) == pytest.approx(0.5)


def test_v_mix_of_one_visited_action_is_between_its_value_and_the_raw_one():
    q = jnp.array([0.0, -1.0, 0.0, 0.0])
    one = node(visits=jnp.array([0, 9, 0, 0]), q=q, count=jnp.int32(10))
    assert improve.mixed_value(one) == pytest.approx((0.5 - 9.0) / 10.0)


def test_v_mix_ignores_how_visits_are_shared_out():
    """Only their sum counts: the mean over visited actions is weighted by the prior."""
    assert improve.mixed_value(node(visits=jnp.array([1, 2, 0, 0]))) == pytest.approx(0.375)


def test_v_mix_survives_a_prior_that_underflows():
    thin = node(prior=jnp.array([0.0, 0.0, 1.0, 0.0]))
    # Both visited actions have a vanishing prior, so they weigh the same: mean 0.
    assert improve.mixed_value(thin) == pytest.approx(0.5 / 4.0, abs=1e-6)


@pytest.mark.parametrize(("completion", "expected"), [("mixed", 0.375), ("raw", 0.5)])
def test_completion(completion, expected):
    row = improve.completed(completion)(node())
    np.testing.assert_allclose(row[:3], [1.0, -1.0, expected], atol=1e-6)


@pytest.mark.parametrize(
    ("normalise", "expected"),
    [
        ("siblings", [1.0, 0.0, 0.6875]),
        ("tree", [0.75, 0.25, 0.59375]),
        ((-1.0, 1.0), [1.0, 0.0, 0.6875]),
        ((0.0, 4.0), [0.25, -0.25, 0.09375]),
        (None, [1.0, -1.0, 0.375]),
    ],
)
def test_scales_and_sigma(normalise, expected):
    """σ = (c_visit + max N) · c_scale · scaled Q, with max N = 2 here."""
    scale = scaling.named(normalise)
    np.testing.assert_allclose(
        improve.completed_q(scale=scale)(node())[:3], 52.0 * np.array(expected), rtol=1e-5
    )
    np.testing.assert_allclose(
        improve.completed_q(c_visit=8.0, c_scale=0.1, scale=scale)(node())[:3],
        np.array(expected),
        rtol=1e-5,
        atol=1e-6,
    )


def test_illegal_actions_do_not_stretch_the_scale_of_siblings():
    row = jnp.array([1.0, -1.0, 0.0, 100.0])
    np.testing.assert_allclose(scaling.siblings()(node(), row, None)[:3], [1.0, 0.0, 0.5])


def test_an_anchor_belongs_to_the_interval_of_siblings():
    row = jnp.array([1.0, -1.0, 0.0, 0.0])
    scaled = scaling.siblings()(node(), row, jnp.float32(3.0))
    np.testing.assert_allclose(scaled[:3], [0.5, 0.0, 0.25])


@pytest.mark.parametrize("normalise", ["siblings", "tree"])
def test_equal_values_give_no_advantage(normalise):
    same = node(q=jnp.array([0.5, 0.5, 0.0, 0.0]), q_min=jnp.float32(0.5), q_max=jnp.float32(0.5))
    sigma = improve.completed_q(scale=scaling.named(normalise), completion="raw")(same)
    np.testing.assert_allclose(sigma[:3], 0.0, atol=1e-5)
    policy = improve.raised(lambda stats: sigma)(same, NO_NOISE)
    np.testing.assert_allclose(policy, [0.5, 0.25, 0.25, 0.0], atol=1e-6)


def test_the_improved_policy_by_hand():
    # c_visit + max N = 2, times 1/2: σ is the scaled Q itself: 1, 0, 0.6875.
    sigma = improve.completed_q(c_visit=0.0, c_scale=0.5, scale=scaling.siblings())
    weights = np.array([0.5 * np.e, 0.25, 0.25 * np.exp(0.6875), 0.0])
    policy = improve.raised(sigma)(node(), NO_NOISE)
    np.testing.assert_allclose(policy, weights / weights.sum(), rtol=1e-5)


def test_visit_share_by_hand():
    np.testing.assert_allclose(
        improve.visit_share()(node(), NO_NOISE), [2 / 3, 1 / 3, 0, 0], rtol=1e-6
    )
    fresh = node(visits=jnp.zeros(4, jnp.int32))
    np.testing.assert_allclose(improve.visit_share()(fresh, NO_NOISE), [0.5, 0.25, 0.25, 0.0])


def test_lambda_by_hand():
    # c √ΣN / (A + ΣN) with three legal actions and three visits.
    lam = improve.regularisation(node(), lambda count: jnp.float32(2.0))
    assert lam == pytest.approx(2.0 * np.sqrt(3.0) / 6.0)
