"""Policies as they are stored: dense, or the largest probabilities only.

A policy over A actions takes 4 A bytes as f32 and 2 A as f16. Of a larger one the k largest
probabilities are kept with their actions, in 4 k bytes (6 k if A > 65,536): 256 bytes of chess's
18,688 with k = 64. What is rounded or left out is made good by scaling the sum back to one.
"""

from dataclasses import field

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, pytree


@pytree
class Pairs:
    """The k largest probabilities of a policy."""

    action: Array  # [..., k] u16 or i32
    share: Array  # [..., k] f16
    actions: int = field(metadata={"static": True})  # A


def keep(policy: Array, *, largest: int | None, half: bool) -> Array | Pairs:
    """`policy` [..., A] as it is stored: its `largest` entries, or dense where None."""
    if largest is None:
        return policy.astype(jnp.float16 if half else jnp.float32)
    share, action = jax.lax.top_k(policy.astype(jnp.float32), largest)
    actions = policy.shape[-1]
    number = jnp.uint16 if actions <= 2**16 else jnp.int32
    return Pairs(action.astype(number), share.astype(jnp.float16), actions)


def rebuilt(kept: Array | Pairs) -> Array:
    """[..., A] f32 that sums to one; what was stored as zeros stays zeros."""
    if isinstance(kept, Pairs):
        shape = kept.action.shape
        flat = (x.reshape(-1, shape[-1]) for x in (kept.action.astype(jnp.int32), kept.share))
        none = jnp.zeros(kept.actions)
        dense = jax.vmap(lambda a, p: none.at[a].add(p.astype(jnp.float32)))(*flat)
        policy = dense.reshape(*shape[:-1], kept.actions)
    elif kept.dtype == jnp.float32:
        return kept
    else:
        policy = kept.astype(jnp.float32)
    total = jnp.sum(policy, axis=-1, keepdims=True)
    return policy / jnp.where(total > 0, total, 1.0)
