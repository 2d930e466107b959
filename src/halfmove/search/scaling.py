"""How Q-values are carried to [0, 1].

A `Scaling` sees a node, its Q-values with every gap filled (`row`), and
perhaps one more value that belongs to the interval (`anchor`).
"""

from collections.abc import Callable

import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats
from halfmove.search.numbers import real
from halfmove.search.rule import TREE, Untried, greatest, least

Scaling = Callable[[NodeStats, Array, Array | None], Array]
Normalise = str | tuple[float, float] | None


def siblings(*, epsilon: float = 1e-8) -> Scaling:
    """By the least and the greatest of the node's own values."""

    def scaled(stats: NodeStats, row: Array, anchor: Array | None) -> Array:
        low = least(jnp.where(stats.legal, row, jnp.inf))
        high = greatest(jnp.where(stats.legal, row, -jnp.inf))
        if anchor is not None:
            low, high = jnp.minimum(low, anchor), jnp.maximum(high, anchor)
        # Selected before the division: an illegal lane may hold anything.
        return jnp.where(stats.legal, row - low, 0.0) / jnp.maximum(high - low, epsilon)

    return scaled


def tree(*, epsilon: float = 1e-8) -> Scaling:
    """By the least and the greatest value seen in the whole tree so far.

    MuZero, appendix B, equation 5.
    """

    def scaled(stats: NodeStats, row: Array, anchor: Array | None) -> Array:
        return (row - stats.q_min) / jnp.maximum(stats.q_max - stats.q_min, epsilon)

    return scaled


def fixed(low: float, high: float) -> Scaling:
    """By a known range, as in a game whose result is -1 or 1."""
    for name, x in (("low", low), ("high", high)):
        real(f"normalise: {name} of a pair (low, high)", x)
    low, high = float(low), float(high)
    if not low < high:
        raise ValueError(f"normalise: expected low < high in a pair, got ({low}, {high})")
    return lambda stats, row, anchor: (row - low) / (high - low)


def none() -> Scaling:
    """Q-values as they are."""
    return lambda stats, row, anchor: row


def named(normalise: Normalise) -> Scaling:
    """`"tree"`, `"siblings"`, `(low, high)` or `None`, as planners take it."""
    if normalise is None:
        return none()
    if isinstance(normalise, str) and normalise in ("tree", "siblings"):
        return tree() if normalise == "tree" else siblings()
    if isinstance(normalise, (tuple, list)) and len(normalise) == 2:
        return fixed(*normalise)
    raise ValueError(
        f"normalise must be 'tree', 'siblings', a pair (low, high) or None, got {normalise!r}"
    )


def untried(normalise: Normalise) -> Untried:
    """The Q that is 0 when so normalised, as pUCT takes an action not tried yet (`Rule`)."""
    if normalise is None:
        return 0.0
    if isinstance(normalise, (tuple, list)):
        return float(normalise[0])
    return TREE if normalise == "tree" else None
