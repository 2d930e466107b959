"""Strength while training: matches against the past, and against a player without a network.

The first network has rating 0. Every later one plays against the one before it and, where the
run has one, against plain MCTS, the same all along; the ratings are those of the Bayesian model
(selfplay/rating.py) by all games so far. The interval of a rating is that of the difference to
the first network, so it is wider, the longer the way from there.

In an environment, or a game of one player, there is nobody to meet: the return of whole episodes
is measured instead.
"""

import contextlib
from dataclasses import astuple, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove import games
from halfmove.core.game import Game
from halfmove.core.types import Array, Planner
from halfmove.games.records import Record
from halfmove.models import Variables
from halfmove.search.planners import options_of
from halfmove.selfplay.alone import LIMIT, alone
from halfmove.selfplay.boards import Searcher
from halfmove.selfplay.host import evaluate
from halfmove.selfplay.match import match, mcts, score
from halfmove.selfplay.rating import SIGMAS, Ratings, Result, distinct, rate, results_of
from halfmove.train.config import SearchConfig
from halfmove.train.parts import Parts, environment_of, planner_of

# What makes a planner's moves vary, for learning; a match wants its best ones.
QUIET = {"gumbel_scale": 0.0, "dirichlet_fraction": 0.0, "temperature": 0.0}
PLAIN = "mcts"
LANES = 16  # environments at once, at most, in which returns are measured


def quiet(config: SearchConfig, asked: tuple[str, ...] = (), *, gumbel: bool = False) -> Planner:
    """The planner of `config` without its noise, and with the options that were `asked` for.

    Or with Gumbel's: the Gumbel paper leaves it out where information is perfect (Fig. 8b). One
    that does not search has no budget.
    """
    known = options_of(config.planner)
    if config.planner == "prior":
        config = replace(config, simulations=0)
    still = {name: x for name, x in QUIET.items() if name in known}
    if gumbel:
        still.pop("gumbel_scale", None)
    return planner_of(config, **{**still, **dict(games.setting(option) for option in asked)})


class Rating:
    """Ratings of the networks of one run."""

    def __init__(self, parts: Parts, variables: Variables) -> None:
        config = parts.config
        self._config = config.rating
        self._on = bool(self._config.every) and parts.game is not None and _is_for_two(parts.game)
        self._alone = bool(self._config.every) and (parts.game is None or parts.game.players == 1)
        search = SearchConfig(
            config.search.planner, self._config.simulations, config.search.options
        )
        self._planner, self._model = quiet(search, gumbel=self._config.noise), parts.model
        self._return: float | None = None  # the last that was measured
        self._name = config.game
        self._game: Any = parts.game
        if not self._on:
            return
        self._past = jax.tree.map(jnp.copy, variables)
        self._results: list[Result] = []  # of networks, named by their numbers, and of `PLAIN`
        self._measured = 0
        self._rating = 0.0
        self._score: float | None = None  # against the player without a network

    def measure(self, key: Array, variables: Variables) -> dict[str, Any]:
        """Plays the matches; metrics."""
        if self._alone:
            return self._returned(key, variables)
        if not self._on:
            return {}
        past_key, mcts_key = jax.random.split(key)
        before, self._measured = str(self._measured), self._measured + 1
        now = Searcher(str(self._measured), self._planner, self._model, variables)
        past = Searcher(before, self._planner, self._model, self._past)
        played = self._match(past_key, now, past)
        metrics: dict[str, Any] = {"score/past": score(played, now.name)}
        if self._config.mcts:
            plain = Searcher(PLAIN, *mcts(self._game, self._config.mcts))
            with_plain = self._match(mcts_key, now, plain)
            self._score = metrics["score/mcts"] = score(with_plain, now.name)
            played += with_plain
        fresh = distinct(played)  # a game played twice tells nothing new
        metrics["matches/distinct"] = len(fresh)
        self._results += results_of(fresh)
        self._past = jax.tree.map(jnp.copy, variables)
        found = rate(self._results, anchors={"0": 0.0})
        self._rating = _rated(found, now.name, "rating")["rating/rating"]
        shown = _rated(found, PLAIN, PLAIN) if self._config.mcts else {}
        return _rated(found, now.name, "rating") | shown | metrics

    def _returned(self, key: Array, variables: Variables) -> dict[str, Any]:
        """The mean return of `games` episodes, with its 95% interval."""
        count = self._config.games
        if self._game is None:
            found = self._episodes(key, variables)
        else:
            earned = alone(self._game, self._planner, self._model, count, LIMIT, variables, key)
            found = np.asarray(earned.points, float)
        self._return = float(found.mean())
        mean, half = self._return, SIGMAS * found.std(ddof=1) / np.sqrt(count)
        ends = {"rating/return_low": mean - half, "rating/return_high": mean + half}
        return {"rating/return": mean, **ends}

    def _episodes(self, key: Array, variables: Variables) -> np.ndarray:
        """What the environment's episodes returned."""
        count = self._config.games
        seed = int(jax.random.randint(key, (), 0, np.iinfo(np.int32).max))
        lanes = max(n for n in range(1, min(count, LANES) + 1) if count % n == 0)
        with contextlib.closing(environment_of(self._name, lanes)) as env:
            return evaluate(env, self._model, self._planner, variables, episodes=count, seed=seed)

    def _match(self, key: Array, one: Searcher, other: Searcher) -> list[Record]:
        games = self._config.games // 2 * 2
        return match(key, self._game, one, other, games=games, opening=self._config.opening)

    def figures(self) -> dict[str, float | str]:
        """What the progress display shows."""
        if self._return is not None:
            return {"measured return": self._return}
        if not self._on:
            return {}
        shown: dict[str, float | str] = {"rating": self._rating}
        if self._score is not None:
            shown[f"score against MCTS with {self._config.mcts}"] = self._score
        return shown

    # -- checkpoints -----------------------------------------------------

    def tree(self) -> dict[str, Any]:
        """The network that the next one meets."""
        return {"past": self._past} if self._on else {}

    def meta(self) -> dict[str, Any]:
        """The results so far."""
        if not self._on:
            return {}
        results = [astuple(result) for result in self._results]
        return {
            "results": results, "measured": self._measured,
            "rating": self._rating, "score": self._score,
        }  # fmt: skip

    def restore(self, tree: dict[str, Any], meta: dict[str, Any]) -> None:
        """As it was when these were saved; anew where an older version saved no results."""
        if self._on:
            self._past = tree["past"]
            if "results" not in meta:
                return
            self._results = [Result(*result) for result in meta["results"]]
            self._measured, self._rating = meta["measured"], meta["rating"]
            self._score = meta["score"]


def _rated(found: Ratings, name: str, metric: str) -> dict[str, float]:
    """A player's rating and the ends of its interval, as metrics."""
    low, high = found.interval(name)
    elo = round(float(found.elo[found.names.index(name)]), 3)
    return {f"rating/{metric}": elo, f"rating/{metric}_low": low, f"rating/{metric}_high": high}


def _is_for_two(game: Game) -> bool:
    return game.players == 2 and not game.chance
