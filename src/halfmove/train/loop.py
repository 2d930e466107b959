"""The loop: play, learn, measure, save. All that it does follows from the config and the seed.

Iteration i plays one chunk of moves and then makes the updates that are due, which is a
matter of counting. Its keys come from (seed, i), so that a run which is stopped anywhere
and goes on from a checkpoint does the same as one that was never stopped.

Who plays and learns is said by train/hands.py: this process, or many.
"""

import contextlib
import logging
import math
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from rich.console import Console

from halfmove.core.types import Array
from halfmove.selfplay.host import HostReport
from halfmove.selfplay.play import resign_below
from halfmove.train import checkpoint, zoo
from halfmove.train.checkpoint import Keep
from halfmove.train.config import TrainConfig
from halfmove.train.durable import RunError
from halfmove.train.folder import Run
from halfmove.train.hands import Hands, LostError, Order, Played, Rated, local
from halfmove.train.parts import Parts, opened
from halfmove.train.progress import Progress, Rate
from halfmove.train.record import Lane

_log = logging.getLogger(__name__)
LOWS = 1000  # games played on, by which the bound for resigning is set
SKIPS = 25  # updates in a row without a finite loss, after which a run stops
LOSSES = 5  # times that work is lost, with no checkpoint in between, after which a run stops


def train(
    config: TrainConfig,
    path: str | Path,
    *,
    resume: bool = False,
    console: Console | None = None,
    hands: Callable[[Parts], AbstractContextManager[Hands]] = local,
) -> Path:
    """Runs `config` in the folder `path` to its end, or on from its last checkpoint.

    With `resume`, `config` may differ from that of the run so far; it is kept once it fits.

    Ctrl-C saves and stops; a second one only stops. RunError says what went wrong.
    """
    keep = Keep(last=2, every=config.save_every, parts=("variables",))
    given = None if resume else asdict(config)
    with (
        opened(config) as parts,
        hands(parts) as working,
        Run(path, given, keep=keep, console=console) as run,
        _stopping() as stop,
    ):
        loop = Loop(parts, run, working)
        if resume:
            loop.restore()
            run.change(asdict(config))
        elif config.start:
            loop.start_from(config.start)
        loop.announce()
        loop.run(stop)
    return Path(path)


class _Line(NamedTuple):
    """Metrics of an iteration, to be written once its rating is known."""

    step: int
    metrics: dict[str, Any]
    clock: dict[str, float]
    rated: Rated | None


class Loop:
    """Counts, decides and writes."""

    def __init__(self, parts: Parts, run: Run, hands: Hands) -> None:
        self.parts, self.config, self._run, self._hands = parts, parts.config, run, hands
        self._key = jax.random.key(self.config.seed)
        self._lost = 0  # times, since the last checkpoint
        self._record = Lane(parts.game) if parts.game else None
        self._lines: deque[_Line] = deque()
        self._lows: deque[float] = deque(maxlen=LOWS)
        self._reset()
        hands.begin()

    def _reset(self) -> None:
        self.iteration = self.updates = self.games = 0
        self._ordered = 0  # chunks
        self._bounds: deque[float] = deque()  # for resigning, of those not played yet
        self._skipped = 0  # updates in a row
        self._finite = -1  # iterations before the last one with an update that worked
        self._told = -1  # the part of the run, from save to save, of which a game was written
        self._lows.clear()
        self._lines.clear()
        if self._record:
            self._record.moves = []

    @property
    def positions(self) -> int:
        """Played so far."""
        return self.iteration * self.parts.chunk_positions

    def announce(self) -> None:
        """Says what the run will use."""
        replay, size = self.parts.replay, self.parts.replay_bytes
        shapes = jax.eval_shape(self.parts.model.init, jax.random.key(0))
        count = sum(x.size for x in jax.tree.leaves(shapes["params"]))
        where = "" if self.parts.shelf is None else " in the host's memory"
        _log.info(
            "%s, %s model, %s parameters, %s with %d simulations; replay of %s positions, "
            "%.1f MB%s",
            self.config.game, self.config.model, f"{count:,}", self.config.search.planner,
            self.config.search.simulations, f"{replay.capacity:,}", size / 1e6, where,
        )  # fmt: skip
        if who := self._hands.who():
            _log.info("%s", who)

    def run(self, stop: list[bool]) -> None:
        """Iterations until the last, or until `stop` is not empty."""
        title = f"{self.config.game} {self.config.search.planner}"
        shown = Progress(title, console=self._run.console, trends=("loss", "rating", "entropy"))
        with shown:
            speed = Rate()
            while self.iteration < self.config.iterations:
                try:
                    metrics, stopping = self._turn(stop)
                except LostError as lost:
                    self._go_back(lost)
                    continue
                shown.show(
                    self.iteration / self.config.iterations,
                    self._figures(metrics, speed.add(self.positions)),
                )
                if stopping and self.iteration < self.config.iterations:
                    _log.info(
                        "stopped after iteration %d; `halfmove resume %s` goes on",
                        self.iteration, self._run.path,
                    )  # fmt: skip
                    return
        self._run.plot()
        _log.info("finished %d iterations, %s positions", self.iteration, f"{self.positions:,}")

    def _turn(self, stop: list[bool]) -> tuple[dict[str, Any], bool]:
        """One iteration, written and saved: (metrics, whether the run is to stop)."""
        began = time.perf_counter()
        metrics, clock, rated = self.iterate()
        clock["speed/positions"] = self.parts.chunk_positions / (time.perf_counter() - began)
        clock |= self._hands.heard(metrics)
        self._lines.append(_Line(self.iteration, metrics, clock, rated))
        self._write(wait=False)
        last = self.iteration == self.config.iterations
        stopping = bool(stop)  # once: Ctrl-C after the save is for the next iteration
        if last or stopping or self.iteration % self.config.save_every == 0:
            if self._skipped:  # the last whole checkpoints stay those from before
                _log.warning(
                    "iteration %d is not saved: the loss is not a finite number", self.iteration
                )
            else:
                self.save()
        return metrics, stopping

    def _write(self, *, wait: bool) -> None:
        """Writes the lines whose rating has come, in their order; with `wait` all."""
        while self._lines:
            line = self._lines[0]
            if line.rated is not None and not (wait or line.rated.done()):
                return
            rated = line.rated.result() if line.rated else {}
            self._run.log(line.step, line.metrics | rated, line.clock)
            self._lines.popleft()

    def iterate(
        self,
    ) -> tuple[dict[str, Any], dict[str, float], Rated | None]:
        """One chunk of self-play and its updates: (metrics, seconds that they took, rating)."""
        # What is played while a checkpoint is made would not be in it: those who go on from it
        # play it with a newer network. So nobody plays past one.
        end = (self.iteration // self.config.save_every + 1) * self.config.save_every
        while self._ordered < min(self.iteration + 1 + self._hands.lag, end):
            self._order(self._ordered)
        _, learn_key, rate_key = self._keys(self.iteration)
        clock = {}
        began = time.perf_counter()
        metrics = self._told_by(self._hands.play())
        clock["seconds/selfplay"] = time.perf_counter() - began
        began = time.perf_counter()
        metrics |= self._learn(learn_key)
        clock["seconds/updates"] = time.perf_counter() - began
        self.iteration += 1
        rated = None
        if self.config.rating.every and self.iteration % self.config.rating.every == 0:
            began = time.perf_counter()
            rated = self._hands.rate(rate_key)
            clock["seconds/rating"] = time.perf_counter() - began
        metrics |= {"run/positions": self.positions, "run/updates": self.updates}
        return metrics | {"run/games": self.games}, clock, rated

    def _keys(self, iteration: int) -> tuple[Array, Array, Array]:
        """For playing, learning and rating."""
        play, learn, rate = jax.random.split(jax.random.fold_in(self._key, iteration + 1), 3)
        return play, learn, rate

    def _order(self, number: int) -> None:
        heats = self.config.selfplay.temperatures
        heat = heats[min(number * len(heats) // self.config.iterations, len(heats) - 1)]
        self._bounds.append(resign_below(self._lows, self.config.selfplay.resign))
        self._hands.order(Order(number, self._keys(number)[0], heat, self._bounds[-1]))
        self._ordered = number + 1

    def _told_by(self, played: Played) -> dict[str, Any]:
        """Metrics of a chunk."""
        told, resign = played.report, self._bounds.popleft()
        lows = np.asarray(told.lows)
        self._lows.extend(float(x) for x in lows[np.isfinite(lows)])
        self._keep_games(played)
        games = int(told.games)
        self.games += games
        metrics: dict[str, Any] = {
            "selfplay/entropy": told.entropy,
            "selfplay/surprise": told.surprise,
            "selfplay/depth": told.depth,
            "games/ended": games,
        }
        if games:
            metrics |= {"games/length": told.plies / games, "selfplay/cut": told.cut / games}
            if isinstance(told, HostReport):
                metrics["games/return"] = told.returns / games
            elif self.parts.game and self.parts.game.players == 1:
                metrics["games/return"] = told.first / games
            else:
                metrics["selfplay/first"] = told.first / games
                metrics["selfplay/drawn"] = told.drawn / games
        if self.config.selfplay.resign:
            bound = resign if math.isfinite(resign) else -1.0
            metrics |= {"selfplay/resign_below": bound}
            metrics |= {"selfplay/resigned": told.resigned / games} if games else {}
        return metrics | {f"replay/{name}": value for name, value in played.replay.items()}

    def _keep_games(self, played: Played) -> None:
        """The first game to end after each checkpoint, as a file."""
        if self._record is None:
            return
        for moves in self._record.add(played.action, played.last):
            part = self.iteration // self.config.save_every
            if part > self._told:
                self._told = part
                text = self._record.text(moves)
                self._run.write_game(f"{self.iteration + 1}{self._record.suffix}", text)

    def _learn(self, key: Array) -> dict[str, Any]:
        due = self.parts.updates_due(self.iteration + 1) - self.updates
        if due <= 0:
            return {}
        sums = self._hands.learn(jax.random.split(key, due), self.updates)
        self.updates += due
        broken = sums.pop("broken")
        means = {name: x / due for name, x in sums.items()}
        skipped = round(sums["skipped"])
        if skipped < due:
            self._finite, self._skipped = self.iteration, 0
        self._skipped = self._skipped + skipped if broken else 0
        if self._skipped >= SKIPS:
            raise RunError(self._no_number())
        told = {"replay/sampled_age": means.pop("age")}
        return told | {f"learn/{name}": value for name, value in means.items()}

    def _no_number(self) -> str:
        """Why the run stops, and what is left of it."""
        # The last update that worked may be the one that broke the network.
        sound = self._run.withdraw(after=self._finite)
        left = f"checkpoint {sound[-1]} is from before" if sound else "no checkpoint is from before"
        return (
            f"the loss was not a finite number in {self._skipped} updates in a row, up to "
            f"iteration {self.iteration + 1}; {left}. `halfmove resume {self._run.path}` goes on "
            "there: give it a smaller --learn.optimiser.learning-rate, or --learn.optimiser.clip 1"
        )

    def _figures(self, metrics: dict[str, Any], speed: float) -> dict[str, float | str]:
        wanted = {
            "loss": "learn/loss", "policy loss": "learn/policy_loss",
            "value loss": "learn/value_loss", "entropy": "selfplay/entropy",
            "value error": "learn/value_error", "search depth": "selfplay/depth",
            "game length": "games/length", "return": "games/return",
        }  # fmt: skip
        counts = {"games": self.games, "positions": self.positions, "positions/s": speed}
        known = {name: float(metrics[key]) for name, key in wanted.items() if key in metrics}
        return counts | {"updates": self.updates} | known | self._hands.figures()

    # -- checkpoints -----------------------------------------------------

    def save(self) -> None:
        """A checkpoint of everything."""
        self._write(wait=True)
        tree = self._hands.tree()
        meta = {
            "expect": self._expected(),
            "updates": self.updates,
            "games": self.games,
            "finite": self._finite,
            "lows": list(self._lows),
            "record": self._record.moves if self._record else [],
            "told": self._told,
            "rating": self._hands.meta(),
        }
        self._run.save(self.iteration, tree, meta)
        self._lost = 0

    def start_from(self, run: str) -> None:
        """Takes the network and, if it is there, the optimiser of another run.

        RunError if they do not fit.
        """
        all_of_it = self._hands.like()
        like = {name: all_of_it[name] for name in ("variables", "optimiser")}
        folder, number = zoo.stage(run)
        found = checkpoint.restore(
            folder / "checkpoints", like, number=number, optional=("optimiser",)
        )
        if found is None:
            raise RunError(f"--start {run} has no checkpoint: nothing to begin with")
        self._hands.start(found.tree)
        new = "" if "optimiser" in found.tree else ", with a new optimiser"
        _log.info("begins with the network of %s, iteration %d%s", run, found.number, new)

    def restore(self) -> None:
        """Goes on from the newest whole checkpoint; anew if there is none."""
        self._reset()
        found = self._run.restore(self._hands.like(), expect={"expect": self._expected()})
        if found is None:
            if self.config.start:
                self.start_from(self.config.start)
            return
        meta = found.meta
        self.iteration, self.updates, self.games = found.number, meta["updates"], meta["games"]
        self._ordered = self.iteration
        self._finite = meta.get("finite", -1)
        self._lows.extend(meta["lows"])
        self._told = meta["told"]
        if self._record:
            self._record.moves = list(meta["record"])
        self._hands.restore(found.tree, meta["rating"], found.number)
        if self.parts.game is None:
            _log.info("environments cannot be saved: their episodes are cut short, new ones begin")

    def _go_back(self, lost: LostError) -> None:
        """Does again what was lost, from the last checkpoint on."""
        self._lost += 1
        if self._lost >= LOSSES:
            raise RunError(
                f"{lost}; work was lost {self._lost} times since the last checkpoint, and the run "
                f"stops: `halfmove resume {self._run.path}` goes on"
            ) from lost
        _log.warning("%s; the run goes on from its last checkpoint", lost)
        try:
            self._hands.begin()
            self.restore()
            _log.info("%s", self._hands.who())
        except LostError as again:
            self._go_back(again)

    def _expected(self) -> dict[str, Any]:
        """What a checkpoint must have in common with the run that goes on from it."""
        kept = asdict(self.config)
        return {name: kept[name] for name in ("game", "model", "net", "seed")}


@contextlib.contextmanager
def _stopping() -> Iterator[list[bool]]:
    """A list that is no longer empty once Ctrl-C was pressed. A second time it interrupts."""
    stop: list[bool] = []

    def pressed(number: int, frame: Any) -> None:
        if stop:
            raise KeyboardInterrupt
        stop.append(True)
        _log.info("stopping after this iteration; Ctrl-C again stops at once")

    try:
        before = signal.signal(signal.SIGINT, pressed)
    except ValueError:  # not the main thread: whoever started it stops it
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
