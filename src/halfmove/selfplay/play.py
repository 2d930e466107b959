"""Many games at once, each against itself: a planner and a game give trajectories.

Every lane always has a game that goes on. One that ends begins again in the same step,
so that no chunk of moves favours short games or long ones.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game, edge, over, timestep
from halfmove.core.types import Array, Model, Plan, Planner, Step, TimeStep, pytree
from halfmove.search.memory import new_memory, plan_with

Weights = Literal["visits", "policy"]
NEVER = -float("inf")  # a bound for resigning below which no value lies


@pytree
class Lanes:
    """B games under way."""

    state: Any  # [B, ...]
    moves: Array  # [B] i32, made so far
    lowest: Array  # [B, P] f32, the least value that each player's searches gave in this game
    plays_on: Array  # [B] bool, whether nobody may resign this game
    earned: Array  # [B] f32, what the first player has earned in this game
    memory: Any = ()  # [B, ...], what the planner carries along a game


@pytree
class Report:
    """What happened in a chunk of moves."""

    games: Array  # [] i32, games that ended
    plies: Array  # [] i32, their moves
    first: Array  # [] f32, what the first player earned in them; of one that was cut, nothing
    drawn: Array  # [] i32, games in which that was nothing
    cut: Array  # [] i32, games that were cut short
    resigned: Array  # [] i32
    entropy: Array  # [] f32, mean over all moves, of the improved policy
    surprise: Array  # [] f32, mean KL(improved policy, prior): what searching changed
    depth: Array  # [] f32, mean depth of the simulations
    lows: Array  # [T, B] f32, see `_low`; NaN where no such game ended


@dataclass(frozen=True)
class SelfPlay:
    """`chunk` moves in each of `lanes` games a call. Games of `players` 1 or 2, with known rules.

    The first `explore` moves of a game are drawn, see `draw`; later ones are the planner's own.
    Gumbel paper, section 6.
    """

    game: Game
    model: Model
    planner: Planner
    lanes: int
    chunk: int
    explore: int = 30
    calibration: float = 0.1  # share of games that nobody may resign, to see who would have erred
    explore_by: Weights = "visits"
    simple: bool = False  # see `taught`

    def begin(self, key: Array, variables: Any = None) -> Lanes:
        """New games everywhere; `variables` for a planner that remembers."""
        init_key, play_key = jax.random.split(key)
        return self._new(init_key, play_key, variables)

    def play(
        self,
        variables: Any,
        lanes: Lanes,
        key: Array,
        temperature: Array | float = 1.0,
        resign: Array | float = NEVER,
    ) -> tuple[Lanes, Step, Report]:
        """The games a chunk later, the moves [B, T] and what happened.

        A player whose search says less than `resign` gives up, with nothing but a loss to come.
        """

        def move(lanes: Lanes, key: Array) -> tuple[Lanes, Any]:
            return self._move(variables, lanes, key, temperature, resign)

        lanes, (steps, facts) = jax.lax.scan(move, lanes, jax.random.split(key, self.chunk))
        means = {name: jnp.mean(x) for name, x in facts.pop("opinion").items()}
        lows = facts.pop("lows")
        sums = {name: jnp.sum(x) for name, x in facts.items()}
        steps = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), steps)
        return lanes, steps, Report(**sums, **means, lows=lows)

    def _move(
        self, variables: Any, lanes: Lanes, key: Array, temperature: Any, resign: Any
    ) -> tuple[Lanes, tuple[Step, dict[str, Array]]]:
        game = self.game
        search_key, draw_key, step_key, init_key, play_key = jax.random.split(key, 5)
        seen: TimeStep = jax.vmap(functools.partial(timestep, game))(lanes.state)
        plan = plan_with(lanes.memory, self.planner, search_key, self.model, variables, seen)
        drawn = draw(draw_key, plan, temperature, self.explore_by)
        action = jnp.where(lanes.moves < self.explore, drawn, plan.action)
        keys = jax.random.split(step_key, self.lanes)
        after = jax.vmap(game.step)(keys, lanes.state, action)
        earned = jax.vmap(functools.partial(edge, game))(lanes.state, after)
        ended = jax.vmap(functools.partial(over, game))(after)

        mover = jnp.arange(game.players) == seen.to_play[:, None]
        lowest = jnp.minimum(lanes.lowest, jnp.where(mover, plan.value[:, None], jnp.inf))
        resigned = (plan.value < resign) & ~lanes.plays_on & ~ended
        step = Step(
            state=lanes.state,
            action=action,
            policy=taught(plan, self.simple),
            value=plan.value,
            reward=jnp.where(resigned, -1.0, earned.reward),
            discount=jnp.where(resigned, 0.0, earned.discount),
            last=ended | resigned,
            weight=jnp.ones(self.lanes),
        )
        gained = jax.vmap(game.reward)(after)
        earned_now = jnp.where(seen.to_play == 0, 1.0, -1.0) * step.reward
        lanes = replace(lanes, earned=lanes.earned + earned_now)
        facts = _facts(lanes, step, plan, resigned)
        facts["lows"] = _low(lanes.plays_on & (step.discount == 0), lowest, gained)

        new = self._new(init_key, play_key, variables)
        going = replace(
            lanes, state=after, moves=lanes.moves + 1, lowest=lowest, memory=plan.memory
        )
        return where(step.last, new, going), (step, facts)

    def _new(self, init_key: Array, play_key: Array, variables: Any) -> Lanes:
        games = self.lanes
        return Lanes(
            state=jax.vmap(self.game.init)(jax.random.split(init_key, games)),
            moves=jnp.zeros(games, jnp.int32),
            lowest=jnp.full((games, self.game.players), jnp.inf, jnp.float32),
            plays_on=jax.random.bernoulli(play_key, self.calibration, (games,)),
            earned=jnp.zeros(games),
            memory=new_memory(self.planner, self.model, variables, games),
        )


def draw(key: Array, plan: Plan, temperature: Array | float, by: Weights = "visits") -> Array:
    """[B] i32, actions in proportion to N^(1/T), N the visits, or to π'^(1/T), the improved policy.

    Sequential Halving with few simulations visits what it considers equally often, however bad:
    then the policy knows more. It also stands where nothing was searched.
    """
    weights = plan.policy
    if by == "visits":
        visits = plan.stats.visits.astype(jnp.float32)
        weights = jnp.where(jnp.any(visits > 0, axis=-1, keepdims=True), visits, weights)
    # A policy that is zero everywhere belongs to a game without legal actions.
    logits = jnp.where(weights > 0, jnp.log(jnp.maximum(weights, 1e-30)), -1e9)
    logits = logits - jnp.max(logits, axis=-1, keepdims=True)
    chosen = jax.random.categorical(key, logits / jnp.maximum(temperature, 1e-6))
    return chosen.astype(jnp.int32)


def taught(plan: Plan, simple: bool) -> Array:
    """[B, A]: the policy that a network learns of a plan.

    The improved one, or if `simple` all on the planner's own action, also where another is drawn:
    its divergence is L_simple = -log π(A). Gumbel paper, section 4.
    """
    return jax.nn.one_hot(plan.action, plan.policy.shape[-1]) if simple else plan.policy


def _facts(lanes: Lanes, step: Step, plan: Plan, resigned: Array) -> dict[str, Any]:
    """Figures of one move, [B] or [], which `lanes` have earned."""
    ended = step.last & (step.discount == 0)
    return {
        "games": step.last.astype(jnp.int32),
        "plies": jnp.where(step.last, lanes.moves + 1, 0),
        "first": jnp.where(ended, lanes.earned, 0.0),
        "drawn": (ended & (lanes.earned == 0)).astype(jnp.int32),
        "cut": (step.last & ~ended).astype(jnp.int32),
        "resigned": resigned.astype(jnp.int32),
        "opinion": opinion(plan),
    }


def opinion(plan: Plan) -> dict[str, Array]:
    """[B] f32 each: the improved policy's entropy, its KL from the prior, the search's depth."""
    logs = jnp.log(jnp.maximum(plan.policy, 1e-30))
    prior = jnp.log(jnp.maximum(plan.stats.prior, 1e-30))
    return {
        "entropy": -jnp.sum(plan.policy * logs, axis=-1),
        "surprise": jnp.sum(plan.policy * (logs - prior), axis=-1),
        "depth": jnp.zeros(plan.value.shape) if plan.depth is None else plan.depth,
    }


def _low(counts: Array, lowest: Array, gained: Array) -> Array:
    """[B]: in games that count and ended, the least value seen by a player who did not lose.

    Had one resigned below a greater bound, it would have been wrong.
    """
    low = jnp.min(jnp.where(gained >= 0, lowest, jnp.inf), axis=-1)
    return jnp.where(counts, low, jnp.nan)


def resign_below(lows: Sequence[float], share: float) -> float:
    """The bound below which at most `share` of the games that were not lost would be given up.

    `lows` are those of the latest games played on; NEVER while there are too few to tell.
    """
    if not share or len(lows) < 1 / share:
        return NEVER
    return float(np.quantile(np.asarray(lows), share, method="lower"))


def where(mask: Array, new: Any, old: Any) -> Any:
    """Rows of the tree `new` where the mask [B] says so, of `old` elsewhere."""

    def choose(a: Array, b: Array) -> Array:
        return jnp.where(mask.reshape(mask.shape + (1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(choose, new, old)
