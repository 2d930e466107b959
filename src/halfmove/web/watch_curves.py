"""The curves of a run while it writes them: read once, thinned, and sent only as far as new.

A file of metrics becomes a table of at most `ROWS` rows, each the means over as many lines as are
needed for that; when it is full, neighbours are put together, and whoever had the table gets all
of it again. Otherwise a visitor gets the rows after those that were complete last time.
"""

import contextlib
import math
import os
import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from halfmove.web.watch_runs import parsed

ROWS = 1024  # of a table: twice the points that a curve is drawn with at least
CHUNK = 1 << 20  # bytes read at once
MOST = 1 << 24  # bytes read for one question: a long run comes in parts
KEPT = 64  # runs whose tables stay in memory
CHECK = 64  # bytes before the place read to, by which a file that was written anew is known
NAMES = 200  # metrics of a run, at most


class Table:
    """Means of every metric over rows of `width` lines."""

    def __init__(self) -> None:
        self.generation = time.time_ns()  # changes whenever rows that were sent no longer hold
        self.width = 1
        self.rows = 0  # with the last one, which may have fewer lines
        self._lines = 0  # of the last row
        self._sums: dict[str, array[float]] = {}
        self._counts: dict[str, array[float]] = {}

    def add(self, line: Mapping[str, Any]) -> None:
        """One more line. What is not a finite number is left out."""
        if self.rows == 0 or self._lines == self.width:
            if self.rows == ROWS:
                self._halve()
            self.rows, self._lines = self.rows + 1, 0
        row = self.rows - 1
        for name, value in line.items():
            if not isinstance(value, int | float) or not math.isfinite(value):
                continue
            if name not in self._sums:
                if len(self._sums) >= NAMES:
                    continue
                self._sums[name] = array("d", bytes(8 * ROWS))
                self._counts[name] = array("d", bytes(8 * ROWS))
            self._sums[name][row] += value
            self._counts[name][row] += 1
        self._lines += 1

    def _halve(self) -> None:
        for columns in (self._sums, self._counts):
            for column in columns.values():
                half = [a + b for a, b in zip(column[::2], column[1::2], strict=True)]
                column[:] = array("d", [*half, *[0.0] * len(half)])
        self.rows, self.width = self.rows // 2, self.width * 2
        self._lines = self.width
        self.generation += 1

    def after(self, generation: int, row: int) -> dict[str, Any]:
        """The rows from `row` on, or all if they are no longer those of that generation.

        `next` is where to go on: the first row that may still change.
        """
        start = row if generation == self.generation and 0 <= row <= self.rows else 0
        full = self.rows - (0 < self._lines < self.width)
        columns = {
            name: [
                float(f"{total / count:.6g}") if count else None
                for total, count in zip(
                    sums[start : self.rows], self._counts[name][start : self.rows], strict=True
                )
            ]
            for name, sums in self._sums.items()
        }
        at = {"generation": str(self.generation), "from": start, "next": full}
        return {**at, "lines": self.width, "columns": columns}


class Tail:
    """A file of JSON lines that grows, and may be cut back and go on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._before = b""

    def more(self) -> tuple[bool, Iterator[dict[str, Any]]]:
        """(whether the file begins anew, the lines since the last time, `MOST` bytes at most)."""
        anew = self._at > 0 and not self._goes_on()
        if anew:
            self._at, self._before = 0, b""
        return anew, self._lines()

    def _goes_on(self) -> bool:
        with contextlib.suppress(OSError), open(self._path, "rb") as file:
            file.seek(self._at - len(self._before))
            return file.read(len(self._before)) == self._before
        return False

    def _lines(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(FileNotFoundError), open(self._path, "rb") as file:
            file.seek(self._at)
            stop = self._at + MOST
            while self._at < stop and (data := file.read(CHUNK)):
                # Without a line end in so much the line is damaged; its rest will not parse.
                end = data.rfind(b"\n") + 1 or (len(data) if len(data) == CHUNK else 0)
                if not end:
                    return
                self._at += end
                self._before = (self._before + data[:end])[-CHECK:]
                yield from (found for line in data[:end].splitlines() if (found := parsed(line)))
                file.seek(self._at)

    @property
    def behind(self) -> bool:
        """Whether there is as much again to read at once."""
        with contextlib.suppress(OSError):
            return os.path.getsize(self._path) - self._at >= CHUNK
        return False


class Curves:
    """The two tables of one run."""

    def __init__(self, run: Path) -> None:
        self._lock = threading.Lock()
        self._spent = 0.0
        self._files: dict[str, tuple[Tail, Callable[[dict[str, Any]], dict[str, Any]]]] = {
            "metrics": (Tail(run / "metrics.jsonl"), lambda line: line),
            "speed": (Tail(run / "speed.jsonl"), self._with_time),
        }
        self._tables = {name: Table() for name in self._files}

    def _with_time(self, line: dict[str, Any]) -> dict[str, Any]:
        """With the seconds of self-play and updates so far, the time that plots show."""
        parts = (line.get(f"seconds/{name}", 0.0) for name in ("selfplay", "updates"))
        self._spent += sum(x for x in parts if isinstance(x, int | float))
        return {**line, "seconds/total": self._spent}

    def after(self, known: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
        """What is new to who knows so much: (generation, row) of each table."""
        with self._lock:
            found: dict[str, Any] = {"more": False}
            for name, (tail, change) in self._files.items():
                anew, lines = tail.more()
                if anew:
                    self._tables[name] = Table()
                    self._spent = 0.0 if name == "speed" else self._spent
                for line in lines:
                    self._tables[name].add(change(line))
                found[name] = self._tables[name].after(*known.get(name, (0, 0)))
                found["more"] |= tail.behind
            return found


class Shelf:
    """The curves of the runs that were looked at last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, Curves] = OrderedDict()

    def curves(self, run: Path) -> Curves:
        """Those of a run."""
        with self._lock:
            curves = self._kept.pop(run, None) or Curves(run)
            self._kept[run] = curves
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return curves
