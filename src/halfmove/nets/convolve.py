"""A convolution, and its gradient as two convolutions of the usual form.

XLA's CPU backend has fast code for images [N, H, W, C] alone. It brings the gradient's odd forms
into that one only outside of loops: inside one, a gradient takes ten to twenty times as long.
Here they are written in the usual form from the start, which costs nothing outside and makes a
loop as fast.
"""

import jax
import jax.numpy as jnp

from halfmove.core.types import Array

_FORM = ("NHWC", "HWIO", "NHWC")


def convolve(x: Array, kernel: Array, stride: int = 1) -> Array:
    """x [B, H, W, C] by kernel [h, w, C, D]: [B, H', W', D], zeros beyond the edges."""
    odd = all(size % 2 for size in kernel.shape[:2])
    if stride == 1 and odd and jax.default_backend() == "cpu":
        return _same(x, kernel)
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=_FORM
    )


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
