"""`halfmove train`, `halfmove resume` and `halfmove presets`."""

import dataclasses
import datetime
import operator
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
from halfmove.train.zoo import stage

# What does the work: of a new run, or with `resume` of the one in that folder.
Loop = Callable[..., Any]


def train(name: str, arguments: Sequence[str], path: str | None, loop: Loop | None = None) -> int:
    """Trains a preset with what `arguments` change (`--net.planes 64`); gives the exit status.

    `loop` takes the place of `loop.train`.
    """
    try:
        config = _changed(preset(name), arguments, f"halfmove train {name}")
        if config.start:
            stage(config.start)  # before there is a folder
    except SystemExit as over:  # tyro has said why, or shown its help
        return int(over.code or 0)
    except (RunError, ValueError) as error:
        return _fail(str(error), 2)
    where = path or _new_folder(name)
    return _run(config, where, loop, resume=False)


def resume(path: str, arguments: Sequence[str] = (), loop: Loop | None = None) -> int:
    """Goes on with the run in that folder, with what `arguments` change of it."""
    try:
        before = read(folder.configuration(path))
        config = _changed(before, arguments, f"halfmove resume {path}") if arguments else before
        _must_fit(before, config)
    except SystemExit as over:
        return int(over.code or 0)
    except (RunError, ValueError) as error:
        return _fail(str(error), 1)
    return _run(config, path, loop, resume=True)


def _changed(config: TrainConfig, arguments: Sequence[str], program: str) -> TrainConfig:
    return tyro.cli(TrainConfig, default=config, args=list(arguments), prog=program)


# What the arrays of a checkpoint, or the counting of positions and updates, depend on.
FIXED = ("game", "model", "seed", "start", "net", "selfplay.lanes", "selfplay.chunk", "replay",
         "learn.batch", "learn.samples", "learn.begin", "learn.optimiser.kind")  # fmt: skip


def _must_fit(before: TrainConfig, config: TrainConfig) -> None:
    for name in FIXED:
        old, new = (operator.attrgetter(name)(x) for x in (before, config))
        if old != new:
            raise ValueError(
                f"{name} cannot be changed in a run that goes on: it is {old!r}; "
                "begin another with `halfmove train … --start RUN`"
            )
    if bool(before.rating.every) != bool(config.rating.every):
        raise ValueError("a run that goes on is rated as it was: rating.every can become 0 or more "
                         "than 0 only in another, `halfmove train … --start RUN`")  # fmt: skip


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
            if not isinstance(value, dict):
                raise ValueError(f"config.json: {path}{name} must be a group, got {value!r}")
            values[name] = _made(hints[name], value, f"{path}{name}.")
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"config.json: {path or 'a value'} is of a wrong type: {error}") from error


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
