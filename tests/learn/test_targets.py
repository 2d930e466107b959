"""Targets of random games, one and two players, against plain Python that walks forward."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.learn import targets
from halfmove.replay import Replay
from tests.replay import episodes

LANES, LENGTH, CHUNK, GAMMA = 3, 40, 4, 0.9
# What is written does not depend on what is asked later.
ADD = jax.jit(Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=1, half=False).add)


def sampled(seed: int, window: int, *, players: int, finished: bool, longest: int = 9):
    """The streams and a sample of every eligible move of a ring that went round."""
    streams = episodes.lanes(seed, LANES, 60, players=players, longest=longest)
    replay = Replay(
        lanes=LANES, length=LENGTH, chunk=CHUNK, window=window, finished_only=finished, half=False
    )
    store = replay.empty(episodes.steps(streams, 0, CHUNK))
    for start in range(0, 60, CHUNK):
        store = ADD(store, episodes.steps(streams, start, start + CHUNK))
    places = sorted(episodes.eligible(streams, 60, LENGTH, window, finished))
    lane, time = (jnp.array(x, jnp.int32) for x in zip(*places, strict=True))
    return streams, jax.jit(replay.at)(store, lane, time)


def n_step(lane, t: int, n: int) -> float:
    """The return of n moves from t on, bootstrapped from the value where it stops."""
    total, factor = 0.0, 1.0
    for move in lane[t : t + n]:
        if move.last and move.discount != 0:
            return total + factor * move.value
        total += factor * move.reward
        if move.last:
            return total
        factor *= GAMMA * move.discount
    return total + factor * lane[t + n].value


def check(found: targets.Targets, sample, streams, unroll: int, value_of) -> set[str]:
    """Compares all targets with those of the definition; says which kinds of step were met."""
    found, sample = jax.device_get((found, sample))
    met = set()
    for i, (b, t) in enumerate(zip(sample.lane, sample.time, strict=True)):
        lane = streams[b]
        for k in range(unroll + 1):
            end = episodes.end_of(lane, t)
            past = end is not None and t + k > end
            kind = "game" if not past else "cut" if lane[end].discount != 0 else "ended"
            met.add(kind)
            move = lane[t + k] if kind == "game" else None
            policy = move.policy if move else np.zeros(episodes.ACTIONS)
            np.testing.assert_array_equal(found.policy[i, k], policy)
            assert found.policy_mask[i, k] == (kind == "game")
            value = value_of(lane, t + k) if move else 0.0
            assert found.value_mask[i, k] == (kind != "cut" and value is not None)
            assert found.value[i, k] == pytest.approx(value or 0.0, rel=1e-5, abs=1e-5)
            if k < unroll:
                # The reward of the move from step k is that of step k + 1.
                assert found.reward[i, k + 1] == (move.reward if move else 0.0)
                assert found.reward_mask[i, k + 1] == (kind != "cut")
                assert found.action[i, k] == (move.action if move else 0)
        assert found.reward[i, 0] == found.reward_mask[i, 0] == 0
    return met


@pytest.mark.parametrize("players", [1, 2])
@pytest.mark.parametrize(("unroll", "steps"), [(0, 1), (3, 4)])
def test_bootstrapped(players, unroll, steps):
    window = unroll + steps + 1
    streams, sample = sampled(players, window, players=players, finished=False)
    found = jax.jit(lambda s: targets.bootstrapped(s, unroll=unroll, steps=steps, discount=GAMMA))(
        sample
    )
    met = check(found, sample, streams, unroll, lambda lane, t: n_step(lane, t, steps))
    assert met == ({"game", "cut", "ended"} if unroll else {"game"})
    assert len(found.weight) > 50


def test_longer_returns_need_the_end_of_long_games():
    streams, sample = sampled(7, 12, players=2, finished=False, longest=40)
    found = jax.jit(lambda s: targets.bootstrapped(s, unroll=1, steps=10, discount=GAMMA))(sample)
    check(found, sample, streams, 1, lambda lane, t: n_step(lane, t, 10))


@pytest.mark.parametrize("players", [1, 2])
@pytest.mark.parametrize("finished", [True, False])
def test_outcome(players, finished):
    """Not finished only: games without an outcome teach policies and rewards, but no values."""
    streams, sample = sampled(players, 4, players=players, finished=finished)
    found = jax.jit(lambda s: targets.outcome(s, unroll=3))(sample)
    met = check(found, sample, streams, 3, lambda lane, t: episodes.outcome(lane[:60], t))
    assert met == ({"game", "ended"} if finished else {"game", "cut", "ended"})
    assert (np.asarray(found.value_mask).min() == 1) == finished


def test_moves_past_the_end_may_be_random():
    _, sample = sampled(1, 4, players=2, finished=True)
    drawn = jax.jit(lambda s, key: targets.outcome(s, unroll=3, key=key))
    found, other = (drawn(sample, jax.random.key(i)) for i in (0, 1))
    played = np.asarray(sample.mask[:, :3])
    assert (np.asarray(found.action) == np.asarray(other.action))[played].all()
    past = np.asarray(found.action)[~played]
    assert set(past.tolist()) == set(range(episodes.ACTIONS))
    assert (past != np.asarray(other.action)[~played]).any()


def test_policies_that_were_not_searched_are_not_asked_for():
    _, sample = sampled(1, 2, players=2, finished=True)
    weight = jnp.where(jnp.arange(2) == 1, 0.0, 0.25) * jnp.ones_like(sample.window.weight)
    sample = replace(sample, window=replace(sample.window, weight=weight))
    found = jax.jit(lambda s: targets.outcome(s, unroll=1))(sample)
    assert set(np.unique(found.policy_mask[:, 0])) == {0.25}
    assert not np.asarray(found.policy_mask[:, 1]).any()


def test_priority_is_the_error_of_the_search():
    streams, sample = sampled(2, 3, players=2, finished=False)

    @jax.jit
    def priority(sample):
        return targets.priority(sample, targets.bootstrapped(sample, steps=2, discount=GAMMA))

    found = priority(sample)
    for p, b, t in zip(found.tolist(), sample.lane.tolist(), sample.time.tolist(), strict=True):
        wanted = abs(streams[b][t].value - n_step(streams[b], t, 2))
        assert p == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def test_what_cannot_be_made_is_refused():
    _, sample = sampled(1, 3, players=2, finished=True)
    with pytest.raises(ValueError, match="windows of 5 moves, got 3; make the replay with"):
        targets.outcome(sample, unroll=4)
    with pytest.raises(ValueError, match="windows of 4 moves"):
        targets.bootstrapped(sample, unroll=1, steps=2, discount=1.0)
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        targets.bootstrapped(sample, steps=0, discount=1.0)
    with pytest.raises(ValueError, match=r"from 0 to 1, got 1\.5"):
        targets.bootstrapped(sample, steps=1, discount=1.5)
    with pytest.raises(ValueError, match="unroll must be at least 0"):
        targets.outcome(sample, unroll=-1)
