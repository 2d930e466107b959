"""A network that a run has learned, ready to play.

net = trained("runs/hex5-20261115")
plan = net.planner(64)(key, net.model, net.variables, timestep)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import jax

from halfmove import games
from halfmove.core.game import Game
from halfmove.core.types import Planner
from halfmove.models import Trainable, Variables
from halfmove.train import checkpoint
from halfmove.train.command import read
from halfmove.train.config import TrainConfig
from halfmove.train.durable import RunError
from halfmove.train.folder import configuration
from halfmove.train.parts import model_of
from halfmove.train.rating import quiet
from halfmove.train.zoo import place, stage


@dataclass(frozen=True)
class Trained:
    """The network of one checkpoint, and the game it plays."""

    config: TrainConfig  # of its run
    game: Game
    model: Trainable
    variables: Variables
    number: int  # of the checkpoint: the iterations it has learned
    tuned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # options, by planner

    @property
    def positions(self) -> int:
        """Played in its run so far."""
        return self.number * self.config.selfplay.lanes * self.config.selfplay.chunk

    def planner(
        self, simulations: int, name: str | None = None, options: tuple[str, ...] = ()
    ) -> Planner:
        """The run's planner with that budget, or another one of that name; without noise.

        `options` (name=value) come before those tuned for this network, and these before those
        of its run.
        """
        search = self.config.search
        if name is not None and name != search.planner:
            search = replace(search, planner=name, options=())
        tuned = self.tuned.get(search.planner, ())
        search = replace(search, options=(*search.options, *tuned), simulations=simulations)
        return quiet(search, options)


def trained(run: str | Path, number: int | None = None, *, game: Game | None = None) -> Trained:
    """The newest network of a run, or that of a checkpoint, for the game it learned.

    `run` is a folder, a stage of it (RUN/checkpoints/NUMBER), or a name that `halfmove zoo` lists.

    `game`: the same with other options, which may change neither what the network sees nor
    its moves (another komi, but no other board). RunError or ValueError say what is wrong.
    """
    config = config_of(run)
    run, staged = stage(run)
    number = staged if number is None else number
    try:
        learned = games.read(config.game)
    except ValueError as error:  # an environment, or a game that is not here
        raise RunError(f"{run}: {config.game} is not a game: {error}") from error
    game = game or learned
    same = type(game) is type(learned) and game.actions == learned.actions
    if not (same and game.observation_shape == learned.observation_shape):
        raise ValueError(f"the network of {run} learned {config.game}, and plays nothing else")
    model = model_of(config, game)
    like = {"variables": jax.eval_shape(model.init, jax.random.key(0))}
    found = checkpoint.restore(run / "checkpoints", like, number=number)
    if found is None and number is None:
        raise RunError(f"{run} has no checkpoint yet: let it train longer")
    if found is None:
        there = ", ".join(map(str, saved(run)))
        raise RunError(f"{run} has no checkpoint {number}; there are {there}")
    tuned = {name: tuple(options) for name, options in found.meta.get("tuned", {}).items()}
    return Trained(config, game, model, found.tree["variables"], found.number, tuned)


def config_of(run: str | Path) -> TrainConfig:
    """The configuration of a run, of a stage of it, or of a network of the package."""
    return read(configuration(stage(run)[0]))


def saved(run: str | Path) -> list[int]:
    """The checkpoints of a run."""
    return checkpoint.numbers(place(run) / "checkpoints")
