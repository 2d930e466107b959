"""The engine against a brute-force tree in plain Python, for every kind of discount."""

import jax
import numpy as np
import pytest

from halfmove.search import planner
from tests.search import models, oracle

A, STATES, GAMES, N = 5, 20011, 10, 60

CONFIGS = {
    "muzero-tree": ("muzero", {"dirichlet_fraction": 0.0}, {}),
    "muzero-siblings": (
        "muzero",
        {"dirichlet_fraction": 0.0, "normalise": "siblings"},
        {"normalise": "siblings"},
    ),
    "alphazero-constant": (
        "alphazero",
        {"dirichlet_fraction": 0.0, "normalise": (-3.0, 2.0), "c_puct": 5.0},
        {"normalise": (-3.0, 2.0), "c_puct": 5.0},
    ),
    "muzero-shallow": ("muzero", {"dirichlet_fraction": 0.0, "max_depth": 3}, {"max_depth": 3}),
    "full_gumbel": (
        "full_gumbel",
        {},
        {"root": "halving", "below": "track", "normalise": "siblings"},
    ),
    "full_gumbel-raw": (
        "full_gumbel",
        {"completion": "raw", "normalise": "tree", "c_scale": 0.1, "considered": 3},
        {
            "root": "halving",
            "below": "track",
            "completion": "raw",
            "c_scale": 0.1,
            "considered": 3,
        },
    ),
    "gumbel": (
        "gumbel",
        {"gumbel_scale": 0.0, "c_init": 2.0, "c_base": 100.0},
        {"root": "halving", "normalise": "siblings", "c_init": 2.0, "c_base": 100.0},
    ),
    "gumbel_replacement": (
        "gumbel_replacement",
        {"normalise": None, "c_visit": 5.0, "considered": 4},
        {"root": "halving", "normalise": None, "c_visit": 5.0, "considered": 4},
    ),
}


@pytest.fixture(scope="module")
def world() -> tuple[models.Tables, np.ndarray, np.ndarray]:
    parts = [models.tables(i, STATES, A, kind) for i, kind in enumerate(models.KINDS)]
    tables = models.side_by_side(parts)
    alive = np.flatnonzero(tables.legal.any(-1))
    starts = [alive[(alive >= i * STATES)][:GAMES] for i in range(len(parts))]
    state = np.concatenate(starts).astype(np.int32)
    return tables, state, tables.legal[state]


@pytest.mark.parametrize("config", CONFIGS)
def test_visits_and_values_are_those_of_the_plain_tree(config, world):
    tables, state, legal = world
    name, options, settings = CONFIGS[config]
    search = models.compiled(planner(name, simulations=N, **options), models.KnownRules())
    plan = search(jax.random.key(7), jax.device_put(tables), (state, legal))
    row = np.asarray(plan.noise.row)
    compared = 0
    for game in range(len(state)):
        plain = oracle.Search(tables, oracle.Settings(**settings), N)
        root = plain.run(int(state[game]), legal[game], row[game])
        if plain.closest < 1e-6:
            continue  # decided by rounding
        compared += 1
        where = f"game {game}, state {state[game]}"
        visits = np.asarray(plan.stats.visits[game])
        np.testing.assert_array_equal(visits, oracle.visits_of(root, A), where)
        np.testing.assert_allclose(plan.stats.q[game], oracle.q_of(root, A), 1e-5, 1e-5, where)
        np.testing.assert_allclose(plan.value[game], root.value, 1e-5, 1e-5, where)
        np.testing.assert_allclose(plan.stats.q_min[game], plain.low, 1e-5, 1e-5, where)
        np.testing.assert_allclose(plan.stats.q_max[game], plain.high, 1e-5, 1e-5, where)
        if settings.get("root") == "halving":
            assert int(plan.action[game]) == plain.action(), where
            policy = plain.improved(root)
            expected = [policy.get(a, 0.0) for a in range(A)]
        else:
            expected = oracle.visits_of(root, A) / N
        np.testing.assert_allclose(plan.policy[game], expected, 1e-3, 1e-5, where)
    assert compared >= 0.8 * len(state)


def test_the_plain_tree_meets_every_hard_case(world):
    """The oracle's games do pass dead nodes, ends of games and every discount."""
    tables, state, legal = world
    met: set[str] = set()
    for game in range(len(state)):
        plain = oracle.Search(tables, oracle.Settings(), N)
        stack = [plain.run(int(state[game]), legal[game], np.zeros(A))]
        while stack:
            node = stack.pop()
            if not node.legal and len(node.returns) > 1:
                met.add("a node without legal actions, visited again")
            met |= {f"discount {node.discount[a]:g}" for a in node.children if node.n(a) > 1}
            stack += node.children.values()
    wanted = {f"discount {d:g}" for d in (-1.0, 1.0, 0.0, 0.5, 0.99)}
    assert met >= wanted | {"a node without legal actions, visited again"}
