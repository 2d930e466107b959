"""A run is a folder; this is the only place that knows what is where in it.

config.json        the configuration; a folder with one is a run
environment.json   a list: versions, devices and command of every start
metrics.jsonl      one line a step, the same for an interrupted run and one that was not
speed.jsonl        what depends on the machine's clock, and so is not
events.out...      both, for TensorBoard
checkpoints/  games/  plots/  log.txt  lock
"""

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import jax
from rich.console import Console

from halfmove.train import checkpoint, environment, plots
from halfmove.train.checkpoint import Keep, Restored
from halfmove.train.durable import RunError, write_whole
from halfmove.train.events import Events
from halfmove.train.metrics import Metrics, plain

_log = logging.getLogger(__name__)
_BEFORE_CONFIG = ("lock", "log.txt", "environment.json")  # what a start that was killed may leave


class Run:
    """A run's folder, held by this process alone until `close`.

    One step of the loop logs its metrics first and is saved, if it is to be, after them:
    a run that is restored from checkpoint n has the metrics of the steps up to n.
    """

    def __init__(
        self,
        path: str | Path,
        config: Mapping[str, Any] | None = None,
        *,
        keep: Keep = Keep(),  # noqa: B008  (frozen)
        background: bool = True,
        console: Console | None = None,
    ) -> None:
        """A new run with `config`, or without one the run that is there.

        `background`: checkpoints are copied to host memory and written by a thread.
        RunError: the folder is another's, in use, not a run, or cannot be written.
        """
        self.path = Path(path)
        self.console = console or Console()
        self._events: Events | None = None
        self._first: int | None = None  # the first step of this start, if it goes on from another
        with contextlib.ExitStack() as undo, _said(f"the run's folder {self.path}"):
            if config is None:
                self.config = configuration(self.path)
            else:
                _must_be_free(self.path)
                self.path.mkdir(parents=True, exist_ok=True)
            undo.callback(os.close, _lock(self.path))
            undo.enter_context(_logging(self.path / "log.txt", self.console))
            here = environment.describe()
            _add_environment(self.path / "environment.json", here)
            if config is not None:
                _must_be_free(self.path)  # another process may have been faster
                write_whole(self.path / "config.json", _json(config))
                self.config = configuration(self.path)
            for name in ("checkpoints", "games", "plots"):
                (self.path / name).mkdir(exist_ok=True)
            self._metrics = Metrics(self.path / "metrics.jsonl")
            undo.callback(self._metrics.close)
            self._speed = Metrics(self.path / "speed.jsonl")
            undo.callback(self._speed.close)
            self._keep = keep
            self._writer = None
            if background:
                self._writer = checkpoint.Writer(self.checkpoints, keep=keep)
                undo.callback(self._writer.close)
            _log.info("%s: %s", self.path, environment.summary(here))
            self._undo = undo.pop_all()

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / "checkpoints"

    def log(
        self, step: int, values: Mapping[str, Any], clock: Mapping[str, Any] | None = None
    ) -> None:
        """One line of metrics; `clock` has those that another machine would measure otherwise.

        Names have the form `group/name`. The scalars go to TensorBoard too.
        """
        line, timing = (plain(each) for each in jax.device_get((dict(values), dict(clock or {}))))
        with _said(f"metrics of step {step} to {self.path}"):
            self._metrics.write(step, line)
            if timing:
                self._speed.write(step, timing)
            if self._events is None:
                self._events = Events(self.path, first=self._first)
            self._events.write(step, _scalars({**line, **timing}))

    def save(
        self, step: int, tree: Mapping[str, Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        """Checkpoint `step`; see `checkpoint.save` and `checkpoint.Writer`."""
        with _said(f"metrics of step {step} to {self.path}"):
            # Before the checkpoint: after a power cut it must not be ahead of its metrics.
            self._metrics.sync()
            self._speed.sync()
        if self._writer is not None:
            self._writer.save(step, tree, meta)
        else:
            checkpoint.save(self.checkpoints, step, tree, meta, keep=self._keep)

    def restore(
        self, like: Mapping[str, Any], *, expect: Mapping[str, Any] | None = None
    ) -> Restored | None:
        """The newest whole checkpoint, and the run as it was then: later metrics are forgotten.

        None: there is no checkpoint, the run begins again. See `checkpoint.restore`.
        """
        if self._writer is not None:
            self._writer.wait()
        if self._events is not None:
            self._events.close()
            self._events = None
        found = checkpoint.restore(self.checkpoints, like, expect=expect)
        step = -1 if found is None else found.number
        with _said(f"the run's folder {self.path}"):
            checkpoint.set_aside(self.checkpoints, after=step)
            self._metrics.rewind(step)
            self._speed.rewind(step)
        self._first = step + 1
        if found is None:
            _log.info("%s has no checkpoint yet and begins again", self.path)
        else:
            _log.info("%s goes on from checkpoint %d", self.path, step)
        return found

    def withdraw(self, *, after: int) -> list[int]:
        """Takes checkpoints beyond `after` out of the row; gives those that are left."""
        if self._writer is not None:
            self._writer.wait()
        with _said(f"the run's folder {self.path}"):
            checkpoint.set_aside(self.checkpoints, after=after)
        return checkpoint.numbers(self.checkpoints)

    def change(self, config: Mapping[str, Any]) -> None:
        """The run goes on with this configuration."""
        written = _json(config)
        if json.loads(written) != self.config:
            with _said(f"the configuration of {self.path}"):
                write_whole(self.path / "config.json", written)
            self.config = configuration(self.path)

    def write_game(self, name: str, text: str) -> None:
        """A sample game as the file `name` (`400-1.sgf`, ...)."""
        with _said(f"game {name} to {self.path}"):
            write_whole(self.path / "games" / name, text.encode())

    def plot(self) -> list[Path]:
        """Draws the metrics so far; gives the files."""
        with _said(f"plots to {self.path}"):
            return plots.draw(self.path)

    def close(self) -> None:
        """Finishes the save under way and lets go of the folder; RunError if that save failed."""
        if self._events is not None:
            self._events.close()
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is not None:
            _log.debug("stopped by %r", error, exc_info=error)
        try:
            self.close()
        except RunError as failed:
            if error is None:
                raise
            # The first error is what the person must see; this one would hide it.
            self.console.print(str(failed), markup=False, soft_wrap=True)


def configuration(path: str | Path) -> dict[str, Any]:
    """The configuration of a run; RunError if there is none."""
    file = Path(path) / "config.json"
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RunError(f"{path} is not a run: it has no config.json") from None
    except (ValueError, OSError) as error:
        raise RunError(f"{file} cannot be read: {error}") from error


def _must_be_free(path: Path) -> None:
    if not path.exists():
        return
    if not path.is_dir():
        raise RunError(f"{path} is a file; a run needs a folder of its own")
    found = sorted(entry.name for entry in path.iterdir())
    if "config.json" in found:
        raise RunError(
            f"{path} already holds a run: continue it with `halfmove resume {path}`, "
            "or name another folder"
        )
    strange = [n for n in found if n not in _BEFORE_CONFIG and not n.startswith(".tmp-")]
    if strange:
        some = ", ".join(strange[:3]) + (", ..." if len(strange) > 3 else "")
        raise RunError(f"{path} is not empty ({some}): a run needs a new or an empty folder")


def _lock(path: Path) -> int:
    """The descriptor that holds the run. The system lets go of it however the process ends."""
    descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise RunError(f"{path} is in use by process {holder or '(unknown)'}") from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


class _OnConsole(logging.Handler):
    """Prints above a live display, which a plain stream would tear."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _logging(path: Path, console: Console) -> Iterator[None]:
    """The package's log goes into a file and onto the console."""
    file = logging.FileHandler(path, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    shown = _OnConsole(console)
    shown.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    package = logging.getLogger("halfmove")
    before = package.level
    package.setLevel(logging.DEBUG)
    package.addHandler(file)
    package.addHandler(shown)
    try:
        yield
    finally:
        package.removeHandler(shown)
        package.removeHandler(file)
        package.setLevel(before)
        file.close()


def _add_environment(path: Path, here: dict[str, Any]) -> None:
    starts = []
    with contextlib.suppress(FileNotFoundError, ValueError):
        starts = list(json.loads(path.read_text(encoding="utf-8")))
    write_whole(path, _json([*starts, here]))


def _scalars(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, bool | int | float) or value in ("NaN", "Infinity", "-Infinity")
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, allow_nan=False).encode() + b"\n"


@contextlib.contextmanager
def _said(what: str) -> Iterator[None]:
    """Turns what the system refuses into an error that says what could not be written."""
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot write {what}: {error.strerror or error}") from error
