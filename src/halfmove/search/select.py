"""Which action a simulation takes at a node: the best of the returned scores."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise
from halfmove.search.improve import Advantage
from halfmove.search.numbers import real
from halfmove.search.rule import TINY, Improve, Select, best, greatest, gumbel_of, top_logit
from halfmove.search.scaling import Scaling

# Count of a node [] -> the multiplier of the exploration term [].
Exploration = Callable[[Array], Array]


def growing(*, c_init: float = 1.25, c_base: float = 19652.0) -> Exploration:
    """c1 + log((N + c2 + 1) / c2). MuZero, appendix B, equation 2."""
    return lambda count: c_init + jnp.log((count.astype(jnp.float32) + c_base + 1.0) / c_base)


def constant(c_puct: float) -> Exploration:
    """The fixed constant of the Policy Gradient Search paper's tree search."""
    real("c_puct", c_puct, least=0)
    return lambda count: jnp.float32(c_puct)


def puct(*, exploration: Exploration, scale: Scaling) -> Select:
    """Q + c · π · √N / (1 + N(a)); an unvisited action has Q = 0 on the scaled range.

    N is the node's own count, 1 + ΣN(a), so that the prior already leads at
    the first visit.
    """

    def scores(stats: NodeStats, noise: RootNoise) -> Array:
        seen = stats.visits > 0
        q = scale(stats, jnp.where(seen, stats.q, stats.value), stats.value)
        lead = jnp.sqrt(stats.count.astype(jnp.float32)) * exploration(stats.count)
        explore = lead * stats.prior / (stats.visits + 1).astype(jnp.float32)
        return jnp.where(seen, q, 0.0) + explore

    return scores


def by_lot(select: Select) -> Select:
    """The same best action, drawn by lot where several are exactly best."""

    def scores(stats: NodeStats, noise: RootNoise) -> Array:
        allowed = stats.legal & (noise.row > -jnp.inf)
        score = jnp.where(allowed, select(stats, noise), -jnp.inf)
        # Two computations of one score may differ in the last digit: one is best for sure.
        lanes = jax.lax.broadcasted_iota(jnp.int32, score.shape, score.ndim - 1)
        top = (score == greatest(score)) | (lanes == best(score))
        return jnp.where(allowed & top, stats.random, -1.0)

    return scores


def halving(advantage: Advantage) -> Select:
    """Sequential Halving with Gumbel: the best g + logits + σ(q) among the wanted.

    Gumbel paper, algorithm 2. `noise.want` is the visit count whose holders
    are still considered (search/halving.py has the schedule).
    """

    def scores(stats: NodeStats, noise: RootNoise) -> Array:
        logits = stats.logits - top_logit(stats.logits)
        # The floor lets an action of hopeless logit in, if it is the only one wanted.
        score = jnp.maximum(noise.row + logits + advantage(stats), -1e9)
        return jnp.where(stats.visits == noise.want, score, -jnp.inf)

    return scores


def track(improve: Improve) -> Select:
    """π'(a) - N(a) / (1 + ΣN): visits follow the improved policy, without chance.

    Gumbel paper, equation 14.
    """

    def scores(stats: NodeStats, noise: RootNoise) -> Array:
        visits = stats.visits.astype(jnp.float32)
        return improve(stats, noise) - visits / stats.count.astype(jnp.float32)

    return scores


def sample(improve: Improve) -> Select:
    """An action drawn from the improved policy, by the Gumbel-Max trick."""

    def scores(stats: NodeStats, noise: RootNoise) -> Array:
        policy = improve(stats, noise)
        drawn = jnp.log(jnp.maximum(policy, TINY)) + gumbel_of(stats.random)
        return jnp.where(policy > 0, drawn, -jnp.inf)

    return scores
