"""The counterexample of the Gumbel paper (example 1), computed by our planners while sliders move.

An arm always pays its q; the prior is π, and what the root is worth is Σ π q. A search improves
the policy if the move after n simulations earns at least that on average (inequality 6).
Every budget up to `MOST` runs in the same compiled programs (`search/anytime.py`), and so do all
π and q: moving a slider compiles nothing.
"""

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from halfmove.core.types import Array, Edge, Prediction
from halfmove.search.anytime import Anytime
from halfmove.search.planners import planner
from halfmove.web.answers import page
from halfmove.web.settings import Settings

ARMS = 3
MOST = 16  # simulations
DRAWS = 1024  # searches whose mean is shown
# How the page calls a search -> the planner and its options.
SEARCHES: dict[str, tuple[str, dict[str, float]]] = {
    "puct": ("muzero", {"dirichlet_fraction": 0.0}),
    "puct_noise": ("muzero", {}),
    "gumbel": ("full_gumbel", {}),
}
Row = tuple[float, ...]  # one number for each arm
# One visitor's sliders at a time, and nobody else's request waits for them.
_worker = ThreadPoolExecutor(1, thread_name_prefix="counterexample")


@dataclass(frozen=True)
class Bandit:
    """The model: `params` are π [A] and q [A]; an arm with π = 0 is not there."""

    def root(self, params: Any, key: Array, timestep: Array) -> tuple[Array, Prediction]:
        """The same root in every row of `timestep` [B]."""
        prior, q = params
        there = prior > 0
        logits = jnp.where(there, jnp.log(jnp.where(there, prior, 1.0)), -jnp.inf)
        rows = (
            jnp.broadcast_to(x, (*timestep.shape, *x.shape)) for x in (logits, prior @ q, there)
        )
        return timestep, Prediction(*rows)

    def step(
        self, params: Any, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        """Pays q(action), and that is the end."""
        nothing = jnp.zeros(node.shape)
        end = Prediction(jnp.zeros((*node.shape, ARMS)), nothing)
        return node, Edge(reward=params[1][action], discount=nothing), end


@dataclass(frozen=True)
class Outcome:
    """What one search does with one budget, over `DRAWS` searches."""

    value: float  # mean q of the move played
    error: float  # standard error of that mean
    target: float  # Σ π' q: what a network that has learned its target would earn
    played: Row  # how often each arm is played
    learned: Row  # the mean target π'
    visits: Row  # mean visits


@functools.cache
def _slices(search: str) -> Anytime:
    name, options = SEARCHES[search]
    return Anytime(planner(name, simulations=MOST, **options), Bandit(), MOST)


def outcome(search: str, prior: Row, q: Row, simulations: int, seed: int = 0) -> Outcome:
    """What a search of that many simulations does."""
    slices, pay = _slices(search), np.asarray(q, np.float32)
    params = np.asarray(prior, np.float32), pay
    key = jax.random.fold_in(jax.random.key(seed), simulations)
    going = slices.begin(key, params, np.zeros(DRAWS, np.float32), budget=simulations)
    going = slices.go_on(params, going, 0, slices.turns(simulations))
    plan = jax.device_get(slices.look(going).plan)
    earned = pay[plan.action]
    return Outcome(
        value=float(earned.mean()),
        error=float(earned.std() / np.sqrt(DRAWS)),
        target=float((plan.policy @ pay).mean()),
        played=_row(np.bincount(plan.action, minlength=ARMS) / DRAWS),
        learned=_row(plan.policy.mean(axis=0)),
        visits=_row(plan.stats.visits.mean(axis=0)),
    )


@functools.lru_cache(maxsize=256)
def measured(prior: Row, q: Row) -> dict[str, Any]:
    """All searches with all budgets, as the page shows them."""
    found = {
        search: [vars(outcome(search, prior, q, n)) for n in range(1, MOST + 1)]
        for search in SEARCHES
    }
    # What the paper warns of: of the n most probable arms take the best.
    order = sorted((a for a in range(ARMS) if prior[a] > 0), key=lambda a: -prior[a])
    top = [max(q[a] for a in order[:n]) for n in range(1, MOST + 1)]
    worth = sum(p * x for p, x in zip(prior, q, strict=True))
    return {"prior": worth, "pi": prior, "q": q, "draws": DRAWS, "top": top, "searches": found}


def arms(prior: str, q: str) -> tuple[Row, Row]:
    """π, made to sum to 1, and q from two lists of numbers; ValueError says what is wrong."""
    rows = []
    for name, text in (("π", prior), ("q", q)):
        try:
            row = [round(float(word), 3) for word in text.split(",")]
        except ValueError:
            raise ValueError(f"{name} must be numbers between commas, got {text!r:.80}") from None
        if len(row) not in (2, ARMS):
            raise ValueError(f"{name} must have 2 or {ARMS} numbers, got {len(row)}")
        if not all(0 <= x <= 1 for x in row):
            raise ValueError(f"{name} must be numbers from 0 to 1, got {text!r:.80}")
        rows.append(row)
    weights, pay = rows
    if len(weights) != len(pay):
        raise ValueError(f"π and q must have as many numbers, got {len(weights)} and {len(pay)}")
    if not sum(weights):
        raise ValueError("π must have an arm with a probability above 0")
    fill = [0.0] * (ARMS - len(pay))
    total = sum(weights)
    return tuple(x / total for x in [*weights, *fill]), (*pay, *fill)


def _row(values: np.ndarray) -> Row:
    return tuple(round(float(x), 5) for x in values)


async def _measure(request: Request) -> Response:
    asked = request.query_params
    given = arms(asked.get("pi", "0.5,0.3,0.2"), asked.get("q", "0,0,1"))
    found = await asyncio.get_running_loop().run_in_executor(_worker, measured, *given)
    return JSONResponse(found)


def _page(request: Request) -> Response:
    return page("counterexample.html")


def routes(settings: Settings) -> list[Route]:
    """The page, and what it asks for."""
    return [
        Route("/counterexample", _page),
        Route("/api/counterexample", _measure),
    ]
