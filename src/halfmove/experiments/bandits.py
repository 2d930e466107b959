"""Does a search improve on its prior? Random deterministic bandits with a predictor.

Gumbel paper, section 3: an arm always pays its q, the predictor gives a prior π
and the true value Σ π q of following it. A search of n visits improves the
policy if E[q(chosen)] ≥ Σ π q (inequality 6).
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, NodeStats, RootNoise
from halfmove.search import Rule, planner
from halfmove.search.rule import Act, Select, best, softmax

ARMS = 64
BUDGETS = (1, 2, 4, 8, 16, 32, 64)

# Label -> planner and its options. Noise for learning stays on where named.
SEARCHES: dict[str, tuple[str, dict[str, float]]] = {
    "full_gumbel": ("full_gumbel", {}),
    "gumbel_replacement": ("gumbel_replacement", {}),
    "muzero": ("muzero", {}),
    "muzero, no noise": ("muzero", {"dirichlet_fraction": 0.0}),
    "trpo, no noise": ("trpo", {"dirichlet_fraction": 0.0}),
    "mpo, no noise": ("mpo", {"dirichlet_fraction": 0.0}),
}


@dataclass(frozen=True)
class Gain:
    """Mean of q(chosen) - Σ π q over bandits and draws, and its standard error."""

    mean: float
    error: float

    @property
    def below(self) -> bool:
        """Certainly a loss: more than three standard errors under zero."""
        return self.mean < -3 * self.error - 1e-6


def random_bandits(key: Array, bandits: int) -> tuple[Array, Array]:
    """(prior logits, q), each [bandits, ARMS]: q uniform on [0, 1], logits normal."""
    logits_key, q_key = jax.random.split(key)
    q = jax.random.uniform(q_key, (bandits, ARMS))
    return 1.5 * jax.random.normal(logits_key, (bandits, ARMS)), q


def counterexample(bandits: int) -> tuple[Array, Array]:
    """π = (0.5, 0.3, 0.2), q = (0, 0, 1), the other arms illegal; the same one many times."""
    logits = jnp.full((bandits, ARMS), -jnp.inf)
    logits = logits.at[:, :3].set(jnp.log(jnp.asarray([0.5, 0.3, 0.2])))
    return logits, jnp.zeros((bandits, ARMS)).at[:, 2].set(1.0)


def misled(logits: Array, q: Array) -> np.ndarray:
    """Bandits whose most probable arm pays less than the prior does on average. [B] bool."""
    favourite = jnp.take_along_axis(q, jnp.argmax(logits, -1)[:, None], -1)[:, 0]
    return np.asarray(favourite < jnp.sum(softmax(logits) * q, -1))


@functools.cache
def rule_of(label: str, n: int) -> Rule:
    """The rule of a search of n visits, the same object every time."""
    name, options = SEARCHES[label]
    return planner(name, simulations=n, **options).rule


def play(key: Array, label: str, logits: Array, q: Array, n: int) -> tuple[Array, Array]:
    """(chosen arm [B], visits [B, A]) after n visits by the root rule of a search.

    A bandit is a tree of one level, so the rule's own functions are all that is
    needed. Only noise and schedule know n: one compilation serves every n.
    """
    noise_key, loop_key = jax.random.split(key)
    own, shared = rule_of(label, n), rule_of(label, BUDGETS[-1])
    searched, row = own.noise(noise_key, logits)
    turns = jnp.zeros((logits.shape[0], n), jnp.int32)
    if own.schedule is not None:
        turns = own.schedule.turns(jnp.sum((row > -jnp.inf) & (logits > -jnp.inf), axis=-1))
    turns = jnp.pad(turns, ((0, 0), (0, BUDGETS[-1] - n)))
    value = jnp.sum(softmax(logits) * q, axis=-1)
    return _visit(shared.select_root, shared.act, loop_key, searched, row, value, q, turns, n)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _visit(
    select: Select,
    act: Act,
    key: Array,
    logits: Array,
    row: Array,
    value: Array,
    q: Array,
    turns: Array,
    n: int,
) -> tuple[Array, Array]:
    act_key, tie_key = jax.random.split(key)
    games = jnp.arange(logits.shape[0])

    def seen(visits: Array, turn: Array | int) -> tuple[NodeStats, RootNoise]:
        known = visits > 0
        total = jnp.sum(visits, axis=-1)
        drawn = jax.random.uniform(jax.random.fold_in(tie_key, turn), logits.shape)
        stats = NodeStats(
            logits=logits,
            prior=softmax(logits),
            visits=visits,
            q=jnp.where(known, q, 0.0),
            count=1 + total,
            value=(value + jnp.sum(visits * q, axis=-1)) / (1.0 + total),
            raw_value=value,
            q_min=jnp.minimum(value, jnp.min(jnp.where(known, q, jnp.inf), axis=-1)),
            q_max=jnp.maximum(value, jnp.max(jnp.where(known, q, -jnp.inf), axis=-1)),
            random=drawn,
        )
        last = jnp.minimum(turn, n - 1)
        return stats, RootNoise(row=row, want=turns[:, last])

    def visit(turn: Array, visits: Array) -> Array:
        stats, noise = seen(visits, turn)
        scores = jax.vmap(select)(stats, noise)
        arm = best(jnp.where(stats.legal & (row > -jnp.inf), scores, -jnp.inf))
        return visits.at[games, arm].add(1)

    visits = jax.lax.fori_loop(0, n, visit, jnp.zeros(logits.shape, jnp.int32))
    return act(act_key, *seen(visits, n)), visits


def measure(
    key: Array, logits: Array, q: Array, budgets: tuple[int, ...], draws: int
) -> dict[str, dict[int, np.ndarray]]:
    """q(chosen) - Σ π q of every search, by budget. Shape [draws, B]."""
    prior = np.asarray(jnp.sum(softmax(logits) * q, axis=-1))
    pay, rows = np.asarray(q), np.arange(len(prior))
    found: dict[str, dict[int, np.ndarray]] = {}
    for label in SEARCHES:
        found[label] = {}
        for n in budgets:
            keys = jax.random.split(jax.random.fold_in(key, n), draws)
            arms = [np.asarray(play(k, label, logits, q, n)[0]) for k in keys]
            found[label][n] = np.stack([pay[rows, arm] - prior for arm in arms])
    return found


def gain(samples: np.ndarray) -> Gain:
    """Mean and standard error of [draws, B] samples, bandits being independent."""
    means = samples.mean(axis=0)
    return Gain(float(means.mean()), float(means.std() / np.sqrt(len(means))))
