"""What a configuration stands for: the game, the model, the planner, and two jitted functions.

One process may play and learn with them (train/loop.py), or many may share the work.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from halfmove import games
from halfmove.core.game import Game
from halfmove.core.types import Array, Planner, Step
from halfmove.learn import reanalyse, targets
from halfmove.learn.augment import turned
from halfmove.learn.loss import simple
from halfmove.learn.optimiser import optimiser
from halfmove.learn.update import Batch, update
from halfmove.learn.views import View, narrowed, of_game
from halfmove.models import Learned, Rules, Spec, Trainable, Variables
from halfmove.replay import Replay, Sample, Store, bytes_of, fit
from halfmove.search import planner
from halfmove.selfplay import Lanes, Report, SelfPlay
from halfmove.train.config import SearchConfig, TrainConfig


def planner_of(config: SearchConfig, **more: Any) -> Planner:
    """The planner, with `more` options."""
    options = {**dict(games.setting(option) for option in config.options), **more}
    return planner(config.planner, simulations=config.simulations, **options)


@dataclass(frozen=True)
class Parts:
    """The pieces of a run. Everything here is static: hashable, and made once."""

    config: TrainConfig
    game: Game
    model: Trainable
    planner: Planner
    selfplay: SelfPlay
    replay: Replay
    optimiser: optax.GradientTransformation
    view: View
    example: Step  # shapes of one chunk of moves

    @property
    def replay_bytes(self) -> int:
        """What the replay takes, exactly."""
        return bytes_of(self.replay, self.example)

    @property
    def chunk_positions(self) -> int:
        """Positions that one iteration brings."""
        return self.selfplay.lanes * self.selfplay.chunk

    def updates_due(self, iterations: int) -> int:
        """Updates that belong to the positions of so many iterations: a matter of counting only."""
        learn = self.config.learn
        positions = iterations * self.chunk_positions - learn.begin
        return max(0, math.floor(positions * learn.samples / learn.batch))

    def begin(self, key: Array) -> tuple[Variables, Any, Lanes, Store]:
        """New variables, the optimiser's state, new games and an empty replay."""
        net_key, game_key = jax.random.split(key)
        variables = self.model.init(net_key)
        lanes = self.selfplay.begin(game_key)
        return variables, self.optimiser.init(variables["params"]), lanes, self.empty()

    def empty(self) -> Store:
        """A replay with nothing in it."""
        return self.replay.empty(self.example)

    @functools.cached_property
    def play(self) -> Any:
        """(variables, lanes, store, key, temperature, resign) -> (lanes, store, steps, report)."""

        def run(
            variables: Variables, lanes: Lanes, store: Store, key: Array, heat: Array, resign: Array
        ) -> tuple[Lanes, Store, Step, Report]:
            lanes, steps, report = self.selfplay.play(variables, lanes, key, heat, resign)
            return lanes, self.replay.add(store, steps), steps, report

        return jax.jit(run, donate_argnums=(1, 2))

    @functools.cached_property
    def learn(self) -> Any:
        """(variables, opt_state, target variables, store, key) -> (…, store, metrics)."""
        return jax.jit(self._learn, donate_argnums=(0, 1, 3))

    def _learn(
        self, variables: Variables, opt_state: Any, target: Variables, store: Store, key: Array
    ) -> tuple[Variables, Any, Store, dict[str, Array]]:
        learn = self.config.learn
        sample_key, again_key, past_key, turn_key = jax.random.split(key, 4)
        sample = self.replay.sample(store, sample_key, learn.batch)
        if self.config.reanalyse.share:
            sample, store = self._again(variables, target, store, sample, again_key)
        batch = self.batch(sample, past_key, turn_key)
        variables, opt_state, metrics = update(
            self.model, self.optimiser, learn.loss, variables, opt_state, batch
        )
        if store.priority is not None:
            wrong = targets.priority(sample, batch.targets)
            store = self.replay.reprioritise(store, sample.lane, sample.time, wrong)
        metrics["age"] = jnp.mean(sample.age.astype(jnp.float32))
        return variables, opt_state, store, metrics

    def batch(self, sample: Sample, past_key: Array, turn_key: Array) -> Batch:
        """What one update learns from a sample."""
        learn = self.config.learn
        first = self.view(narrowed(sample, len(sample.lane), 0, 1))
        legal = first.legal if self.config.model == "rules" else None
        options: Any = {"unroll": learn.unroll, "key": past_key, "legal": legal}
        if learn.steps:
            goal = targets.bootstrapped(
                sample, steps=learn.steps, discount=learn.discount, **options
            )
        else:
            goal = targets.outcome(sample, **options)
        if learn.policy == "simple":
            goal = simple(goal, sample.window.action[:, : learn.unroll + 1])
        batch = Batch(first.observation, goal)
        return turned(turn_key, self.game, batch) if learn.symmetries else batch

    def _again(
        self, variables: Variables, target: Variables, store: Store, sample: Sample, key: Array
    ) -> tuple[Sample, Store]:
        learn = self.config.learn
        rows = reanalyse.rows_of(learn.batch, self.config.reanalyse.share)
        moves = learn.unroll + 1
        search_key, value_key = jax.random.split(key)
        sample = reanalyse.search_again(
            search_key, self.model, self.planner, variables, self.view, sample,
            rows=rows, steps=moves,
        )  # fmt: skip
        store = reanalyse.write_back(self.replay, store, sample, rows=rows, steps=moves)
        if learn.steps:
            sample = reanalyse.value_again(
                value_key, self.model, target, self.view, sample, rows=rows, start=learn.steps
            )
        return sample, store

    def __hash__(self) -> int:
        return hash(self.config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parts) and self.config == other.config


def parts_of(config: TrainConfig) -> Parts:
    """The pieces that `config` names; ValueError says what does not fit."""
    game = games.read(config.game)
    model: Trainable
    if config.model == "rules":
        model = Rules(game, config.net, discount=config.learn.discount)
    else:
        model = Learned(Spec.of_game(game, discount=config.learn.discount), config.net)
    search = planner_of(config.search)
    play = config.selfplay
    lanes = SelfPlay(game, model, search, play.lanes, play.chunk, play.explore, play.calibration)
    example = jax.eval_shape(functools.partial(_one_chunk, lanes, model))
    learn = config.learn
    window = learn.unroll + 1 + learn.steps
    replay = fit(
        example,
        positions=config.replay.positions,
        nbytes=int(config.replay.gigabytes * 1e9),
        chunk=play.chunk,
        window=window,
        finished_only=not learn.steps,
        kind=config.replay.kind,
        alpha=config.replay.alpha,
        beta=config.replay.beta,
    )
    return Parts(
        config, game, model, search, lanes, replay, optimiser(learn.optimiser), of_game(game),
        example,
    )  # fmt: skip


def _one_chunk(lanes: SelfPlay, model: Trainable) -> Step:
    key = jax.random.key(0)
    return lanes.play(model.init(key), lanes.begin(key), key)[1]
