"""The loss against plain numpy, number by number."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import pytest

from halfmove.learn.loss import LossConfig, of_outputs, squares
from halfmove.learn.targets import Targets
from halfmove.models import Outputs
from halfmove.nets import HeadConfig

N, K, A = 3, 2, 4
rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Heads:
    """All that the loss asks of a model."""

    value_head: HeadConfig = HeadConfig("tanh")  # noqa: RUF009
    reward_head: Any = HeadConfig("linear")  # noqa: RUF009


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def policies(*shape):
    weights = rng.uniform(size=shape) * (rng.uniform(size=shape) < 0.7) + 1e-3
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def example(k=K):
    """Raw outputs and targets with holes in every mask."""
    outputs = Outputs(normal(N, k + 1, A), normal(N, k + 1, 1), normal(N, k + 1, 1))
    masks = [(rng.uniform(size=(N, k + 1)) < 0.6) * rng.uniform(0.5, 1) for _ in range(3)]
    targets = Targets(
        played=np.zeros((N, k + 1), np.int32),
        policy=policies(N, k + 1, A),
        policy_mask=masks[0].astype(np.float32),
        value=np.clip(normal(N, k + 1), -1, 1),
        value_mask=masks[1].astype(np.float32),
        reward=normal(N, k + 1),
        reward_mask=masks[2].astype(np.float32),
        weight=rng.uniform(0.1, 2, N).astype(np.float32),
        legal=None,
    )
    return outputs, targets


def expected(config, outputs, targets):
    """The sum of the papers, one number after another."""
    total = 0.0
    k_last = targets.value.shape[1] - 1
    for n in range(N):
        for k in range(k_last + 1):
            scale = 1.0 if k == 0 else 1.0 / k_last
            logits = outputs.policy[n, k].astype(np.float64)
            if k == 0 and targets.legal is not None:
                logits = np.where(targets.legal[n], logits, -np.inf)
            log_p = logits - np.log(np.exp(logits).sum())
            kl = 0.0
            for a in range(A):
                t = float(targets.policy[n, k, a])
                kl += t * (np.log(t) - log_p[a]) if t > 0 else 0.0
            value = (np.tanh(outputs.value[n, k, 0]) - targets.value[n, k]) ** 2
            reward = (outputs.reward[n, k, 0] - targets.reward[n, k]) ** 2
            one = (
                config.policy_weight * targets.policy_mask[n, k] * kl
                + config.value_weight * targets.value_mask[n, k] * value
                + config.reward_weight * targets.reward_mask[n, k] * reward
            )
            total += scale * targets.weight[n] * one / N
    return total


run = jax.jit(of_outputs, static_argnums=(0, 1))
CONFIG = LossConfig(policy_weight=0.7, value_weight=0.25, reward_weight=3.0, l2=0.0)


@pytest.mark.parametrize("k", [0, 2])
def test_the_total_is_the_papers(k):
    outputs, targets = example(k)
    total, _ = run(Heads(), CONFIG, outputs, targets)
    assert float(total) == pytest.approx(expected(CONFIG, outputs, targets), rel=1e-5)
    legal = np.array([[1, 1, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1]], bool)
    policy = targets.policy.copy()
    policy[:, 0] = np.where(legal, policy[:, 0], 0) / (policy[:, 0] * legal).sum(-1)[:, None]
    masked = replace(targets, legal=legal, policy=policy)
    total, metrics = run(Heads(), CONFIG, outputs, masked)
    assert float(total) == pytest.approx(expected(CONFIG, outputs, masked), rel=1e-5)
    assert all(np.isfinite(float(x)) for x in metrics.values())


def test_a_perfect_network_loses_nothing():
    _, targets = example()
    value = np.clip(targets.value, -0.99, 0.99)
    targets = replace(targets, value=value)
    outputs = Outputs(
        np.log(targets.policy) + 7.0, np.arctanh(value)[..., None], targets.reward[..., None]
    )
    total, metrics = run(Heads(), CONFIG, outputs, targets)
    assert float(total) == pytest.approx(0, abs=1e-5)
    assert float(metrics["agreement"]) == pytest.approx(1)
    assert float(metrics["value_error"]) == pytest.approx(0, abs=1e-5)
    assert float(metrics["entropy"]) == pytest.approx(float(metrics["target_entropy"]), rel=1e-4)


def test_known_rules_have_no_reward_and_a_finished_game_no_legal_action():
    outputs, targets = example(0)
    targets = replace(targets, legal=np.zeros((N, A), bool), policy_mask=np.zeros((N, 1), "f4"))
    given = Outputs(outputs.policy, outputs.value, None)

    def total(policy):
        return of_outputs(Heads(reward_head=None), CONFIG, replace(given, policy=policy), targets)

    (found, metrics), gradient = jax.jit(jax.value_and_grad(total, has_aux=True))(given.policy)
    assert np.isfinite(float(found))
    assert "reward_loss" not in metrics
    assert not np.asarray(gradient).any()


def test_nothing_flows_to_illegal_actions_or_masked_steps():
    outputs, targets = example()
    legal = np.array([[1, 1, 0, 1]] * N, bool)
    policy = targets.policy * np.where(np.arange(K + 1)[None, :, None] == 0, legal[:, None], 1)
    targets = replace(targets, legal=legal, policy=policy)

    def total(policy):
        return of_outputs(Heads(), CONFIG, replace(outputs, policy=policy), targets)[0]

    gradient = np.asarray(jax.jit(jax.grad(total))(outputs.policy))
    assert not gradient[:, 0, 2].any()
    assert not gradient[targets.policy_mask == 0].any()
    assert gradient[targets.policy_mask > 0].any()


def test_the_loss_of_all_on_one_action_is_its_log():
    outputs, targets = example(0)
    played = np.array([[1], [3], [0]])
    ones = np.ones((N, 1), np.float32)
    targets = replace(targets, policy_mask=ones, value_mask=0 * ones, reward_mask=0 * ones)
    chosen = np.eye(targets.policy.shape[-1], dtype=np.float32)[played]
    targets = replace(targets, weight=np.ones(N, np.float32), policy=chosen)
    total, _ = run(Heads(), LossConfig(l2=0.0), outputs, targets)
    logits = outputs.policy[:, 0].astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    assert float(total) == pytest.approx(-log_p[np.arange(N), played[:, 0]].mean(), rel=1e-5)


def test_metrics_against_numpy():
    outputs, targets = example(0)
    targets = replace(targets, policy_mask=np.array([[1.0], [0.0], [0.5]], np.float32))
    targets = replace(targets, value_mask=np.array([[0.0], [1.0], [1.0]], np.float32))
    _, metrics = run(Heads(), CONFIG, outputs, targets)
    p = np.exp(outputs.policy[:, 0]) / np.exp(outputs.policy[:, 0]).sum(-1, keepdims=True)
    entropy = -(p * np.log(p)).sum(-1)
    assert float(metrics["entropy"]) == pytest.approx((entropy[0] + entropy[2] / 2) / 1.5, rel=1e-5)
    same = p.argmax(-1) == targets.policy[:, 0].argmax(-1)
    assert float(metrics["agreement"]) == pytest.approx((same[0] + same[2] / 2) / 1.5)
    error = np.abs(np.tanh(outputs.value[:, 0, 0]) - targets.value[:, 0])
    assert float(metrics["value_error"]) == pytest.approx(error[1:].mean(), rel=1e-5)


def test_only_kernels_are_kept_small():
    params = {
        "a": {"kernel": np.array([3.0, 4.0]), "bias": np.ones(9)},
        "b": {"offset": np.ones(2)},
    }
    assert float(squares(params)) == 25


def test_a_wrong_weight_is_refused():
    with pytest.raises(ValueError, match="value_weight must be at least 0, got -1"):
        LossConfig(value_weight=-1)
