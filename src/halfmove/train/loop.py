"""The loop: play, learn, measure, save. All that it does follows from the config and the seed.

Iteration i plays one chunk of moves and then makes the updates that are due, which is a
matter of counting. Its keys come from (seed, i), so that a run which is stopped anywhere
and goes on from a checkpoint does the same as one that was never stopped.
"""

import contextlib
import logging
import math
import signal
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from rich.console import Console

from halfmove.core.types import Array, Step
from halfmove.selfplay import NEVER
from halfmove.selfplay.host import HostReport
from halfmove.train import checkpoint
from halfmove.train.checkpoint import Keep
from halfmove.train.config import TrainConfig
from halfmove.train.devices import divided, everywhere, mesh_of, using
from halfmove.train.durable import RunError
from halfmove.train.folder import Run
from halfmove.train.parts import Parts, opened
from halfmove.train.progress import Progress, Rate
from halfmove.train.rating import Rating
from halfmove.train.record import Lane

_log = logging.getLogger(__name__)
LOWS = 1000  # games played on, by which the bound for resigning is set
SKIPS = 25  # updates in a row without a finite loss, after which a run stops


def train(
    config: TrainConfig, path: str | Path, *, resume: bool = False, console: Console | None = None
) -> Path:
    """Runs `config` in the folder `path` to its end, or on from its last checkpoint.

    Ctrl-C saves and stops; a second one only stops. RunError says what went wrong.
    """
    keep = Keep(last=2, every=config.save_every, parts=("variables",))
    given = None if resume else asdict(config)
    mesh = mesh_of(config.devices, config.selfplay.lanes, config.learn.batch)
    with (
        opened(config) as parts,
        using(mesh),
        Run(path, given, keep=keep, console=console) as run,
        _stopping() as stop,
    ):
        if mesh is not None and parts.game is None:
            raise ValueError(f"environments on the host use one device, not {config.devices}")
        if mesh is not None and parts.shelf is not None:
            raise ValueError(
                f"a replay in the host's memory is for one device, not {config.devices}: give "
                "--replay.gigabytes less"
            )
        loop = Loop(parts, run, mesh)
        if resume:
            loop.restore()
        elif config.start:
            loop.start_from(Path(config.start))
        loop.announce()
        loop.run(stop)
    return Path(path)


class Loop:
    """One process that does everything."""

    def __init__(self, parts: Parts, run: Run, mesh: Mesh | None = None) -> None:
        self.parts, self.config, self._run = parts, parts.config, run
        self._key = jax.random.key(self.config.seed)
        variables, state, lanes, store = parts.begin(jax.random.fold_in(self._key, 0))
        self.variables, self.optimiser = everywhere(mesh, (variables, state))
        self.lanes, self.store = divided(mesh, (lanes, store), self.config.selfplay.lanes)
        variables = self.variables
        self.target = jax.tree.map(jnp.copy, variables) if self._bootstraps else {}
        self.iteration = self.updates = self.games = 0
        self._skipped = 0  # in a row
        self._lows: deque[float] = deque(maxlen=LOWS)
        self._rating = Rating(parts, variables)
        self._record = Lane(parts.game) if parts.game else None
        self._told = -1  # the part of the run, from save to save, of which a game was written

    @property
    def _bootstraps(self) -> bool:
        return bool(self.config.reanalyse.share and self.config.learn.steps)

    @property
    def positions(self) -> int:
        """Played so far."""
        return self.iteration * self.parts.chunk_positions

    def announce(self) -> None:
        """Says what the run will use."""
        replay, size = self.parts.replay, self.parts.replay_bytes
        count = sum(x.size for x in jax.tree.leaves(self.variables["params"]))
        where = "" if self.parts.shelf is None else " in the host's memory"
        _log.info(
            "%s, %s model, %s parameters, %s with %d simulations; replay of %s positions, "
            "%.1f MB%s",
            self.config.game, self.config.model, f"{count:,}", self.config.search.planner,
            self.config.search.simulations, f"{replay.capacity:,}", size / 1e6, where,
        )  # fmt: skip

    def run(self, stop: list[bool]) -> None:
        """Iterations until the last, or until `stop` is not empty."""
        title = f"{self.config.game} {self.config.search.planner}"
        shown = Progress(title, console=self._run.console, trends=("loss", "rating", "entropy"))
        with shown:
            speed = Rate()
            while self.iteration < self.config.iterations:
                began = time.perf_counter()
                metrics, clock = self.iterate()
                clock["speed/positions"] = self.parts.chunk_positions / (
                    time.perf_counter() - began
                )
                self._run.log(self.iteration, metrics, clock)
                last = self.iteration == self.config.iterations
                stopping = bool(stop)  # once: Ctrl-C after the save is for the next iteration
                if last or stopping or self.iteration % self.config.save_every == 0:
                    self.save()
                shown.show(
                    self.iteration / self.config.iterations,
                    self._figures(metrics, speed.add(self.positions)),
                )
                if stopping and not last:
                    _log.info(
                        "stopped; `halfmove resume %s` goes on from iteration %d",
                        self._run.path, self.iteration,
                    )  # fmt: skip
                    return
        self._run.plot()
        _log.info("finished %d iterations, %s positions", self.iteration, f"{self.positions:,}")

    def iterate(self) -> tuple[dict[str, Any], dict[str, float]]:
        """One chunk of self-play and its updates: (metrics, seconds that they took)."""
        key = jax.random.fold_in(self._key, self.iteration + 1)
        play_key, learn_key, rate_key = jax.random.split(key, 3)
        clock = {}
        began = time.perf_counter()
        metrics = self._play(play_key)
        clock["seconds/selfplay"] = time.perf_counter() - began
        began = time.perf_counter()
        metrics |= self._learn(learn_key)
        clock["seconds/updates"] = time.perf_counter() - began
        self.iteration += 1
        if self.config.rating.every and self.iteration % self.config.rating.every == 0:
            began = time.perf_counter()
            metrics |= self._rating.measure(rate_key, self.variables)
            clock["seconds/rating"] = time.perf_counter() - began
        metrics |= {"run/positions": self.positions, "run/updates": self.updates}
        return metrics | {"run/games": self.games}, clock

    def _play(self, key: Array) -> dict[str, Any]:
        heats = self.config.selfplay.temperatures
        heat = heats[min(self.iteration * len(heats) // self.config.iterations, len(heats) - 1)]
        resign = self._resign_below()
        self.lanes, self.store, steps, report = self.parts.play(
            self.variables, self.lanes, self.store, key, jnp.float32(heat), jnp.float32(resign)
        )
        told = jax.device_get(report)
        lows = np.asarray(told.lows)
        self._lows.extend(float(x) for x in lows[np.isfinite(lows)])
        self._keep_games(steps)
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
            else:
                metrics["selfplay/first"] = told.first / games
                metrics["selfplay/drawn"] = told.drawn / games
        if self.config.selfplay.resign:
            bound = resign if math.isfinite(resign) else -1.0
            metrics |= {"selfplay/resign_below": bound}
            metrics |= {"selfplay/resigned": told.resigned / games} if games else {}
        replay = self.parts.replay.metrics(self.store)
        return metrics | {f"replay/{name}": value for name, value in replay.items()}

    def _resign_below(self) -> float:
        """The bound below which only the allowed share of the games played on was not lost."""
        share = self.config.selfplay.resign
        if not share or len(self._lows) < 1 / share:
            return NEVER
        return float(np.quantile(np.asarray(self._lows), share, method="lower"))

    def _keep_games(self, steps: Step) -> None:
        """The first game to end after each checkpoint, as a file."""
        if self._record is None:
            return
        action, last = jax.device_get((steps.action[0], steps.last[0]))
        for moves in self._record.add(action, last):
            part = self.iteration // self.config.save_every
            if part > self._told:
                self._told = part
                text = self._record.text(moves)
                self._run.write_game(f"{self.iteration + 1}{self._record.suffix}", text)

    def _learn(self, key: Array) -> dict[str, Any]:
        due = self.parts.updates_due(self.iteration + 1) - self.updates
        if due <= 0:
            return {}
        sums: dict[str, Any] = {}
        for each in jax.random.split(key, due):
            self.variables, self.optimiser, self.store, metrics = self.parts.learn(
                self.variables, self.optimiser, self.target, self.store, each
            )
            self.updates += 1
            if self._bootstraps and self.updates % self.config.reanalyse.target_every == 0:
                self.target = jax.tree.map(jnp.copy, self.variables)
            sums = metrics if not sums else jax.tree.map(jnp.add, sums, metrics)
        means = {name: float(x) / due for name, x in jax.device_get(sums).items()}
        skipped = round(means["skipped"] * due)
        self._skipped = self._skipped + skipped if skipped == due else 0
        if self._skipped >= SKIPS:
            raise RunError(
                f"the loss was not a finite number in {self._skipped} updates in a row, at "
                f"iteration {self.iteration + 1}; the checkpoints are from before. Try a smaller "
                "--learn.optimiser.learning-rate, or --learn.optimiser.clip 1"
            )
        told = {"replay/sampled_age": means.pop("age")}
        return told | {f"learn/{name}": value for name, value in means.items()}

    def _figures(self, metrics: dict[str, Any], speed: float) -> dict[str, float | str]:
        wanted = {
            "loss": "learn/loss", "policy loss": "learn/policy_loss",
            "value loss": "learn/value_loss", "entropy": "selfplay/entropy",
            "value error": "learn/value_error", "search depth": "selfplay/depth",
            "game length": "games/length", "return": "games/return",
        }  # fmt: skip
        figures: dict[str, float | str] = {
            "games": self.games, "positions": self.positions, "positions/s": speed,
            "updates": self.updates,
        }  # fmt: skip
        figures |= {name: float(metrics[key]) for name, key in wanted.items() if key in metrics}
        return figures | self._rating.figures()

    # -- checkpoints -----------------------------------------------------

    def _tree(self) -> dict[str, Any]:
        return {
            "variables": self.variables,
            "optimiser": self.optimiser,
            "target": self.target,
            "lanes": self.lanes,
            "store": self.store,
            "rating": self._rating.tree(),
        }

    def save(self) -> None:
        """A checkpoint of everything."""
        meta = {
            "expect": self._expected(),
            "updates": self.updates,
            "games": self.games,
            "skipped": self._skipped,
            "lows": list(self._lows),
            "record": self._record.moves if self._record else [],
            "told": self._told,
            "rating": self._rating.meta(),
        }
        self._run.save(self.iteration, self._tree(), meta)

    def start_from(self, run: Path) -> None:
        """Takes the network and the optimiser of another run; RunError if they do not fit."""
        like = {"variables": self.variables, "optimiser": self.optimiser}
        found = checkpoint.restore(run / "checkpoints", like)
        if found is None:
            raise RunError(f"--start {run} has no checkpoint: nothing to begin with")
        self.variables, self.optimiser = found.tree["variables"], found.tree["optimiser"]
        self.target = jax.tree.map(jnp.copy, self.variables) if self._bootstraps else {}
        self._rating = Rating(self.parts, self.variables)
        _log.info("begins with the network of %s, iteration %d", run, found.number)

    def restore(self) -> None:
        """Goes on from the newest whole checkpoint, if there is one."""
        found = self._run.restore(self._tree(), expect={"expect": self._expected()})
        if found is None:
            return
        tree, meta = found.tree, found.meta
        self.variables, self.optimiser = tree["variables"], tree["optimiser"]
        self.target, self.lanes, self.store = tree["target"], tree["lanes"], tree["store"]
        self.iteration, self.updates, self.games = found.number, meta["updates"], meta["games"]
        self._skipped = meta["skipped"]
        self._lows.extend(meta["lows"])
        self._told = meta["told"]
        if self._record:
            self._record.moves = list(meta["record"])
        self._rating.restore(tree["rating"], meta["rating"])
        again = jax.random.fold_in(jax.random.fold_in(self._key, 0), self.iteration)
        self.lanes, self.store = self.parts.resumed(again, self.lanes, self.store)
        if self.parts.game is None:
            _log.info("environments cannot be saved: their episodes are cut short, new ones begin")

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
