"""The rules that choose an action, on nodes worked out by hand and as distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats as scipy_stats

from halfmove.core.types import RootNoise
from halfmove.search import act, improve, scaling, select
from halfmove.search.rule import best
from tests.search.test_improve import NO_NOISE, node


def test_puct_by_hand():
    # √4 · c · π / (1 + N): 2 · 3 · (1/2 / 3, 1/4 / 2, 1/4) = 1, 0.75, 1.5.
    rule = select.puct(exploration=select.constant(3.0), scale=scaling.fixed(-1.0, 1.0))
    np.testing.assert_allclose(rule(node(), NO_NOISE)[:3], [2.0, 0.75, 1.5], atol=1e-6)


def test_puct_on_the_scale_of_parent_and_siblings():
    # Values 1, -1 and the node's own 0.375 span [-1, 1]; an unvisited action has Q = 0.
    rule = select.puct(exploration=select.constant(3.0), scale=scaling.siblings())
    np.testing.assert_allclose(rule(node(), NO_NOISE)[:3], [2.0, 0.75, 1.5], atol=1e-6)
    lower = node(value=jnp.float32(-3.0))
    np.testing.assert_allclose(rule(lower, NO_NOISE)[:3], [2.0, 1.25, 1.5], atol=1e-6)


def test_the_exploration_factor_grows_as_in_muzero():
    c = select.growing(c_init=1.25, c_base=19652.0)
    for count in (1, 51, 20000):
        expected = 1.25 + np.log((count + 19652 + 1) / 19652)
        assert c(jnp.int32(count)) == pytest.approx(expected, rel=1e-6)


def test_track_by_hand():
    rule = select.track(improve.prior())
    np.testing.assert_allclose(rule(node(), NO_NOISE)[:3], [0.0, 0.0, 0.25], atol=1e-6)


def test_halving_takes_only_the_wanted_visit_count():
    noise = RootNoise(row=jnp.array([5.0, 0.0, 0.0, 9.0]), want=jnp.int32(1))
    scores = select.halving(improve.completed_q())(node(), noise)
    assert np.isneginf(scores[0])
    assert np.isfinite(scores[1])
    assert np.isneginf(scores[2])


def test_halving_lets_a_hopeless_logit_in_when_nothing_else_is_wanted():
    logits = jnp.array([0.0, -3e38, 0.0, -jnp.inf])
    noise = RootNoise(row=jnp.zeros(4), want=jnp.int32(1))
    scores = select.halving(improve.completed_q())(node(logits=logits), noise)
    assert best(jnp.where(node(logits=logits).legal, scores, -jnp.inf)) == 1


def test_best_considered_looks_only_at_the_most_visited():
    stats = jax.tree.map(lambda x: jnp.asarray(x)[None], node())
    noise = RootNoise(row=jnp.array([[0.0, 1e6, 1e6, 1e6]]), want=jnp.zeros(1, jnp.int32))
    assert act.best_considered(improve.completed_q())(jax.random.key(0), stats, noise)[0] == 0


@pytest.mark.parametrize("c_puct", [0.5, 1.25, 20.0])
def test_exact_ties_of_puct_fall_at_random(c_puct):
    """Without favour, however great the tied scores are beside a float's last digit."""
    even = node(
        logits=jnp.zeros(4), prior=jnp.full(4, 0.25), visits=jnp.zeros(4, jnp.int32), q=jnp.zeros(4)
    )
    rule = select.by_lot(select.puct(exploration=select.constant(c_puct), scale=scaling.tree()))
    rows = jax.random.uniform(jax.random.key(0), (4000, 4))
    chosen = jax.vmap(lambda r: best(rule(node(**{**vars(even), "random": r}), NO_NOISE)))(rows)
    counts = np.bincount(chosen, minlength=4)
    assert scipy_stats.chisquare(counts).pvalue > 1e-3, counts


def test_sample_draws_from_the_improved_policy():
    """Gumbel-Max on the node's own random numbers."""
    policy = improve.raised(improve.completed_q(c_visit=0.0, c_scale=0.5))
    rows = jax.random.uniform(jax.random.key(1), (20000, 4))
    rule = select.sample(policy)
    base = vars(node())
    chosen = jax.jit(
        jax.vmap(lambda r: best(rule(node(**{**base, "random": r}), NO_NOISE)))
    )(rows)  # fmt: skip
    expected = np.asarray(policy(node(), NO_NOISE), np.float64)
    counts = np.bincount(chosen, minlength=4)
    assert counts[3] == 0
    share = expected[:3] / expected[:3].sum()
    assert scipy_stats.chisquare(counts[:3], share * counts.sum()).pvalue > 1e-3


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("by", ["visits", "policy"])
def test_acting_at_a_temperature(by, temperature):
    """The move is drawn in proportion to N^(1/T), or to a policy^(1/T)."""
    games = 20000
    visits = np.array([6, 3, 1, 0])
    stats = jax.tree.map(
        lambda x: jnp.broadcast_to(x, (games, *jnp.shape(x))), node(visits=jnp.asarray(visits))
    )
    noise = RootNoise(row=jnp.zeros((games, 4)), want=jnp.zeros(games, jnp.int32))
    rule = (
        act.by_visits(temperature=temperature)
        if by == "visits"
        else act.by_policy(improve.visit_share(), temperature=temperature)
    )
    counts = np.bincount(rule(jax.random.key(2), stats, noise), minlength=4)
    weights = (visits[:3] / 10.0) ** (1.0 / temperature)
    assert counts[3] == 0
    assert scipy_stats.chisquare(counts[:3], weights / weights.sum() * games).pvalue > 1e-3


def test_temperature_zero_takes_the_most_visited():
    stats = jax.tree.map(lambda x: jnp.asarray(x)[None], node())
    noise = RootNoise(row=jnp.zeros((1, 4)), want=jnp.zeros(1, jnp.int32))
    for seed in range(20):
        assert act.by_visits(temperature=0.0)(jax.random.key(seed), stats, noise)[0] == 0
