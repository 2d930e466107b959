"""What square boards share: the symmetries of a square."""

import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array


def symmetries(size: int) -> np.ndarray:
    """[8, size * size]: where each point of a square goes under its eight symmetries."""
    points = np.arange(size * size).reshape(size, size)
    turned = [np.rot90(side, k) for side in (points, points.T) for k in range(4)]
    return np.argsort(np.stack([t.ravel() for t in turned]), axis=1)


def turned(planes: Array, maps: np.ndarray, s: Array) -> Array:
    """Planes [H, W, C] whose points moved as row `s` of `maps` [S, H * W] says."""
    back = jnp.asarray(np.argsort(maps, axis=1))
    return planes.reshape(back.shape[1], -1)[back[s]].reshape(planes.shape)
