"""Numbers that a planner is given: what is accepted, said by name."""

import math
from typing import Any

import jax
import numpy as np


def whole(name: str, value: Any, least: int) -> None:
    """Raises unless `value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def switch(name: str, value: Any) -> None:
    """Raises unless `value` is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def real(name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf) -> None:
    """Raises unless `value` is a finite number of at least `least` and above `above`."""
    if isinstance(value, jax.core.Tracer):
        return  # known only when the program runs
    try:
        number = math.nan if isinstance(value, (str, bool)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (least <= number < math.inf and above < number):
        bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}"
        wanted = bound if max(least, above) > -math.inf else ""
        raise ValueError(f"{name} must be a finite number{wanted}, got {value!r}")
