"""Continuous actions as a discrete choice among samples (Hubert et al. 2021, Sampled MuZero).

In each position K actions are drawn from a proposal β and become the A = K actions of a search;
`state.samples` holds them, `state.log_proposal` their log density. A search that is to improve a
policy π must not count the proposal twice: its prior over the samples is (β̂/β) π, with β̂ = 1/K
for each draw, so its logits are `prior_logits(log π, log β)`. With β = π they are all equal; with
the uniform proposal they are log π.

The samples are those of the root. A learned model that searches deeper draws its own in the
nodes below, and reads an action as its vector, never as its number, which means nothing by itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from halfmove.core.types import Array, TimeStep, pytree
from halfmove.envs.env import Env, Episodes, checked, positive, timestep
from halfmove.envs.vector import Maker, Vector
from halfmove.envs.worker import Outcome

# (generator, observation [B, ...], K) -> actions [B, K, ...] and their log densities [B, K]
Proposal = Callable[[np.random.Generator, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


@pytree
class Choices(Episodes):
    """The episodes, and what the next action chooses from."""

    samples: Array  # [B, K, ...] f32, actions in the environment's own units
    log_proposal: Array  # [B, K] f32, log β of each


class Sampled(Env):
    """B copies of an environment with Box actions, of which `samples` are drawn per position.

    `proposal` is uniform over the box unless given, and may be replaced at any time (a policy
    that learns): it is asked at the end of each step. Actions outside the box are clipped when
    they are played. The rest is as in `Gymnasium`.
    """

    proposal: Proposal

    def __init__(
        self,
        env: str | Maker,
        *,
        samples: int,
        proposal: Proposal | None = None,
        envs: int = 8,
        workers: int = 0,
        timeout: float = 60.0,
        start_timeout: float = 120.0,
        options: dict[str, Any] | None = None,
    ) -> None:
        positive(samples=samples)
        self._vector = Vector(
            env,
            envs=envs,
            workers=workers,
            timeout=timeout,
            start_timeout=start_timeout,
            options=options,
        )
        self.name, self.envs, self.actions = self._vector.name, envs, samples
        self._space = self._vector.action_space
        self._samples: np.ndarray | None = None
        from gymnasium import spaces

        self._draw = np.random.default_rng()
        try:
            if not isinstance(self._space, spaces.Box):
                discrete = isinstance(self._space, spaces.Discrete)
                hint = "leave samples out" if discrete else "only Box can be sampled"
                raise ValueError(f"{self.name} has {self._space} actions: {hint}")
            self.proposal = proposal or uniform(self._space.low, self._space.high)
        except ValueError:
            self.close()
            raise

    def reset(self, seed: int) -> TimeStep:
        out, episodes = self._vector.reset(seed)
        self._draw = np.random.default_rng([seed, self.envs])
        return self._seen(out, episodes)

    def step(self, actions: Any) -> TimeStep:
        chosen = checked(actions, self.envs, self.actions, self.name)
        if self._samples is None:
            raise RuntimeError(f"{self.name} has not begun: call reset(seed) first")
        native = self._samples[np.arange(self.envs), chosen]
        native = np.clip(native, self._space.low, self._space.high).astype(self._space.dtype)
        return self._seen(*self._vector.step(list(native)))

    def close(self) -> None:
        self._vector.close()

    def _seen(self, out: Outcome, episodes: Episodes) -> TimeStep:
        seen, reward, terminated, truncated = out[:4]
        samples, log_proposal = self.proposal(self._draw, seen, self.actions)
        want = (self.envs, self.actions)
        if samples.shape != want + self._space.shape or log_proposal.shape != want:
            raise ValueError(
                f"the proposal must give actions {want + self._space.shape} and densities {want}, "
                f"it gave {samples.shape} and {log_proposal.shape}"
            )
        self._samples = np.asarray(samples, np.float32)
        drawn: Any = self._samples, np.asarray(log_proposal, np.float32)
        state = Choices(episodes.returns, episodes.lengths, episodes.reached, *drawn)
        legal = np.ones(want, bool)
        return timestep(state, seen, legal, reward, terminated, truncated)


def uniform(low: np.ndarray, high: np.ndarray) -> Proposal:
    """Every action of the box alike."""
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(
            "the actions have no finite bounds, so none can be drawn uniformly; "
            "give a proposal, such as gaussian(policy)"
        )
    density = -float(np.log(high - low).sum())

    def propose(draw: np.random.Generator, seen: np.ndarray, k: int) -> Any:
        drawn = draw.uniform(low, high, (len(seen), k, *low.shape))
        return drawn, np.full((len(seen), k), density)

    return propose


def gaussian(policy: Callable[[np.ndarray], tuple[Any, Any]]) -> Proposal:
    """Normal around a policy's mean: `policy(observation [B, ...])` gives mean, scale [B, ...].

    The density is that of the draw before it is clipped to the box.
    """

    def propose(draw: np.random.Generator, seen: np.ndarray, k: int) -> Any:
        mean, scale = (np.asarray(part, np.float64)[:, None] for part in policy(seen))
        noise = draw.standard_normal((len(seen), k, *mean.shape[2:]))
        density = -0.5 * noise**2 - np.log(scale) - 0.5 * np.log(2 * np.pi)
        return mean + scale * noise, density.reshape(len(seen), k, -1).sum(-1)

    return propose


def prior_logits(log_policy: Any, log_proposal: Any) -> Any:
    """log π − log β, [B, K]: the search's prior over the samples, up to a constant."""
    return log_policy - log_proposal
