"""What every planner owes, whatever its rule: one table test over all of them."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from halfmove.core.types import Plan
from halfmove.search import names, planner
from halfmove.search.planners import TREELESS
from tests.search import models

ENGINES = ["xla"]
MODELS = {"rules": models.KnownRules(), "learned": models.Learned()}
B, A, N = 7, 6, 20
FINISHED = 3
# Rows 5 and 6 are the same position.
LEGAL = np.array(
    [
        [1, 1, 1, 1, 1, 1],
        [0, 1, 0, 1, 1, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 1],
        [1, 1, 0, 1, 1, 1],
        [1, 1, 0, 1, 1, 1],
    ],
    bool,
)
STATE = np.array([0, 1, 2, 3, 4, 5, 5], np.int32)

every_engine = pytest.mark.parametrize("engine", ENGINES)


def parametrised(*, by_default: tuple[str, ...]) -> Any:
    """All planners; of those without a tree only these unless slow tests run."""
    slow = set(TREELESS) - set(by_default)
    return pytest.mark.parametrize(
        "name",
        [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in names()],
    )


every_planner = parametrised(by_default=("pgs",))
compiled_anew = parametrised(by_default=())
every_kind = pytest.mark.parametrize("kind", list(MODELS))


def runs(name: str, n: int) -> int:
    """How many simulations a planner runs when it is asked for n."""
    return 0 if name == "prior" else n


@functools.cache
def search(engine: str, name: str, kind: str, n: int = N, **options: Any) -> Callable[..., Plan]:
    asked = {"simulations": runs(name, n), "tree": name not in TREELESS, "engine": engine}
    if name in TREELESS:
        asked["leaves"] = 8
    asked |= options
    return models.compiled(planner(name, **asked), MODELS[kind])


@functools.cache
def tables(actions: int = A) -> models.Tables:
    return jax.device_put(models.tables(1, 211, actions))


def timestep(legal: np.ndarray = LEGAL) -> tuple[np.ndarray, np.ndarray]:
    return STATE[: len(legal)], legal


def plan_of(engine: str, name: str, kind: str, seed: int = 0, legal: np.ndarray = LEGAL) -> Plan:
    return search(engine, name, kind)(jax.random.key(seed), tables(), timestep(legal))


def check_plan(plan: Plan, legal: np.ndarray, n: int) -> None:
    """A distribution over legal actions, a legal move, n visits to legal actions only."""
    alive = legal.any(-1)
    policy, visits = np.asarray(plan.policy), np.asarray(plan.stats.visits)
    action = np.asarray(plan.action)
    assert np.isfinite(policy).all()
    assert (policy >= 0).all()
    np.testing.assert_allclose(policy.sum(-1), alive, rtol=1e-5)
    assert not policy[~legal].any()
    assert (visits.sum(-1) == np.where(alive, n, 0)).all()
    assert (visits >= 0).all()
    assert not visits[~legal].any()
    assert legal[np.arange(len(legal)), action][alive].all()
    assert (action[~alive] == 0).all()
    assert np.isfinite(np.asarray(plan.value)).all()
    assert action.dtype == np.int32


def check_tree(plan: Plan, legal: np.ndarray, n: int, *, exact: bool) -> np.ndarray:
    """Every number of the tree follows from its leaves. Returns the depth of every node.

    `exact`: a node that can be left was evaluated once, so each simulation made a node
    or met one without legal actions. Without a tree only the mean length is known.
    """
    if plan.tree is None:
        return np.asarray(plan.depth)
    tree = jax.tree.map(np.asarray, plan.tree)
    depths = np.zeros(tree.count.shape, int)
    assert tree.pending is None or not tree.pending.any()
    for game in range(len(legal)):
        used = np.flatnonzero(tree.count[game])
        assert tree.count[game, 0] == 1 + (n if legal[game].any() else 0)
        for node in used:
            visits, q, child = tree.visits[game, node], tree.q[game, node], tree.child[game, node]
            allowed = np.isfinite(tree.logits[game, node])
            assert not visits[~allowed].any()
            assert ((visits > 0) == (child >= 0)).all()
            assert not q[visits == 0].any()
            if node > 0:
                parent, action = tree.parent[game, node], tree.action[game, node]
                assert tree.child[game, parent, action] == node
                depths[game, node] = 1 + depths[game, parent]
            for a in np.flatnonzero(visits):
                below = child[a]
                assert tree.count[game, below] == visits[a]
                expected = tree.reward[game, below] + (
                    tree.discount[game, below] * tree.value[game, below]
                )
                np.testing.assert_allclose(q[a], expected, rtol=1e-4, atol=1e-5)
            own = tree.count[game, node] - visits.sum()
            assert own >= 1
            if exact and allowed.any():
                assert own == 1
            mean = (own * tree.raw_value[game, node] + (visits * q).sum()) / (own + visits.sum())
            np.testing.assert_allclose(tree.value[game, node], mean, rtol=1e-4, atol=1e-5)
    return depths


@every_engine
@every_planner
@every_kind
def test_a_plan_is_a_legal_policy_and_its_tree_adds_up(engine, name, kind):
    for seed in range(3):
        plan = plan_of(engine, name, kind, seed)
        check_plan(plan, LEGAL, runs(name, N))
    check_tree(plan, LEGAL, runs(name, N), exact=True)


@every_engine
@every_planner
@every_kind
def test_a_finished_game_touches_nothing(engine, name, kind):
    plan = plan_of(engine, name, kind)
    assert not np.asarray(plan.policy[FINISHED]).any()
    assert not np.asarray(plan.stats.visits[FINISHED]).any()
    going_on = LEGAL.copy()
    going_on[FINISHED, 1:4] = True
    other = plan_of(engine, name, kind, legal=going_on)
    check_plan(other, going_on, runs(name, N))
    rest = np.arange(B) != FINISHED
    for part in ("action", "policy", "value"):
        ours, theirs = np.asarray(getattr(plan, part)), np.asarray(getattr(other, part))
        np.testing.assert_array_equal(ours[rest], theirs[rest])
    np.testing.assert_array_equal(plan.stats.visits[rest], other.stats.visits[rest])


@every_engine
@every_planner
def test_noise_differs_between_rows_searches_and_seeds(engine, name):
    """Twice the same key is twice the same plan; otherwise moves and visits vary."""

    def seen(seed: int) -> list[tuple[Any, ...]]:
        plan = plan_of(engine, name, "rules", seed)
        return [
            (int(plan.action[row]), tuple(np.asarray(plan.stats.visits[row]).tolist()))
            for row in (5, 6)
        ]

    plans = [seen(seed) for seed in range(12)]
    assert seen(0) == plans[0]
    assert any(first != second for first, second in plans)
    for row in (0, 1):
        assert len({plan[row] for plan in plans}) > 1


@every_engine
@every_planner
@every_kind
def test_what_is_drawn_is_drawn_anew(engine, name, kind):
    """The Gumbel row or the Dirichlet-mixed prior, and the numbers of the walk."""
    if name == "prior":
        pytest.skip("it draws nothing but the move")
    drawn, walk = [], []
    for seed in (0, 1):
        plan = plan_of(engine, name, kind, seed)
        row = np.asarray(plan.noise.row if "gumbel" in name else plan.stats.prior)
        drawn += [row[5], row[6]]
        walk += list(np.asarray(plan.stats.random[5:]))
    for rows in (drawn, walk):
        assert len({tuple(row.tolist()) for row in rows}) == 4


@every_engine
@compiled_anew
@pytest.mark.parametrize("kind", ["rules"])
def test_several_leaves_of_one_tree_at_once(engine, name, kind):
    n = runs(name, 22)
    run = search(engine, name, kind, 22, leaves=4)
    for seed in range(2):
        plan = run(jax.random.key(seed), tables(), timestep())
        check_plan(plan, LEGAL, n)
        check_tree(plan, LEGAL, n, exact=False)


@every_engine
@compiled_anew
@pytest.mark.parametrize("kind", ["learned"])
def test_the_depth_is_limited(engine, name, kind):
    plan = search(engine, name, kind, max_depth=2)(jax.random.key(0), tables(), timestep())
    check_plan(plan, LEGAL, runs(name, N))
    depths = check_tree(plan, LEGAL, runs(name, N), exact=False)
    assert 1 < depths.max() <= 2 if name in TREELESS else depths.max() == min(2, runs(name, N))


@every_engine
@compiled_anew
@pytest.mark.parametrize(("actions", "n"), [(1, 5), (A, 1), (5000, 8), (3, 1000)])
def test_the_smallest_and_the_largest(engine, name, actions, n):
    if actions == 1:
        legal = np.array([[True], [False], [True]])
    else:
        legal = np.random.default_rng(0).random((3, actions)) < 0.7
        legal[0] = True
        legal[1] = False
    run = search(engine, name, "rules", n)
    plan = run(jax.random.key(0), tables(actions), timestep(legal))
    check_plan(plan, legal, runs(name, n))
    if n < 1000:
        check_tree(plan, legal, runs(name, n), exact=True)


@every_engine
@pytest.mark.parametrize("name", ["trpo", "mpo"])
@pytest.mark.parametrize("switch", ["act", "search", "learn"])
def test_each_switch_of_a_regularised_planner_alone(engine, name, switch):
    others = {s: False for s in ("act", "search", "learn") if s != switch}
    run = search(engine, name, "rules", **others)
    plan = run(jax.random.key(0), tables(), timestep())
    check_plan(plan, LEGAL, N)
    visits = np.asarray(plan.stats.visits)
    share = visits / np.maximum(visits.sum(-1, keepdims=True), 1)
    same = np.allclose(plan.policy, share, atol=1e-6)
    assert same == (switch != "learn")
