"""What a configuration stands for: the game, the model, the planner, and two jitted functions.

One process may play and learn with them (train/loop.py), or many may share the work.
"""

import contextlib
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import optax

from halfmove import envs, games
from halfmove.core.game import Game
from halfmove.core.types import Array, Planner, Step, pytree
from halfmove.learn import reanalyse, targets
from halfmove.learn.augment import turned
from halfmove.learn.optimiser import optimiser
from halfmove.learn.owners import owners
from halfmove.learn.update import Batch, update
from halfmove.learn.views import View, narrowed, of_frames, of_game, of_observations
from halfmove.models import Learned, QValues, Rules, Spec, Trainable, Variables
from halfmove.replay import Replay, Sample, Store, bytes_of, fit, shelf
from halfmove.search import planner
from halfmove.search.planners import TREELESS
from halfmove.selfplay import Lanes, Report, SelfPlay
from halfmove.selfplay.host import HostLanes, HostPlay
from halfmove.train.config import SearchConfig, TrainConfig
from halfmove.train.durable import RunError

BY_VISITS = ("alphazero", "muzero", *TREELESS)


def planner_of(config: SearchConfig, **more: Any) -> Planner:
    """The planner, with `more` options."""
    options = {**dict(games.setting(option) for option in config.options), **more}
    return planner(config.planner, simulations=config.simulations, **options)


def playing(config: SearchConfig) -> Planner:
    """The planner of self-play. Which moves are drawn is said by `selfplay.explore`.

    So one that acts by its visits takes the most visited, unless its options say otherwise:
    MuZero and Policy Gradient Search draw the first 30 moves of a game. `trpo` and `mpo` sample
    their policy, as Grill et al. have it.
    """
    given = {games.setting(option)[0] for option in config.options}
    greedy = config.planner in BY_VISITS and "temperature" not in given
    return planner_of(config, **({"temperature": 0.0} if greedy else {}))


@dataclass(frozen=True)
class Parts:
    """The pieces of a run. Everything here is static: hashable, and made once."""

    config: TrainConfig
    game: Game | None  # None: an environment on the host
    model: Trainable
    planner: Planner
    selfplay: SelfPlay | HostPlay
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

    def begin(self, key: Array) -> tuple[Variables, Any, Lanes | HostLanes, Store]:
        """New variables, the optimiser's state, new games and an empty replay."""
        net_key, game_key = jax.random.split(key)
        variables = self.model.init(net_key)
        lanes = self.selfplay.begin(game_key, variables)
        return variables, self.optimiser.init(variables["params"]), lanes, self.empty()

    def empty(self) -> Store:
        """A replay with nothing in it."""
        return _put(self.replay.empty(self.example), self.shelf)

    @functools.cached_property
    def shelf(self) -> jax.Device | None:
        """Where the replay is kept, if not on the device that plays and learns."""
        return shelf(self.replay_bytes, self.config.replay.place)

    @functools.cached_property
    def play(self) -> Any:
        """(variables, lanes, store, key, temperature, resign) -> (lanes, store, steps, report)."""
        selfplay, shelf = self.selfplay, self.shelf
        if not isinstance(selfplay, HostPlay) and shelf is None:
            return jax.jit(self._play, donate_argnums=(1, 2))
        # Two computations, since they are not on the same device.
        moves: Any = selfplay.play
        if not isinstance(selfplay, HostPlay):
            moves = jax.jit(selfplay.play, donate_argnums=1)
        add = jax.jit(self.replay.add, donate_argnums=0)

        def run(variables: Variables, lanes: Any, store: Store, *rest: Any) -> Any:
            lanes, steps, report = moves(variables, lanes, *rest)
            return lanes, add(store, _put(steps, shelf)), steps, report

        return run

    def _play(
        self, variables: Variables, lanes: Any, store: Store, key: Array, heat: Array, resign: Array
    ) -> tuple[Lanes | HostLanes, Store, Step, Report]:
        lanes, steps, report = self.selfplay.play(variables, lanes, key, heat, resign)
        return lanes, self.replay.add(store, steps), steps, report

    def resumed(self, key: Array, lanes: Any, store: Store) -> tuple[Any, Store]:
        """Lanes and store to go on with, given those of a checkpoint.

        Games go on as they were. Environments cannot be saved: new episodes begin, and those
        that were going on count as cut short.
        """
        if not isinstance(self.selfplay, HostPlay):
            return lanes, store
        return self.selfplay.begin(key), self.replay.cut_short(store)

    def close(self) -> None:
        """Ends the environments, if there are any."""
        if isinstance(self.selfplay, HostPlay):
            self.selfplay.env.close()

    @functools.cached_property
    def learn(self) -> Any:
        """(variables, opt_state, target variables, store, key) -> (…, store, metrics)."""
        if self.shelf is None:
            return jax.jit(self._learn, donate_argnums=(0, 1, 3))
        device = jax.local_devices()[0]
        draw = jax.jit(self.draw)
        learn = jax.jit(self.learn_from, donate_argnums=(0, 1))
        keep = jax.jit(self.keep, donate_argnums=0)

        def run(
            variables: Variables, opt_state: Any, target: Variables, store: Store, key: Array
        ) -> tuple[Variables, Any, Store, dict[str, Array]]:
            keys = jax.random.split(key, 4)
            sample = jax.device_put(draw(store, keys[0]), device)
            variables, opt_state, found, metrics = learn(
                variables, opt_state, target, sample, keys[1:]
            )
            return variables, opt_state, keep(store, _put(found, self.shelf)), metrics

        return run

    def _learn(
        self, variables: Variables, opt_state: Any, target: Variables, store: Store, key: Array
    ) -> tuple[Variables, Any, Store, dict[str, Array]]:
        keys = jax.random.split(key, 4)
        sample = self.draw(store, keys[0])
        variables, opt_state, found, metrics = self.learn_from(
            variables, opt_state, target, sample, keys[1:]
        )
        return variables, opt_state, self.keep(store, found), metrics

    def draw(self, store: Store, key: Array) -> Sample:
        """What one update learns from."""
        return self.replay.sample(store, key, self.config.learn.batch)

    def learn_from(
        self, variables: Variables, opt_state: Any, target: Variables, sample: Sample, keys: Array
    ) -> tuple[Variables, Any, "Found", dict[str, Array]]:
        """One update by a sample, which is searched again in part; three keys."""
        again_key, past_key, turn_key = keys
        again = None
        if self.config.reanalyse.part:
            sample, again = self.again(variables, target, sample, again_key)
        batch = self.batch(sample, past_key, turn_key)
        variables, opt_state, metrics = update(
            self.model, self.optimiser, self.config.learn.loss, variables, opt_state, batch
        )
        metrics["age"] = jnp.mean(sample.age.astype(jnp.float32))
        found = Found(sample.lane, sample.time, targets.priority(sample, batch.targets), again)
        return variables, opt_state, found, metrics

    def keep(self, store: Store, found: "Found") -> Store:
        """The store with what an update found out about its sample."""
        if found.again is not None:
            store = self.replay.rewrite(store, **found.again)
        if store.priority is not None:
            store = self.replay.reprioritise(store, found.lane, found.time, found.wrong)
        return store

    def batch(self, sample: Sample, past_key: Array, turn_key: Array) -> Batch:
        """What one update learns from a sample."""
        learn = self.config.learn
        first = self.view(narrowed(sample, len(sample.lane), 0, 1))
        legal = None if self.config.model == "learned" else first.legal
        options: Any = {"unroll": learn.unroll, "key": past_key, "legal": legal}
        if learn.steps:
            goal = targets.bootstrapped(
                sample, steps=learn.steps, discount=learn.discount, **options
            )
        else:
            goal = targets.outcome(sample, **options)
        if self.game is not None and sample.final is not None:
            goal = replace(goal, owners=owners(self.game, sample))
        batch = Batch(first.observation, goal)
        if self.game is None or not learn.symmetries:
            return batch
        return turned(turn_key, self.game, batch)

    def again(
        self, variables: Variables, target: Variables, sample: Sample, key: Array
    ) -> tuple[Sample, dict[str, Array]]:
        """The sample searched again in part, and what that found, as `Replay.rewrite` takes it."""
        learn = self.config.learn
        rows = reanalyse.rows_of(learn.batch, self.config.reanalyse.part)
        moves = learn.unroll + 1
        search_key, value_key = jax.random.split(key)
        sample = reanalyse.search_again(
            search_key, self.model, self.planner, variables, self.view, sample,
            rows=rows, steps=moves, simple=learn.policy == "simple",
        )  # fmt: skip
        found = reanalyse.found(sample, rows=rows, steps=moves)
        if learn.steps:
            sample = reanalyse.value_again(
                value_key, self.model, target, self.view, sample, rows=rows, start=learn.steps
            )
        return sample, found

    def __hash__(self) -> int:
        return hash(self.config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parts) and self.config == other.config


@pytree
class Found:
    """What an update says of the positions it learned from."""

    lane: Array  # [n] i32
    time: Array  # [n] i32
    wrong: Array  # [n] f32, how far the search's value was from the target
    again: dict[str, Array] | None  # what `Replay.rewrite` takes, of those searched again


def _put(tree: Any, device: jax.Device | None) -> Any:
    return tree if device is None else jax.device_put(tree, device)


@contextlib.contextmanager
def opened(config: TrainConfig) -> Iterator[Parts]:
    """The pieces of a run, which ends its environments; if one fails this is a RunError."""
    try:
        with contextlib.closing(parts_of(config)) as parts:
            yield parts
    except envs.EnvError as error:
        raise RunError(str(error)) from error


def parts_of(config: TrainConfig) -> Parts:
    """The pieces that `config` names; ValueError says what does not fit.

    An environment is started; `close` ends it.
    """
    if config.game.split(":")[0] in envs.ROOMS:
        return _of_environment(config)
    game = games.read(config.game)
    model = model_of(config, game)
    _check_ownership(config, game)
    search = playing(config.search)
    play = config.selfplay
    if play.resign and game.players == 1:
        raise ValueError(f"no one resigns in {config.game}: selfplay.resign must be 0")
    if play.resign and config.model == "learned":
        # It would be taught that the move before which somebody gives up loses at once.
        raise ValueError("a learned model must see games to their end: selfplay.resign must be 0")
    lanes = SelfPlay(
        game, model, search, play.lanes, play.chunk, play.explore, play.calibration,
        play.explore_by, config.learn.policy == "simple",
    )  # fmt: skip
    example = jax.eval_shape(functools.partial(_one_chunk, lanes, model))
    return Parts(
        config, game, model, search, lanes,
        _replay(config, example, ends=config.net.ownership),
        optimiser(config.learn.optimiser), of_game(game), example,
    )  # fmt: skip


def _check_ownership(config: TrainConfig, game: Game) -> None:
    if not config.net.ownership:
        return
    state = jax.eval_shape(game.init, jax.random.key(0))
    if jax.eval_shape(game.ownership, state) is None:
        raise ValueError(
            f"no one owns places in the end of {game.name}: net.ownership must be false"
        )
    if config.model != "rules":
        raise ValueError("net.ownership is for known rules: choose --model rules")


def model_of(config: TrainConfig, game: Game) -> Trainable:
    """The model of a game that `config` asks for."""
    discount = config.learn.discount
    if config.model == "rules":
        return Rules(game, config.net, discount=discount)
    return _learned(config, Spec.of_game(game, discount=discount))


def _learned(config: TrainConfig, spec: Spec) -> Trainable:
    return (QValues if config.model == "q" else Learned)(spec, config.net)


def environment_of(text: str, lanes: int) -> envs.Env:
    """The environments of a line such as "atari:ms_pacman size=64", to be closed."""
    name, *words = text.split()
    options = dict(games.setting(word) for word in words)
    if "envs" in options:
        raise ValueError("how many environments there are is said by selfplay.lanes, not by envs")
    if "samples" in options:
        raise ValueError("continuous actions (samples=K) cannot be learned, only be searched")
    try:
        return envs.make(name, envs=lanes, **options)
    except ImportError as error:
        raise RunError(str(error)) from error


def _of_environment(config: TrainConfig) -> Parts:
    play = config.selfplay
    if config.model == "rules":
        raise ValueError(
            f"{config.game} has no rules that a search could follow: choose --model learned"
        )
    if play.resign:
        raise ValueError(f"no one resigns in {config.game}: selfplay.resign must be 0")
    env = environment_of(config.game, play.lanes)
    try:
        seen = env.reset(config.seed)
        model = _learned(config, Spec.of_timestep(seen, discount=config.learn.discount))
        search = playing(config.search)
        simple = config.learn.policy == "simple"
        lanes = HostPlay(env, model, search, play.chunk, play.explore, play.explore_by, simple)
        frames = getattr(seen.observation, "frames", None)
        example = lanes.example(seen)
        context = len(frames) if frames is not None else 0
        return Parts(
            config, None, model, search, lanes, _replay(config, example, context=context),
            optimiser(config.learn.optimiser),
            of_observations if frames is None else of_frames, example,
        )  # fmt: skip
    except BaseException:
        env.close()
        raise


def _replay(config: TrainConfig, example: Step, **options: Any) -> Replay:
    learn = config.learn
    return fit(
        example,
        positions=config.replay.positions,
        nbytes=int(config.replay.gigabytes * 1e9),
        chunk=config.selfplay.chunk,
        window=learn.unroll + 1 + learn.steps,
        finished_only=not learn.steps,
        kind=config.replay.kind,
        alpha=config.replay.alpha,
        beta=config.replay.beta,
        first=config.replay.first,
        growth=config.replay.growth,
        **options,
    )


def _one_chunk(lanes: SelfPlay, model: Trainable) -> Step:
    net_key, game_key, play_key = jax.random.split(jax.random.key(0), 3)
    variables = model.init(net_key)
    return lanes.play(variables, lanes.begin(game_key, variables), play_key)[1]
