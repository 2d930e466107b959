"""How often moves are drawn, against chi-square and the papers' formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from halfmove.replay import Replay, draw
from tests.replay import episodes

LANES, LENGTH, CHUNK, HEAD = 3, 24, 4, 40
DRAWS = 20_000


def a_store(replay: Replay, streams):
    add = jax.jit(replay.add)
    store = replay.empty(episodes.steps(streams, 0, CHUNK))
    for start in range(0, HEAD, CHUNK):
        store = add(store, episodes.steps(streams, start, start + CHUNK))
    return store


def tally(sample) -> dict[tuple[int, int], int]:
    pairs, counts = np.unique(np.stack([sample.lane, sample.time]), axis=1, return_counts=True)
    return {(int(b), int(t)): int(n) for (b, t), n in zip(pairs.T, counts, strict=True)}


def fits(counts: dict, chances: dict) -> None:
    assert set(counts) <= set(chances)
    seen = np.array([counts.get(place, 0) for place in chances])
    wanted = np.array(list(chances.values())) * seen.sum() / sum(chances.values())
    assert stats.chisquare(seen, wanted).pvalue > 1e-4


@pytest.mark.parametrize("finished", [True, False])
def test_eligible_moves_are_equally_likely(finished):
    # Games of 1 to 20 moves: a draw by game, or by end of game, would show.
    streams = episodes.lanes(1, LANES, HEAD, longest=20)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=3, finished_only=finished)
    sample = jax.jit(replay.sample, static_argnums=2)(
        a_store(replay, streams), jax.random.key(0), DRAWS
    )
    wanted = episodes.eligible(streams, HEAD, LENGTH, 3, finished)
    assert 15 < len(wanted) < LANES * LENGTH
    fits(tally(sample), dict.fromkeys(wanted, 1.0))
    assert (np.asarray(sample.weight) == 1).all()
    assert np.asarray(sample.mask[:, 0]).all()


@pytest.mark.parametrize("normalise", [True, False])
def test_priorities_and_importance_weights(normalise):
    alpha, beta = 0.7, 0.5
    streams = episodes.lanes(2, LANES, HEAD)
    replay = Replay(
        lanes=LANES, length=LENGTH, chunk=CHUNK, window=3, kind="prioritised",
        alpha=alpha, beta=beta, normalise=normalise, floor=0.05,
    )  # fmt: skip
    store = a_store(replay, streams)
    places = sorted(episodes.eligible(streams, HEAD, LENGTH, 3, False))
    p = dict.fromkeys(places, 1.0)  # what new moves begin with
    rng = np.random.default_rng(0)
    changed = places[::2]
    drawn = rng.exponential(2.0, len(changed)).round(3)
    drawn[:2] = 0.0, 1e-9  # the floor holds
    p |= {place: max(new, 0.05) for place, new in zip(changed, drawn.tolist(), strict=True)}
    # Moves that are gone must not pass their priority to those in their columns.
    lane, time = np.array([*changed, (0, HEAD - LENGTH - 1), (1, HEAD)]).T
    new = np.append(drawn, [1e6, 1e6])
    store = jax.jit(replay.reprioritise)(store, jnp.array(lane), jnp.array(time), jnp.array(new))
    sample = jax.jit(replay.sample, static_argnums=2)(store, jax.random.key(1), DRAWS)

    mass = {place: p[place] ** alpha for place in places}
    fits(tally(sample), mass)
    total = sum(mass.values())
    here = zip(np.asarray(sample.lane).tolist(), np.asarray(sample.time).tolist(), strict=True)
    wanted = np.array([(1 / (len(places) * mass[place] / total)) ** beta for place in here])
    wanted = wanted / wanted.max() if normalise else wanted
    np.testing.assert_allclose(sample.weight, wanted, rtol=1e-5)
    assert float(store.top) == pytest.approx(max(drawn) ** alpha, rel=1e-6)


def test_new_moves_get_the_greatest_priority_and_nan_does_no_harm():
    streams = episodes.lanes(3, LANES, HEAD + CHUNK)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=1, kind="prioritised")
    store = a_store(replay, streams)
    where = jnp.array([0, 1, 2]), jnp.array([HEAD - 1, HEAD - 2, HEAD - 3])
    new = jnp.array([7.0, jnp.nan, jnp.inf])
    store = jax.jit(replay.reprioritise)(store, *where, new)
    store = jax.jit(replay.add)(store, episodes.steps(streams, HEAD, HEAD + CHUNK))
    columns = [(HEAD + i) % LENGTH for i in range(CHUNK)]
    assert (np.asarray(store.priority)[:, columns] == 7.0).all()
    assert np.isfinite(store.priority).all()


def test_nothing_eligible_has_no_weight():
    streams = episodes.lanes(1, LANES, CHUNK)
    for kind in ("uniform", "prioritised"):
        replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=3, kind=kind)
        store = replay.empty(episodes.steps(streams, 0, CHUNK))
        sample = jax.jit(replay.sample, static_argnums=2)(store, jax.random.key(0), 4)
        assert np.asarray(sample.weight).tolist() == [0.0] * 4
        assert not np.asarray(sample.mask).any()


def test_ten_million_masses_in_f32():
    """One running sum over them would step by more than most masses are, and miss every other."""
    lanes, length, n = 1000, 10_000, 4000
    column = np.arange(length) % 4
    mass = np.broadcast_to(np.array([0.0, 1e-3, 0.1, 1.0], np.float32)[column], (lanes, length))
    lane, at = jax.jit(draw.positions, static_argnums=2)(jax.random.key(2), jnp.array(mass), n)
    kinds = np.bincount(np.asarray(at) % 4, minlength=4)
    assert kinds[0] == 0
    chance = np.array([0.0, 1e-3, 0.1, 1.0]) / 1.101
    assert stats.chisquare(kinds[1:], n * chance[1:]).pvalue > 1e-4
    for drawn, size in ((lane, lanes), (at, length)):
        assert stats.kstest(np.asarray(drawn) / size, "uniform").pvalue > 1e-4


def test_one_of_ten_million_is_found():
    mass = np.zeros((1000, 10_000), bool)
    mass[617, 8123] = True
    positions = jax.jit(draw.positions, static_argnums=2)
    for masses in (mass, mass.astype(np.float32) * 1e-20):
        lane, at = positions(jax.random.key(4), jnp.array(masses), 50)
        assert (np.asarray(lane) == 617).all()
        assert (np.asarray(at) == 8123).all()


@pytest.mark.parametrize(("length", "block"), [(1, 1), (7, 1), (100, 10), (10_000, 100), (24, 4)])
def test_blocks_are_near_the_root(length, block):
    assert draw.block_of(length) in (block, length // block)


@pytest.mark.parametrize("length", [24, 255 * 255, 256 * 256])
def test_sums_do_not_overflow(length):
    sums = np.asarray(draw.sums_of(jnp.ones((2, length), bool)))
    block = draw.block_of(length)
    assert sums.shape == (2, length // block)
    assert (sums == block).all()
