"""The ring against a log that forgets nothing."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.replay import Replay
from tests.replay import episodes

LANES, LENGTH, CHUNK, WINDOW = 3, 24, 4, 5
MOVES = 100


@functools.cache
def programs(replay: Replay):
    return jax.jit(replay.add), jax.jit(replay.at), jax.jit(replay.eligible)


def filled(replay: Replay, streams, moves: int):
    """Every store on the way to `moves` moves."""
    add = programs(replay)[0]
    store = replay.empty(episodes.steps(streams, 0, CHUNK))
    for start in range(0, moves, CHUNK):
        store = add(store, episodes.steps(streams, start, start + CHUNK))
        yield start + CHUNK, store


def everywhere(head: int):
    """Every lane and time in the ring, padded to one size with times that are gone."""
    times = np.arange(head - LENGTH, head)
    lane, time = (x.ravel() for x in np.meshgrid(range(LANES), times, indexing="ij"))
    return lane.astype(np.int32), np.where(time < 0, -1, time).astype(np.int32)


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(("players", "longest"), [(1, 9), (2, 9), (2, 60)])
def test_eligible_moves_and_their_windows(finished, players, longest):
    streams = episodes.lanes(longest + players, LANES, MOVES, players=players, longest=longest)
    replay = Replay(
        lanes=LANES, length=LENGTH, chunk=CHUNK, window=WINDOW, finished_only=finished, half=False
    )
    _, at, eligible = programs(replay)
    counted = 0
    for head, store in filled(replay, streams, MOVES):
        wanted = episodes.eligible(streams, head, LENGTH, WINDOW, finished)
        columns = np.argwhere(np.asarray(eligible(store)))
        newest = head - 1
        given = {(int(b), int(newest - (newest - c) % LENGTH)) for b, c in columns}
        assert given == wanted
        counted += len(wanted)
        lane, time = everywhere(head)
        check_windows(jax.device_get(at(store, lane, time)), streams, head, wanted)
    assert counted > 300


def check_windows(sample, streams, head, wanted):
    for i, (b, t) in enumerate(zip(sample.lane, sample.time, strict=True)):
        if t < 0:
            assert not sample.mask[i].any()
            continue
        lane = streams[b][:head]
        game = [u for u in range(t, min(t + WINDOW, head)) if lane[u].game == lane[t].game]
        assert sample.mask[i].tolist() == [j < len(game) for j in range(WINDOW)]
        assert sample.age[i] == head - 1 - t
        assert sample.known[i] == (episodes.outcome(lane, t) is not None)
        for j, u in enumerate(game):
            move = lane[u]
            assert sample.window.state["id"][i, j] == move.number
            assert sample.window.state["wide"][i, j].tolist() == [move.number, -move.number]
            assert sample.window.action[i, j] == move.action
            assert sample.window.reward[i, j] == move.reward
            assert sample.window.discount[i, j] == move.discount
            assert sample.window.last[i, j] == move.last
            assert sample.window.value[i, j] == np.float32(move.value)
            np.testing.assert_array_equal(sample.window.policy[i, j], move.policy)
            assert sample.outcome[i, j] == (episodes.outcome(lane, u) or 0.0)
        if (b, t) in wanted:
            # All of the window is there, or the game's end is.
            assert len(game) == WINDOW or lane[game[-1]].last


def test_what_comes_before_a_window():
    context = 3
    streams = episodes.lanes(5, LANES, MOVES, longest=6)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=2, context=context)
    _, at, eligible = programs(replay)
    for head, store in filled(replay, streams, 60):
        mask = np.asarray(eligible(store))
        wanted = episodes.eligible(streams, head, LENGTH, 2, False, context)
        assert mask.sum() == len(wanted)
        lane, time = everywhere(head)
        sample = jax.device_get(at(store, lane, time))
        for i, (b, t) in enumerate(zip(lane, time, strict=True)):
            if (b, t) not in wanted:
                continue
            for j, u in enumerate(range(t - context, t)):
                same = u >= 0 and streams[b][u].game == streams[b][t].game
                assert sample.context.mask[i, j] == same
                if same:
                    assert sample.context.state["id"][i, j] == streams[b][u].number
                    assert sample.context.action[i, j] == streams[b][u].action


def test_rewritten_moves_and_those_that_are_gone():
    streams = episodes.lanes(6, LANES, MOVES)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=1, half=False)
    *_, (head, store) = filled(replay, streams, 40)
    # Gone, not yet there, twice the same, the oldest, the newest.
    lane = jnp.array([0, 1, 2, 2, 0, 1])
    time = jnp.array([head - LENGTH - 1, head, 30, 30, head - LENGTH, head - 1])
    policy = jnp.eye(5)[jnp.array([0, 1, 2, 3, 4, 0])]
    value = jnp.arange(10.0, 16.0)
    after = jax.jit(replay.rewrite)(store, lane, time, policy, value)
    changed = np.argwhere(np.asarray(after.steps.value != store.steps.value)).tolist()
    assert changed == [[0, 40 % LENGTH], [1, 39 % LENGTH], [2, 30 % LENGTH]]
    sample = jax.device_get(programs(replay)[1](after, lane, time))
    assert sample.window.value[2:, 0].tolist() == [12.0, 12.0, 14.0, 15.0]
    assert sample.window.policy[2:, 0].argmax(-1).tolist() == [2, 2, 4, 0]
    same = jax.tree.map(lambda a, b: bool((a == b).all()), after.steps, store.steps)
    assert same.state == {"id": True, "wide": True}
    assert same.action
    assert same.reward


def test_rewriting_counts_as_searched():
    streams = episodes.lanes(8, LANES, MOVES)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=1)
    chunk = episodes.steps(streams, 0, CHUNK)
    unsearched = dataclasses.replace(chunk, weight=np.zeros_like(chunk.weight))
    store = programs(replay)[0](replay.empty(unsearched), unsearched)
    store = jax.jit(replay.rewrite)(
        store, jnp.array([1]), jnp.array([2]), jnp.ones((1, 5)) / 5, jnp.ones(1)
    )
    expected = np.zeros((LANES, LENGTH))
    expected[1, 2] = 1
    np.testing.assert_array_equal(store.steps.weight, expected)


def test_a_donated_store_is_reused_and_nothing_compiles_again():
    streams = episodes.lanes(7, LANES, MOVES)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=2, kind="prioritised")
    add = jax.jit(replay.add, donate_argnums=0)
    kept = store = jax.device_put(replay.empty(episodes.steps(streams, 0, CHUNK)))
    for start in range(0, 40, CHUNK):
        store = add(store, jax.device_put(episodes.steps(streams, start, start + CHUNK)))
    assert kept.steps.policy.is_deleted()
    assert add._cache_size() == 1


def test_a_restored_store_goes_on_bit_by_bit():
    streams = episodes.lanes(9, LANES, MOVES)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=3, finished_only=True)
    *_, (head, store) = filled(replay, streams, 44)
    leaves, tree = jax.tree.flatten(store)
    saved = [(np.asarray(x).tobytes(), x.shape, x.dtype) for x in leaves]
    arrays = [jnp.asarray(np.frombuffer(b, d).reshape(s)) for b, s, d in saved]
    restored = jax.tree.unflatten(tree, arrays)
    add, sample = programs(replay)[0], jax.jit(replay.sample, static_argnums=2)
    more = episodes.steps(streams, head, head + CHUNK)
    one, two = (sample(add(s, more), jax.random.key(3), 16) for s in (store, restored))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_lane_forgets_what_earlier_games_earned():
    """Else the sums would grow for ever, and swallow small rewards."""
    streams = episodes.lanes(10, LANES, MOVES, longest=5)
    replay = Replay(
        lanes=LANES, length=LENGTH, chunk=CHUNK, window=WINDOW, finished_only=True, half=False
    )
    for head, store in filled(replay, streams, 40):
        for b, lane in enumerate(streams):
            game = [m for m in lane[:head] if m.game == lane[head].game]
            side, earned = 1.0, 0.0
            for move in game:
                earned += side * move.reward
                side *= move.discount
            assert (float(store.running.earned[b]), float(store.running.side[b])) == (earned, side)


def test_metrics():
    streams = episodes.lanes(4, LANES, MOVES)
    replay = Replay(
        lanes=LANES, length=LENGTH, chunk=CHUNK, window=WINDOW, finished_only=True, half=False
    )
    measure = jax.jit(replay.metrics)
    empty = replay.empty(episodes.steps(streams, 0, CHUNK))
    assert [float(x) for x in measure(empty).values()] == [0.0, 0.0, 0.0]
    for head, store in filled(replay, streams, 60):
        wanted = episodes.eligible(streams, head, LENGTH, WINDOW, True)
        held = LANES * min(head, LENGTH)
        found = {name: float(x) for name, x in measure(store).items()}
        assert found["size"] == held
        assert found["eligible"] == pytest.approx(len(wanted) / held)
        ages = [head - 1 - t for _, t in wanted]
        assert found["age"] == pytest.approx(np.mean(ages) if ages else 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lanes": 0}, "lanes must be at least 1, got 0"),
        ({"length": 10}, r"multiple of chunk \(4\), got 10; the next is 12"),
        ({"window": 9}, "must hold a window of 9"),
        ({"context": 7}, "context of 7"),
        ({"kind": "prioritized"}, "'prioritized'"),
        ({"lanes": 2**29}, r"less than 2\*\*31"),
        ({"alpha": -1.0}, "alpha and beta"),
    ],
)
def test_options_that_make_no_replay(options, message):
    with pytest.raises(ValueError, match=message):
        Replay(**{"lanes": 2, "length": 8, "chunk": 4, "window": 2} | options)


def test_steps_of_another_size_are_refused():
    streams = episodes.lanes(1, 2, 8)
    replay = Replay(lanes=2, length=8, chunk=4, window=1)
    store = replay.empty(episodes.steps(streams, 0, 4))
    with pytest.raises(ValueError, match=r"\(2, 4\), got \(2, 3\)"):
        replay.add(store, episodes.steps(streams, 0, 3))
    with pytest.raises(ValueError, match="no priorities"):
        replay.reprioritise(store, jnp.zeros(1, int), jnp.zeros(1, int), jnp.ones(1))


def test_the_last_move_of_a_window_s_game():
    streams = episodes.lanes(7, LANES, MOVES, longest=15)
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=2, ends=True)
    at = programs(replay)[1]
    checked = 0
    for head, store in filled(replay, streams, MOVES):
        lane, time = everywhere(head)
        sample = jax.device_get(at(store, lane, time))
        for i, (b, t) in enumerate(zip(lane, time, strict=True)):
            end = episodes.end_of(streams[b][:head], t) if t >= 0 else None
            if not sample.known[i]:
                continue
            assert sample.final.state["id"][i] == streams[b][end].number
            assert sample.final.action[i] == streams[b][end].action
            checked += 1
    assert checked > 300


@pytest.mark.parametrize("growth", [0.0, 0.5, 1.0])
def test_a_window_that_grows(growth):
    streams = episodes.lanes(8, LANES, MOVES, longest=3)
    first = 9 * LANES
    replay = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=1, first=first, growth=growth)
    whole = dataclasses.replace(replay, first=0)
    for head, store in filled(replay, streams, 60):
        newest = 9 * max(head / 9, 1) ** growth
        columns = np.asarray(jax.jit(replay.eligible)(store))
        times = head - 1 - (head - 1 - np.arange(LENGTH)) % LENGTH
        wanted = np.asarray(jax.jit(whole.eligible)(store)) & (times >= head - newest)
        np.testing.assert_array_equal(columns, wanted)
    assert columns.sum() == LANES * min(LENGTH, int(newest))
