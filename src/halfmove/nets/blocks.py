"""Residual blocks: x plus some layers of it."""

import jax
import jax.numpy as jnp
from flax import linen as nn

from halfmove.core.types import Array
from halfmove.nets.config import NetConfig
from halfmove.nets.layers import Linear, Norm
from halfmove.nets.start import kernel as spread


class Block(nn.Module):
    """ReLU(x + layers(x)), or x + layers(x) with the norms and ReLUs before each layer.

    `layers`: planes and size of each, the last as many planes as x has. `mix` sits between
    the first and the second layer: "broadcast" or "pool".
    """

    layers: tuple[tuple[int, int], ...]
    config: NetConfig
    mix: str = "none"

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        """x [B, ..., C] -> [B, ..., C]."""
        y = x
        early = self.config.preactivation
        for i, (planes, size) in enumerate(self.layers):
            last = i == len(self.layers) - 1
            if early:
                y = nn.relu(Norm(y.shape[-1], self.config)(y, train))
            y = Linear(planes, self.config, size, normed=not early)(y, train)
            if not (early or last):
                y = nn.relu(y)
            if i == 0 and self.mix == "broadcast":
                y = Broadcast(self.config)(y)
            if i == 0 and self.mix == "pool":
                y = Pool(self.config)(y)
        return x + y if early else nn.relu(x + y)


def block(config: NetConfig, number: int) -> Block:
    """The `number`-th block of a tower, counted from 1. Gumbel paper, appendix F."""
    planes, inner = config.planes, config.inner
    if config.kind == "mlp":
        return Block(((planes, 1), (planes, 1)), config)
    if config.mix != "none" and number % config.every == 0:
        return Block(((inner, 1), (planes, 1)), config, config.mix)
    if config.block == "bottleneck":
        return Block(((inner, 1), (inner, 3), (inner, 3), (planes, 1)), config)
    return Block(((planes, 3), (planes, 3)), config)


class Broadcast(nn.Module):
    """ReLU of one dense layer over the H W positions, the same for all planes.

    Every position sees the whole board. Gumbel paper, appendix F.
    """

    config: NetConfig

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """x [B, H, W, C] -> [B, H, W, C]."""
        batch, height, width, planes = x.shape
        places = height * width
        kernel = self.param("kernel", spread(self.config), (places, places))
        bias = self.param("bias", nn.initializers.zeros, (places,))
        flat = x.reshape(batch, places, planes)
        mixed = jnp.einsum("bpc,pq->bqc", flat, kernel.astype(x.dtype))
        return nn.relu(mixed + bias.astype(x.dtype)[:, None]).reshape(x.shape)


class Pool(nn.Module):
    """ReLU(x + a dense layer of the mean and the greatest of every plane)."""

    config: NetConfig

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """x [B, H, W, C] -> [B, H, W, C]."""
        planes = x.shape[-1]
        kernel = self.param("kernel", spread(self.config), (2 * planes, planes))
        bias = self.param("bias", nn.initializers.zeros, (planes,))
        mean = jnp.mean(x, axis=(1, 2), dtype=jnp.float32).astype(x.dtype)
        pooled = jnp.concatenate([mean, greatest(x)], axis=-1)
        seen = jnp.dot(pooled, kernel.astype(x.dtype)) + bias.astype(x.dtype)
        return jax.nn.relu(x + seen[:, None, None])


@jax.custom_vjp
def greatest(x: Array) -> Array:
    """[B, C], the greatest of every plane of x [B, H, W, C].

    The gradient goes to the first such place. JAX's own looks for places that are equal to the
    result, which a second, differently rounded computation of x may not have: 0 / 0.
    """
    return jnp.max(x, axis=(1, 2))


def _greatest(x: Array) -> tuple[Array, tuple[Array, Array]]:
    flat = x.reshape(x.shape[0], -1, x.shape[-1])
    # Only the shape of x is needed on the way back; JAX keeps no array of which nothing is read.
    return jnp.max(flat, axis=1), (jnp.argmax(flat, axis=1), x)


def _to_greatest(kept: tuple[Array, Array], gradient: Array) -> tuple[Array]:
    place, x = kept
    here = jnp.arange(x.shape[1] * x.shape[2])[:, None] == place[:, None]
    return (jnp.where(here, gradient[:, None], 0).reshape(x.shape),)


greatest.defvjp(_greatest, _to_greatest)
