"""A second call compiles nothing, and no random key is used twice."""

import contextlib
from collections.abc import Iterator

import jax
import numpy as np
import pytest

from halfmove.search import names, planner
from tests.search import models

A = 4
_compilations = [0]


def _listen(event: str, duration: float, **_: object) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _compilations[0] += 1


jax.monitoring.register_event_duration_secs_listener(_listen)


@contextlib.contextmanager
def compilations() -> Iterator[list[int]]:
    """How many programs XLA compiled inside the block: the only number of the list."""
    before, count = _compilations[0], [0]
    yield count
    count[0] = _compilations[0] - before


def inputs(seed: int) -> tuple[models.Tables, tuple[np.ndarray, np.ndarray]]:
    tables = models.tables(seed, 101, A)
    state = np.flatnonzero(tables.legal.any(-1))[seed : seed + 3].astype(np.int32)
    return jax.device_put(tables), jax.device_put((state, tables.legal[state]))


def small(name: str, **options: int):
    return planner(name, **({} if name == "prior" else {"simulations": 5, **options}))


def test_the_counter_counts():
    with compilations() as count:
        jax.jit(lambda x: x * 3.0 + 17.0)(np.ones(7)).block_until_ready()
    assert count[0] >= 1


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in ("mcs", "pgs_unfrozen") else [])
        for name in names()
    ],
)
def test_each_key_is_used_once_and_each_program_compiled_once(name):
    search, model = small(name), models.KnownRules()
    first, second = jax.random.split(jax.random.key(0))
    before, after = inputs(0), inputs(1)
    with jax.debug_key_reuse(True):
        search(first, model, *before)
        with compilations() as count:
            search(second, model, *after).action.block_until_ready()
    assert count[0] == 0


def test_a_planner_asked_for_twice_is_the_same_and_compiles_once():
    model, given = models.KnownRules(), inputs(0)
    planner("mpo", simulations=4, c_puct=2.0)(jax.random.key(0), model, *given)
    with compilations() as count:
        planner("mpo", c_puct=2.0, simulations=4)(jax.random.key(1), model, *given)
    assert count[0] <= 1  # the key
    assert planner("mpo", simulations=4) is not planner("mpo", simulations=4, c_puct=2.0)
    with pytest.raises(ValueError, match="simulations"):
        planner("mpo", simulations=True)


def test_leaves_use_each_key_once():
    with jax.debug_key_reuse(True):
        small("gumbel_stochastic", leaves=2)(jax.random.key(0), models.KnownRules(), *inputs(0))


def test_a_reused_key_would_be_noticed():
    def twice(key):
        return jax.random.normal(key) + jax.random.uniform(key)

    with jax.debug_key_reuse(True), pytest.raises(jax.errors.KeyReuseError):
        jax.jit(twice)(jax.random.key(0))
