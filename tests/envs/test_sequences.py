"""Streams of steps cut into sequences lose nothing and double nothing."""

import numpy as np
import pytest

from halfmove.envs import make
from halfmove.envs.env import over
from halfmove.envs.sequences import Sequences


def test_own_steps_in_order_are_the_stream():
    draw = np.random.default_rng(0)
    cutter = Sequences(3, length=7, context=4)
    stream, cut = [[], [], []], []
    for t in range(120):
        ended = draw.random(3) < 0.07
        step = {"t": np.arange(3) * 1000 + t, "x": draw.random((3, 2))}
        cut += cutter.add(step, ended)
        for i in range(3):
            stream[i].append((step["t"][i], step["x"][i], bool(ended[i])))
    cut += cutter.flush()
    assert any(s.over for s in cut)
    assert any(s.before == 4 for s in cut)
    for i in range(3):
        episode, played = 0, []
        for s in (s for s in cut if s.env == i):
            own = s.steps["t"][s.before :]
            assert 1 <= len(own) <= 7
            assert s.start == episode
            assert s.before == min(4, episode)
            # Context is what came before in the same episode.
            assert list(s.steps["t"]) == list(range(own[0] - s.before, own[-1] + 1))
            assert s.over or len(own) == 7 or own[-1] == i * 1000 + 119
            assert s.over == stream[i][own[-1] - i * 1000][2]
            episode = 0 if s.over else episode + len(own)
            played += list(zip(s.steps["t"][s.before :], s.steps["x"][s.before :], strict=True))
        assert [t for t, _ in played] == [t for t, _, _ in stream[i]]
        assert np.array_equal([x for _, x in played], [x for _, x, _ in stream[i]])


def test_atari_episodes_come_in_200_move_sequences_that_carry_their_stacks():
    histories, returns, cut = [], [[], []], []
    cutter = Sequences(2, context=31)
    draw = np.random.default_rng(0)
    with make("atari:breakout", envs=2, size=24) as env:
        step = env.reset(0)
        for _ in range(600):
            # Mostly standing still, so that an episode lasts more than 200 moves.
            moves = np.where(draw.random(2) < 0.03, 1, 0)
            before, step = step.observation, env.step(moves)
            histories.append(before)
            for i in np.flatnonzero(over(step)):
                returns[i].append(step.state.returns[i])
            record = {"frame": before.frames[-1], "reward": step.reward[:, 0]}
            cut += cutter.add(record, over(step))
    whole = [s for s in cut if not s.over]
    assert all(len(s.steps["reward"]) - s.before == 200 for s in whole)
    assert any(s.start == 200 and s.before == 31 for s in cut)
    for i in range(2):
        time, gained, finished = 0, 0.0, []
        for s in (s for s in cut if s.env == i):
            # The stack of every own step can be made of the sequence alone.
            for t in (0, 5, len(s.steps["reward"]) - s.before - 1):
                valid = histories[time + t].valid[i]
                stack = np.stack(histories[time + t].frames)[valid, i]
                at = s.before + t
                assert np.array_equal(s.steps["frame"][at + 1 - len(stack) : at + 1], stack)
            time += len(s.steps["reward"]) - s.before
            gained += s.steps["reward"][s.before :].sum()
            if s.over:
                finished.append(gained)
                gained = 0.0
        assert finished
        assert finished == returns[i]


def test_bad_steps_are_refused():
    cutter = Sequences(2, length=3)
    with pytest.raises(ValueError, match="begin with 2 environments"):
        cutter.add({"a": np.zeros(3)}, np.zeros(2, bool))
    cutter.add({"a": np.zeros(2)}, np.zeros(2, bool))
    with pytest.raises(ValueError, match="changed their structure"):
        cutter.add({"b": np.zeros(2)}, np.zeros(2, bool))
    with pytest.raises(ValueError, match="length must be greater than 0, got 0"):
        Sequences(2, length=0)
    with pytest.raises(ValueError, match="context must be at least 0, got -1"):
        Sequences(2, context=-1)
