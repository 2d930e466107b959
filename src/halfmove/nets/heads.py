"""Heads: from features to policy logits and to raw values and rewards."""

from typing import Any

import numpy as np
from flax import linen as nn

from halfmove.core.types import Array
from halfmove.nets.config import NetConfig
from halfmove.nets.layers import Dense, Linear
from halfmove.nets.start import kernel as spread
from halfmove.nets.start import small
from halfmove.nets.support import HeadConfig


class PolicyHead(nn.Module):
    """Policy logits [B, A] f32 of features [B, H, W, C] or [B, F].

    Dense: a 1 x 1 layer of few planes, then one dense layer. With `places` each action is
    one square of one plane instead, as AlphaZero has it for chess.
    """

    config: NetConfig
    actions: int
    places: Any = None  # [A] int, numpy: each action's index in [H, W, A / (H W)], flat

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        config = self.config
        if self.places is not None:
            squares = x.shape[1] * x.shape[2]
            x = nn.relu(Linear(config.planes, config, 3)(x, train))
            flat = Dense(self.actions // squares)(x).reshape(x.shape[0], -1)
            at = flat.at[:, np.asarray(self.places)]
            return at.get(mode="promise_in_bounds", unique_indices=True)
        if x.ndim == 4:
            x = nn.relu(Linear(config.policy_planes, config)(x, train))
            x = x.reshape(x.shape[0], -1)
        else:
            x = nn.relu(Dense(config.head_width, spread(config))(x))
        return Dense(self.actions)(x)


class OwnerHead(nn.Module):
    """Logits [B, H, W] f32 of features [B, H, W, C]: will the mover own this place in the end?"""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        return Dense(1)(x)[..., 0]


class ScalarHead(nn.Module):
    """Raw outputs [B, V] f32 of features [B, H, W, C] or [B, F], for `head.decode`.

    With a `count` several of them, [B, count, V].
    """

    config: NetConfig
    head: HeadConfig
    count: int | None = None

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        config = self.config
        if x.ndim == 4:
            x = nn.relu(Linear(config.value_planes, config)(x, train))
            x = x.reshape(x.shape[0], -1)
        x = nn.relu(Dense(config.head_width, spread(config))(x))
        # All bins alike decode to 0; small random ones already to several points.
        last = nn.initializers.zeros if self.head.kind == "categorical" else small
        if self.count is None:
            return Dense(self.head.outputs, last)(x)
        return Dense(self.count * self.head.outputs, last)(x).reshape(len(x), self.count, -1)
