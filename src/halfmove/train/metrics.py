"""Metrics as JSON lines, one object with a `step` a line, in the order of steps.

A number that JSON does not have is written as the string "NaN", "Infinity" or
"-Infinity" (`float` in Python and `Number` in JavaScript take them; null would hide
which it was), and read back as a number.
"""

import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from halfmove.train.durable import append_whole

_log = logging.getLogger(__name__)
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Metrics:
    """A file of metrics, open at its end. Every line is with the system when `write` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        self._last = rewind(path, None)

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        """Appends one line. Steps never go back; several lines may share one."""
        if step < self._last:
            raise ValueError(f"step {step} comes after step {self._last} in {self.path}")
        append_whole(self._file, _line(step, values))
        self._last = step

    def rewind(self, step: int) -> None:
        """Forgets every line after `step`, as if the run had been stopped there."""
        self._last = rewind(self.path, step)

    def sync(self) -> None:
        """Makes all lines survive a power cut."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def rewind(path: Path, step: int | None) -> int:
    """Cuts off a torn end and all lines after `step` (None: no other). Gives the last step left."""
    last, cut, offset = -1, 0, 0
    with open(path, "rb") as file:
        for line in file:
            offset += len(line)
            found = _parse(line)
            if found is None:
                continue
            if step is not None and found["step"] > step:
                break
            last, cut = found["step"], offset
    if cut < path.stat().st_size:
        os.truncate(path, cut)
    return last


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file, `step` and values; numbers that JSON lacks are numbers again.

    May be called while the run writes: a torn last line is left out.
    """
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            found = _parse(line)
            if found is not None:
                yield {key: _number(value) for key, value in found.items()}
            elif line.endswith(b"\n"):
                _log.warning("%s: line %d is damaged and left out", path, number)


def plain(value: Any) -> Any:
    """A scalar, an array, text, or lists and dicts of them as Python has them in JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, str) or value is None:
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":  # bfloat16 and its like are of kind "V"
        array = array.astype(np.float32)
    return _special(array.tolist())


def _special(value: Any) -> Any:
    if isinstance(value, list):
        return [_special(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(each) for each in value]
    return _SPECIAL.get(value, value) if isinstance(value, str) else value


def _line(step: int, values: Mapping[str, Any]) -> bytes:
    if "step" in values:
        raise ValueError("a metric cannot be called step: every line has one")
    return json.dumps({"step": int(step), **plain(values)}, allow_nan=False).encode() + b"\n"


def _parse(line: bytes) -> dict[str, Any] | None:
    """The object of a whole line; None if it is torn or damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(found, dict) and isinstance(found.get("step"), int)
    return found if whole else None
