"""Reductions of one row, as a CPU's program has them, against numpy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from halfmove.core.native import native
from halfmove.search.rule import best, greatest, inside, least, total

# Around every change of form, and the most actions there are.
WIDTHS = (1, 2, 15, 16, 17, 24, 31, 32, 33, 82, 255, 256, 257, 362, 512, 1858, 5000)
SPECIAL = np.array(
    [-np.inf, -3.4e38, -1.0, -1e-30, -0.0, 0.0, 1e-30, 1.0, 1.0 + 1e-7, 3.4e38, np.inf], np.float32
)


@functools.cache
def reduced(width, kind):
    """row [width] -> (greatest, least, total, index of the first greatest)."""

    def body(row, out):
        with inside("native"):
            found = greatest(row), least(row), total(row)
            return [*(x[0] for x in found), best(row), out + row]

    return jax.jit(lambda row: native(body, row, jnp.zeros(width, kind))[:-1])


@settings(max_examples=120, deadline=None)
@given(
    width=st.sampled_from(WIDTHS),
    kind=st.sampled_from([np.float32, np.int32]),
    special=st.floats(0, 1),
    seed=st.integers(0, 10**6),
)
@example(width=82, kind=np.float32, special=1.0, seed=0)
def test_as_numpy_has_them(width, kind, special, seed):
    rng = np.random.default_rng(seed)
    if kind == np.float32:
        row = rng.normal(size=width) * 10.0 ** rng.integers(-8, 8)
        row = np.where(rng.random(width) < special, rng.choice(SPECIAL, width), row).astype(kind)
    else:
        row = rng.integers(-(10 ** rng.integers(1, 9)), 10**5, width, dtype=kind)
    top, low, mass, index = jax.device_get(reduced(width, kind)(row))
    assert top == row.max()
    assert low == row.min()
    assert index == row.argmax()
    if kind == np.int32:
        assert mass == row.sum(dtype=kind)
    else:
        with np.errstate(all="ignore"):
            wide = row.astype(np.float64)
            sure = np.isfinite(np.abs(wide).sum()) and np.abs(wide).sum() < 3e38
        if sure:
            np.testing.assert_allclose(mass, wide.sum(), atol=1e-5 * np.abs(wide).sum() + 1e-37)


def test_rows_of_minus_infinity_have_a_first():
    """As where no action is legal."""
    for width in WIDTHS:
        top, _, _, index = jax.device_get(
            reduced(width, np.float32)(np.full(width, -np.inf, np.float32))
        )
        assert (top, index) == (-np.inf, 0)
