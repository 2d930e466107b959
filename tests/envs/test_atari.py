"""Atari against ale-py used directly: its single game by hand, and its own vector."""

import inspect

import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv

from halfmove.envs import EnvError, make, names
from halfmove.envs.atari import Atari, action_names
from halfmove.envs.env import over, seeds
from tests.envs import by_hand

SCREEN = (210, 160)


def newest(step):
    return np.asarray(step.observation.frames[-1])


@pytest.mark.parametrize("rom", ["space_invaders", "skiing"])
def test_frames_noops_and_sticky_actions_are_those_of_ale_by_hand(rom):
    moves = np.random.default_rng(1).integers(18, size=(60, 2))
    with make(f"atari:{rom}", envs=2, size=SCREEN, history=1) as env:
        steps = [env.reset(5), *(env.step(move) for move in moves)]
    for i, seed in enumerate(seeds(5, 2)):
        screens = [newest(step)[i] for step in steps]
        (noops,) = by_hand.with_noops(rom, seed, 0.25, screens, list(moves[:, i]))
        assert noops <= 30
        # The oracle can tell: without sticky actions, or with another seed, it disagrees.
        assert not by_hand.with_noops(rom, seed, 0.0, screens, list(moves[:, i]))
        assert not by_hand.with_noops(rom, seed + 1, 0.25, screens, list(moves[:, i]))


def test_a_whole_episode_and_the_next_are_those_of_ale_by_hand():
    draw = np.random.default_rng(2)
    with make("atari:space_invaders", envs=1, size=SCREEN, history=1, noops=0) as env:
        steps, moves = [env.reset(3)], []
        while not over(steps[-1]).any():
            moves.append(draw.integers(18, size=1))
            steps.append(env.step(moves[-1]))
        end = len(moves)
        for _ in range(10):
            moves.append(draw.integers(18, size=1))
            steps.append(env.step(moves[-1]))

    game = by_hand.Game("space_invaders", seeds(3, 1)[0], 0.25)
    assert np.array_equal(newest(steps[0])[0], game.start(0))
    rewards = []
    for t, (move, step) in enumerate(zip(moves, steps[1:], strict=True), start=1):
        screen, reward, ended = game.play(move[0])
        rewards.append(reward)
        assert step.reward[0, 0] == reward
        assert step.terminated[0] == ended == (t == end)
        assert not step.truncated[0]
        if ended:  # and the observation is already that of the next episode
            screen = game.start(0)
        else:
            assert np.array_equal(step.state.reached[0], screen)
        assert np.array_equal(newest(step)[0], screen), t
    assert max(rewards) > 1  # so clipping would have been seen
    assert steps[end].state.returns[0] == sum(rewards[:end]) >= 10
    assert steps[end].state.lengths[0] == end
    assert steps[end + 3].state.returns[0] == sum(rewards[end : end + 3])
    assert steps[end + 3].state.lengths[0] == 3


def test_small_frames_are_the_mean_colour_of_their_area():
    moves = np.random.default_rng(1).integers(18, size=(5, 1))
    with make("atari:breakout", envs=1, history=1, noops=0) as env:
        steps = [env.reset(0), *(env.step(move) for move in moves)]
    game = by_hand.Game("breakout", seeds(0, 1)[0], 0.25)
    screens = [game.start(0), *(game.play(move[0])[0] for move in moves)]
    for step, screen in zip(steps, screens, strict=True):
        small = by_hand.shrunk(screen, 96, 96)
        assert newest(step).shape == (1, 96, 96, 3)
        assert np.abs(newest(step)[0] - small).max() <= 0.51


def theirs(rom, envs, *, grey, stack, size):
    return AtariVectorEnv(
        rom, envs, img_height=size, img_width=size, grayscale=grey, stack_num=stack,
        noop_max=31, use_fire_reset=False, reward_clipping=False, full_action_space=True,
        repeat_action_probability=0.25, autoreset_mode="SameStep",
    )  # fmt: skip


@pytest.mark.parametrize(("grey", "length"), [(False, 32), (True, 4)])
def test_stacks_and_rewards_are_those_of_ale_own_vector_across_episodes(grey, length):
    draw = np.random.default_rng(4)
    env = make("atari:breakout", envs=3, grey=grey, history=length)
    other = theirs("breakout", 3, grey=grey, stack=length, size=96)
    step = env.reset(9)
    frames, _ = other.reset(seed=seeds(9, 3))
    ended = np.zeros(3, int)
    acted = [[0] for _ in range(3)]
    for _ in range(200):
        stack = np.stack(step.observation.frames, axis=1)
        assert stack.shape == (3, length, 96, 96, 1 if grey else 3)
        stack = np.where(step.observation.valid[..., None, None, None], stack, 0)
        assert np.array_equal(stack.reshape(frames.shape), frames)
        for i in range(3):
            last = ([0] * length + acted[i])[-length:]
            assert list(step.observation.actions[i] * step.observation.valid[i]) == last
            assert step.observation.valid[i].sum() == min(length, len(acted[i]))
        # Mostly fire, so that lives are lost in little time.
        moves = np.where(draw.random(3) < 0.9, 1, draw.integers(18, size=3))
        step = env.step(moves)
        frames, reward, terminated, truncated, info = other.step(moves)
        assert np.array_equal(step.reward[:, 0], reward)
        assert np.array_equal(step.terminated, terminated)
        assert np.array_equal(step.truncated, truncated)
        after = zip(acted, moves, terminated, strict=True)
        acted = [[0] if end else [*past, move] for past, move, end in after]
        if terminated.any():
            final = info["final_obs"][terminated][:, -1]
            assert np.array_equal(step.state.reached[terminated].reshape(final.shape), final)
        ended += terminated
    assert ended.all()
    env.close()
    other.close()


def test_no_op_starts_take_every_number_from_none_to_thirty():
    # Episodes of one frame, so that every step starts again.
    short = {"envs": 16, "history": 1, "size": 20, "skip": 1, "max_frames": 1}
    with make("atari:pong", **short) as env:
        env.reset(0)
        noops = [env._ale.step(np.zeros(16, int))[-1]["episode_frame_number"] for _ in range(30)]
    counts = np.bincount(np.ravel(noops), minlength=31)
    assert len(counts) == 31
    assert counts.all()
    expected = counts.sum() / 31
    # Chi-squared with 30 degrees of freedom: above 59.7 once in a thousand.
    assert ((counts - expected) ** 2 / expected).sum() < 59.7
    with make("atari:pong", **short, noops=0) as env:
        env.reset(0)
        assert not env._ale.step(np.zeros(16, int))[-1]["episode_frame_number"].any()


def test_there_are_57_games():
    assert len(names()) == len(set(names())) == 57


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_all_games_have_the_18_actions(every):
    for name in names()[::every]:
        with make(name, envs=1, threads=1, history=2) as env:
            assert env.actions == 18
            step = env.reset(0)
            assert step.legal.shape == (1, 18)
            assert step.legal.all()
            step = env.step(np.array([17]))
            assert step.reward.shape == (1, 1)
            assert len(step.observation.frames) == 2
    pong = by_hand.Game("pong", 1, 0.0).ale
    assert list(action_names("pong")) == [action.name for action in pong.getLegalActionSet()]
    assert len(by_hand.Game("skiing", 1, 0.0).ale.getLegalActionSet()) == 9  # not all 18
    with make("atari:pong", envs=1, full_actions=False) as env:
        assert env.actions == len(action_names("pong", full_actions=False)) == 6


@pytest.mark.parametrize("limit", [5_400, pytest.param(108_000, marks=pytest.mark.slow)])
def test_an_episode_is_cut_after_so_many_frames(limit):
    assert inspect.signature(Atari).parameters["max_frames"].default == 108_000
    short = {} if limit == 108_000 else {"max_frames": limit}
    # Standing still in Montezuma's Revenge never ends; long moves save the drawing.
    with make("atari:montezuma_revenge", envs=1, history=1, size=20, skip=100, **short) as env:
        env.reset(0)
        for move in range(1, limit // 100 + 1):
            step = env.step(np.array([0]))
            assert step.truncated[0] == (move == limit // 100)
            assert not step.terminated[0]
        assert step.state.lengths[0] * 100 == limit


def test_a_shorter_limit_counts_frames_after_the_no_ops():
    with make("atari:pong", envs=4, history=3, size=20, max_frames=40) as env:
        env.reset(0)
        ends = [env.step(np.zeros(4, int)).truncated for _ in range(30)]
    assert np.array_equal(np.flatnonzero(np.all(ends, axis=1)), [9, 19, 29])
    assert np.sum(ends) == 12


def test_the_same_seed_gives_the_same_game_and_another_another():
    moves = np.random.default_rng(0).integers(18, size=(40, 2))
    with make("atari:seaquest", envs=2, history=1) as env:
        runs = []
        for seed in (7, 7, 8):
            env.reset(seed)
            runs.append(np.stack([newest(env.step(move)) for move in moves]))
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert not np.array_equal(runs[0][:, 0], runs[0][:, 1])
    assert len(set(seeds(0, 100)) & set(seeds(1, 100))) == 0


def test_frames_given_out_never_change():
    with make("atari:breakout", envs=2, history=4) as env:
        first = env.reset(0)
        before = [frame.copy() for frame in first.observation.frames]
        for _ in range(10):
            env.step(np.array([1, 3]))
        for kept, now in zip(before, first.observation.frames, strict=True):
            assert np.array_equal(kept, now)
        with pytest.raises(ValueError, match="read-only"):
            first.observation.frames[-1][0] = 0


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ([0, 18], "actions 0 to 17; environment 1 was given 18"),
        ([-1, 0], "environment 0 was given -1"),
        ([0], r"2 whole numbers.*got shape \(1,\)"),
        ([0.0, 1.0], "float64"),
    ],
)
def test_an_action_that_does_not_exist_is_refused_and_changes_nothing(moves, said):
    with make("atari:breakout", envs=2, history=1) as env, make(
        "atari:breakout", envs=2, history=1
    ) as same:  # fmt: skip
        env.reset(0), same.reset(0)
        with pytest.raises(ValueError, match=said):
            env.step(np.array(moves))
        after, other = env.step(np.array([1, 1])), same.step(np.array([1, 1]))
        assert np.array_equal(newest(after), newest(other))


def test_use_before_reset_and_after_close_is_refused():
    env = make("atari:breakout", envs=1, history=1)
    with pytest.raises(RuntimeError, match=r"call reset\(seed\) first"):
        env.step(np.array([0]))
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        env.reset(-1)
    env.close()
    env.close()
    for use in (lambda: env.reset(0), lambda: env.step(np.array([0]))):
        with pytest.raises(EnvError, match="atari:breakout is closed"):
            use()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"envs": 0}, "envs must be greater than 0, got 0"),
        ({"history": 0}, "history must be greater than 0"),
        ({"size": (0, 5)}, "size must be greater than 0"),
        ({"sticky": 1.0}, "sticky is a probability below 1, got 1.0"),
        ({"noops": -1}, "at least 0, got -1"),
        ({"frames": 3}, "no option 'frames'; its options are envs, size"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        make("atari:breakout", **options)
