"""The schedule of Sequential Halving: who is visited when, and in which phase."""

import functools
import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array


def phases(considered: int, simulations: int) -> list[tuple[int, int]]:
    """(actions still considered, simulations spent on them), one pair a phase.

    Every phase gives each of its actions max(1, ⌊n / (⌈log2 m⌉ · m_phase)⌋)
    visits, then the better half stays, never fewer than two; what is left over
    goes on between those two. The last phase may be cut short by n.
    """
    if considered <= 1:
        return [(considered, simulations)]
    rounds = math.ceil(math.log2(considered))
    out, left, kept = [], simulations, considered
    while left > 0:
        spent = min(left, kept * max(1, simulations // (rounds * kept)))
        out.append((kept, spent))
        left -= spent
        kept = max(2, kept // 2)
    return out


@functools.lru_cache(maxsize=256)
def wanted(considered: int, simulations: int) -> np.ndarray:
    """The visit count an action must have to be visited at each turn. Shape [n].

    For m = 4, n = 8: 0, 0, 0, 0, 1, 1, 2, 2.
    """
    sequence: list[int] = []
    visits = 0
    for kept, spent in phases(max(considered, 1), simulations):
        sequence += [visits + turn // kept for turn in range(spent)]
        visits += -(-spent // kept)
    return np.asarray(sequence, np.int32)


def table(considered: int, simulations: int) -> np.ndarray:
    """`wanted` for 0 to `considered` candidates. Shape [considered + 1, n]."""
    return np.stack([wanted(m, simulations) for m in range(considered + 1)])


def batches(considered: int, simulations: int, leaves: int) -> list[int]:
    """The simulations in lots of at most `leaves` that never cross a phase."""
    out = []
    for _, spent in phases(max(considered, 1), simulations):
        out += [leaves] * (spent // leaves) + [spent % leaves] * (spent % leaves > 0)
    return out


@dataclass(frozen=True)
class Halving:
    """The schedule of every game, by its own number of candidates."""

    considered: int
    simulations: int

    def turns(self, candidates: Array) -> Array:
        rows = jnp.asarray(table(self.considered, self.simulations))
        return rows[jnp.minimum(candidates, self.considered)]

    def rounds(self, candidates: Array, leaves: int) -> Array:
        lots = [batches(m, self.simulations, leaves) for m in range(self.considered + 1)]
        rows = np.zeros((len(lots), max(map(len, lots))), np.int32)
        for row, lot in zip(rows, lots, strict=True):
            row[: len(lot)] = lot
        return jnp.asarray(rows)[jnp.minimum(candidates, self.considered)]
