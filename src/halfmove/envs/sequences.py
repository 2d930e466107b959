"""Long episodes cut into sequences, as replay keeps them: 200 moves in MuZero's Atari."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from halfmove.envs.env import positive


@dataclass(frozen=True)
class Sequence:
    """Up to `length` steps in a row of one episode, with some of those before them."""

    env: int  # which of the B environments played it
    start: int  # number of its first own step in the episode, from 0
    before: int  # how many steps in front are only context (frames of the first stacks)
    steps: Any  # the steps, each leaf [before + own steps, ...]; owned, not views
    over: bool  # whether the episode ends with it


class Sequences:
    """Cuts B streams of steps into sequences of `length`; an episode's last one is shorter.

    The own steps of all sequences, in order, are the stream: none is lost or doubled. With
    `context` c a sequence repeats up to c steps of the same episode in front, so that stacks
    of c + 1 frames can be made from it alone.
    """

    def __init__(self, envs: int, *, length: int = 200, context: int = 0) -> None:
        positive(envs=envs, length=length)
        if context < 0:
            raise ValueError(f"context must be at least 0, got {context}")
        self._envs, self._length, self._context = envs, length, context
        self._leaves: list[np.ndarray] | None = None  # each [B, context + length, ...]
        self._tree: Any = None
        self._before = np.zeros(envs, np.int64)  # steps of context in front, now
        self._own = np.zeros(envs, np.int64)  # own steps so far
        self._start = np.zeros(envs, np.int64)

    def add(self, step: Any, over: Any) -> list[Sequence]:
        """The sequences that this step completes. `step` is any pytree of arrays [B, ...].

        Give the newest frame, not the whole history; `over` [B] bool is where the step ended
        its episode.
        """
        values, tree = jax.tree.flatten(jax.tree.map(np.asarray, step))
        ended = np.asarray(over)
        if ended.shape != (self._envs,) or any(v.shape[:1] != (self._envs,) for v in values):
            raise ValueError(f"every array of a step must begin with {self._envs} environments")
        if self._leaves is None:
            room = (self._envs, self._context + self._length)
            self._leaves = [np.zeros((*room, *v.shape[1:]), v.dtype) for v in values]
            self._tree = tree
        elif tree != self._tree:
            raise ValueError(f"steps changed their structure from {self._tree} to {tree}")
        rows = np.arange(self._envs)
        place = self._before + self._own
        for kept, value in zip(self._leaves, values, strict=True):
            kept[rows, place] = value
        self._own += 1
        done = np.flatnonzero(ended | (self._own == self._length))
        return [self._cut(int(env), bool(ended[env])) for env in done]

    def flush(self) -> list[Sequence]:
        """What is unfinished, as sequences that are not over; the streams go on after them."""
        return [self._cut(int(env), False) for env in np.flatnonzero(self._own)]

    def _cut(self, env: int, over: bool) -> Sequence:
        assert self._leaves is not None
        before, own, start = (int(n[env]) for n in (self._before, self._own, self._start))
        size = before + own
        steps = jax.tree.unflatten(self._tree, [leaf[env, :size].copy() for leaf in self._leaves])
        kept = 0 if over else min(self._context, size)
        for leaf in self._leaves:
            leaf[env, :kept] = leaf[env, size - kept : size].copy()
        self._before[env], self._own[env] = kept, 0
        self._start[env] = 0 if over else start + own
        return Sequence(env, start, before, steps, over)
