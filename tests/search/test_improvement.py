"""Policy improvement: inequality 6 of the Gumbel paper, and where pUCT breaks it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from halfmove.core.types import NodeStats, RootNoise
from halfmove.search import act, improve, planner, scaling
from tests.search import models

CASES, A = 20000, 8

# Every increasing σ will do; each takes q in [-1, 1].
SIGMAS = {
    "weak": lambda q: 0.01 * q,
    "identity": lambda q: q,
    "strong": lambda q: 500.0 * q,
    "cubic": lambda q: 10.0 * q**3,
    "exponential": lambda q: jnp.exp(3.0 * q),
    "arctangent": lambda q: 5.0 * jnp.arctan(4.0 * q),
}


def random_cases(seed: int, cases: int = CASES) -> dict[str, np.ndarray]:
    """Priors from flat to sharp, values in [-1, 1], masks; the values in float64."""
    rng = np.random.default_rng(seed)
    legal = rng.random((cases, A)) < rng.uniform(0.3, 1.0, size=(cases, 1))
    legal[np.arange(cases), rng.integers(A, size=cases)] = True
    sharp = rng.choice([0.1, 1.0, 4.0], size=(cases, 1))
    logits = np.where(legal, sharp * rng.normal(size=(cases, A)), -np.inf)
    q = rng.uniform(-1, 1, size=(cases, A)).astype(np.float32).astype(np.float64)
    prior = np.exp(logits - logits.max(-1, keepdims=True))
    prior /= prior.sum(-1, keepdims=True)
    value = (prior * np.where(legal, q, 0.0)).sum(-1)
    return {"legal": legal, "logits": logits, "q": q, "prior": prior, "value": value}


def statistics(case: dict[str, np.ndarray], visits: np.ndarray) -> NodeStats:
    q = np.where(visits > 0, case["q"], 0.0)
    f32 = {k: jnp.asarray(case[k], jnp.float32) for k in ("logits", "prior", "value")}
    return NodeStats(
        logits=f32["logits"],
        prior=f32["prior"],
        visits=jnp.asarray(visits, jnp.int32),
        q=jnp.asarray(q, jnp.float32),
        count=jnp.asarray(1 + visits.sum(-1), jnp.int32),
        value=f32["value"],
        raw_value=f32["value"],
        q_min=jnp.full(len(q), -1.0),
        q_max=jnp.full(len(q), 1.0),
        random=jnp.zeros(q.shape),
    )


@pytest.mark.parametrize("sigma", SIGMAS)
def test_algorithm_1_for_every_increasing_sigma(sigma):
    """For each draw of g: q of the action is at least q of argmax g + logits.

    The latter is a draw from π (Gumbel-Max), so the inequality holds in expectation.
    """
    case = random_cases(1)
    rng = np.random.default_rng(2)
    g = rng.gumbel(size=case["q"].shape).astype(np.float32)
    n = rng.integers(1, A + 1, size=(CASES, 1))
    score = g + case["logits"]
    rank = np.argsort(np.argsort(-score, axis=-1), axis=-1)
    visited = (rank < n) & case["legal"]
    stat = statistics(case, visited.astype(int))
    rule = act.best_considered(lambda node: SIGMAS[sigma](node.q))
    noise = RootNoise(row=jnp.asarray(g), want=jnp.zeros(CASES, jnp.int32))
    action = np.asarray(rule(jax.random.key(0), stat, noise))
    rows = np.arange(CASES)
    assert visited[rows, action].all()
    drawn = case["q"][rows, np.argmax(score, axis=-1)]
    assert (case["q"][rows, action] >= drawn - 1e-3 * (sigma == "weak") - 1e-5).all()
    # Not by doing nothing: where the noise leaves a choice, some actions are better.
    assert (case["q"][rows, action] > drawn + 1e-3).mean() > (0.001 if sigma == "weak" else 0.1)


@pytest.mark.parametrize(
    ("name", "n"), [*(("full_gumbel", n) for n in (1, 2, 5, 8)), ("gumbel", 5)]
)
def test_the_planner_improves_on_every_bandit(name, n):
    """Algorithm 1 through the whole search; a random factor of q stands for σ's slope."""
    case = random_cases(n, 4096)
    factor = np.exp(np.random.default_rng(n).uniform(-4, 1, size=(4096, 1)))
    params = models.arms(
        np.where(case["legal"], case["logits"], 0.0), factor * case["q"], legal=case["legal"]
    )
    search = models.compiled(planner(name, simulations=n, normalise=None), models.Bandit())
    rows = np.arange(4096)
    drawn_q, total = np.zeros(4096), np.zeros(4096)
    for seed in range(5):
        plan = search(jax.random.key(seed), params, None)
        g = np.asarray(plan.noise.row)
        drawn = case["q"][rows, np.argmax(g + case["logits"], axis=-1)]
        taken = case["q"][rows, plan.action]
        assert (taken >= drawn - 1e-4).all()
        drawn_q += drawn / 5
        total += taken / 5
    # In expectation: over the cases the prior's mean is met, and then raised.
    gap = drawn_q - case["value"]
    assert abs(gap.mean()) < 4.0 * gap.std() / np.sqrt(len(gap))
    assert total.mean() >= drawn_q.mean()
    if n > 1:
        assert total.mean() > case["value"].mean() + 0.05


def test_one_simulation_without_noise_acts_with_the_most_probable_action():
    case = random_cases(9, 64)
    params = models.arms(
        np.where(case["legal"], case["logits"], 0.0), case["q"], legal=case["legal"]
    )
    search = planner("full_gumbel", simulations=1, gumbel_scale=0.0)
    plan = models.compiled(search, models.Bandit())(jax.random.key(0), params, None)
    np.testing.assert_array_equal(plan.action, np.argmax(case["prior"], axis=-1))


@pytest.mark.parametrize("normalise", ["siblings", "tree", (-1.0, 1.0), None])
def test_the_improved_policy_with_the_exact_value(normalise):
    """Σ π' q >= Σ π q when unvisited actions are completed with v_π, whatever was visited."""
    rng = np.random.default_rng(5)
    for c_scale in (0.001, 0.02, 1.0):
        case = random_cases(int(1000 * c_scale))
        visits = rng.integers(0, 4, size=case["q"].shape) * case["legal"]
        rule = improve.raised(
            improve.completed_q(c_scale=c_scale, completion="raw", scale=scaling.named(normalise))
        )
        noise = RootNoise(row=jnp.zeros((CASES, A)), want=jnp.zeros(CASES, jnp.int32))
        policy = np.asarray(jax.jit(jax.vmap(rule))(statistics(case, visits), noise), np.float64)
        np.testing.assert_allclose(policy.sum(-1), 1.0, rtol=1e-5)
        assert not policy[~case["legal"]].any()
        better = (policy * np.where(case["legal"], case["q"], 0.0)).sum(-1)
        assert (better >= case["value"] - 2e-6).all()
        assert (better - case["value"]).mean() > 1e-3


COUNTER_PRIOR, COUNTER_Q = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.0, 1.0])
MEAN = float(COUNTER_PRIOR @ COUNTER_Q)


def counterexample(games: int) -> models.Arms:
    logits = np.tile(np.log(COUNTER_PRIOR), (games, 1))
    return models.arms(logits, np.tile(COUNTER_Q, (games, 1)), value=MEAN)


def test_the_best_of_the_most_probable_two_is_no_improvement():
    """Gumbel without its noise is that rule; it earns 0 where the prior earns 0.2."""
    search = planner("full_gumbel", simulations=2, gumbel_scale=0.0)
    plan = search(jax.random.key(0), models.Bandit(), counterexample(1), None)
    assert np.asarray(plan.stats.visits).tolist() == [[1, 1, 0]]
    assert COUNTER_Q[int(plan.action[0])] == 0.0 < MEAN


@pytest.mark.parametrize("name", ["alphazero", "muzero"])
def test_puct_fails_on_the_counterexample(name):
    search = planner(name, simulations=2, dirichlet_fraction=0.0)
    plan = search(jax.random.key(0), models.Bandit(), counterexample(64), None)
    policy = np.asarray(plan.policy)
    assert (policy @ COUNTER_Q < MEAN).all()
    assert (COUNTER_Q[np.asarray(plan.action)] < MEAN).all()


@pytest.mark.parametrize("name", ["full_gumbel", "gumbel", "gumbel_stochastic"])
def test_gumbel_improves_on_the_counterexample(name):
    """It earns the chance that the third arm is among two drawn without replacement."""
    games = 20000
    search = planner(name, simulations=2)
    plan = search(jax.random.key(1), models.Bandit(), counterexample(games), None)
    earned = COUNTER_Q[np.asarray(plan.action)]
    chance = 0.2 + 0.5 * 0.2 / 0.5 + 0.3 * 0.2 / 0.7
    assert chance > MEAN
    assert stats.binomtest(int(earned.sum()), games, chance).pvalue > 1e-3
