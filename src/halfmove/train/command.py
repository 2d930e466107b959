"""`halfmove train`, `halfmove resume` and `halfmove presets`."""

import dataclasses
import datetime
import os
import sys
import typing
from collections.abc import Callable, Sequence
from typing import Any

import tyro

from halfmove.train import folder
from halfmove.train.config import TrainConfig
from halfmove.train.durable import RunError
from halfmove.train.presets import PRESETS, preset

# What does the work: of a new run, or with `resume` of the one in that folder.
Loop = Callable[..., Any]


def train(name: str, arguments: Sequence[str], path: str | None, loop: Loop | None = None) -> int:
    """Trains a preset with what `arguments` change (`--net.planes 64`); gives the exit status.

    `loop` takes the place of `loop.train`.
    """
    try:
        config = tyro.cli(
            TrainConfig, default=preset(name), args=list(arguments), prog=f"halfmove train {name}"
        )
    except SystemExit as over:  # tyro has said why, or shown its help
        return int(over.code or 0)
    except ValueError as error:
        return _fail(str(error), 2)
    where = path or _new_folder(name)
    return _run(config, where, loop, resume=False)


def resume(path: str, loop: Loop | None = None) -> int:
    """Goes on with the run in that folder."""
    try:
        config = read(folder.configuration(path))
    except (RunError, ValueError) as error:
        return _fail(str(error), 1)
    return _run(config, path, loop, resume=True)


def presets() -> int:
    """Lists the presets with what they need."""
    width = max(map(len, PRESETS))
    for name, entry in PRESETS.items():
        config = entry.make()
        print(f"{name:{width}}  {entry.needs:9}  {config.game:22}  {entry.text}")
    return 0


def read(stored: dict[str, Any]) -> TrainConfig:
    """The configuration in a run's config.json; ValueError if it is not one of this version."""
    return _made(TrainConfig, stored, "")


def _made(kind: Any, stored: Any, path: str) -> Any:
    hints = typing.get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}
    for name in stored:
        if name not in known:
            raise ValueError(f"config.json: unknown entry {path}{name}; another version wrote it")
    values = {}
    for name, value in stored.items():
        if dataclasses.is_dataclass(hints[name]):
            values[name] = _made(hints[name], value, f"{path}{name}.")
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def _run(config: TrainConfig, path: str, loop: Loop | None, *, resume: bool) -> int:
    from halfmove.train.loop import train

    try:
        (loop or train)(config, path, resume=resume)
    except (RunError, ValueError) as error:
        return _fail(str(error), 1)
    return 0


def _new_folder(name: str) -> str:
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return os.path.join("runs", f"{name}-{stamp}")


def _fail(message: str, status: int) -> int:
    print(f"halfmove: error: {message}", file=sys.stderr)
    return status
