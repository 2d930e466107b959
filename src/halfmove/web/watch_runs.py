"""The runs of a folder, as a list of what each is and how far it has come.

A name from a visitor is looked up by `inside`, which never leaves the folder. What a run is, is
read from its configuration and the end of its metrics, again only when the file has changed.
"""

import contextlib
import itertools
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from halfmove.train import checkpoint
from halfmove.train.durable import RunError
from halfmove.train.folder import configuration

DEEP = 3  # folders below which no run is looked for
MOST = 1000  # runs in a list
TAIL = 1 << 18  # bytes of the end of a file in which the last rating is looked for
FRESH = 1.0  # seconds for which a list serves all visitors
MEASURED = ("rating/rating", "rating/return")  # how strength is called, in games and environments


@dataclass(frozen=True)
class Summary:
    """A run in one line."""

    name: str  # its folder, below that of all runs
    game: str
    model: str
    planner: str
    simulations: int
    iterations: int  # planned
    step: int  # done
    positions: int
    strength: tuple[float, float, float] | None  # the last rating or return, and its interval
    measured: str  # which of the two: `rating`, `return`, or nothing
    state: str  # running, finished, stopped
    changed: float  # when its metrics last grew, seconds since 1970
    games: int  # sample games
    checkpoints: int


def inside(folder: Path, name: str) -> Path:
    """The run of that name below `folder`; ValueError if it is elsewhere, RunError if it is none.

    Links are followed only as long as they stay inside.
    """
    parts = Path(name).parts
    if not parts or "\0" in name or Path(name).is_absolute() or ".." in parts or "\\" in name:
        raise ValueError(
            f"a run is named by its folder inside the runs folder, not by {name!r:.80}"
        )
    path = folder / name
    if not _within(path, folder):
        raise ValueError(f"{name!r:.80} leads out of the runs folder")
    if not os.path.isfile(path / "config.json"):  # no error of a name that is too long, or a loop
        raise RunError(f"there is no run {name!r:.80}")
    return path


def file_of(run: Path, part: str, name: str) -> Path:
    """A file of a part of a run (`games`, ...); ValueError if it is elsewhere or not there."""
    path = run / part / name
    if Path(name).name != name or "\0" in name or "\\" in name or name.startswith("."):
        raise ValueError(f"a file is named without folders, not by {name!r:.80}")
    if not _within(path, run) or not os.path.isfile(path):
        raise ValueError(f"the run has no file {name!r:.80} in {part}")
    return path


def _within(path: Path, folder: Path) -> bool:
    """Whether a path is in a folder, with all links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


class Runs:
    """The list, kept for a moment and shared by all visitors."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._until = 0.0
        self._list: list[dict[str, Any]] = []
        self._ends: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}

    def list(self) -> list[dict[str, Any]]:
        """Summaries, those that changed last first."""
        with self._lock:
            if time.monotonic() >= self._until:
                paths = itertools.islice(_runs(self._folder, self._folder), MOST)
                found = [asdict(each) for path in paths if (each := self._summary(path))]
                self._list = sorted(found, key=lambda x: (-x["changed"], x["name"]))
                self._until = time.monotonic() + FRESH
            return self._list

    def _summary(self, run: Path) -> Summary | None:
        try:
            config = configuration(run)
            metrics = run / "metrics.jsonl"
            size = metrics.stat() if metrics.is_file() else (run / "config.json").stat()
            end = self._end(metrics, (size.st_mtime_ns, size.st_size))
            games = len(_files(run / "games"))
            saved = len(checkpoint.numbers(run / "checkpoints"))
        except (RunError, OSError):  # not a run of ours, or gone in this moment
            return None
        search, step = _mapping(config.get("search")), _whole(end.get("step"))
        iterations = _whole(config.get("iterations"))
        finished = 0 < iterations <= step
        state = "finished" if finished else "running" if _alive(run) else "stopped"
        return Summary(
            name=run.relative_to(self._folder).as_posix(),
            game=str(config.get("game", "")),
            model=str(config.get("model", "")),
            planner=str(search.get("planner", "")),
            simulations=_whole(search.get("simulations")),
            iterations=iterations,
            step=step,
            positions=_whole(end.get("run/positions")),
            strength=end.get("strength"),
            measured=end.get("measured", ""),
            state=state,
            changed=size.st_mtime,
            games=games,
            checkpoints=saved,
        )

    def _end(self, file: Path, stamp: tuple[int, int]) -> dict[str, Any]:
        known = self._ends.get(file)
        if known is None or known[0] != stamp:
            self._ends[file] = known = (stamp, _read_end(file))
        return known[1]


def _runs(folder: Path, root: Path, deep: int = 0) -> Iterator[Path]:
    """Folders with a configuration, not those inside them; nothing that a link leads out to."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith(".") or not os.path.isdir(path):
            continue
        if entry.is_symlink() and not _within(path, root):
            continue
        if (path / "config.json").is_file():
            yield path
        elif deep + 1 < DEEP and not entry.is_symlink():
            yield from _runs(path, root, deep + 1)


def _read_end(file: Path) -> dict[str, Any]:
    """The last line of metrics, with the last strength that was measured."""
    with contextlib.suppress(OSError), open(file, "rb") as metrics:
        size = metrics.seek(0, os.SEEK_END)
        metrics.seek(max(0, size - TAIL))
        lines = metrics.read(TAIL).split(b"\n")[:-1]  # behind the last line end is nothing whole
        last = next((found for line in reversed(lines) if (found := parsed(line))), {})
        for line in reversed(lines):
            for name in MEASURED:
                if f'"{name}":'.encode() in line and (found := parsed(line)):
                    row = [found.get(name + end) for end in ("_low", "", "_high")]
                    if all(isinstance(x, int | float) for x in row):
                        kind = name.removeprefix("rating/")
                        return {**last, "strength": tuple(row), "measured": kind}
        return last
    return {}


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object of a line of metrics; None if it is damaged."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(found, dict) and isinstance(found.get("step"), int)
    return found if whole else None


def _files(folder: Path) -> list[str]:
    """The names of a folder's files, without those half written."""
    with contextlib.suppress(OSError):
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    return []


def _alive(run: Path) -> bool:
    """Whether the process that holds the run is there."""
    try:
        os.kill(int((run / "lock").read_text().strip()), 0)
    except PermissionError:  # it is there, and somebody else's
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < 1e15 else 0
