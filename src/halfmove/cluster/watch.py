"""What can be seen of a run from outside: its figures, for Prometheus."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from ray.util.metrics import Gauge


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
