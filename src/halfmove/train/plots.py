"""Pictures of a run's metrics: one panel for every group of names.

The rating, by matches with the run's own past and with a fixed player, has a picture of its own:
against positions, updates, and seconds of self-play and updates.

A metric is called `group/name`; one without a group has a panel of its own. Where
`name_low` and `name_high` come with `name`, they are the ends of its interval bars.
"""

import io
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from halfmove.train.durable import write_whole
from halfmove.train.metrics import read

Curves = dict[str, tuple[list[float], list[float]]]  # name -> steps, values
_POINTS = 500  # of a curve; more are drawn as means of neighbours
_BARS = 60  # interval bars side by side are still told apart
_COLUMNS = 3


def draw(run: Path) -> list[Path]:
    """`plots/metrics.png` and, where there is one, `plots/rating.png`. Gives the files written."""
    files = [run / "metrics.jsonl", run / "speed.jsonl"]
    curves = collect(line for file in files if file.exists() for line in read(file))
    groups = grouped(curves)
    panels = [(group, "step", some) for group, some in groups.items()]
    rating = [("rating", axis, some) for axis, some in against(curves, groups.get("rating", {}))]
    written = []
    for name, some in (("metrics", panels), ("rating", rating)):
        if some:
            written.append(run / "plots" / f"{name}.png")
            write_whole(written[-1], _picture(run.name, some))
    return written


def against(curves: Curves, wanted: Curves) -> list[tuple[str, Curves]]:
    """`wanted` against positions, updates and seconds, as far as they are known; else steps."""
    axes = {
        name: dict(zip(*curves[f"run/{name}"], strict=True))
        for name in ("positions", "updates")
        if f"run/{name}" in curves
    }
    spent: dict[float, float] = {}
    for name in ("seconds/selfplay", "seconds/updates"):
        for step, value in zip(*curves.get(name, ([], [])), strict=True):
            spent[step] = spent.get(step, 0.0) + value
    if spent:
        steps = sorted(spent)
        sums = np.cumsum([spent[step] for step in steps]).tolist()
        axes["seconds"] = dict(zip(steps, sums, strict=True))
    found = []
    for axis, known in axes.items():
        if wanted and all(step in known for steps, _ in wanted.values() for step in steps):
            moved = {n: ([known[s] for s in steps], y) for n, (steps, y) in wanted.items()}
            found.append((axis, moved))
    return found or ([("step", wanted)] if wanted else [])


def collect(lines: Iterable[Mapping[str, Any]]) -> Curves:
    """Every number of every line, by name."""
    curves: Curves = {}
    for line in lines:
        for name, value in line.items():
            if name != "step" and isinstance(value, int | float):
                steps, values = curves.setdefault(name, ([], []))
                steps.append(line["step"])
                values.append(float(value))
    return curves


def grouped(curves: Curves) -> dict[str, Curves]:
    """Curves by the part of their name before the first slash."""
    groups: dict[str, Curves] = {}
    for full, curve in curves.items():
        group, _, name = full.partition("/")
        groups.setdefault(group, {})[name or group] = curve
    return groups


def thin(steps: list[float], values: list[float], most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` points: means over runs of neighbours. NaN stays where all of a run are."""
    size = max(1, math.ceil(len(steps) / most))
    cuts = np.arange(0, len(steps), size)
    known = np.isfinite(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), cuts)
    counts = np.add.reduceat(known.astype(int), cuts)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return np.add.reduceat(np.asarray(steps, float), cuts) / np.diff([*cuts, len(steps)]), means


def _picture(title: str, shown: list[tuple[str, str, Curves]]) -> bytes:
    """Panels of (title, what is on the x axis, curves)."""
    columns = min(_COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    # A figure of its own, not pyplot's: those stay in memory until they are closed.
    figure = Figure(figsize=(5.2 * columns, 3.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel, (group, axis, curves) in zip(panels, shown, strict=False):
        _panel(panel, group, curves)
        panel.set_xlabel(axis)
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
    figure.suptitle(title)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=120)
    return data.getvalue()


def _panel(panel: Any, group: str, curves: Curves) -> None:
    for name, (steps, values) in curves.items():
        low, high = curves.get(f"{name}_low"), curves.get(f"{name}_high")
        if low and high and low[0] == steps == high[0]:
            pick = slice(None, None, math.ceil(len(steps) / _BARS))
            middle = np.asarray(values[pick])
            ends = np.abs(np.asarray([low[1][pick], high[1][pick]]) - middle)
            panel.errorbar(
                steps[pick], middle, yerr=ends, marker="o", ms=3, lw=1, capsize=2, label=name
            )
        elif not _is_end(name, curves):
            panel.plot(*thin(steps, values, _POINTS), lw=1.2, label=name)
    shown = panel.get_legend_handles_labels()[1]
    alone = f": {shown[0]}" if len(shown) == 1 and shown[0] != group else ""
    panel.set_title(f"{group}{alone}".replace("_", " "))
    panel.grid(alpha=0.3)
    if len(shown) > 1:
        # Beside the panel: inside it would cover curves.
        panel.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        if _far_apart([curves[name][1] for name in shown]):
            panel.set_yscale("log")


def _far_apart(curves: list[list[float]]) -> bool:
    """Whether one scale would flatten a curve: all are positive, their middles 30 times apart."""
    middles = [
        float(np.median(x)) for x in ([v for v in c if math.isfinite(v)] for c in curves) if x
    ]
    least = min((v for curve in curves for v in curve if math.isfinite(v)), default=0.0)
    return least > 0 and max(middles) > 30 * min(middles)


def _is_end(name: str, curves: Curves) -> bool:
    return any(name.endswith(end) and name.removesuffix(end) in curves for end in ("_low", "_high"))
