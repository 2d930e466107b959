"""Environments that live on the host, many at once; `make` finds them by name.

    with make("atari:ms_pacman", envs=8) as env:
        seen = env.reset(seed=0)
        seen = env.step(actions)  # [8]; see `env.py` for what a step says

`atari:ROM` needs `pip install 'halfmove[atari]'`; `gymnasium:ID` any Gymnasium environment.
Nothing of either is imported before one is made.
"""

import importlib
import inspect
from typing import Any

from halfmove.envs import scores
from halfmove.envs.env import Env, EnvError, Episodes
from halfmove.envs.scores import human_normalised

__all__ = ["Env", "EnvError", "Episodes", "human_normalised", "make", "names"]

ROOMS = {"atari": ("atari", "Atari"), "gymnasium": ("gymnasium", "Gymnasium")}
SAMPLED = ("sampled", "Sampled")


def names() -> tuple[str, ...]:
    """The 57 games of the Atari benchmark, as `make` takes them."""
    return tuple(f"atari:{game}" for game in scores.games())


def make(name: str, **options: Any) -> Env:
    """The environment of that name: `make("gymnasium:CartPole-v1", envs=4, workers=2)`.

    Continuous actions need `samples=K`, the number of actions drawn for each position.
    """
    room, found, what = name.partition(":")
    if not found or room not in ROOMS:
        hint = f"did you mean 'atari:{name}'? " if name in scores.games() else ""
        raise ValueError(
            f"unknown environment {name!r}; {hint}There are 'atari:ROM' (atari:ms_pacman, ...; "
            "names() lists them) and 'gymnasium:ID' (gymnasium:CartPole-v1, ...)"
        )
    module, kind_name = SAMPLED if room == "gymnasium" and "samples" in options else ROOMS[room]
    kind = getattr(importlib.import_module(f"{__name__}.{module}"), kind_name)
    known = list(inspect.signature(kind).parameters)[1:]
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option!r}; its options are {', '.join(known)}")
    return kind(what, **options)
