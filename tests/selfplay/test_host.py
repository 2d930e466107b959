"""Moves in environments on the host: what is recorded is what really happened."""

import functools
from dataclasses import dataclass

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from halfmove.core.types import Edge, Prediction
from halfmove.envs import Env, EnvError, Episodes
from halfmove.envs.env import Tally, timestep
from halfmove.envs.gymnasium import Gymnasium
from halfmove.envs.history import begin, planes, push
from halfmove.learn.views import of_frames
from halfmove.replay import Replay
from halfmove.search import planner
from halfmove.selfplay.host import HostPlay, evaluate
from tests.envs import worlds

LANES, CHUNK = 3, 4


class Ladder(gymnasium.Env):
    """Action 1 climbs and earns its height, action 0 jumps off; cut after 5 moves."""

    observation_space = spaces.Box(0, 99, (2,), np.float32)
    action_space = spaces.Discrete(2)
    episode = 0

    def reset(self, *, seed=None, options=None):
        self.episode, self.height = self.episode + 1, 0
        return self._seen(), {}

    def step(self, action):
        self.height += 1
        return self._seen(), float(self.height * action), action == 0, self.height == 5, {}

    def _seen(self):
        return np.array([self.height, self.episode], np.float32)


@dataclass(frozen=True)
class Flat:
    """A model that has no opinion, or prefers the last action by `bias`."""

    actions: int
    bias: float = 0.0

    def root(self, params, key, timestep):
        return jnp.zeros(len(timestep.legal)), self._say(len(timestep.legal), timestep.legal)

    def step(self, params, key, node, action):
        return node, Edge(jnp.zeros(node.shape), jnp.ones(node.shape)), self._say(len(node), None)

    def _say(self, count, legal):
        logits = jnp.zeros((count, self.actions)).at[:, -1].set(self.bias)
        return Prediction(logits, jnp.full(count, 7.0), legal)


def chunks(play, count, temperature=1.0):
    """`count` chunks joined in time, and their reports."""
    begin_key, *keys = jax.random.split(jax.random.key(1), count + 1)
    lanes = play.begin(begin_key)
    told = []
    for key in keys:
        lanes, steps, report = play.play({}, lanes, key, temperature)
        told.append((jax.device_get(steps), report))
    joined = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *(steps for steps, _ in told))
    return joined, [report for _, report in told]


def test_the_steps_are_what_the_environments_did():
    with Gymnasium(Ladder, envs=LANES) as env:
        play = HostPlay(env, Flat(2, 1.5), planner("prior"), CHUNK, explore=0)
        steps, reports = chunks(play, 8)
        example = play.example(env.reset(0))
    assert steps.action.shape == (LANES, 8 * CHUNK)
    returns, lengths, cuts = [], [], 0
    for lane in range(LANES):
        by_hand = Ladder()
        seen, _ = by_hand.reset()
        earned = []
        for t in range(8 * CHUNK):
            np.testing.assert_array_equal(steps.state[lane, t], seen)
            seen, reward, ended, cut, _ = by_hand.step(steps.action[lane, t])
            assert steps.reward[lane, t] == reward
            assert steps.discount[lane, t] == (0.0 if ended else 1.0)
            assert steps.last[lane, t] == (ended or cut)
            earned.append(reward)
            if ended or cut:
                returns.append(sum(earned))
                lengths.append(len(earned))
                cuts += cut and not ended
                seen, _ = by_hand.reset()
                earned = []
    assert cuts > 0  # both kinds of end were met
    assert len(returns) > cuts
    assert sum(int(r.games) for r in reports) == len(returns)
    assert sum(int(r.plies) for r in reports) == sum(lengths)
    assert sum(int(r.cut) for r in reports) == cuts
    assert sum(float(r.returns) for r in reports) == sum(returns)
    share = np.exp(1.5) / (1 + np.exp(1.5))
    np.testing.assert_allclose(steps.policy[..., 1], share, rtol=1e-5)
    assert abs(steps.action.mean() - share) < 0.15
    np.testing.assert_allclose(steps.value, 7.0)
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    np.testing.assert_allclose([r.entropy for r in reports], entropy, rtol=1e-4)
    one = jax.tree.map(lambda x: (x.shape[2:], x.dtype), steps)
    assert jax.tree.map(lambda x: (x.shape[2:], np.dtype(x.dtype)), example) == one


def test_only_the_first_moves_of_an_episode_are_drawn():
    """Nearly all visits go to action 1, which the planner chooses; heat makes the draw even."""
    search = planner("muzero", simulations=8, dirichlet_fraction=0.0, temperature=0.0)
    with Gymnasium(Ladder, envs=LANES) as env:
        play = HostPlay(env, Flat(2, 1.0), search, CHUNK, explore=2)
        steps, _ = chunks(play, 8, temperature=100.0)
    height = steps.state[..., 0]
    later = steps.state[..., 1] > 1  # not the first episode
    for early in (0, 1):
        assert 0.2 < steps.action[(height == early) & later].mean() < 0.8
    assert (steps.action[height >= 2] == 1).all()
    assert (height >= 2).any()


def test_the_same_key_gives_the_same_episodes():
    def once():
        with Gymnasium("CartPole-v1", envs=LANES) as env:
            return chunks(HostPlay(env, Flat(2), planner("prior"), CHUNK), 2)[0]

    jax.tree.map(np.testing.assert_array_equal, once(), once())


def test_masked_actions_are_not_played():
    with Gymnasium(worlds.Corridor, envs=LANES) as env:
        steps, _ = chunks(HostPlay(env, Flat(2), planner("prior"), CHUNK), 6)
    assert (steps.action[steps.state[..., 0] == 0] == 1).all()
    assert (steps.action == 0).any()
    np.testing.assert_array_equal(steps.legal[..., 0], steps.state[..., 0] > 0)
    assert steps.legal[..., 1].all()


class Film(Env):
    """Frames of 2 x 2 with their own number; episode b has 3 + b frames. Actions 0 to 4."""

    name, actions = "film", 5

    def __init__(self, envs=LANES, history=3):
        self.envs, self.history = envs, history
        self.log = []  # what was shown, as the network reads it

    def reset(self, seed):
        self.age, self.drawn = np.zeros(self.envs, int), 0
        self.tally = Tally(self.envs)
        self.seen = begin(self._frame(), self.history)
        return self._step(np.zeros(self.envs), np.zeros(self.envs, bool))

    def step(self, actions):
        self.age += 1
        over = self.age == np.arange(self.envs) + 3
        self.age[over] = 0
        self.seen = push(self.seen, self._frame(), np.asarray(actions), over)
        return self._step(np.ones(self.envs), over)

    def close(self):
        pass

    def _frame(self):
        self.drawn += 1
        number = 10 * self.drawn + np.arange(self.envs)
        return np.broadcast_to(number.astype(np.uint8)[:, None, None, None], (self.envs, 2, 2, 1))

    def _step(self, reward, over):
        self.log.append(np.asarray(planes(self.seen)))
        returns, lengths = self.tally.add(reward, over)
        state = Episodes(returns, lengths, self.seen.frames[-1])
        legal = np.ones((self.envs, self.actions), bool)
        return timestep(state, self.seen, legal, reward, over, np.zeros(self.envs, bool))


@dataclass(frozen=True)
class Reader(Flat):
    """Its value is the sum of what it reads."""

    def root(self, params, key, timestep):
        node, said = super().root(params, key, timestep)
        total = planes(timestep.observation).sum((1, 2, 3))
        return node, Prediction(said.logits, total, said.legal)


def test_frames_are_stored_once_and_shown_again_as_they_were():
    env = Film()
    play = HostPlay(env, Reader(env.actions), planner("prior"), CHUNK)
    steps, _ = chunks(play, 3)
    assert steps.state.shape == (LANES, 3 * CHUNK, 2, 2, 1)
    shown = np.stack(env.log[:-1], axis=1)  # [B, T, 2, 2, 6]
    np.testing.assert_allclose(steps.value, shown.sum((2, 3, 4)), rtol=1e-5)

    replay = Replay(LANES, 3 * CHUNK, CHUNK, window=2, context=env.history)
    store, add = replay.empty(steps), jax.jit(replay.add)
    for t in range(0, 3 * CHUNK, CHUNK):
        part = jax.tree.map(lambda x, t=t: jnp.asarray(x[:, t : t + CHUNK]), steps)
        store = add(store, part)
    lane = jnp.repeat(jnp.arange(LANES), 3 * CHUNK - 1)
    time = jnp.tile(jnp.arange(3 * CHUNK - 1), LANES)
    sample = jax.jit(replay.at)(store, lane, time)
    again = np.asarray(jax.jit(lambda s: planes(of_frames(s).observation))(sample))
    again = again.reshape(len(lane), 2, 2, 2, -1)
    for i, (b, t) in enumerate(zip(lane.tolist(), time.tolist(), strict=True)):
        np.testing.assert_array_equal(again[i, 0], shown[b, t])
        if sample.mask[i, 1]:  # of the same episode
            np.testing.assert_array_equal(again[i, 1], shown[b, t + 1])


def test_evaluation_gives_each_environment_as_many_episodes():
    env = Film()
    found = evaluate(env, Flat(env.actions), planner("prior"), {}, episodes=2 * LANES)
    # Every move earns 1, so a lane's returns are its lengths.
    np.testing.assert_array_equal(found, [3, 3, 4, 4, 5, 5])
    with pytest.raises(ValueError, match="multiple of the 3 environments, got 4"):
        evaluate(env, Flat(env.actions), planner("prior"), {}, episodes=4)


def test_a_failing_environment_says_so():
    make = functools.partial(worlds.Bad, "raise", "step")
    with Gymnasium(make, envs=LANES) as env:
        play = HostPlay(env, Flat(2), planner("prior"), CHUNK)
        lanes = play.begin(jax.random.key(0))
        with pytest.raises(EnvError, match="the corridor fell in"):
            play.play({}, lanes, jax.random.key(1))


def test_nothing_is_decided_before_the_beginning():
    play = HostPlay(Film(), Flat(5), planner("prior"), CHUNK)
    with pytest.raises(RuntimeError, match="call begin"):
        play.play({}, (), jax.random.key(1))
