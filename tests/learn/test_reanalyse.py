"""Old positions shown and searched again."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.types import Edge, Plan, Prediction
from halfmove.envs import history
from halfmove.games import make
from halfmove.learn import reanalyse, views
from halfmove.replay import Replay
from halfmove.search import planner
from tests.replay import episodes

LANES, LENGTH, CHUNK, WINDOW = 3, 24, 4, 6
ROWS, STEPS = 5, 3
REPLAY = Replay(lanes=LANES, length=LENGTH, chunk=CHUNK, window=WINDOW, half=False)


@dataclass(frozen=True)
class Number:
    """A model that values a position by its number in the log."""

    def root(self, params: Any, key: Any, timestep: Any) -> tuple[Any, Prediction]:
        number = timestep.state["id"]
        return number, Prediction(jnp.zeros((*number.shape, 5)), number * params)

    def step(self, *_: Any) -> tuple[Any, Edge, Prediction]:
        raise AssertionError("no search here")


def oracle(key, model, params, timestep):
    """A planner whose policy and value are read off the position's number."""
    number = timestep.state["id"]
    assert number.shape == (ROWS * STEPS,), "as many searches as were asked for"
    policy = jax.nn.one_hot(number % 5, 5)
    return Plan(number % 5, policy, number * params, stats=None, noise=None)


@pytest.fixture(scope="module")
def stored():
    streams = episodes.lanes(11, LANES, 40, longest=5)
    store = REPLAY.empty(episodes.steps(streams, 0, CHUNK))
    add = jax.jit(REPLAY.add)
    for start in range(0, 40, CHUNK):
        steps = episodes.steps(streams, start, start + CHUNK)
        store = add(store, replace(steps, weight=np.zeros_like(steps.weight)))
    return store, jax.jit(REPLAY.sample, static_argnums=2)(store, jax.random.key(0), 8)


@pytest.fixture(scope="module")
def again(stored):
    @jax.jit
    def search(sample, key):
        return reanalyse.search_again(
            key, Number(), oracle, 0.5, views.of_observations, sample, rows=ROWS, steps=STEPS
        )

    return search(stored[1], jax.random.key(1))


def test_the_asked_moves_are_searched_again_and_no_others(stored, again):
    old, new = jax.device_get((stored[1], again))
    changed = 0
    for i, k in np.ndindex(8, WINDOW):
        if i < ROWS and k < STEPS and old.mask[i, k]:
            number = old.window.state["id"][i, k]
            assert new.window.policy[i, k].tolist() == [float(a == number % 5) for a in range(5)]
            assert new.window.value[i, k] == np.float32(number * 0.5)
            assert new.window.weight[i, k] == 1
            changed += 1
        else:
            for name in ("policy", "value", "weight"):
                before, after = (getattr(s.window, name)[i, k] for s in (old, new))
                np.testing.assert_array_equal(before, after)
    assert ROWS < changed < ROWS * STEPS  # some windows end before that
    for name in ("action", "reward", "discount", "last"):
        np.testing.assert_array_equal(getattr(old.window, name), getattr(new.window, name))


def test_with_the_simple_loss_the_fresh_action_is_the_target(stored):
    """-log π(A) of the search made now, not of the move that was played then."""

    def chooses(key, model, params, timestep):
        plan = oracle(key, model, params, timestep)
        return replace(plan, policy=jnp.full(plan.policy.shape, 0.2))

    old = stored[1]
    new = reanalyse.search_again(
        jax.random.key(1), Number(), chooses, 0.5, views.of_observations, old,
        rows=ROWS, steps=STEPS, simple=True,
    )  # fmt: skip
    wanted = jax.nn.one_hot(old.window.state["id"][:ROWS, :STEPS] % 5, 5)
    mask = np.asarray(old.mask[:ROWS, :STEPS])
    np.testing.assert_array_equal(new.window.policy[:ROWS, :STEPS][mask], wanted[mask])


def test_the_store_remembers(stored, again):
    store, old = stored
    after = jax.jit(
        lambda store, sample: REPLAY.rewrite(
            store, **reanalyse.found(sample, rows=ROWS, steps=STEPS)
        )
    )(store, again)
    before, after, old = jax.device_get((store.steps, after.steps, old))
    wanted = np.zeros((LANES, LENGTH), bool)
    for i in range(ROWS):
        for k in range(STEPS):
            if old.mask[i, k]:
                wanted[old.lane[i], (old.time[i] + k) % LENGTH] = True
    np.testing.assert_array_equal(after.value != before.value, wanted)
    np.testing.assert_array_equal(after.weight == 1, wanted)
    number = after.state["id"]
    np.testing.assert_array_equal(after.value[wanted], (number[wanted] * 0.5).astype(np.float32))
    np.testing.assert_array_equal(after.policy[wanted].argmax(-1), number[wanted] % 5)
    np.testing.assert_array_equal(after.policy[~wanted], before.policy[~wanted])


def test_a_target_network_gives_the_values_to_bootstrap_from(stored):
    old = stored[1]
    new = jax.jit(
        lambda sample, key: reanalyse.value_again(
            key, Number(), 2.0, views.of_observations, sample, rows=7, start=2
        )
    )(old, jax.random.key(0))
    old, new = jax.device_get((old, new))
    chosen = np.zeros((8, WINDOW), bool)
    chosen[:7, 2:] = True
    number = old.window.state["id"].astype(np.float32)
    wanted = np.where(chosen & old.mask, number * 2, old.window.value)
    np.testing.assert_array_equal(new.window.value, wanted)
    np.testing.assert_array_equal(new.window.policy, old.window.policy)


def test_shares_are_whole_numbers_of_windows(stored):
    assert [reanalyse.rows_of(256, s) for s in (0.0, 0.8, 1.0)] == [0, 205, 256]
    assert reanalyse.rows_of(10, 0.8) == 8
    with pytest.raises(ValueError, match="from 0 to 1, got 80"):
        reanalyse.rows_of(256, 80)
    _, sample = stored
    same = reanalyse.search_again(None, Number(), oracle, 0.5, None, sample, rows=0)
    assert same is sample
    with pytest.raises(ValueError, match="rows must be from 0 to the 8 of the sample, got 9"):
        reanalyse.found(sample, rows=9)
    with pytest.raises(ValueError, match="moves 0 to 6 are not all in windows of 6"):
        reanalyse.found(sample, rows=2, steps=7)


@dataclass(frozen=True)
class Flat:
    """Tic-tac-toe's rules and a network that knows nothing."""

    def root(self, params, key, timestep):
        return timestep.state, self._prediction(timestep.legal)

    def step(self, params, key, node, action):
        game = make("tic_tac_toe")
        after = jax.vmap(game.step, in_axes=(None, 0, 0))(key, node, action)
        over = jax.vmap(game.terminated)(after)
        mover = jax.vmap(game.to_play)(node)
        reward = jnp.take_along_axis(jax.vmap(game.reward)(after), mover[:, None], axis=1)[:, 0]
        edge = Edge(reward, jnp.where(over, 0.0, -1.0))
        return after, edge, self._prediction(jax.vmap(game.legal)(after))

    def _prediction(self, legal):
        return Prediction(jnp.zeros(legal.shape), jnp.zeros(len(legal)), legal)


def test_a_real_search_finds_the_win_that_was_missed():
    game = make("tic_tac_toe")
    replay = Replay(lanes=1, length=8, chunk=8, window=2, half=False)
    # x completes the top row at move 6 though it could have at move 4.
    moves = [0, 3, 1, 4, 8, 6, 2, 0]
    states, state = [], game.init(jax.random.key(0))
    step = jax.jit(game.step)
    for action in moves:
        states.append(state)
        state = step(jax.random.key(0), state, action)
    first = episodes.steps(episodes.lanes(0, 1, 8), 0, 8)
    steps = replace(
        first,
        state=jax.tree.map(lambda *x: jnp.stack(x)[None], *states),
        policy=jnp.full((1, 8, 9), 1 / 9),
        last=jnp.arange(8)[None] == 6,
        discount=jnp.where(jnp.arange(8)[None] == 6, 0.0, -1.0),
    )
    store = jax.jit(replay.add)(replay.empty(steps), steps)
    sample = jax.jit(replay.at)(store, jnp.zeros(2, jnp.int32), jnp.array([4, 2]))
    search = planner("alphazero", simulations=32, dirichlet_fraction=0.0)
    new = jax.jit(
        lambda sample, key: reanalyse.search_again(
            key, Flat(), search, None, views.of_game(game), sample, rows=1, steps=2
        )
    )(sample, jax.random.key(5))
    assert int(new.window.policy[0, 0].argmax()) == 2
    assert float(new.window.value[0, 0]) > 0.5
    assert not np.asarray(new.window.policy[0, 0])[np.array([0, 1, 3, 4])].any()
    assert int(new.window.policy[0, 1].argmax()) == 5  # and then o could have won
    np.testing.assert_array_equal(new.window.policy[1], sample.window.policy[1])


@pytest.mark.parametrize("start", [0, 2])
def test_frames_are_stacked_as_the_environment_did(start):
    """Against the history that self-play pushed frame by frame."""
    frames, lanes, moves = 3, 2, 16
    rng = np.random.default_rng(0)
    steps = episodes.steps(episodes.lanes(3, lanes, moves, longest=5), 0, moves)
    shown = rng.integers(0, 256, (lanes, moves, 2, 2, 1), np.uint8)
    planes = jax.jit(history.planes)
    seen = history.begin(shown[:, 0], frames)
    seen_at = [planes(seen)]
    for t in range(1, moves):
        seen = history.push(seen, shown[:, t], steps.action[:, t - 1], steps.last[:, t - 1])
        seen_at.append(np.asarray(planes(seen)))
    replay = Replay(lanes=lanes, length=moves, chunk=moves, window=4, context=frames)
    legal = rng.random((lanes, moves, 5)) < 0.5
    steps = replace(steps, state=shown, legal=legal)
    store = jax.jit(replay.add)(replay.empty(steps), steps)
    lane = np.repeat(np.arange(lanes), moves - 4)
    time = np.tile(np.arange(moves - 4), lanes)
    sample = jax.jit(replay.at)(store, jnp.array(lane), jnp.array(time))

    @jax.jit
    def shown_again(sample):
        part = views.narrowed(sample, len(lane), start, start + 2)
        return part.mask, views.of_frames(part)

    mask, timestep = shown_again(sample)
    found = np.asarray(planes(timestep.observation)).reshape(len(lane), 2, 2, 2, -1)
    checked = 0
    for i, k in np.ndindex(len(lane), 2):
        if mask[i, k]:
            wanted = seen_at[time[i] + start + k][lane[i]]
            np.testing.assert_array_equal(found[i, k], wanted)
            now = legal[lane[i], time[i] + start + k]
            np.testing.assert_array_equal(timestep.legal[2 * i + k], now)
            checked += 1
    assert checked > 15
