"""The last T frames and the actions that led to them: what MuZero reads of an Atari game.

The frames are kept one by one and shared from step to step, so that a step costs no copy. To
send only the newest frame to a device, keep a history there as well and `push` onto it.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, pytree

ATARI_ACTIONS = 18


@pytree
class History:
    """The last T frames, oldest first. Only where `valid` do they belong to this episode."""

    frames: tuple[Array, ...]  # T of [B, H, W, C] u8
    actions: Array  # [B, T] i32, what led to each frame; 0 for the first of an episode
    valid: Array  # [B, T] bool; False: before the episode began, and to be read as black


def begin(frame: Array, length: int) -> History:
    """The history of `length` frames when `frame` [B, H, W, C] is the first of B episodes."""
    xp = _numpy_of(frame)
    black = xp.zeros(frame.shape, frame.dtype)
    none = xp.zeros((len(frame), length), xp.int32)
    return History((*(black,) * (length - 1), frame), none, xp.arange(length) >= none + length - 1)


def push(history: History, frame: Array, action: Array, first: Array) -> History:
    """The history one frame later: `frame` [B, H, W, C] was led to by `action` [B].

    Where `first` [B] bool the frame begins an episode and nothing before it is valid. Made of
    numpy arrays if `frame` is one, else of JAX's.
    """
    xp = _numpy_of(frame)
    first = xp.asarray(first)
    led = xp.where(first, 0, action).astype(xp.int32)
    old = xp.asarray(history.valid)[:, 1:] & ~first[:, None]
    return History(
        frames=(*history.frames[1:], frame),
        actions=xp.concatenate([history.actions[:, 1:], led[:, None]], axis=1),
        valid=xp.concatenate([old, xp.ones((len(led), 1), bool)], axis=1),
    )


def planes(history: History, dtype: Any = jnp.float32) -> Array:
    """[B, H, W, T * C + T]: the colours in [0, 1] oldest first, then actions as planes a / 18.

    96x96 RGB with T = 32 gives 128 planes. MuZero, appendix E. Run it under `jit` on the
    device: its result is five times as many bytes as the history.
    """
    valid = jnp.asarray(history.valid)
    shown = [
        jnp.where(valid[:, t, None, None, None], frame, jnp.uint8(0))
        for t, frame in enumerate(history.frames)
    ]
    batch, height, width = shown[0].shape[:3]
    actions = jnp.where(valid, history.actions, 0).astype(dtype) / ATARI_ACTIONS
    actions = jnp.broadcast_to(actions[:, None, None], (batch, height, width, len(shown)))
    colours = jnp.concatenate(shown, axis=-1).astype(dtype) / 255
    return jnp.concatenate([colours, actions.astype(dtype)], axis=-1)


def _numpy_of(array: Any) -> Any:
    return jnp if isinstance(array, jax.Array) else np
