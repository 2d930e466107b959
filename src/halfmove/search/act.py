"""Which move is played once the search is over. Shapes are batched, [B, A]."""

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise
from halfmove.search.improve import Advantage
from halfmove.search.numbers import real
from halfmove.search.rule import TINY, Act, Improve, best, top_logit


def by_visits(*, temperature: float = 1.0) -> Act:
    """Drawn in proportion to N^(1/T); T = 0 takes the most visited."""
    real("temperature", temperature, least=0)

    def act(key: Array, stats: NodeStats, noise: RootNoise) -> Array:
        return _draw(key, stats.visits.astype(jnp.float32), temperature)

    return act


def by_policy(improve: Improve, *, temperature: float = 1.0) -> Act:
    """Drawn from an improved policy, sharpened by 1/T."""
    real("temperature", temperature, least=0)

    def act(key: Array, stats: NodeStats, noise: RootNoise) -> Array:
        return _draw(key, jax.vmap(improve)(stats, noise), temperature)

    return act


def best_considered(advantage: Advantage) -> Act:
    """The best g + logits + σ(q) among the most visited. Gumbel paper, algorithm 2."""

    def act(key: Array, stats: NodeStats, noise: RootNoise) -> Array:
        logits = stats.logits - top_logit(stats.logits)
        score = jnp.maximum(noise.row + logits + jax.vmap(advantage)(stats), -1e9)
        most = jnp.max(stats.visits, axis=-1, keepdims=True)
        wanted = (stats.visits == most) & (noise.row > -jnp.inf) & stats.legal
        return best(jnp.where(wanted, score, -jnp.inf))

    return act


def _draw(key: Array, weights: Array, temperature: float) -> Array:
    logits = jnp.where(weights > 0, jnp.log(jnp.maximum(weights, TINY)), -jnp.inf)
    logits = (logits - top_logit(logits)) / jnp.maximum(TINY, temperature)
    return jax.random.categorical(key, logits)
