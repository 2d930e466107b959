"""Towers: from what is observed to the features that the heads read."""

import jax.numpy as jnp
from flax import linen as nn

from halfmove.core.types import Array
from halfmove.nets.blocks import Block, block
from halfmove.nets.config import NetConfig
from halfmove.nets.layers import Linear, Norm

SMALLER = 16  # how many times the Atari tower divides height and width


class Tower(nn.Module):
    """A first layer and `config.blocks` blocks: boards [B, H, W, C], or any shape for an mlp.

    Gumbel paper, appendix F; MuZero, appendix F.
    """

    config: NetConfig

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        """[B, H, W, planes] of [B, H, W, C]; an mlp gives [B, planes]."""
        config, early = self.config, self.config.preactivation
        flat = config.kind == "mlp"
        if flat:
            x = x.reshape(x.shape[0], -1)
        y = Linear(config.planes, config, 1 if flat else 3, normed=not early)(x, train)
        y = y if early else nn.relu(y)
        for number in range(1, config.blocks + 1):
            y = block(config, number)(y, train)
        return nn.relu(Norm(config.planes, config)(y, train)) if early else y


class Downsampling(nn.Module):
    """MuZero's tower for images: 96 x 96 becomes 6 x 6. Appendix F.

    Two convolutions and two poolings of stride 2, with 2, 3 and 3 residual blocks between.
    """

    config: NetConfig

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        """[B, ceil(H / 16), ceil(W / 16), planes] of [B, H, W, C]."""
        half, planes = max(self.config.planes // 2, 1), self.config.planes
        x = self._smaller(x, half, train)
        x = self._blocks(x, 2, train)
        x = self._smaller(x, planes, train)
        x = self._blocks(x, 3, train)
        x = self._blocks(_pooled(x), 3, train)
        x = _pooled(x)
        return nn.relu(Norm(planes, self.config)(x, train)) if self.config.preactivation else x

    def _smaller(self, x: Array, planes: int, train: bool) -> Array:
        early = self.config.preactivation
        x = Linear(planes, self.config, 3, stride=2, normed=not early)(x, train)
        return x if early else nn.relu(x)

    def _blocks(self, x: Array, count: int, train: bool) -> Array:
        planes = x.shape[-1]
        for _ in range(count):
            x = Block(((planes, 3), (planes, 3)), self.config)(x, train)
        return x


def _pooled(x: Array) -> Array:
    """The mean of 3 x 3 at every second place; what is off the edge does not count."""
    mean = nn.avg_pool(x, (3, 3), (2, 2), "SAME", count_include_pad=False)
    return jnp.asarray(mean, x.dtype)


def tower(config: NetConfig, name: str | None = None) -> nn.Module:
    """The tower that reads observations."""
    return (Downsampling if config.kind == "atari" else Tower)(config, name=name)
