"""Continuous actions chosen among samples."""

import gymnasium
import numpy as np
import pytest
from scipy import stats

from halfmove.envs import make
from halfmove.envs.env import seeds
from halfmove.envs.sampled import Sampled, gaussian, prior_logits
from tests.envs import worlds


@pytest.mark.parametrize("workers", [0, 2])
def test_pendulum_plays_the_sample_that_was_chosen(workers):
    alone = [gymnasium.make("Pendulum-v1") for _ in range(3)]
    for pole, seed in zip(alone, seeds(2, 3), strict=True):
        pole.reset(seed=int(seed))
    draw = np.random.default_rng(0)
    with make("gymnasium:Pendulum-v1", envs=3, samples=6, workers=workers) as env:
        assert env.actions == 6
        step = env.reset(2)
        for _ in range(30):
            choice = draw.integers(6, size=3)
            samples = step.state.samples
            assert samples.shape == (3, 6, 1)
            assert (np.abs(samples) <= 2).all()
            step = env.step(choice)
            for i, pole in enumerate(alone):
                seen, reward, *_ = pole.step(samples[i, choice[i]])
                assert np.array_equal(step.observation[i], seen)
                assert step.reward[i, 0] == np.float32(reward)
        assert not np.array_equal(samples, step.state.samples)
        assert step.legal.shape == (3, 6)


def test_the_same_seed_draws_the_same_samples():
    with make("gymnasium:Pendulum-v1", envs=2, samples=5) as env:
        first, again, other = (env.reset(seed).state.samples for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[0], first[1])


def test_uniform_samples_fill_the_box_with_its_density():
    with Sampled(worlds.Push, envs=4, samples=2000) as env:
        state = env.reset(0).state
    assert state.samples.shape == (4, 2000, 2)
    assert stats.kstest(state.samples.ravel(), stats.uniform(-1, 2).cdf).pvalue > 1e-3
    np.testing.assert_allclose(state.log_proposal, np.log(0.25), rtol=1e-6)


def test_a_gaussian_proposal_has_its_density_and_is_clipped_when_played():
    mean, scale = np.array([0.5, -2.0]), np.array([0.1, 0.7])

    def policy(seen):
        return np.tile(mean, (len(seen), 1)), np.tile(scale, (len(seen), 1))

    with Sampled(worlds.Push, envs=2, samples=50, proposal=gaussian(policy)) as env:
        state = env.reset(0).state
        density = stats.norm(mean, scale).logpdf(state.samples).sum(-1)
        np.testing.assert_allclose(state.log_proposal, density, rtol=1e-4, atol=1e-4)
        assert (state.samples < -1).any()
        step = env.step(np.array([7, 8]))  # the world itself asserts that it is inside the box
        played = np.clip(state.samples[[0, 1], [7, 8]], -1, 1)
        want = -((played - [1, -1]) ** 2).sum(-1)
        np.testing.assert_allclose(step.reward[:, 0], want, rtol=1e-5)


def test_the_prior_over_samples_does_not_count_the_proposal_twice():
    # E over the samples, weighted by the prior, is the policy's mean whatever proposed them.
    policy = stats.norm(0.3, 0.2)

    def proposal(draw, seen, k):
        drawn = draw.normal(0.0, 0.6, (len(seen), k, 2))
        return drawn, stats.norm(0.0, 0.6).logpdf(drawn).sum(-1)

    with Sampled(worlds.Push, envs=1, samples=20000, proposal=proposal) as env:
        state = env.reset(0).state
    logits = prior_logits(policy.logpdf(state.samples).sum(-1), state.log_proposal)
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    means = (weights[..., None] * state.samples).sum(1)
    np.testing.assert_allclose(means, 0.3, atol=0.02)


def test_what_cannot_be_sampled_is_refused():
    with pytest.raises(ValueError, match=r"Discrete\(2\) actions: leave samples out"):
        make("gymnasium:CartPole-v1", samples=3)
    with pytest.raises(ValueError, match="only Box can be sampled"):
        Sampled(worlds.Many, samples=3)
    with pytest.raises(ValueError, match=r"no finite bounds.*give a proposal"):
        Sampled(lambda: worlds.Push(bounded=False), samples=3)
    with pytest.raises(ValueError, match="samples must be greater than 0, got 0"):
        make("gymnasium:Pendulum-v1", samples=0)

    def short(draw, seen, k):
        return np.zeros((len(seen), k)), np.zeros((len(seen), k))

    with Sampled(worlds.Push, samples=3, envs=2, proposal=short) as env:
        with pytest.raises(ValueError, match=r"must give actions \(2, 3, 2\).*gave \(2, 3\)"):
            env.reset(0)
        with pytest.raises(RuntimeError, match="call reset"):
            env.step(np.zeros(2, int))
