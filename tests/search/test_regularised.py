"""Search as regularised policy optimisation: TRPO and MPO against scipy, and pUCT's promise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr, softmax

from halfmove.core.types import NodeStats, RootNoise
from halfmove.search import improve, scaling, select

CASES, A = 1500, 6
C = 1.7


def random_nodes(seed: int, *, low: int = 0, high: int = 40) -> dict[str, np.ndarray]:
    """Priors, values, visits and masks in float64, plus λ and the completed values."""
    rng = np.random.default_rng(seed)
    legal = rng.random((CASES, A)) < 0.8
    legal[np.arange(CASES), rng.integers(A, size=CASES)] = True
    logits = np.where(legal, rng.choice([0.2, 1.0, 3.0], size=(CASES, 1)) *
                      rng.normal(size=(CASES, A)), -np.inf)  # fmt: skip
    visits = rng.integers(low, high, size=(CASES, A)) * legal * (rng.random((CASES, A)) < 0.8)
    total = visits.sum(-1)
    # Numbers a float32 can hold: the oracle must not see digits the rules cannot.
    raw = np.float64(rng.uniform(-1, 1, size=CASES).astype(np.float32))
    values = np.float64(rng.uniform(-1, 1, size=(CASES, A)).astype(np.float32))
    q = np.where(visits > 0, values, 0.0)
    return {
        "legal": legal,
        "prior": softmax(logits, axis=-1),
        "logits": logits,
        "visits": visits,
        "q": q,
        "raw": raw,
        "completed": np.where(visits > 0, q, raw[:, None]),
        "lambda": C * np.sqrt(np.maximum(total, 1)) / (legal.sum(-1) + np.maximum(total, 1)),
    }


def statistics(case: dict[str, np.ndarray]) -> NodeStats:
    f32 = {k: jnp.asarray(v, jnp.float32) for k, v in case.items()}
    games = len(case["raw"])
    return NodeStats(
        logits=f32["logits"],
        prior=f32["prior"],
        visits=jnp.asarray(case["visits"], jnp.int32),
        q=f32["q"],
        count=jnp.asarray(1 + case["visits"].sum(-1), jnp.int32),
        value=f32["raw"],
        raw_value=f32["raw"],
        q_min=jnp.full(games, -1.0),
        q_max=jnp.full(games, 1.0),
        random=jnp.zeros((games, A)),
    )


def policies(rule: improve.Improve, case: dict[str, np.ndarray]) -> np.ndarray:
    noise = RootNoise(row=jnp.zeros((CASES, A)), want=jnp.zeros(CASES, jnp.int32))
    return np.asarray(jax.jit(jax.vmap(rule))(statistics(case), noise), np.float64)


def alpha_by_scipy(q: np.ndarray, prior: np.ndarray, lam: float) -> float:
    low, high = np.max(q + lam * prior), np.max(q) + lam
    excess = lambda alpha: np.sum(lam * prior / (alpha - q)) - 1.0  # noqa: E731
    if excess(low) <= 0.0:
        return float(low)
    return float(brentq(excess, low, max(high, low) + 1e-12, xtol=1e-15, rtol=1e-14))


def trpo_by_scipy(q: np.ndarray, prior: np.ndarray, lam: float, legal: np.ndarray) -> np.ndarray:
    y = np.zeros(len(q))
    alpha = alpha_by_scipy(q[legal], prior[legal], lam)
    y[legal] = lam * prior[legal] / (alpha - q[legal])
    return y / y.sum()


OPTIONS = {"factor": select.constant(C), "scale": scaling.none(), "completion": "raw"}


@pytest.fixture(scope="module", params=[(0, 5), (30, 4000)], ids=["few visits", "many visits"])
def nodes(request) -> dict[str, np.ndarray]:
    low, high = request.param
    return random_nodes(11, low=low, high=high)


@pytest.fixture(scope="module")
def found(nodes) -> dict[str, np.ndarray]:
    return {
        "trpo": policies(improve.trpo(**OPTIONS), nodes),
        "mpo": policies(improve.mpo(**OPTIONS), nodes),
    }


def test_trpo_is_scipys_root(nodes, found):
    expected = np.stack(
        [
            trpo_by_scipy(nodes["completed"][i], nodes["prior"][i], nodes["lambda"][i],
                          nodes["legal"][i])
            for i in range(CASES)
        ]
    )  # fmt: skip
    np.testing.assert_allclose(found["trpo"], expected, atol=2e-5)


def test_mpo_is_its_closed_form(nodes, found):
    tilt = np.where(nodes["legal"], nodes["completed"] / nodes["lambda"][:, None], 0.0)
    expected = softmax(nodes["logits"] + tilt, axis=-1)
    np.testing.assert_allclose(found["mpo"], expected, atol=2e-5)


@pytest.mark.parametrize("which", ["trpo", "mpo"])
def test_no_other_policy_does_better(which, nodes, found):
    """Both objectives are concave: no step towards any other policy may gain."""
    q = np.where(nodes["legal"], nodes["completed"], 0.0)
    prior, lam = nodes["prior"], nodes["lambda"]

    def objective(y: np.ndarray) -> np.ndarray:
        first, second = (prior, y) if which == "trpo" else (y, prior)
        return (q * y).sum(-1) - lam * rel_entr(first, second).sum(-1)

    y = found[which]
    rng = np.random.default_rng(4)
    floor = np.where(nodes["legal"], 1e-12, 0.0)
    y = (y + floor) / (y + floor).sum(-1, keepdims=True)
    reached = objective(y)
    assert (reached >= objective(prior) - 1e-6).all()
    for step in (1.0, 0.1, 0.01, 0.001):
        for sharp in (0.1, 1.0):
            other = rng.gamma(sharp, size=y.shape) * nodes["legal"] + floor
            other /= other.sum(-1, keepdims=True)
            assert (objective((1 - step) * y + step * other) <= reached + 1e-6).all()


@pytest.mark.parametrize("which", ["trpo", "mpo"])
def test_before_the_first_visit_the_policy_is_the_prior(which):
    case = random_nodes(12, low=0, high=1)
    rule = getattr(improve, which)(**OPTIONS)
    np.testing.assert_allclose(policies(rule, case), case["prior"], atol=1e-5)


@pytest.mark.parametrize("which", ["trpo", "mpo"])
@pytest.mark.parametrize("c", [0.0, 1e-36])
def test_without_regularisation_the_best_action_is_left(which, c, nodes):
    rule = getattr(improve, which)(**OPTIONS | {"factor": select.constant(c)})
    q = np.where(nodes["legal"], nodes["completed"], -np.inf)
    y = policies(rule, nodes)
    np.testing.assert_allclose(y.sum(-1), 1.0, atol=1e-5)
    assert (y[q < q.max(-1, keepdims=True)] < 1e-5).all()


@pytest.mark.parametrize("which", ["trpo", "mpo"])
def test_a_node_without_legal_actions_has_no_policy(which):
    case = random_nodes(13)
    for name in ("prior", "visits", "q"):
        case[name][0] = 0
    case["logits"][0] = -np.inf
    y = policies(getattr(improve, which)(**OPTIONS), case)
    assert not y[0].any()
    assert np.isfinite(y).all()


class Promise:
    """pUCT runs on random nodes, one action at a time, beside the regularised policy.

    pUCT maximises q + λ π / π̂ with π̂ = (1 + N) / (A + ΣN) and the λ that its
    own root term gives: ours has √(1 + ΣN), so λ = c √(1 + ΣN) / (A + ΣN). Both
    π̂ and π̄ are distributions, so some action has π̂ <= π̄; the score of that one
    is at least α, hence that of the chosen one too, hence π̂(a*) <= π̄(a*). It
    holds for the values pUCT itself reads: an unvisited action has 0.
    """

    def __init__(self, *, own_lambda: bool) -> None:
        self.case = random_nodes(14, low=0, high=1)
        self.scale = scaling.fixed(-1.0, 1.0)
        self.own_lambda = own_lambda
        rng = np.random.default_rng(15)
        self.payoff = rng.uniform(-1, 1, size=(60, CASES))
        self.sums = np.zeros((CASES, A))

    def steps(self):
        """Yields (π̂(a*), π̄(a*)) [CASES], our π̄ first and then scipy's for 40 nodes."""
        exploration = select.growing()
        puct = jax.jit(jax.vmap(select.puct(exploration=exploration, scale=self.scale)))

        def as_puct_reads(stats, row, anchor):
            return jnp.where(stats.visits > 0, self.scale(stats, row, anchor), 0.0)

        def factor(count):
            total = jnp.maximum(count - 1, 1).astype(jnp.float32)
            own = jnp.sqrt(jnp.maximum(count, 2) / total) if self.own_lambda else 1.0
            return exploration(count) * own

        bar = jax.jit(jax.vmap(improve.trpo(factor=factor, scale=as_puct_reads, completion="raw")))
        noise = RootNoise(row=jnp.zeros((CASES, A)), want=jnp.zeros(CASES, jnp.int32))
        rows, case = np.arange(CASES), self.case
        for payoff in self.payoff:
            stats = statistics(case)
            scores = np.where(case["legal"], puct(stats, noise), -np.inf)
            chosen = np.argmax(scores, axis=-1)
            visits = case["visits"]
            legal, total = case["legal"].sum(-1), visits.sum(-1)
            hat = (1 + visits[rows, chosen]) / (legal + total)
            yield hat, np.asarray(bar(stats, noise))[rows, chosen], chosen
            visits[rows, chosen] += 1
            # Values drift, as they do in a tree.
            self.sums[rows, chosen] += payoff
            case["q"] = self.sums / np.maximum(visits, 1)

    def by_scipy(self, game: int, chosen: int) -> float:
        case = self.case
        count = 1 + case["visits"][game].sum()
        legal = case["legal"][game]
        c = 1.25 + np.log((count + 19652 + 1) / 19652)
        lam = c * np.sqrt(count) / (legal.sum() + count - 1)
        q = np.where(case["visits"][game] > 0, 0.5 * (case["q"][game] + 1), 0.0)
        return trpo_by_scipy(q, case["prior"][game], lam, legal)[chosen]


def test_pucts_next_action_lags_behind_the_regularised_policy():
    run = Promise(own_lambda=True)
    for hat, bar, chosen in run.steps():
        if run.case["visits"].sum() > 0:
            assert (hat <= bar + 2e-5).all()
        for game in range(20):
            assert hat[game] <= run.by_scipy(game, chosen[game]) + 1e-6


def test_the_promise_needs_the_matching_lambda():
    """With √ΣN in λ and √(1 + ΣN) in pUCT it is broken somewhere: the test above can fail."""
    broken = 0
    for hat, bar, _ in Promise(own_lambda=False).steps():
        broken += int(np.sum(hat > bar + 1e-3))
    assert broken > 0
