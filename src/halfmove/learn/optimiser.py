"""Optimisers and learning-rate schedules, chosen by a config."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import optax

from halfmove.learn.loss import is_kernel

Kind = Literal["sgd", "adam", "adamw"]
Schedule = Literal["constant", "cosine", "steps"]


@dataclass(frozen=True)
class OptimiserConfig:
    """An optimiser, its learning rate over time, and clipping."""

    kind: Kind = "adam"
    learning_rate: float = 1e-3  # after the warm-up
    schedule: Schedule = "constant"
    warmup: int = 0  # updates in which the rate rises from 0, before any schedule
    updates: int = 10_000  # cosine: how many it takes, the warm-up included
    final: float = 0.0  # cosine: what share of the rate is left at the end
    boundaries: tuple[int, ...] = ()  # steps: updates after which the rate is multiplied
    factor: float = 0.1  # steps: with this
    momentum: float = 0.9  # sgd
    b1: float = 0.9  # adam, adamw
    b2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 1e-4  # adamw, on kernels only; then choose learn.loss.l2 0
    clip: float = 0.0  # greatest norm of the whole gradient; 0: any

    def __post_init__(self) -> None:
        for name, accepted in (("kind", Kind), ("schedule", Schedule)):
            if getattr(self, name) not in get_args(accepted):
                known = ", ".join(get_args(accepted))
                raise ValueError(f"{name} must be one of {known}; got {getattr(self, name)!r}")
        for name in ("learning_rate", "warmup", "final", "factor", "weight_decay", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        for name in ("momentum", "b1", "b2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be from 0 to below 1, got {getattr(self, name)}")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon}")
        if self.schedule == "cosine" and self.updates <= self.warmup:
            raise ValueError(
                f"updates must be more than warmup ({self.warmup}), got {self.updates}"
            )
        if self.schedule == "steps" and list(self.boundaries) != sorted(set(self.boundaries)):
            raise ValueError(f"boundaries must rise, got {self.boundaries}")


def rate(config: OptimiserConfig) -> optax.Schedule:
    """The learning rate as a function of the number of updates so far."""
    if config.schedule == "cosine":
        after: optax.Schedule = optax.cosine_decay_schedule(
            config.learning_rate, config.updates - config.warmup, config.final
        )
    elif config.schedule == "steps":
        # Counted from the start of training, as the boundaries are; those that the warm-up has
        # passed count all the same.
        passed = sum(at <= config.warmup for at in config.boundaries)
        scales = {at - config.warmup: config.factor for at in config.boundaries[passed:]}
        begin = config.learning_rate * config.factor**passed
        after = optax.piecewise_constant_schedule(begin, scales)
    else:
        after = optax.constant_schedule(config.learning_rate)
    if not config.warmup:
        return after
    rising = optax.linear_schedule(0.0, config.learning_rate, config.warmup)
    return optax.join_schedules([rising, after], [config.warmup])


def optimiser(config: OptimiserConfig) -> optax.GradientTransformation:
    """The transformation from gradients to changes of parameters."""
    schedule = rate(config)
    if config.kind == "sgd":
        core = optax.sgd(schedule, config.momentum or None)
    elif config.kind == "adam":
        core = optax.adam(schedule, config.b1, config.b2, config.epsilon)
    else:
        core = optax.adamw(
            schedule, config.b1, config.b2, config.epsilon,
            weight_decay=config.weight_decay, mask=_kernels,
        )  # fmt: skip
    return _clipped(core, config.clip) if config.clip else core


def _clipped(core: optax.GradientTransformation, norm: float) -> optax.GradientTransformation:
    """The same of a clipped gradient. Its state is that of `core`: a run may begin to clip."""
    clip = optax.clip_by_global_norm(norm)

    def update(gradient: Any, state: Any, params: Any = None) -> Any:
        return core.update(clip.update(gradient, optax.EmptyState())[0], state, params)

    return optax.GradientTransformation(core.init, update)


def _kernels(params: Any) -> Any:
    return jax.tree_util.tree_map_with_path(lambda path, _: is_kernel(path), params)
