"""Environments that live on the host: a planner and a learned model give trajectories.

The search runs on the device, one call for a move of all environments; the environments are
stepped here. They cannot be copied or saved, so `HostPlay` is bound to them and its lanes are
empty: what a checkpoint keeps of them is nothing.
"""

import functools
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, Model, Planner, Step, TimeStep, pytree
from halfmove.envs.env import Env, over
from halfmove.envs.history import History
from halfmove.search.memory import new_memory, plan_with
from halfmove.selfplay.play import NEVER, Report, Weights, draw, opinion, taught, where

HostLanes = tuple[()]


@pytree
class HostReport(Report):
    """What happened in a chunk of moves, `games` being episodes; nobody resigns."""

    returns: Array  # [] f64, sum of the true returns of the episodes that ended


@pytree
class Choice:
    """What was decided for B positions."""

    action: Array  # [B] i32
    policy: Array  # [B, A] f32, improved
    value: Array  # [B] f32, the search's
    opinion: dict[str, Array]  # means of what `selfplay.play.opinion` says
    memory: Any  # [B, ...], what the planner carries along an episode


class Screen:
    """What B environments show now, on the device; a frame travels there once."""

    def __init__(self) -> None:
        self._frames: deque[Array] = deque()
        self._seen: TimeStep | None = None
        self._memory: Any = None  # of the planner's last plan

    def show(self, seen: TimeStep) -> None:
        """Takes what the environments gave, in the order they gave it."""
        shown: Any = seen.observation
        if isinstance(shown, History):
            if len(self._frames) != len(shown.frames):
                self._frames = deque(map(jnp.asarray, shown.frames), len(shown.frames))
            else:
                self._frames.append(jnp.asarray(shown.frames[-1]))
            self.observation: Any = History(tuple(self._frames), shown.actions, shown.valid)
            self.newest = self._frames[-1]
        else:
            self.observation = self.newest = jnp.asarray(shown)
        self.legal = jnp.asarray(seen.legal)
        self._seen = seen

    def decide(
        self,
        planner: Planner,
        model: Model,
        variables: Any,
        key: Array,
        explore: int,
        temperature: Array | float,
        by: Weights = "visits",
        simple: bool = False,
    ) -> Choice:
        """The next moves, the first `explore` of each episode drawn."""
        seen = self._seen
        if seen is None:
            raise RuntimeError("no episode has begun: call begin(key) first")
        moves = np.where(over(seen), 0, seen.state.lengths).astype(np.int32)
        if self._memory is None:
            self._memory = new_memory(planner, model, variables, len(moves))
        choice = _decide(
            planner, model, by, simple, variables, key, self.observation, self.legal, moves,
            np.int32(explore), np.float32(temperature), self._memory,
        )  # fmt: skip
        self._memory = choice.memory
        return choice


@dataclass(frozen=True, eq=False)
class HostPlay:
    """`chunk` moves in each of the environments of `env` a call.

    The first `explore` moves of an episode are drawn, see `play.draw`; later ones are the
    planner's own. Where an observation is a `History` of frames, a step's state is the newest of
    them alone.
    """

    env: Env
    model: Model
    planner: Planner
    chunk: int
    explore: int = 30
    explore_by: Weights = "visits"
    simple: bool = False  # see `play.taught`
    screen: Screen = field(default_factory=Screen, init=False)

    @property
    def lanes(self) -> int:
        """B, environments at once."""
        return self.env.envs

    def begin(self, key: Array, variables: Any = None) -> HostLanes:
        """New episodes everywhere; EnvError if they fail."""
        seed = int(jax.random.randint(key, (), 0, np.iinfo(np.int32).max))
        self.screen.show(self.env.reset(seed))
        return ()

    def play(
        self,
        variables: Any,
        lanes: HostLanes,
        key: Array,
        temperature: Array | float = 1.0,
        resign: Array | float = NEVER,
    ) -> tuple[HostLanes, Step, HostReport]:
        """The moves [B, T] and what happened; EnvError if an environment fails.

        Call `begin` first. Nobody resigns, whatever the bound.
        """
        moves = [
            self._move(variables, each, temperature) for each in jax.random.split(key, self.chunk)
        ]
        choices, states, legal, seen = zip(*moves, strict=True)
        return lanes, _steps(states, legal, choices, seen), _report(choices, seen)

    def example(self, seen: TimeStep) -> Step:
        """The shapes of one chunk of moves [B, T] in environments that show `seen`."""
        room = (self.lanes, self.chunk)

        def like(dtype: Any, *shape: int) -> Any:
            return jax.ShapeDtypeStruct(room + shape, dtype)

        shown: Any = seen.observation
        state = shown.frames[-1] if isinstance(shown, History) else shown
        number, flag = like(jnp.float32), like(bool)
        return Step(
            state=like(state.dtype, *state.shape[1:]),
            action=like(jnp.int32),
            policy=like(jnp.float32, self.env.actions),
            value=number,
            reward=number,
            discount=number,
            last=flag,
            weight=number,
            legal=like(bool, self.env.actions),
        )

    def _move(
        self, variables: Any, key: Array, temperature: Array | float
    ) -> tuple[Choice, Array, Array, TimeStep]:
        screen = self.screen
        choice = screen.decide(
            self.planner, self.model, variables, key, self.explore, temperature, self.explore_by,
            self.simple,
        )  # fmt: skip
        state, legal = screen.newest, screen.legal
        seen = self.env.step(np.asarray(choice.action))
        screen.show(seen)
        return choice, state, legal, seen


def evaluate(
    env: Env, model: Model, planner: Planner, variables: Any, *, episodes: int, seed: int = 0
) -> np.ndarray:
    """True returns [episodes] f64 of the planner's own moves.

    Every environment plays equally many episodes, so that short ones do not count more.
    """
    if episodes < 1 or episodes % env.envs:
        raise ValueError(
            f"episodes must be a multiple of the {env.envs} environments, got {episodes}"
        )
    each = episodes // env.envs
    returns: list[list[float]] = [[] for _ in range(env.envs)]
    screen, key = Screen(), jax.random.key(seed)
    screen.show(env.reset(seed))
    while min(map(len, returns)) < each:
        key, now = jax.random.split(key)
        choice = screen.decide(planner, model, variables, now, 0, 1.0)
        seen = env.step(np.asarray(choice.action))
        screen.show(seen)
        for i in np.flatnonzero(over(seen)):
            returns[i].append(float(seen.state.returns[i]))
    return np.concatenate([done[:each] for done in returns])


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _decide(
    planner: Planner,
    model: Model,
    by: Weights,
    simple: bool,
    variables: Any,
    key: Array,
    observation: Any,
    legal: Array,
    moves: Array,
    explore: Array,
    temperature: Array,
    memory: Any,
) -> Choice:
    search_key, draw_key = jax.random.split(key)
    count = len(legal)
    never = jnp.zeros(count, bool)
    mover, reward = jnp.zeros(count, jnp.int32), jnp.zeros((count, 1))
    seen = TimeStep(observation, observation, legal, mover, reward, never, never)
    fresh = new_memory(planner, model, variables, count)
    kept = where(moves == 0, fresh, memory)
    plan = plan_with(kept, planner, search_key, model, variables, seen)
    return Choice(
        action=jnp.where(moves < explore, draw(draw_key, plan, temperature, by), plan.action),
        policy=taught(plan, simple),
        value=plan.value,
        opinion=jax.tree.map(jnp.mean, opinion(plan)),
        memory=plan.memory,
    )


def _steps(states: Any, legal: Any, choices: Any, seen: Any) -> Step:
    """T moves of B environments as [B, T]."""
    last = np.stack([over(x) for x in seen], axis=1)
    terminated = np.stack([x.terminated for x in seen], axis=1)
    return Step(
        state=_stacked(states),
        action=_stacked([c.action for c in choices]),
        policy=_stacked([c.policy for c in choices]),
        value=_stacked([c.value for c in choices]),
        reward=jnp.asarray(np.concatenate([x.reward for x in seen], axis=1)),
        discount=jnp.asarray(np.where(terminated, 0.0, 1.0), jnp.float32),
        last=jnp.asarray(last),
        weight=jnp.ones(last.shape),
        legal=_stacked(legal),
    )


@jax.jit
def _stacked(rows: Any) -> Array:
    return jnp.stack(rows, axis=1)


def _report(choices: Any, seen: Any) -> HostReport:
    ended = np.stack([over(x) for x in seen])
    cut = ended & ~np.stack([x.terminated for x in seen])
    returns = np.stack([x.state.returns for x in seen])
    lengths = np.stack([x.state.lengths for x in seen])
    none: Any = np.zeros((), np.int32)
    return HostReport(
        games=ended.sum(),
        plies=lengths[ended].sum(),
        first=none,
        drawn=none,
        cut=cut.sum(),
        resigned=none,
        **{name: np.mean([c.opinion[name] for c in choices]) for name in choices[0].opinion},
        lows=np.full(ended.shape, np.nan, np.float32),  # type: ignore[arg-type]
        returns=returns[ended].sum(),
    )
