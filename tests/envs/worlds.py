"""Small Gymnasium environments for the tests; most of them misbehave. Imports no JAX."""

import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Corridor(gymnasium.Env):
    """Walk from 0 to 3: action 5 steps back, 6 on (its numbers begin at 5). On costs 0.5."""

    observation_space = spaces.Box(0, 9, (1,), np.float64)
    action_space = spaces.Discrete(2, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self._seen(), self._info()

    def step(self, action):
        assert action in (5, 6)
        self.at = max(0, self.at + (1 if action == 6 else -1))
        return self._seen(), -0.5 if action == 6 else 0.0, self.at == 3, False, self._info()

    def _seen(self):
        return np.array([self.at], np.float64)

    def _info(self):
        return {"action_mask": np.array([self.at > 0, True], np.int8)}


class Bad(Corridor):
    """Does `what` to itself in the call `when` ("make", "reset", "step", "close")."""

    def __init__(self, what="", when="step"):
        self.what, self.when = what, when
        self._maybe("make")

    def reset(self, *, seed=None, options=None):
        self._maybe("reset")
        return super().reset(seed=seed)

    def step(self, action):
        self._maybe("step")
        return super().step(action)

    def close(self):
        self._maybe("close")

    def _maybe(self, now):
        if now != self.when:
            return
        if self.what == "hang":
            time.sleep(1000)
        if self.what == "raise":
            raise ArithmeticError("the corridor fell in")
        if self.what == "exit":
            os._exit(3)
        if self.what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.what == "print":
            print("words on the standard output", flush=True)
            os.write(1, b"and more\n")
        if self.what == "child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
            raise ArithmeticError(f"child {child.pid}")
        if self.what == "jax":
            raise ArithmeticError(f"jax loaded: {'jax' in sys.modules}")


class Shapeless(Corridor):
    """Its observations are not what its space says."""

    def _seen(self):
        return np.zeros(2)


class Many(Corridor):
    """Actions that cannot be searched."""

    action_space = spaces.MultiDiscrete([2, 3])


class Parts(Corridor):
    """An observation in two parts."""

    observation_space = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2)})


class Push(gymnasium.Env):
    """One step: the reward is minus the squared distance of the action from (1, -1)."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, bounded=True):
        edge = 1.0 if bounded else np.inf
        self.action_space = spaces.Box(-edge, edge, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        reward = -float(((action - [1, -1]) ** 2).sum())
        return np.zeros(2, np.float32), reward, True, False, {}


gymnasium.register("HalfmoveTestCorridor-v0", entry_point=Corridor)
