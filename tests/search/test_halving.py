"""Sequential Halving: the schedule against a plain simulation, and on bandits."""

import itertools

import jax
import numpy as np
import pytest

from halfmove.search import halving, planner
from tests.search import models

CASES = [(m, n) for m in range(1, 21) for n in range(1, 65)]


def plain_halving(m: int, n: int) -> tuple[list[int], list[int]]:
    """Algorithm 2 with actions 0, 1, ... in order of merit, action by action.

    Returns the visits each action had when its turn came, and the final visits.
    """
    rounds = 0
    while 2**rounds < m:
        rounds += 1
    visits, before = [0] * m, []
    survivors = list(range(m))
    while len(before) < n:
        each = max(1, n // (max(rounds, 1) * len(survivors)))
        for _ in range(each):
            for action in survivors:
                if len(before) == n:
                    break
                before.append(visits[action])
                visits[action] += 1
        if len(survivors) > 2:
            survivors = survivors[: max(2, len(survivors) // 2)]
    return before, visits


def test_the_worked_example():
    assert halving.wanted(4, 8).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert plain_halving(4, 8) == ([0, 0, 0, 0, 1, 1, 2, 2], [3, 3, 1, 1])


@pytest.mark.parametrize("m", range(1, 21))
def test_the_table_is_a_plain_simulation(m):
    for n in range(1, 65):
        before, _ = plain_halving(m, n)
        assert halving.wanted(m, n).tolist() == before, (m, n)


def test_exactly_n_simulations_in_phases_that_halve():
    for m, n in CASES:
        phases = halving.phases(m, n)
        kept = [k for k, _ in phases]
        assert sum(spent for _, spent in phases) == n
        assert kept[0] == m
        assert all(b == max(2, a // 2) for a, b in itertools.pairwise(kept))


def test_no_halving_when_simulations_do_not_exceed_the_considered():
    for m, n in CASES:
        if n <= m:
            assert halving.wanted(m, n).tolist() == ([0] * n if m > 1 else list(range(n)))


@pytest.mark.parametrize("leaves", [1, 2, 4, 7, 64])
def test_batches_never_cross_a_phase(leaves):
    for m, n in CASES:
        lots = halving.batches(m, n, leaves)
        assert sum(lots) == n
        assert all(1 <= lot <= leaves for lot in lots)
        ends = set(np.cumsum(lots).tolist())
        assert set(np.cumsum([spent for _, spent in halving.phases(m, n)]).tolist()) <= ends


def test_each_game_follows_the_schedule_of_its_own_candidates():
    schedule = halving.Halving(considered=16, simulations=40)
    candidates = np.array([0, 1, 2, 3, 5, 16, 30])
    turns = np.asarray(schedule.turns(candidates))
    rounds = np.asarray(schedule.rounds(candidates, 8))
    for game, m in enumerate([1, 1, 2, 3, 5, 16, 16]):
        assert turns[game].tolist() == plain_halving(m, 40)[0]
        lots = halving.batches(m, 40, 8)
        assert rounds[game, : len(lots)].tolist() == lots
        assert not rounds[game, len(lots) :].any()


@pytest.mark.parametrize(("considered", "n", "leaves"), [
    (4, 8, 1), (16, 13, 1), (6, 50, 4),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in [(4, 8, 4), (16, 13, 4), (6, 50, 1)]),
])  # fmt: skip
def test_visits_on_bandits_with_different_numbers_of_legal_arms(considered, n, leaves):
    """Without noise and with equal logits merit is q alone: the visits are the plain ones."""
    rng = np.random.default_rng(3)
    games, actions = 40, 9
    q = rng.uniform(size=(games, actions))
    legal = np.arange(actions) < rng.integers(1, actions + 1, size=(games, 1))
    legal = rng.permuted(legal, axis=1)
    # The untried arms come in by logit: those of greatest q first.
    params = models.arms(1e-3 * q, q, value=q.mean(-1), legal=legal)
    search = planner(
        "full_gumbel", simulations=n, considered=considered, gumbel_scale=0.0, leaves=leaves
    )
    plan = models.compiled(search, models.Bandit())(jax.random.key(0), params, None)
    for game in range(games):
        order = sorted(np.flatnonzero(legal[game]), key=lambda a: -q[game, a])
        m = min(considered, n, len(order))
        expected = np.zeros(actions, int)
        expected[order[:m]] = plain_halving(m, n)[1]
        np.testing.assert_array_equal(plan.stats.visits[game], expected, f"game {game}")
        assert plan.action[game] == order[0]
