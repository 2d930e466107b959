"""The layers every network is made of: a normalisation, a linear map with one behind it."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from halfmove.core.types import Array
from halfmove.nets.config import NetConfig
from halfmove.nets.convolve import convolve, pointwise
from halfmove.nets.start import kernel as spread
from halfmove.nets.start import small


class Norm(nn.Module):
    """Normalised over all but the last axis (batch) or over the last (layer), then an offset.

    `stats` hold the running mean and variance of every plane. Until 1 / (1 - decay) batches
    are seen they are the plain mean over all of them, so that a young network is not judged
    by the zeros and ones it began with.
    """

    planes: int
    config: NetConfig

    def setup(self) -> None:
        if self.config.norm == "batch":
            self.mean = self.variable("stats", "mean", jnp.zeros, self.planes)
            self.variance = self.variable("stats", "variance", jnp.ones, self.planes)
            self.seen = self.variable("stats", "seen", jnp.zeros, ())
        self.offset = self.param("offset", nn.initializers.zeros, (self.planes,))

    def __call__(self, x: Array, train: bool) -> Array:
        """x [..., planes] normalised, in the same dtype."""
        if self.config.norm == "none":
            return x + self.offset.astype(x.dtype)
        if self.config.norm == "batch" and not train:
            scale, shift = self.affine()
            return (x * scale + shift).astype(x.dtype)
        # Sums of squares lose too much in bfloat16.
        origin, mean, variance = self._moments(x.astype(jnp.float32))
        if self.config.norm == "batch" and not self.is_initializing():
            self._remember((mean + origin).reshape(-1), variance.reshape(-1))
        wide = x.astype(jnp.float32) - origin - mean
        y = wide * jax.lax.rsqrt(variance + self.config.norm_epsilon) + self.offset
        return y.astype(x.dtype)

    def _moments(self, x: Array) -> tuple[Any, Array, Array]:
        """(origin, mean as seen from there, variance) of x [..., planes] in training."""
        if self.config.norm == "layer" or x.ndim == 2:
            axis = -1 if self.config.norm == "layer" else 0
            mean = jnp.mean(x, axis, keepdims=True)
            return 0.0, mean, jnp.mean(jnp.square(x - mean), axis, keepdims=True)
        # A large array is read once for both. Squares of what is far from 0 would cancel, so it is
        # seen from the running mean.
        origin = jax.lax.stop_gradient(self.mean.value)
        axes = tuple(range(x.ndim - 1))
        mean = jnp.mean(x - origin, axes)
        square = jnp.mean(jnp.square(x - origin), axes)
        return origin, mean, jnp.maximum(square - jnp.square(mean), 0.0)

    def affine(self) -> tuple[Array, Array]:
        """(scale, shift), [planes] f32 each: what batch norm does outside of training."""
        scale = jax.lax.rsqrt(self.variance.value + self.config.norm_epsilon)
        return scale, self.offset - self.mean.value * scale

    def _remember(self, mean: Array, variance: Array) -> None:
        share = jnp.maximum(1 - self.config.norm_decay, 1 / (self.seen.value + 1))
        self.mean.value += share * (mean - self.mean.value)
        self.variance.value += share * (variance - self.variance.value)
        self.seen.value += 1


class Linear(nn.Module):
    """A convolution of `size` x `size` without bias, and a norm. Size 1 maps the last axis.

    Outside of training batch norm is folded into the kernel. `normed=False`: only the map.
    """

    planes: int
    config: NetConfig
    size: int = 1
    stride: int = 1
    normed: bool = True

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        """[..., planes] of x [..., C], in the dtype of the arithmetic."""
        window = () if self.size == 1 else (self.size, self.size)
        shape = (*window, x.shape[-1], self.planes)
        kernel = self.param("kernel", spread(self.config), shape)
        norm = Norm(self.planes, self.config, name="norm") if self.normed else None
        if norm is None:
            return self._apply(x, kernel)
        if train or self.config.norm != "batch":
            return norm(self._apply(x, kernel), train)
        scale, shift = norm.affine()
        return self._apply(x, kernel * scale) + shift.astype(self.config.compute)

    def _apply(self, x: Array, kernel: Array) -> Array:
        x, kernel = x.astype(self.config.compute), kernel.astype(self.config.compute)
        if self.size == 1:
            return pointwise(x, kernel)
        return convolve(x, kernel, self.stride)


class Dense(nn.Module):
    """A dense layer with bias, of a head; its result is f32."""

    outputs: int
    kernel_spread: Any = small

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """[..., outputs] f32 of x [..., F]."""
        kernel = self.param("kernel", self.kernel_spread, (x.shape[-1], self.outputs))
        bias = self.param("bias", nn.initializers.zeros, (self.outputs,))
        product = jnp.dot(x, kernel.astype(x.dtype), preferred_element_type=jnp.float32)
        return product + bias
