"""Strength while training: matches against the past, and against a player without a network.

The first network has rating 0. Each later one is rated by its match with the one before it,
so the ratings add up: they show a rise, not a place in a league. The interval of a rating is
that of its last match alone, as if the one before it were known exactly.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Planner
from halfmove.models import Variables
from halfmove.search.planners import options_of
from halfmove.selfplay.match import Contender, elo, match, mcts, moves_of
from halfmove.train.config import SearchConfig
from halfmove.train.parts import Parts, planner_of

# What makes a planner's moves vary, for learning; a match wants its best ones.
QUIET = {"gumbel_scale": 0.0, "dirichlet_fraction": 0.0, "temperature": 0.0}


def quiet(config: SearchConfig) -> Planner:
    """The planner of `config` without its noise; one that does not search has no budget."""
    known = options_of(config.planner)
    if config.planner == "prior":
        config = replace(config, simulations=0)
    return planner_of(config, **{name: x for name, x in QUIET.items() if name in known})


class Rating:
    """Ratings of the networks of one run."""

    def __init__(self, parts: Parts, variables: Variables) -> None:
        config = parts.config
        self._config = config.rating
        self._on = bool(self._config.every) and parts.game is not None and parts.game.players == 2
        if not self._on or parts.game is None:
            return
        self._game = parts.game
        search = SearchConfig(
            config.search.planner, self._config.simulations, config.search.options
        )
        self._moves = moves_of(quiet(search), parts.model)
        self._past = jax.tree.map(jnp.copy, variables)
        self._rating: dict[str, float] = {"rating": 0.0, "rating_low": 0.0, "rating_high": 0.0}
        self._score: float | None = None  # against the player without a network

    def measure(self, key: Array, variables: Variables) -> dict[str, Any]:
        """Plays the matches; metrics."""
        if not self._on:
            return {}
        past_key, mcts_key = jax.random.split(key)
        now = Contender(self._moves, variables)
        result = self._match(past_key, now, Contender(self._moves, self._past))
        gain = elo(result.score[result.fresh])  # a game played twice tells nothing new
        before = self._rating["rating"]
        self._rating = {
            "rating": before + gain.difference,
            "rating_low": before + gain.low,
            "rating_high": before + gain.high,
        }
        metrics = {f"rating/{name}": x for name, x in self._rating.items()}
        metrics |= {"score/past": float(result.score.mean()), "matches/distinct": result.distinct}
        if self._config.mcts:
            plain = Contender(moves_of(*mcts(self._game, self._config.mcts)))
            self._score = float(self._match(mcts_key, now, plain).score.mean())
            metrics["score/mcts"] = self._score
        self._past = jax.tree.map(jnp.copy, variables)
        return metrics

    def _match(self, key: Array, one: Contender, other: Contender) -> Any:
        games = self._config.games // 2 * 2
        return match(key, self._game, one, other, games=games, opening=self._config.opening)

    def figures(self) -> dict[str, float | str]:
        """What the progress display shows."""
        if not self._on:
            return {}
        shown: dict[str, float | str] = {"rating": self._rating["rating"]}
        if self._score is not None:
            shown[f"score against MCTS with {self._config.mcts}"] = self._score
        return shown

    # -- checkpoints -----------------------------------------------------

    def tree(self) -> dict[str, Any]:
        """The network that the next one meets."""
        return {"past": self._past} if self._on else {}

    def meta(self) -> dict[str, Any]:
        """The ratings so far."""
        return {"rating": self._rating, "score": self._score} if self._on else {}

    def restore(self, tree: dict[str, Any], meta: dict[str, Any]) -> None:
        """As it was when these were saved."""
        if self._on:
            self._past = tree["past"]
            self._rating, self._score = dict(meta["rating"]), meta["score"]
