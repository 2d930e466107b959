"""Rows as wide as chess has actions: XLA gives long sums to a library, native code must not."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.types import Edge, Prediction
from halfmove.search import planner
from halfmove.search.rule import WIDE, foreign

ACTIONS = WIDE + 576


@dataclass(frozen=True)
class Waves:
    """Logits and values that are some function of the action."""

    def root(self, params, key, timestep):
        rows = jnp.arange(timestep.shape[0])[:, None] + jnp.arange(ACTIONS)
        return timestep, Prediction(jnp.sin(rows * params), jnp.zeros(timestep.shape))

    def step(self, params, key, node, action):
        edge = Edge(jnp.zeros(action.shape), -jnp.ones(action.shape))
        logits = jnp.cos(jnp.arange(ACTIONS) * params + action[:, None])
        return node, edge, Prediction(logits, jnp.sin(action * params))


@pytest.mark.parametrize("name", ["full_gumbel", pytest.param("trpo", marks=pytest.mark.slow)])
def test_native_code_searches_like_xla(name):
    visits = [
        planner(name, simulations=12, engine=engine)(
            jax.random.key(0), Waves(), jnp.float32(1.0), jnp.zeros(1)
        ).stats.visits
        for engine in ("auto", "xla")
    ]
    np.testing.assert_array_equal(*visits)


def test_a_rule_that_sums_by_itself_is_known():
    rule = planner("full_gumbel", simulations=4).rule
    assert foreign(rule, ACTIONS) is None
    from dataclasses import replace

    theirs = replace(rule, select=lambda stats, noise: stats.q + jnp.sum(stats.prior))
    assert "use rule.total" in foreign(theirs, ACTIONS)
    assert foreign(theirs, WIDE - 1) is None
