"""How a head's raw numbers become a value, and what they lose against a target.

A scalar head gives one number and is trained with squared error. A categorical head gives
a distribution over whole numbers -size ... size and is trained with cross-entropy against
the two-hot target of `transform(value)`. MuZero, appendix F.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from halfmove.core.types import Array


def transform(x: Array, epsilon: float = 0.001) -> Array:
    """h(x) = sign(x) (√(|x| + 1) - 1) + ε x, of the same shape. MuZero, appendix F."""
    size = jnp.abs(x)
    # √(s + 1) - 1 without its cancellation near zero.
    return jnp.sign(x) * (size / (jnp.sqrt(size + 1) + 1)) + epsilon * x


def inverse(y: Array, epsilon: float = 0.001) -> Array:
    """The x of `transform(x) == y`, of the same shape.

    With w = √(|x| + 1) - 1 the transform is ε w² + (1 + 2ε) w = |y|, and |x| = w (w + 2).
    """
    size, b = jnp.abs(y), 1 + 2 * epsilon
    # The root in the form that subtracts nothing: the textbook one loses 4 digits in f32.
    w = 2 * size / (b + jnp.sqrt(b * b + 4 * epsilon * size))
    return jnp.sign(y) * w * (w + 2)


def two_hot(y: Array, size: int) -> Array:
    """[..., 2 size + 1], the distribution on -size ... size whose mean is `y` [...].

    At most two neighbours are not zero; what is out of range counts as its end.
    """
    y = jnp.clip(y, -size, size)[..., None]
    return jnp.maximum(1 - jnp.abs(jnp.arange(-size, size + 1) - y), 0.0)


@dataclass(frozen=True)
class HeadConfig:
    """What a value or reward head says: a number in (-1, 1), any number, or a distribution."""

    kind: Literal["tanh", "linear", "categorical"] = "tanh"
    size: int = 300  # categorical: the support is -size ... size, after the transform
    epsilon: float = 0.001  # categorical: of the transform

    def __post_init__(self) -> None:
        if self.kind not in ("tanh", "linear", "categorical"):
            raise ValueError(f"kind must be tanh, linear or categorical, got {self.kind!r}")
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got {self.size}")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon}")

    @property
    def outputs(self) -> int:
        """V, how many numbers the head gives."""
        return 2 * self.size + 1 if self.kind == "categorical" else 1

    def decode(self, raw: Array) -> Array:
        """The value [...] f32 of raw outputs [..., V]."""
        raw = raw.astype(jnp.float32)
        if self.kind == "categorical":
            bins = jnp.arange(-self.size, self.size + 1, dtype=jnp.float32)
            return inverse(jnp.sum(jax.nn.softmax(raw) * bins, axis=-1), self.epsilon)
        return jnp.tanh(raw[..., 0]) if self.kind == "tanh" else raw[..., 0]

    def loss(self, raw: Array, target: Array) -> Array:
        """[...] f32: squared error, or cross-entropy with the two-hot target. `target` [...]."""
        if self.kind == "categorical":
            wanted = two_hot(transform(target, self.epsilon), self.size)
            return -jnp.sum(wanted * jax.nn.log_softmax(raw.astype(jnp.float32)), axis=-1)
        return jnp.square(self.decode(raw) - target)
