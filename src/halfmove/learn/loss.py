"""What a network's outputs lose against their targets.

Σ_k s_k (policy + c_v value + c_r reward), s_0 = 1 and s_k = 1 / K for unrolled steps, weighted
over the windows, plus c ‖kernels‖². K = 0 is AlphaZero's loss. MuZero, equation 1 and appendix G.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array
from halfmove.learn.targets import Targets
from halfmove.models import Outputs, Trainable, Variables

Metrics = dict[str, Array]  # [] f32 each
# Finite, not -inf: 0 · -inf is NaN, and a finished game has no legal action.
FLOOR = -1e9


@dataclass(frozen=True)
class LossConfig:
    """The weights of the losses."""

    policy_weight: float = 1.0
    value_weight: float = 1.0  # 0.25 in MuZero Reanalyze
    reward_weight: float = 1.0
    ownership_weight: float = 1.0  # of whose the places will be; the mean over them
    l2: float = 1e-4  # c of c ‖θ‖², on kernels only; 0: none

    def __post_init__(self) -> None:
        for name in ("policy_weight", "value_weight", "reward_weight", "ownership_weight", "l2"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")


def loss(
    model: Trainable, config: LossConfig, variables: Variables, observation: Any, targets: Targets
) -> tuple[Array, tuple[Any, Metrics]]:
    """The loss [] in training, and (the new `stats`, metrics). `observation` [n, ...]."""
    outputs, stats = model.unroll(variables, observation, targets.action, train=True)
    if outputs.value.ndim == 4:  # of all actions, but only the one that was played is known
        at = targets.played[..., None, None]
        outputs = replace(outputs, value=jnp.take_along_axis(outputs.value, at, axis=2)[:, :, 0])
    total, metrics = of_outputs(model, config, outputs, targets)
    if config.l2:
        size = squares(variables["params"])
        total = total + config.l2 * size
        metrics["l2"] = config.l2 * size
    return total, (stats, {"loss": total, **metrics})


def of_outputs(
    model: Trainable, config: LossConfig, outputs: Outputs, targets: Targets
) -> tuple[Array, Metrics]:
    """The loss [] of outputs, without L2, and metrics: means over what was asked for."""
    steps = targets.value.shape[1]
    scale = jnp.where(jnp.arange(steps) == 0, 1.0, 1.0 / max(steps - 1, 1))
    log_policy = _log_policy(outputs.policy, targets.legal)
    divergence = jnp.sum(
        jax.scipy.special.xlogy(targets.policy, targets.policy) - targets.policy * log_policy, -1
    )
    parts = {
        "policy": (divergence, targets.policy_mask, config.policy_weight),
        "value": (
            model.value_head.loss(outputs.value, targets.value),
            targets.value_mask,
            config.value_weight,
        ),
    }
    if model.reward_head is not None and outputs.reward is not None:
        error = model.reward_head.loss(outputs.reward, targets.reward)
        parts["reward"] = (error, targets.reward_mask, config.reward_weight)
    total: Any = 0.0
    metrics = {}
    for name, (one, mask, factor) in parts.items():
        each = jnp.sum(scale * jnp.where(mask > 0, mask * one, 0.0), axis=1)
        total += factor * jnp.mean(targets.weight * each)
        metrics[f"{name}_loss"] = _mean(one, mask)
    if outputs.owners is not None and targets.owners is not None:
        one, mask = _owned(outputs.owners, targets.owners.places), targets.owners.mask
        total += config.ownership_weight * jnp.mean(targets.weight * mask * one)
        metrics["ownership_loss"] = _mean(one, mask)
    return total, {**metrics, **_scores(model, outputs, targets, log_policy)}


def squares(params: Any) -> Array:
    """[] f32, the sum of the squares of all kernels."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    kernels = [x for path, x in leaves if is_kernel(path)]
    return sum((jnp.sum(jnp.square(x)) for x in kernels), jnp.zeros(()))


def is_kernel(path: tuple[Any, ...]) -> bool:
    """Whether a parameter is decayed: offsets and biases are not."""
    return path[-1].key == "kernel"


def _log_policy(logits: Array, legal: Array | None) -> Array:
    """log π [n, K + 1, A]; where `legal` [n, A] is known, of the legal actions at step 0."""
    if legal is not None:
        allowed = legal[:, None] | (jnp.arange(logits.shape[1]) > 0)[:, None]
        logits = jnp.where(allowed, logits, FLOOR)
    return jax.nn.log_softmax(logits)


def _owned(logits: Array, owners: Array) -> Array:
    """[n]: the mean over places of KL(owner, σ(logits)); a place of no one's is one half."""
    mine = (1 + owners) / 2
    entropy = jax.scipy.special.xlogy(mine, mine) + jax.scipy.special.xlogy(1 - mine, 1 - mine)
    each = entropy - mine * jax.nn.log_sigmoid(logits) - (1 - mine) * jax.nn.log_sigmoid(-logits)
    return jnp.mean(each, axis=(1, 2))


def _scores(model: Trainable, outputs: Outputs, targets: Targets, log_policy: Array) -> Metrics:
    """How good the first step is: numbers that mean the same whatever the loss is."""
    first, wanted = log_policy[:, 0], targets.policy[:, 0]
    asked = targets.policy_mask[:, 0]
    value = model.value_head.decode(outputs.value[:, 0])
    metrics = {
        "entropy": _mean(-jnp.sum(jnp.exp(first) * first, -1), asked),
        "target_entropy": _mean(-jnp.sum(jax.scipy.special.xlogy(wanted, wanted), -1), asked),
        "agreement": _mean(jnp.argmax(first, -1) == jnp.argmax(wanted, -1), asked),
        "value_error": _mean(jnp.abs(value - targets.value[:, 0]), targets.value_mask[:, 0]),
    }
    if model.reward_head is not None and outputs.reward is not None:
        reward = model.reward_head.decode(outputs.reward)
        metrics["reward_error"] = _mean(jnp.abs(reward - targets.reward), targets.reward_mask)
    return metrics


def _mean(x: Array, mask: Array) -> Array:
    """The mean of x weighted by `mask`; 0 where nothing was asked for."""
    return jnp.sum(jnp.where(mask > 0, mask * x, 0.0)) / jnp.maximum(jnp.sum(mask), 1e-9)
