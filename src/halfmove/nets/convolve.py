"""A convolution, and its gradient as two convolutions of the usual form.

XLA's CPU backend has fast code for images [N, H, W, C] alone. It brings the gradient's odd forms
into that one only outside of loops: inside one, a gradient takes ten to twenty times as long.
Here they are written in the usual form from the start, which costs nothing outside and makes a
loop as fast.

Where a `vmap` gives every game kernels of its own, a convolution becomes a grouped one, for which a
GPU has no fast code; as a product of matrices it becomes a batch of products, for which it has.
"""

import contextlib
import contextvars
from collections.abc import Iterator

import jax
import jax.numpy as jnp

from halfmove.core.types import Array

# A kernel of 1 x 1 up to which its gradient is faster image by image, on a CPU.
NARROW = 128 * 128
_FORM = ("NHWC", "HWIO", "NHWC")
_products = contextvars.ContextVar("products", default=False)


@contextlib.contextmanager
def as_products() -> Iterator[None]:
    """What is traced in here convolves by products of matrices, where the stride is 1."""
    token = _products.set(True)
    try:
        yield
    finally:
        _products.reset(token)


def convolve(x: Array, kernel: Array, stride: int = 1) -> Array:
    """x [B, H, W, C] by kernel [h, w, C, D]: [B, H', W', D], zeros beyond the edges."""
    odd = all(size % 2 for size in kernel.shape[:2])
    if stride == 1 and odd and _products.get():
        return _product(x, kernel)
    if stride == 1 and odd and jax.default_backend() == "cpu":
        return _same(x, kernel)
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=_FORM
    )


def pointwise(x: Array, kernel: Array) -> Array:
    """x [B, ..., C] by kernel [C, D]: [B, ..., D], a convolution of 1 x 1."""
    # The gradient writes a matrix of the kernel's size for every image.
    if x.ndim > 2 and kernel.size <= NARROW and jax.default_backend() == "cpu":
        return _points(x, kernel)
    return jnp.dot(x, kernel)


def _product(x: Array, kernel: Array) -> Array:
    """What the kernel sees of every point, side by side, by the kernel as one matrix."""
    (high, wide), (rows, columns) = kernel.shape[:2], x.shape[1:3]
    padded = jnp.pad(x, ((0, 0), (high // 2, high // 2), (wide // 2, wide // 2), (0, 0)))
    seen = [padded[:, i : i + rows, j : j + columns] for i in range(high) for j in range(wide)]
    return jnp.concatenate(seen, axis=-1) @ kernel.reshape(-1, kernel.shape[-1])


@jax.custom_vjp
def _same(x: Array, kernel: Array) -> Array:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=_FORM)


def _forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return _same(x, kernel), (x, kernel)


def _backward(seen: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = seen
    # To the image: by the kernel turned around, from its outputs to its inputs.
    to_x = _same(gradient, jnp.swapaxes(kernel[::-1, ::-1], 2, 3))
    # To the kernel: channels are the images, and what was a batch is summed over.
    edge = [(size // 2, size // 2) for size in kernel.shape[:2]]
    to_kernel = jax.lax.conv_general_dilated(
        x.transpose(3, 1, 2, 0), gradient.transpose(1, 2, 0, 3), (1, 1), edge,
        dimension_numbers=_FORM,
    )  # fmt: skip
    return to_x, to_kernel.transpose(1, 2, 0, 3)


_same.defvjp(_forward, _backward)


@jax.custom_vjp
def _points(x: Array, kernel: Array) -> Array:
    return jnp.dot(x, kernel)


def _points_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return _points(x, kernel), (x, kernel)


def _points_backward(seen: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = seen
    # Image by image, then their sum: over all points at once XLA goes against the memory's order.
    points, slope = (y.reshape(len(x), -1, y.shape[-1]) for y in (x, gradient))
    each = jnp.matmul(jnp.swapaxes(slope, 1, 2), points, preferred_element_type=jnp.float32)
    return jnp.dot(gradient, kernel.T), jnp.sum(each, axis=0).T.astype(kernel.dtype)


_points.defvjp(_points_forward, _points_backward)
