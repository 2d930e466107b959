import io
import math

import pytest
from rich.console import Console

from halfmove.train.progress import Progress, Rate, Trend, amount, duration


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def terminal(is_one: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=is_one, width=100, color_system=None)


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_shown_now_and_then(is_terminal: bool) -> None:
    console, clock = terminal(is_terminal), Clock()
    figures: dict[str, float | str] = {}
    with Progress("hex 5x5", console=console, clock=clock, trends=("loss",)) as progress:
        for i in range(2001):  # 20 seconds, 100 calls each
            figures = {"games": 1000 * i, "loss": 1 / (1 + i), "rating": "1,200 ± 30"}
            progress.show(i / 4000, figures)
            clock.now += 0.01
    shown = text(console)
    assert "games 2,000,000" in " ".join(shown.split())
    assert "0:20 gone" in shown
    if is_terminal:
        assert 70 <= shown.count("hex 5x5") <= 90  # 4 a second, and the last
        assert "█▂▂▁▁▁▁▁▁▁▁▁▁" in shown
    else:
        lines = shown.splitlines()
        assert len(lines) == 4  # at 0, 10 and 20 s, and the last
        assert lines[1].startswith(" 25%  0:10 gone, 0:30 left  games 1,000,000  loss 0.000999")
        assert "\x1b" not in shown


def test_time_left_of_a_run_that_goes_on() -> None:
    """Half was done before: what is left follows from the speed of this start."""
    console, clock = terminal(False), Clock()
    with Progress("x", console=console, clock=clock) as progress:
        for done in (0.5, 0.6):
            progress.show(done, {})
            clock.now += 20
    assert "0:00 gone, – left" in text(console)
    assert "0:20 gone, 1:20 left" in text(console)


def test_an_error_gives_the_terminal_back() -> None:
    console = terminal(True)

    def fail() -> None:
        with Progress("x", console=console) as progress:
            progress.show(0.1, {"a": 1})
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert text(console).endswith("\x1b[?25h")  # the cursor is visible again


def test_rate_is_of_the_last_window() -> None:
    clock = Clock()
    rate = Rate(window=10.0, clock=clock)
    assert math.isnan(rate.add(5))
    found = 0.0
    for i in range(1, 10001):  # 5 a second for 50 s, then 20
        clock.now += 0.01
        found = rate.add(5 + (5 * i / 100 if i <= 5000 else 250 + 20 * (i - 5000) / 100))
        if i == 5000:
            assert found == pytest.approx(5.0)
    assert found == pytest.approx(20.0)
    assert len(rate._samples) <= 64


def test_a_trend_covers_the_whole_run() -> None:
    for count in (5, 31, 32, 1000, 5000):
        trend = Trend()
        for i in range(count):
            trend.add(float(i))
            trend.add(math.nan)
        assert min(count, 16) <= len(trend.points) < 32
        assert trend.points == sorted(trend.points)
        size = (count + 1) / len(trend.points)
        assert trend.points[0] <= size
        assert trend.points[-1] >= count - 2 * size
    assert str(trend).startswith("▁")
    assert str(trend).endswith("█")
    assert str(Trend()) == ""


def test_figures_as_people_read_them() -> None:
    given = (3, 1234567, 0.123456, 4321.9, math.nan, math.inf, "a", 0.0)
    assert [amount(x) for x in given] == ["3", "1,234,567", "0.1235", "4,322", "–", "inf", "a", "0"]
    found = [duration(x) for x in (0.4, 59.6, 3599.6, 7384, math.nan)]
    assert found == ["0:00", "1:00", "1:00:00", "2:03:04", "–"]
