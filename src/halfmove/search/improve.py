"""Policies made from a node's statistics: what a search teaches its network."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise
from halfmove.search import scaling
from halfmove.search.rule import LOWEST, TINY, Improve, greatest, softmax, total

# σ(completed Q) [A] of a node, the amount by which logits are raised.
Advantage = Callable[[NodeStats], Array]


def mixed_value(stats: NodeStats) -> Array:
    """v_mix = (v + ΣN · Σ π q / Σ π) / (1 + ΣN), sums over visited actions. Shape [].

    Gumbel paper, appendix D.
    """
    seen = stats.visits > 0
    prior = jnp.maximum(stats.prior, TINY)
    mass = total(jnp.where(seen, prior, 0.0))[0]
    # As a step from the raw value: exact when every Q equals it.
    share = prior / jnp.maximum(mass, TINY)
    rise = total(jnp.where(seen, share * (stats.q - stats.raw_value), 0.0))[0]
    visits = (stats.count - 1).astype(jnp.float32)
    return stats.raw_value + visits / (visits + 1.0) * rise


def completed(completion: str) -> Callable[[NodeStats], Array]:
    """Q-values [A] in which an unvisited action has the value of the node.

    That value is v_mix ("mixed") or what the model said ("raw").
    """
    if completion not in ("mixed", "raw"):
        raise ValueError(f"completion must be 'mixed' or 'raw', got {completion!r}")

    def row(stats: NodeStats) -> Array:
        value = mixed_value(stats) if completion == "mixed" else stats.raw_value
        return jnp.where(stats.visits > 0, stats.q, value)

    return row


def completed_q(
    *,
    c_visit: float = 50.0,
    c_scale: float = 1.0,
    completion: str = "mixed",
    scale: scaling.Scaling | None = None,
) -> Advantage:
    """σ(completed Q) = (c_visit + max N) · c_scale · scaled completed Q. Shape [A].

    Gumbel paper, equations 8 and 10. `completion` is "mixed" (v_mix) or "raw".
    """
    fill, rescale = completed(completion), scale or scaling.siblings()

    def sigma(stats: NodeStats) -> Array:
        q = rescale(stats, fill(stats), None)
        most = greatest(stats.visits).astype(jnp.float32)
        return (c_visit + most) * c_scale * q

    return sigma


def raised(advantage: Advantage) -> Improve:
    """π' = softmax(logits + σ(completed Q)). Gumbel paper, equation 11."""
    return lambda stats, noise: softmax(stats.logits + advantage(stats))


def visit_share() -> Improve:
    """N / ΣN, AlphaZero's target; the prior before the first visit."""

    def policy(stats: NodeStats, noise: RootNoise) -> Array:
        visits = stats.visits.astype(jnp.float32)
        count = total(visits)
        return jnp.where(count > 0, visits / jnp.maximum(count, 1.0), stats.prior)

    return policy


def prior() -> Improve:
    """The network's own policy."""
    return lambda stats, noise: stats.prior


def regularisation(stats: NodeStats, factor: Callable[[Array], Array]) -> Array:
    """λ = c · √ΣN / (A + ΣN), with A the legal actions. Shape [].

    Grill et al. 2020, equation 4. Before the first visit ΣN counts as 1: every
    λ > 0 then gives the prior. c = 0 gives the least λ, which leaves the best Q alone.
    """
    visits = jnp.maximum(stats.count - 1, 1).astype(jnp.float32)
    actions = total(stats.legal.astype(jnp.float32))[0]
    return jnp.maximum(factor(stats.count) * jnp.sqrt(visits) / (actions + visits), 1e-20)


def mpo(*, factor: Callable[[Array], Array], scale: scaling.Scaling, completion: str) -> Improve:
    """The y that maximises <q, y> - λ KL(y, prior): y ∝ prior · exp(q / λ). Shape [A].

    Grill et al. 2020, section 3.
    """
    fill = completed(completion)

    def policy(stats: NodeStats, noise: RootNoise) -> Array:
        # Measured from max q, so that a small λ gives 0 and -inf, never inf - inf.
        q = scale(stats, fill(stats), None)
        gap = jnp.where(stats.legal, greatest(jnp.where(stats.legal, q, LOWEST)) - q, 0.0)
        return softmax(stats.logits - gap / regularisation(stats, factor))

    return policy


def trpo(
    *,
    factor: Callable[[Array], Array],
    scale: scaling.Scaling,
    completion: str,
    steps: int = 10,
) -> Improve:
    """The y that maximises <q, y> - λ KL(prior, y): y = λ prior / (α - q). Shape [A].

    Grill et al. 2020, proposition 1: Σ y falls from at least 1 at
    max(q + λ prior) to at most 1 at max q + λ. Newton's method on 1 / Σ y,
    which is concave, climbs from the low end to α without passing it.
    """
    fill = completed(completion)

    def policy(stats: NodeStats, noise: RootNoise) -> Array:
        # Measured from max q, so that α - q keeps its digits when λ is small.
        q = scale(stats, fill(stats), None)
        gap = greatest(jnp.where(stats.legal, q, LOWEST)) - q
        weight = regularisation(stats, factor) * stats.prior
        lam = total(weight)[0]

        def climb(_: Array, alpha: Array) -> Array:
            # Where the prior is 0 so is y; elsewhere α + gap > 0.
            inverse = jnp.where(weight > 0, 1.0 / jnp.maximum(alpha + gap, TINY), 0.0)
            y = weight * inverse
            mass, slope = total(y)[0], total(y * inverse)[0]
            further = alpha + mass * (mass - 1.0) / jnp.maximum(slope, TINY)
            return jnp.clip(further, least, jnp.maximum(lam, least))

        least = greatest(jnp.where(weight > 0, weight - gap, -lam))[0]
        alpha = jax.lax.fori_loop(0, steps, climb, least)
        y = jnp.where(weight > 0, weight / jnp.maximum(alpha + gap, TINY), 0.0)
        return y / jnp.maximum(total(y), TINY)

    return policy
