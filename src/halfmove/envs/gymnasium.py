"""Any Gymnasium environment with discrete actions, vectorised."""

from typing import Any

import numpy as np

from halfmove.core.types import TimeStep
from halfmove.envs.env import Env, Episodes, checked, timestep
from halfmove.envs.vector import Maker, Vector
from halfmove.envs.worker import Outcome


class Gymnasium(Env):
    """B copies of an environment given by its ID or by a function that makes one.

    `observation` is [B, ...] as the environment's space says, 64-bit numbers narrowed to 32;
    `legal` is `info["action_mask"]` where the environment gives one. `options` go to
    `gymnasium.make`. For `workers`, `timeout` and `start_timeout` see `Vector`.
    """

    def __init__(
        self,
        env: str | Maker,
        *,
        envs: int = 8,
        workers: int = 0,
        timeout: float = 60.0,
        start_timeout: float = 120.0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self._vector = Vector(
            env,
            envs=envs,
            workers=workers,
            timeout=timeout,
            start_timeout=start_timeout,
            options=options,
        )
        from gymnasium import spaces

        self.name, self.envs = self._vector.name, envs
        space = self._vector.action_space
        if not isinstance(space, spaces.Discrete):
            self._vector.close()
            raise ValueError(f"{self.name} has {space} actions{_instead(space)}")
        self.actions, self._start = int(space.n), int(space.start)

    def reset(self, seed: int) -> TimeStep:
        return self._seen(*self._vector.reset(seed))

    def step(self, actions: Any) -> TimeStep:
        chosen = checked(actions, self.envs, self.actions, self.name)
        return self._seen(*self._vector.step(list(chosen.astype(np.int64) + self._start)))

    def close(self) -> None:
        self._vector.close()

    def _seen(self, out: Outcome, episodes: Episodes) -> TimeStep:
        seen, reward, terminated, truncated = out[:4]
        legal = self._vector.legal(out, self.actions)
        return timestep(episodes, seen, legal, reward, terminated, truncated)


def _instead(space: Any) -> str:
    if type(space).__name__ == "Box":
        return "; give samples=K to choose among K actions drawn for each position"
    return (
        "; only Discrete, and Box by samples=K, can be searched. Wrap it: a "
        "gymnasium.ActionWrapper whose action_space is Discrete(n) turns a number into its action"
    )
