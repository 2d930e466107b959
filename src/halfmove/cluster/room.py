"""Where there is no room, in the object store or on a disk, one waits: it may come."""

import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ray import exceptions

_log = logging.getLogger(__name__)
PAUSE = 2.0  # seconds between two looks
FULL = (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError)
T = TypeVar("T")


def patiently(call: Callable[[], T]) -> T:
    """What `call` gives, once the object store has room for it; it may be called many times."""
    told = False
    while True:
        try:
            found = call()
        except FULL as error:
            if not told:
                _log.warning(
                    "the object store of a node is full, and so is the disk that it spills to. "
                    "All wait until there is room (%s)", type(error).__name__,
                )  # fmt: skip
                told = True
            time.sleep(PAUSE)
            continue
        if told:
            _log.info("the object store has room again")
        return found


def wait_for_room(path: Path, needed: int) -> None:
    """Returns when the disk of `path` has room for so many bytes: what fills it may go away."""
    told = False
    while (free := shutil.disk_usage(path).free) < needed:
        if not told:
            _log.warning(
                "the disk of %s is full: %.1f MB are free, %.1f MB are needed for the next "
                "checkpoint. All wait until there is room",
                path, free / 1e6, needed / 1e6,
            )  # fmt: skip
            told = True
        time.sleep(PAUSE)
    if told:
        _log.info("there is room again")
