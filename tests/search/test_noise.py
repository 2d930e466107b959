"""Noise as distributions: Gumbel-Top-k, with replacement, Dirichlet, the hash of the walk."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from halfmove.search import noise, planner
from halfmove.search.rule import gumbel_of
from halfmove.search.tree import random_row
from tests.search import models

PRIOR = np.array([0.4, 0.3, 0.15, 0.1, 0.05, 0.0])
GAMES = 8192
LEGAL = PRIOR > 0
# A fixed seed makes each of these p-values one number; this is the chance of a false alarm.
ALARM = 1e-3


def bandits() -> models.Arms:
    logits = np.log(np.where(LEGAL, PRIOR, 0.9))
    rng = np.random.default_rng(0)
    return models.arms(
        np.tile(logits, (GAMES, 1)), rng.uniform(size=(GAMES, len(PRIOR))), legal=LEGAL
    )


def plackett_luce(k: int) -> dict[tuple[int, ...], float]:
    """The chance of every set of k actions drawn one after another without replacement."""
    chances: dict[tuple[int, ...], float] = {}
    for order in itertools.permutations(np.flatnonzero(LEGAL).tolist(), k):
        p, left = 1.0, 1.0
        for action in order:
            p, left = p * PRIOR[action] / left, left - PRIOR[action]
        key = tuple(sorted(order))
        chances[key] = chances.get(key, 0.0) + p
    return chances


def test_the_enumeration_is_a_distribution():
    for k in (1, 2, 3):
        assert sum(plackett_luce(k).values()) == pytest.approx(1.0)


@pytest.mark.parametrize("k", [1, 3])
def test_gumbel_top_k_inclusion(k):
    """n <= m simulations visit the Gumbel-Top-n: as sets and action by action."""
    search = planner("full_gumbel", simulations=k)
    plan = models.compiled(search, models.Bandit())(jax.random.key(k), bandits(), None)
    visits = np.asarray(plan.stats.visits)
    assert set(np.unique(visits)) == {0, 1}
    expected = plackett_luce(k)
    sets, counts = np.unique(visits, axis=0, return_counts=True)
    found = {tuple(np.flatnonzero(s)): c for s, c in zip(sets, counts, strict=True)}
    assert set(found) <= set(expected)
    observed = [found.get(s, 0) for s in expected]
    theory = np.array(list(expected.values())) * GAMES
    assert stats.chisquare(observed, theory).pvalue > ALARM
    for action in range(len(PRIOR)):
        share = sum(p for s, p in expected.items() if action in s)
        assert stats.binomtest(int(visits[:, action].sum()), GAMES, share).pvalue > ALARM


@pytest.mark.parametrize("name", ["full_gumbel", "gumbel_replacement"])
def test_gumbel_max_without_advantage_acts_with_the_prior(name):
    """c_scale = 0 makes every q the same: what is left is a draw from the prior."""
    search = planner(name, simulations=3, c_scale=0.0)
    plan = models.compiled(search, models.Bandit())(jax.random.key(5), bandits(), None)
    counts = np.bincount(plan.action, minlength=len(PRIOR))
    assert counts[~LEGAL].sum() == 0
    assert stats.chisquare(counts[LEGAL], PRIOR[LEGAL] * GAMES).pvalue > ALARM


def test_with_replacement_inclusion_and_exclusion():
    logits = jnp.where(LEGAL, jnp.log(PRIOR), -jnp.inf)
    same, row = noise.replacement(4)(jax.random.key(1), jnp.tile(logits, (GAMES, 1)))
    np.testing.assert_array_equal(same[0], logits)
    drawn = np.isfinite(row)
    assert not drawn[:, ~LEGAL].any()
    for action in np.flatnonzero(LEGAL):
        share = 1.0 - (1.0 - PRIOR[action]) ** 4
        assert stats.binomtest(int(drawn[:, action].sum()), GAMES, share).pvalue > ALARM


def test_with_replacement_a_hopeless_logit_is_not_an_illegal_one():
    logits = jnp.where(LEGAL, -1e30, -jnp.inf)
    _, row = noise.replacement(4)(jax.random.key(1), jnp.tile(logits, (GAMES, 1)))
    drawn = np.isfinite(row)
    assert not drawn[:, ~LEGAL].any()
    assert drawn.any(axis=1).all()
    # Nothing but the noise and the count is left of equal logits.
    assert np.abs(row[drawn]).max() < 50


def test_with_replacement_only_the_drawn_are_visited():
    search = planner("gumbel_replacement", simulations=8, considered=3)
    plan = models.compiled(search, models.Bandit())(jax.random.key(2), bandits(), None)
    drawn = np.isfinite(plan.noise.row)
    assert (np.asarray(plan.stats.visits).sum(-1) == 8).all()
    assert not np.asarray(plan.stats.visits)[~drawn].any()
    assert drawn[np.arange(GAMES), plan.action].all()


def test_gumbel_noise_is_gumbel_and_scaled():
    logits = jnp.zeros((2000, 5))
    _, row = noise.gumbel()(jax.random.key(3), logits)
    assert stats.kstest(np.ravel(row), "gumbel_r").pvalue > ALARM
    _, half = noise.gumbel(scale=0.5)(jax.random.key(3), logits)
    np.testing.assert_allclose(half, 0.5 * row, rtol=1e-6)
    _, still = noise.gumbel(scale=0.0)(jax.random.key(3), logits)
    assert not np.any(still)


def test_gumbel_softmax_at_a_temperature():
    """softmax((g + l) / T) of our noise: its argmax follows the prior at every T, and the
    chance that action 0 outweighs action 1 is π0 / (π0 + π1)."""
    logits = np.log(PRIOR[LEGAL])
    _, row = noise.gumbel()(jax.random.key(4), jnp.tile(logits, (GAMES, 1)))
    for temperature in (0.1, 1.0, 5.0):
        soft = jax.nn.softmax((row + logits) / temperature, axis=-1)
        counts = np.bincount(np.argmax(soft, axis=-1), minlength=len(logits))
        assert stats.chisquare(counts, PRIOR[LEGAL] * GAMES).pvalue > ALARM
        ahead = int(np.sum(np.asarray(row[:, 0] + logits[0] > row[:, 1] + logits[1])))
        assert stats.binomtest(ahead, GAMES, 0.4 / 0.7).pvalue > ALARM
    # As T falls the draw approaches one-hot, as it rises uniform.
    sharp = jax.nn.softmax((row + logits) / 0.01, axis=-1)
    assert np.mean(np.max(sharp, axis=-1)) > 0.98
    flat = jax.nn.softmax((row + logits) / 1e3, axis=-1)
    np.testing.assert_allclose(flat, 1.0 / len(logits), atol=0.01)


def test_gumbel_of_uniform_numbers():
    uniform = jax.random.uniform(jax.random.key(6), (10000,))
    assert stats.kstest(np.asarray(gumbel_of(uniform)), "gumbel_r").pvalue > ALARM
    assert np.isfinite(gumbel_of(jnp.array([0.0, 1.0 - 2.0**-24]))).all()


def test_dirichlet_over_the_legal_actions():
    """With fraction 1 each share is Beta(α, (k - 1) α), and shares of one game sum to 1."""
    logits = jnp.where(LEGAL, jnp.zeros(len(PRIOR)), -jnp.inf)
    draw = noise.dirichlet(fraction=1.0, alpha=0.5)
    noisy, row = draw(jax.random.key(7), jnp.tile(logits, (GAMES, 1)))
    share = np.exp(np.asarray(noisy, np.float64))
    assert not np.any(row)
    assert not share[:, ~LEGAL].any()
    np.testing.assert_allclose(share.sum(-1), 1.0, rtol=1e-4)
    for action in np.flatnonzero(LEGAL):
        assert stats.kstest(share[:, action], stats.beta(0.5, 2.0).cdf).pvalue > ALARM


def test_dirichlet_is_mixed_into_the_prior():
    logits = jnp.tile(jnp.where(LEGAL, jnp.log(PRIOR), -jnp.inf), (GAMES, 1))
    whole, _ = noise.dirichlet(fraction=1.0, alpha=0.3)(jax.random.key(8), logits)
    mixed, _ = noise.dirichlet(fraction=0.25, alpha=0.3)(jax.random.key(8), logits)
    np.testing.assert_allclose(
        np.exp(mixed), 0.75 * PRIOR + 0.25 * np.exp(whole), rtol=1e-4, atol=1e-6
    )


def test_no_share_of_dirichlet_leaves_the_logits_as_they_are():
    logits = jnp.where(LEGAL, jnp.log(PRIOR) + 3.0, -jnp.inf)[None]
    same, row = noise.dirichlet(fraction=0.0)(jax.random.key(9), logits)
    np.testing.assert_array_equal(same, logits)
    assert not np.any(row)


def pairs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The numbers of the walk against those next to them, along every axis."""
    seeds = jnp.arange(32, dtype=jnp.uint32)[:, None, None, None] + jnp.uint32(2**31 - 9)
    nodes = jnp.arange(24)[None, :, None, None]
    counts = 1 + jnp.arange(16)[None, None, :, None]
    lanes = jnp.arange(20)[None, None, None, :]
    cube = np.asarray(random_row(seeds, nodes, counts, lanes))
    names = ("seed", "node", "visit", "lane")
    found = {}
    for axis, name in enumerate(names):
        rows = np.moveaxis(cube, axis, 0)
        found[name] = rows[:-1:2].ravel(), rows[1::2].ravel()
    # node i at visit j against node j at visit i: a hash must not add the two up.
    square = cube[:, :16]
    found["node and visit"] = tuple(
        np.moveaxis(x, (1, 2), (0, 1))[np.triu_indices(16, 1)].ravel()
        for x in (square, np.swapaxes(square, 1, 2))
    )
    return found


@pytest.mark.parametrize("axis", ["seed", "node", "visit", "lane", "node and visit"])
def test_numbers_of_the_walk_are_uniform_and_independent(axis):
    first, second = pairs()[axis]
    assert first.min() >= 0.0
    assert first.max() < 1.0
    assert stats.kstest(first, "uniform").pvalue > ALARM
    table = np.histogram2d(first, second, bins=8, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(table.ravel()).pvalue > ALARM
    assert np.mean(first == second) < 1e-3


def test_numbers_of_the_walk_repeat_for_the_same_place_only():
    place = (jnp.uint32(5), jnp.int32(3), jnp.int32(2), jnp.arange(9))
    np.testing.assert_array_equal(random_row(*place), random_row(*place))
    assert len(np.unique(random_row(*place))) == 9
