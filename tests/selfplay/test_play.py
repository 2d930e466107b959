"""Self-play against a referee that replays every lane by the game's own rules."""

import functools
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmove import games
from halfmove.core.game import over
from halfmove.core.types import Plan
from halfmove.models.rollouts import Rollouts
from halfmove.search import planner
from halfmove.search.search import TreeSearch
from halfmove.selfplay import NEVER, SelfPlay
from halfmove.selfplay.play import draw, resign_below

LANES, CHUNK = 6, 9


@functools.cache
def played(name, planner_name="full_gumbel", resign=NEVER, explore=3, calibration=0.5):
    game = games.read(name)
    search = planner(planner_name, simulations=4)
    selfplay = SelfPlay(game, Rollouts(game), search, LANES, CHUNK, explore, calibration)
    play = jax.jit(selfplay.play)
    begin, first, second = jax.random.split(jax.random.key(3), 3)
    lanes = selfplay.begin(begin)
    out = []
    for key in (first, second):
        lanes, steps, report = play(None, lanes, key, 1.0, resign)
        out.append((steps, report, lanes))
    return game, out


def replayed(game, out):
    """Every lane by hand: (lane, t, state before, action, state after, the step's numbers)."""
    steps = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *(s for s, _, _ in out))
    step = jax.jit(game.step)
    for lane in range(LANES):
        state = game.init(jax.random.key(0))
        for t in range(steps.action.shape[1]):
            stored = jax.tree.map(lambda x: x[lane, t], steps.state)  # noqa: B023
            for a, b in zip(jax.tree.leaves(stored), jax.tree.leaves(state), strict=True):
                np.testing.assert_array_equal(a, b)
            action = int(steps.action[lane, t])
            assert bool(game.legal(state)[action])
            after = step(jax.random.key(0), state, jnp.int32(action))
            yield lane, t, state, after, jax.tree.map(lambda x: x[lane, t], steps)  # noqa: B023
            last = bool(steps.last[lane, t])
            state = game.init(jax.random.key(0)) if last else after


def test_points_of_one_player_are_those_of_whole_games():
    """Games of 2048 from their first move to their last, over many chunks, added up by hand."""
    game = games.make("2048")
    model = Rollouts(game)
    selfplay = SelfPlay(game, model, planner("prior"), lanes=3, chunk=64)
    play = jax.jit(selfplay.play)
    key, lanes = jax.random.key(1), selfplay.begin(jax.random.key(0))
    points, ended, reported = np.zeros(3), [], 0.0
    for _ in range(6):
        key, now = jax.random.split(key)
        lanes, steps, report = play(None, lanes, now)
        for t, lane in np.ndindex(64, 3):
            points[lane] += steps.reward[lane, t]
            if steps.last[lane, t]:
                ended.append(points[lane])
                points[lane] = 0
        reported += float(report.first)
    assert len(ended) > 3
    assert reported == pytest.approx(sum(ended))


@pytest.mark.parametrize("name", ["tic_tac_toe", "hex size=3"])
def test_the_moves_are_those_of_the_rules(name):
    game, out = played(name)
    ends = 0
    for _, _, state, after, step in replayed(game, out):
        mover, ended = int(game.to_play(state)), bool(over(game, after))
        ends += ended
        assert bool(step.last) == ended
        assert step.reward == game.reward(after)[mover]
        assert step.discount == (0.0 if ended else -1.0)
        np.testing.assert_allclose(step.policy.sum(), 1.0, atol=1e-5)
        assert (step.policy[~np.asarray(game.legal(state))] == 0).all()
    reports = [report for _, report, _ in out]
    assert ends == sum(int(r.games) for r in reports) > LANES
    # The first player's earnings: counted by hand from who made the last move.
    first = sum(
        float(step.reward) * (1 if int(game.to_play(state)) == 0 else -1)
        for _, _, state, after, step in replayed(game, out)
        if step.last
    )
    assert first == pytest.approx(sum(float(r.first) for r in reports))


def test_games_run_across_chunks_and_lanes_differ():
    game, out = played("tic_tac_toe")
    (one, _, lanes), (two, _, _) = out
    assert not bool(one.last[:, -1].all())
    np.testing.assert_array_equal(np.asarray(lanes.state.board), two.state.board[:, 0])
    lines = {tuple(row) for row in np.asarray(one.action)}
    assert len(lines) > LANES // 2
    counts = np.zeros(LANES, int)
    for lane, _, _, _, step in replayed(game, out[:1]):
        counts[lane] = 0 if step.last else counts[lane] + 1
    np.testing.assert_array_equal(lanes.moves, counts)


def test_who_resigns_has_lost_and_some_play_on():
    game, out = played("connect_four", resign=0.9, calibration=0.5)
    resigned = 0
    for _, _, _, after, step in replayed(game, out):
        if step.last and not over(game, after):
            resigned += 1
            assert step.reward == -1.0
            assert step.discount == 0.0
            assert step.value < 0.9
    assert resigned == sum(int(r.resigned) for _, r, _ in out) > 0
    # Below 0.9 is a reason to resign at every move: a game that still goes on is played on.
    steps, _, lanes = out[0]
    for lane in range(LANES):
        if not np.asarray(steps.last[lane]).any() and (np.asarray(steps.value[lane]) < 0.9).any():
            assert lanes.plays_on[lane]


def test_lows_are_of_players_who_did_not_lose():
    game, out = played("tic_tac_toe", calibration=1.0)
    lows = np.concatenate([np.asarray(r.lows) for _, r, _ in out])  # [T, B]
    lowest = {}
    for lane, t, state, after, step in replayed(game, out):
        seen = lowest.setdefault(lane, [np.inf, np.inf])
        mover = int(game.to_play(state))
        seen[mover] = min(seen[mover], float(step.value))
        if step.last:
            gained = np.asarray(game.reward(after))
            expected = min(x for x, g in zip(seen, gained, strict=True) if g >= 0)
            assert lows[t, lane] == pytest.approx(expected)
            lowest[lane] = [np.inf, np.inf]
        else:
            assert np.isnan(lows[t, lane])


@given(st.lists(st.floats(-1, 1, width=32), max_size=300), st.floats(0.01, 0.5))
def test_at_most_the_share_is_given_up_and_hardly_less(lows, share):
    bound = resign_below(lows, share)
    if len(lows) * share < 1:
        assert bound == NEVER
        return
    assert sum(low < bound for low in lows) <= share * len(lows)
    assert sum(low <= bound for low in lows) > share * (len(lows) - 1)
    assert resign_below(lows, 0.0) == NEVER


def test_a_bound_from_some_games_holds_for_others():
    """Games nobody may resign: of those not lost, the bound would give up about a tenth."""
    game, share = games.read("tic_tac_toe"), 0.1
    search = planner("full_gumbel", simulations=4)
    selfplay = SelfPlay(game, Rollouts(game), search, 128, 64, explore=9, calibration=1.0)
    begin, first, second = jax.random.split(jax.random.key(5), 3)
    play = jax.jit(selfplay.play)
    lanes, _, told = play(None, selfplay.begin(begin), first)
    lows = [x[~np.isnan(x)] for x in (told.lows, play(None, lanes, second)[2].lows)]
    bound = resign_below(list(map(float, lows[0])), share)
    would = np.mean(lows[1] < bound)
    assert min(map(len, lows)) > 500
    assert share / 3 < would < share + 3 * np.sqrt(share / len(lows[1]))


@dataclass(frozen=True)
class LastLegal:
    """A search whose own choice is the last legal action."""

    search: TreeSearch

    def __call__(self, key, model, params, timestep):
        plan = self.search(key, model, params, timestep)
        last = timestep.legal.shape[-1] - 1 - jnp.argmax(timestep.legal[:, ::-1], axis=-1)
        return replace(plan, action=last.astype(jnp.int32))


def test_first_moves_are_drawn_and_later_ones_the_planners_own():
    game = games.read("tic_tac_toe")
    search = LastLegal(planner("muzero", simulations=8))
    selfplay = SelfPlay(game, Rollouts(game), search, LANES, CHUNK, explore=2)
    begin, play = jax.random.split(jax.random.key(0))
    _, steps, _ = jax.jit(selfplay.play)(None, selfplay.begin(begin), play)
    taken = (np.asarray(steps.state.board) > 0).sum(-1)
    own = [np.flatnonzero(row == 0)[-1] for row in np.asarray(steps.state.board).reshape(-1, 9)]
    same = np.asarray(steps.action).reshape(-1) == np.array(own)
    assert same[taken.reshape(-1) >= 2].all()
    assert not same[taken.reshape(-1) < 2].all()


def fake_plan(visits, policy):
    class Stats:
        pass

    stats = Stats()
    stats.visits = jnp.asarray(visits)
    nothing = jnp.zeros(len(visits))
    return Plan(nothing, jnp.asarray(policy), nothing, stats, None)


@pytest.mark.parametrize("heat", [1.0, 0.5])
def test_moves_are_drawn_by_visits(heat):
    visits = np.array([0, 1, 3, 4])
    many = 20_000
    plan = fake_plan(np.tile(visits, (many, 1)), np.zeros((many, 4)))
    counts = np.bincount(np.asarray(draw(jax.random.key(0), plan, heat)), minlength=4) / many
    expected = visits ** (1 / heat) / (visits ** (1 / heat)).sum()
    np.testing.assert_allclose(counts, expected, atol=0.015)
    assert counts[0] == 0


@pytest.mark.parametrize(("visits", "by"), [(0, "visits"), (1, "policy")])
def test_moves_are_drawn_by_the_policy_if_asked_or_nothing_was_searched(visits, by):
    many = 20_000
    policy = np.array([0.5, 0.0, 0.25, 0.25])
    plan = fake_plan(np.full((many, 4), visits), np.tile(policy, (many, 1)))
    counts = np.bincount(np.asarray(draw(jax.random.key(1), plan, 1.0, by)), minlength=4) / many
    np.testing.assert_allclose(counts, policy, atol=0.015)
