"""What is drawn once at the start of a search, for every game of the batch."""

import jax
import jax.numpy as jnp

from halfmove.core.types import Array
from halfmove.search.numbers import real
from halfmove.search.rule import TINY, Noise, softmax, top_logit


def none() -> Noise:
    """No noise."""
    return lambda key, logits: (logits, jnp.zeros_like(logits))


def gumbel(*, scale: float = 1.0) -> Noise:
    """Gumbel(0) noise beside the logits; `scale=0` for evaluation."""
    real("gumbel_scale", scale, least=0)

    def draw(key: Array, logits: Array) -> tuple[Array, Array]:
        return logits, scale * jax.random.gumbel(key, logits.shape, logits.dtype)

    return draw


def replacement(considered: int, *, scale: float = 1.0) -> Noise:
    """`considered` actions drawn from the prior WITH replacement, then Gumbel noise.

    The drawn set replaces Gumbel-Top-m: an action's logit is the log of how
    often it was drawn, as in Sampled MuZero, and actions never drawn are left
    out. Given the draws, g + log(count) samples in proportion to the count, so
    over all draws the prior is sampled and the search improves on it as
    without replacement.
    """
    real("gumbel_scale", scale, least=0)

    def draw(key: Array, logits: Array) -> tuple[Array, Array]:
        draw_key, gumbel_key = jax.random.split(key)
        shape = (considered, *logits.shape[:-1])
        # Measured from the top, as the root rule does: of legal logits, however low, one is 0.
        down = logits - top_logit(logits)
        # A finite floor: drawing from a finished game's row must not give NaN.
        drawn = jax.random.categorical(draw_key, jnp.maximum(down, -1e30), shape=shape)
        actions = jnp.arange(logits.shape[-1])
        count = jnp.sum(drawn[..., None] == actions, axis=0)
        g = scale * jax.random.gumbel(gumbel_key, logits.shape, logits.dtype)
        legal = logits > -jnp.inf
        # Relative to the logits, to which the root rule adds this row again.
        row = g + jnp.log(jnp.maximum(count, 1)) - jnp.where(legal, down, 0.0)
        return logits, jnp.where((count > 0) & legal, row, -jnp.inf)

    return draw


def dirichlet(*, fraction: float = 0.25, alpha: float = 0.3) -> Noise:
    """(1 - fraction) · prior + fraction · Dirichlet(alpha) over the legal actions."""
    real("dirichlet_fraction", fraction)
    if not 0 <= fraction <= 1:
        raise ValueError(f"dirichlet_fraction must be between 0 and 1, got {fraction}")
    real("dirichlet_alpha", alpha, above=0)
    if fraction == 0:
        return none()

    def draw(key: Array, logits: Array) -> tuple[Array, Array]:
        legal = logits > -jnp.inf
        share = jnp.where(legal, _log_gamma(key, alpha, logits.shape), -jnp.inf)
        mixed = (1.0 - fraction) * softmax(logits) + fraction * softmax(share)
        noisy = jnp.where(legal, jnp.log(jnp.maximum(mixed, TINY)), -jnp.inf)
        return noisy, jnp.zeros_like(logits)

    return draw


def _log_gamma(key: Array, alpha: float, shape: tuple[int, ...], tries: int = 8) -> Array:
    """Logarithms of Gamma(alpha) numbers, for alpha far below 1 too.

    Marsaglia and Tsang 2000 with `tries` candidates drawn at once and no loop:
    `jax.random.loggamma` repeats until the last of all games is accepted, which
    costs more than a short search. All candidates fail in fewer than 1 of 1e10.
    """
    normal_key, accept_key, boost_key = jax.random.split(key, 3)
    d = alpha + 2.0 / 3.0
    x = jax.random.normal(normal_key, (tries, *shape))
    cube = (1.0 + x / jnp.sqrt(9.0 * d)) ** 3
    log_cube = jnp.log(jnp.maximum(cube, TINY))
    u = jax.random.uniform(accept_key, (tries, *shape), minval=TINY)
    good = (cube > 0) & (jnp.log(u) < 0.5 * x * x + d - d * cube + d * log_cube)
    chosen = jnp.zeros(shape)
    for i in reversed(range(tries)):
        chosen = jnp.where(good[i], log_cube[i], chosen)
    boost = jax.random.uniform(boost_key, shape, minval=TINY)
    return jnp.log(d) + chosen + jnp.log(boost) / alpha
