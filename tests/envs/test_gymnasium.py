"""Gymnasium environments against the same environments stepped one by one."""

import functools

import gymnasium
import numpy as np
import pytest

from halfmove.envs import EnvError, make
from halfmove.envs.env import seeds
from halfmove.envs.gymnasium import Gymnasium
from tests.envs import worlds


@pytest.mark.parametrize("workers", [0, 2])
def test_cart_pole_is_each_pole_stepped_alone(workers):
    moves = np.random.default_rng(0).integers(2, size=(120, 5))
    alone = [gymnasium.make("CartPole-v1") for _ in range(5)]
    seen = [pole.reset(seed=int(s))[0] for pole, s in zip(alone, seeds(4, 5), strict=True)]
    total, ended = np.zeros(5), 0
    with make("gymnasium:CartPole-v1", envs=5, workers=workers) as env:
        assert env.actions == 2
        assert env.name == "gymnasium:CartPole-v1"
        step = env.reset(4)
        assert np.array_equal(step.observation, np.array(seen))
        assert not step.reward.any()
        for move in moves:
            step = env.step(move)
            for i, pole in enumerate(alone):
                reached, reward, terminated, truncated, _ = pole.step(int(move[i]))
                total[i] += reward
                assert step.reward[i, 0] == reward
                assert (step.terminated[i], step.truncated[i]) == (terminated, truncated)
                assert np.array_equal(step.state.reached[i], reached)
                assert step.state.returns[i] == total[i] == step.state.lengths[i]
                if terminated:
                    reached, _ = pole.reset()
                    total[i], ended = 0, ended + 1
                assert np.array_equal(step.observation[i], reached)
        assert step.observation.dtype == np.float32
        assert step.reward.shape == (5, 1)
        assert step.legal.shape == (5, 2)
        assert step.legal.all()
    assert ended > 10


def test_a_time_limit_truncates_and_does_not_terminate():
    with make("gymnasium:CartPole-v1", envs=1, options={"max_episode_steps": 5}) as env:
        env.reset(0)
        steps = [env.step(np.array([t % 2])) for t in range(5)]
        assert [bool(s.truncated[0]) for s in steps] == [False] * 4 + [True]
        assert not steps[-1].terminated[0]
        assert steps[-1].state.returns[0] == 5
        # What was reached is not what is shown: a new episode has begun.
        assert not np.array_equal(steps[-1].state.reached, steps[-1].observation)


@pytest.mark.parametrize("workers", [0, 1])
def test_numbers_that_begin_at_five_masks_and_narrow_numbers(workers):
    # Known here under an ID that a new process has not heard of.
    with make("gymnasium:HalfmoveTestCorridor-v0", envs=2, workers=workers) as env:
        step = env.reset(0)
        assert step.observation.dtype == np.float32
        assert np.array_equal(step.legal, [[False, True], [False, True]])
        step = env.step(np.array([1, 0]))
        assert np.array_equal(step.observation, [[1], [0]])
        assert np.array_equal(step.legal, [[True, True], [False, True]])
        assert np.array_equal(step.reward, [[-0.5], [0]])
        env.step(np.array([1, 1]))
        step = env.step(np.array([1, 1]))
        assert np.array_equal(step.terminated, [True, False])
        assert np.array_equal(step.state.returns, [-1.5, -1.0])
        assert np.array_equal(step.state.reached, [[3], [2]])
        assert np.array_equal(step.observation, [[0], [2]])
        assert np.array_equal(step.legal, [[False, True], [True, True]])


def test_discrete_observations_and_a_function_that_makes_the_environment():
    maker = functools.partial(gymnasium.make, "FrozenLake-v1", is_slippery=False)
    with Gymnasium(maker, envs=3) as env:
        step = env.reset(0)
        assert np.array_equal(step.observation, [0, 0, 0])
        step = env.step(np.array([1, 2, 0]))  # down, right, left
        assert np.array_equal(step.observation, [4, 1, 0])
        assert step.observation.dtype == np.int32
    with pytest.raises(ValueError, match="options are for an environment given by its ID"):
        Gymnasium(maker, options={"map_name": "8x8"})


@pytest.mark.parametrize("workers", [0, 1])
def test_spaces_that_cannot_be_searched_say_what_can(workers):
    with pytest.raises(ValueError, match=r"Box\(.*samples=K"):
        make("gymnasium:Pendulum-v1", workers=workers, envs=1)
    with pytest.raises(ValueError, match=r"MultiDiscrete.*only Discrete, and Box.*ActionWrapper"):
        Gymnasium(worlds.Many, workers=workers, envs=1)
    with pytest.raises(ValueError, match=r"Dict observations.*FlattenObservation"):
        Gymnasium(worlds.Parts, workers=workers, envs=1)
    with pytest.raises(EnvError, match=r"environment 0 of .*Shapeless.* shape \(2,\).* \(1,\)"):
        Gymnasium(worlds.Shapeless, workers=workers, envs=1).reset(0)


def test_bad_actions_options_and_names_are_refused():
    with make("gymnasium:CartPole-v1", envs=2) as env:
        with pytest.raises(RuntimeError, match="call reset"):
            env.step(np.zeros(2, int))
        env.reset(0)
        with pytest.raises(ValueError, match="actions 0 to 1; environment 1 was given 2"):
            env.step(np.array([0, 2]))
        env.step(np.array([0, 1]))  # and it goes on
    with pytest.raises(EnvError, match="CartPole-v1 is closed"):
        env.step(np.array([0, 1]))
    with pytest.raises(ValueError, match=r"no Gymnasium environment 'CartPol-v1'.*CartPole"):
        make("gymnasium:CartPol-v1")
    with pytest.raises(ValueError, match="workers must be at least 0, got -1"):
        make("gymnasium:CartPole-v1", workers=-1)
    with pytest.raises(ValueError, match="timeout must be greater than 0, got 0"):
        make("gymnasium:CartPole-v1", timeout=0)
