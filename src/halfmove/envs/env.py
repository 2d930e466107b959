"""The protocol of environments that live on the host: B at once, numpy in and out.

An environment that ends starts again in the same step. The `TimeStep` after a move says

- `reward`, `terminated`, `truncated`: of the move just made;
- `observation`, `legal`: of the position to move in next, so where the episode ended they
  belong to the first position of the next one, and no action is ever ignored;
- `state`: an `Episodes`, with the true return of the episode the move belongs to, and what
  the move led to before any restart (for the value of a truncated episode).
"""

import abc
from typing import Any

import numpy as np

from halfmove.core.types import Array, TimeStep, pytree


class EnvError(RuntimeError):
    """An environment failed, hung or died; the message names it and says what happened."""


@pytree
class Episodes:
    """What `TimeStep.state` of an environment holds: the episodes that the last moves belong to."""

    returns: Array  # [B] f64, sum of unclipped rewards so far; the true return where it ended
    lengths: Array  # [B] i64, moves so far
    reached: Array  # [B, ...], what the last move led to, the last observation where it ended


class Env(abc.ABC):
    """B environments of one kind, stepped together, one player each."""

    name: str  # as in `halfmove.envs.make(name)`
    envs: int  # B
    actions: int  # A

    @abc.abstractmethod
    def reset(self, seed: int) -> TimeStep:
        """New episodes everywhere, all chance drawn from `seed` from now on; rewards are zero.

        The same seed and the same actions give the same steps.
        """

    @abc.abstractmethod
    def step(self, actions: Any) -> TimeStep:
        """What `actions` [B], each 0 to A - 1, lead to; ended episodes start again (see above)."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends its threads and processes. A second call does nothing."""

    def __enter__(self) -> "Env":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Tally:
    """Running returns and lengths of B episodes."""

    def __init__(self, envs: int) -> None:
        self._returns = np.zeros(envs)
        self._lengths = np.zeros(envs, np.int64)

    def add(self, reward: np.ndarray, over: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns [B] and lengths [B] with this step; where `over`, the next starts from zero."""
        returns, lengths = self._returns + reward, self._lengths + 1
        self._returns = np.where(over, 0.0, returns)
        self._lengths = np.where(over, 0, lengths)
        return returns, lengths


def timestep(
    state: Any, observation: Any, legal: Any, reward: Any, terminated: Any, truncated: Any
) -> TimeStep:
    """A TimeStep of one-player environments; `reward` [B] becomes [B, 1] f32."""
    gained: Any = np.asarray(reward, np.float32)[:, None]
    mover: Any = np.zeros(len(gained), np.int32)
    return TimeStep(state, observation, legal, mover, gained, terminated, truncated)


def over(step: TimeStep) -> np.ndarray:
    """[B] bool, where the last move ended an episode."""
    return np.asarray(step.terminated) | np.asarray(step.truncated)


def seeds(seed: int, envs: int) -> np.ndarray:
    """[B] i32, from 1 to 2**31 - 1: a seed for each environment.

    Not `seed + i`: runs seeded 0 and 1 would then share all but one of their environments.
    """
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    drawn = np.random.SeedSequence(seed).generate_state(envs)
    return (drawn % (2**31 - 1) + 1).astype(np.int32)


def checked(actions: Any, envs: int, count: int, name: str) -> np.ndarray:
    """`actions` as [B] i32; ValueError unless they are B whole numbers from 0 to A - 1."""
    given = np.asarray(actions)
    if given.shape != (envs,) or given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} takes {envs} whole numbers, one action per environment; "
            f"got shape {given.shape} of {given.dtype}"
        )
    wrong = np.flatnonzero((given < 0) | (given >= count))
    if wrong.size:
        raise ValueError(
            f"{name} has actions 0 to {count - 1}; "
            f"environment {wrong[0]} was given {given[wrong[0]]}"
        )
    return given.astype(np.int32)


def positive(**options: float) -> None:
    """ValueError names the first option that is not greater than zero."""
    for option, value in options.items():
        if not value > 0:
            raise ValueError(f"{option} must be greater than 0, got {value}")
