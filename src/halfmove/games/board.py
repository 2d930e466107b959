"""What boards of squares share: the symmetries of a square, the names of its points."""

import re

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


def square_name(square: int, width: int) -> str:
    """A column's letter and a row's number, counted from the top left: a1, b1, ..."""
    return f"{chr(ord('a') + square % width)}{square // width + 1}"


def parse_square(text: str, height: int, width: int) -> int:
    """The square of such a name, in either case; ValueError says which there are."""
    found = re.fullmatch(r"([a-z])([1-9][0-9]?)", text.strip().lower(), re.ASCII)
    column, row = (ord(found[1]) - ord("a"), int(found[2]) - 1) if found else (width, height)
    if column >= width or row >= height:
        last = square_name(height * width - 1, width)
        raise ValueError(f"{text!r} is not a square: a1 to {last}, a letter and a number")
    return row * width + column
