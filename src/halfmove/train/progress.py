"""What a run is doing, on a terminal as a live table, elsewhere as lines now and then."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_BLOCKS = "▁▂▃▄▅▆▇█"
_TREND = 32  # points of a curve in the live table, at most
_SAMPLES = 64


class Rate:
    """How fast a count grows, over the last `window` seconds."""

    def __init__(self, window: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._window, self._clock = window, clock
        self._samples: deque[tuple[float, float]] = deque(maxlen=_SAMPLES)

    def add(self, count: float) -> float:
        """The rate a second, now that the count is `count`; NaN before there is one."""
        now = self._clock()
        newest = self._samples[-1][0] if self._samples else -math.inf
        # Calls may come much faster than the window has samples for them.
        if now - newest >= self._window / _SAMPLES:
            self._samples.append((now, count))
        while len(self._samples) > 2 and now - self._samples[1][0] > self._window:
            self._samples.popleft()
        then, before = self._samples[0]
        return (count - before) / (now - then) if now > then else math.nan


class Trend:
    """A curve of all values so far in few points, each the mean of equally many."""

    def __init__(self) -> None:
        self.points: list[float] = []
        self._each = 1
        self._sum, self._count = 0.0, 0  # of the point to come

    def add(self, value: float) -> None:
        """The next value; one that is not finite is left out."""
        if not math.isfinite(value):
            return
        self._sum, self._count = self._sum + value, self._count + 1
        if self._count < self._each:
            return
        self.points.append(self._sum / self._count)
        self._sum, self._count = 0.0, 0
        if len(self.points) == _TREND:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [(a + b) / 2 for a, b in pairs]
            self._each *= 2

    def __str__(self) -> str:
        if not self.points:
            return ""
        low, high = min(self.points), max(self.points)
        scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
        return "".join(_BLOCKS[round((x - low) * scale)] for x in self.points)


class Progress:
    """Shows figures of a run: at most `refreshes` times a second, or a line every `every` seconds.

    Figures come as a dict in the order they are to be seen; those called in `trends`
    are drawn as small curves too. Use it as a context: the terminal is given back at the end.
    """

    def __init__(
        self,
        title: str,
        *,
        console: Console | None = None,
        trends: tuple[str, ...] = (),
        refreshes: float = 4.0,
        every: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title, self._clock = title, clock
        self._console = console or Console()
        self._trends = {name: Trend() for name in trends}
        self._live = None
        if self._console.is_terminal:
            # No thread of its own: it would compete with a loop that runs on every core.
            self._live = Live(console=self._console, auto_refresh=False)
        self._pause = 1 / refreshes if self._live else every
        self._began = clock()
        self._shown = -math.inf
        self._speed = Rate(window=120.0, clock=clock)
        self._latest: tuple[float, dict[str, float | str]] | None = None

    def show(self, done: float, figures: Mapping[str, float | str]) -> None:
        """`done`: the share of the run that is over, 0 to 1. Cheap to call at every step."""
        now = self._clock()
        self._latest = done, dict(figures)
        speed = self._speed.add(done)
        for name, trend in self._trends.items():
            if isinstance(value := figures.get(name), int | float):
                trend.add(value)
        if now - self._shown < self._pause:
            return
        self._shown = now
        self._draw(done, figures, (1 - done) / speed if speed > 0 else math.nan)

    def _draw(self, done: float, figures: Mapping[str, float | str], left: float) -> None:
        times = f"{duration(self._clock() - self._began)} gone, {duration(left)} left"
        if self._live is not None:
            self._live.update(self._table(done, figures, times), refresh=True)
            return
        said = "  ".join(f"{name} {amount(value)}" for name, value in figures.items())
        text = f"{done:4.0%}  {times}  {said}"
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _table(self, done: float, figures: Mapping[str, float | str], times: str) -> Group:
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(
            total=1.0, completed=done, width=30, complete_style="green", finished_style="green"
        )
        head.add_row(Text(self._title, style="bold"), bar, f"{done:.0%}", times)
        body = Table.grid(padding=(0, 2))
        body.add_column()
        body.add_column(justify="right")
        for name, value in figures.items():
            curve = str(self._trends.get(name, ""))
            body.add_row(Text(f"  {name}", style="cyan"), amount(value), Text(curve, style="green"))
        return Group(head, body)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._latest is not None:
            done, figures = self._latest
            self._draw(done, figures, 0.0 if done >= 1 else math.nan)
        if self._live is not None:
            self._live.stop()


def amount(value: float | str) -> str:
    """A figure as people read it: 1,234,567 or 0.03125 or 12.5."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (math.isfinite(value) and abs(value) >= 1000):
        return f"{value:,.0f}"
    return f"{value:.4g}" if math.isfinite(value) else "–" if math.isnan(value) else str(value)


def duration(seconds: float) -> str:
    """`1:02:03`, `2:03`, or `–` if unknown."""
    if not math.isfinite(seconds):
        return "–"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
