"""Atari 2600 games by ale-py's vector environment, set as the MuZero document plays them."""

import difflib
from typing import Any

import numpy as np

from halfmove.core.types import TimeStep
from halfmove.envs.env import (
    Env,
    EnvError,
    Episodes,
    Tally,
    checked,
    positive,
    seeds,
    timestep,
)
from halfmove.envs.history import ATARI_ACTIONS, History, begin, push

OLDEST = (0, 12)  # whose frame limit, no-ops and restarts the tests have seen


class Atari(Env):
    """B games of one ROM on ale-py's threads.

    `TimeStep.observation` is a `History`: the last `history` frames, each [B, H, W, C] u8, and
    the actions that led to them, nothing of it copied; `planes` makes the network's input of
    it. `state.reached` is the one frame [B, H, W, C] that the move led to.
    An action is played for `skip` frames and the last two are max-pooled; each frame repeats
    the action of the frame before with probability `sticky`. An episode begins with 0 to
    `noops` no-op frames, is cut after `max_frames` more, and is not cut by a lost life.
    Rewards are never clipped. `full_actions` gives all 18 to every game (one that a game does
    not know is a no-op in it), else the few that it reads. One frame is `size` pixels high and
    wide, or `(height, width)`; 210 by 160 is the screen itself. `threads=0`: one per core.
    """

    def __init__(
        self,
        game: str,
        *,
        envs: int = 8,
        size: int | tuple[int, int] = 96,
        grey: bool = False,
        history: int = 32,
        sticky: float = 0.25,
        noops: int = 30,
        max_frames: int = 108_000,
        skip: int = 4,
        full_actions: bool = True,
        threads: int = 0,
    ) -> None:
        vector_env = _import_ale()
        _check_rom(game)
        height, width = (size, size) if isinstance(size, int) else size
        positive(envs=envs, size=min(height, width), history=history)
        positive(max_frames=max_frames, skip=skip)
        if noops < 0 or threads < 0:
            raise ValueError(f"noops and threads must be at least 0, got {noops} and {threads}")
        if not 0 <= sticky < 1:
            raise ValueError(f"sticky is a probability below 1, got {sticky}")
        self.name = f"atari:{game}"
        self.envs = envs
        self._ale: Any = vector_env.AtariVectorEnv(
            game,
            envs,
            num_threads=threads,
            max_num_frames_per_episode=max_frames,
            repeat_action_probability=sticky,
            full_action_space=full_actions,
            autoreset_mode="SameStep",
            img_height=height,
            img_width=width,
            grayscale=grey,
            stack_num=1,  # the history is ours: theirs copies all T frames at every step
            frameskip=skip,
            noop_max=noops + 1,  # ale-py draws from 0 to noop_max - 1
            reward_clipping=False,
            use_fire_reset=False,
        )
        # ale-py leaves out what a game does not read (Skiing: fire), so its numbers shift;
        # what is left out plays as a no-op, which is its number 0.
        known = [int(getattr(a, "value", a)) for a in self._ale.ale.get_action_set()]
        self.actions = ATARI_ACTIONS if full_actions else len(known)
        self._number = np.arange(self.actions, dtype=np.int32)
        if full_actions:
            self._number[:] = 0
            self._number[known] = np.arange(len(known))
        self._frame = (height, width, 1 if grey else 3)
        self._length = history
        self._history: History | None = None
        self._tally = Tally(envs)
        self._legal = np.ones((envs, self.actions), bool)

    def reset(self, seed: int) -> TimeStep:
        frames, _ = self._open().reset(seed=seeds(seed, self.envs))
        newest = self._one(frames)
        self._tally = Tally(self.envs)
        self._history = begin(newest, self._length)
        zeros: Any = np.zeros(self.envs)
        state = Episodes(zeros, zeros.astype(np.int64), newest)
        never = np.zeros(self.envs, bool)
        return timestep(state, self._history, self._legal, zeros, never, never)

    def step(self, actions: Any) -> TimeStep:
        ale = self._open()
        if self._history is None:
            raise RuntimeError(f"{self.name} has not begun: call reset(seed) first")
        # An action that ale-py does not know would leave it waiting for ever.
        chosen: Any = checked(actions, self.envs, self.actions, self.name)
        frames, reward, terminated, truncated, info = ale.step(self._number[chosen])
        newest = self._one(frames)
        over = terminated | truncated
        reached = newest
        if over.any():
            final = self._one(info["final_obs"])
            reached = np.where(over[:, None, None, None], final, newest)
        returns, lengths = self._tally.add(reward, over)
        shown: Any = [returns, lengths, reached]
        self._history = seen = push(self._history, newest, chosen, over)
        return timestep(Episodes(*shown), seen, self._legal, reward, terminated, truncated)

    def close(self) -> None:
        if self._ale is not None:
            self._ale.close()
            self._ale = None

    def _one(self, frames: np.ndarray) -> Any:
        frames.flags.writeable = False  # histories share it from now on
        return frames.reshape(self.envs, *self._frame)

    def _open(self) -> Any:
        if self._ale is None:
            raise EnvError(f"{self.name} is closed: make a new one")
        return self._ale


def action_names(game: str, *, full_actions: bool = True) -> tuple[str, ...]:
    """What the actions of a game are called, in their order: NOOP, FIRE, UP, ..."""
    _import_ale()
    path = _check_rom(game)
    import ale_py

    if full_actions:
        return tuple(ale_py.Action(number).name for number in range(ATARI_ACTIONS))
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.loadROM(path)
    return tuple(action.name for action in ale.getMinimalActionSet())


def _import_ale() -> Any:
    try:
        import ale_py
        from ale_py import vector_env
    except ImportError as error:
        raise ImportError(f"Atari needs ale-py: pip install 'halfmove[atari]' ({error})") from error
    version = tuple(int(part) for part in ale_py.__version__.split(".")[:2])
    if version < OLDEST:
        raise ImportError(
            f"Atari needs ale-py {OLDEST[0]}.{OLDEST[1]} or newer, this is {ale_py.__version__}: "
            "pip install -U 'halfmove[atari]'"
        )
    return vector_env


def _check_rom(game: str) -> Any:
    """The path of a ROM; ValueError says what there is instead."""
    from ale_py import roms

    known = sorted(roms.get_all_rom_ids())
    if game in known:
        return roms.get_rom_path(game)
    near = difflib.get_close_matches(game.lower().replace(" ", "_").replace("-", "_"), known, 3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    raise ValueError(
        f"there is no Atari ROM {game!r}{hint} halfmove.envs.names() lists the 57 games of the "
        f"benchmark, ale_py.roms.get_all_rom_ids() all {len(known)} that ale-py ships"
    )
