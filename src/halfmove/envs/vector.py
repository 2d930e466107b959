"""B Gymnasium environments behind one interface, in this process or in others."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from halfmove.envs.env import EnvError, Episodes, Tally, positive, seeds
from halfmove.envs.pool import Pool, failed
from halfmove.envs.worker import Batch, Failure, Outcome

Maker = Callable[[], Any]  # makes one gymnasium.Env


class Vector:
    """B environments, stepped together; the first failure of any closes all.

    `workers=0` runs them in this process: fastest where a step is cheap, but one that hangs
    hangs the program. Otherwise they run in that many processes, and `timeout` is what a step
    may take, `start_timeout` what starting may, in seconds.
    """

    def __init__(
        self,
        what: str | Maker,
        *,
        envs: int,
        workers: int,
        timeout: float,
        start_timeout: float,
        options: dict[str, Any] | None,
    ) -> None:
        positive(envs=envs, timeout=timeout, start_timeout=start_timeout)
        if workers < 0:
            raise ValueError(f"workers must be at least 0, got {workers}")
        self.name, maker = _maker(what, options)
        self.envs = envs
        self._closed = ""
        self._tally: Tally | None = None
        self._host: Batch | Pool | None = None
        if workers:
            self._host = Pool(
                self.name,
                [maker] * envs,
                workers=workers,
                timeout=timeout,
                start_timeout=start_timeout,
            )
        else:
            self._host = self._guarded(lambda: Batch([maker] * envs, 0))
        self.observation_space, self.action_space = self._host.spaces
        self._check_observations()

    def reset(self, seed: int) -> tuple[Outcome, Episodes]:
        """The first positions, and empty episodes."""
        drawn = seeds(seed, self.envs)
        out = self._play("reset", drawn)
        self._tally = Tally(self.envs)
        zeros: Any = np.zeros(self.envs)
        reached: Any = out[4]
        return out, Episodes(zeros, zeros.astype(np.int64), reached)

    def step(self, actions: list[Any]) -> tuple[Outcome, Episodes]:
        """What native actions lead to."""
        if self._tally is None and not self._closed:
            raise RuntimeError(f"{self.name} has not begun: call reset(seed) first")
        out = self._play("step", actions)
        assert self._tally is not None
        shown: Any = [*self._tally.add(out[1], out[2] | out[3]), out[4]]
        return out, Episodes(*shown)

    def legal(self, out: Outcome, actions: int) -> np.ndarray:
        """[B, A] bool: the environments' own `info["action_mask"]`, else everything."""
        mask = out[5]
        if mask is None or mask.shape != (self.envs, actions):
            return np.ones((self.envs, actions), bool)
        return mask

    def close(self) -> None:
        """Closes all. A second call does nothing."""
        host, self._host = self._host, None
        self._closed = self._closed or f"{self.name} is closed: make a new one"
        if host is not None:
            host.close()

    def _play(self, command: str, argument: Any) -> Outcome:
        if self._host is None:
            raise EnvError(self._closed)
        if isinstance(self._host, Pool):
            return self._guarded(lambda: getattr(self._host, command)(argument))
        return self._guarded(lambda: getattr(self._host, command)(argument, _ignore))

    def _guarded(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except Failure as failure:
            error = failed(self.name, failure.index, failure.doing, failure.trace)
            self._fail(error)
            raise error from failure.__cause__
        except BaseException as other:
            self._fail(other)
            raise

    def _fail(self, error: BaseException) -> None:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        self._closed = f"{self.name} was closed after an error and cannot go on ({first})"
        self.close()

    def _check_observations(self) -> None:
        if self.observation_space.shape is None:
            kind = type(self.observation_space).__name__
            self.close()
            raise ValueError(
                f"{self.name} has {kind} observations; an array is needed (Box, Discrete, "
                "MultiBinary, MultiDiscrete). gymnasium.wrappers.FlattenObservation makes one: "
                "give a function that makes the wrapped environment"
            )


def _maker(what: str | Maker, options: dict[str, Any] | None) -> tuple[str, Maker]:
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError(
            "Gymnasium environments need gymnasium: pip install gymnasium, or "
            f"pip install 'halfmove[atari]' ({error})"
        ) from error
    if not isinstance(what, str):
        if options:
            raise ValueError("options are for an environment given by its ID, not by a function")
        made = getattr(what, "func", what)  # behind a functools.partial
        return f"gymnasium:{getattr(made, '__name__', type(made).__name__)}", what
    try:
        spec = gymnasium.spec(what)
    except (gymnasium.error.Error, ImportError) as error:
        raise ValueError(
            f"there is no Gymnasium environment {what!r}: {error} "
            "(gymnasium.pprint_registry() lists them; 'module:ID' imports the module first)"
        ) from error
    # The spec, not the ID: a process that did not import the module does not know the ID.
    return f"gymnasium:{what}", functools.partial(gymnasium.make, spec, **(options or {}))


def _ignore(_: int) -> None:
    pass
