"""What can be seen of a run from outside: its figures, for Prometheus, and the room on its disk."""

import logging
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ray.util.metrics import Gauge

_log = logging.getLogger(__name__)
PAUSE = 2.0  # seconds between looks at a full disk


class Gauges:
    """Every figure of an iteration as `halfmove_group_name`, with the run's name as a label.

    Ray's agents serve them, on every node at its metrics port.
    """

    def __init__(self, run: str) -> None:
        self._run = run
        self._gauges: dict[str, Gauge] = {}

    def show(self, figures: Mapping[str, Any]) -> None:
        """Takes the place of what was shown."""
        for name, value in figures.items():
            if np.ndim(value) == 0 and np.isfinite(number := float(value)):
                if name not in self._gauges:
                    plain = f"halfmove_{name.replace('/', '_')}"
                    self._gauges[name] = Gauge(plain, f"{name} of a run", ("run",))
                self._gauges[name].set(number, {"run": self._run})


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
