"""One head of action values and nothing to search in: MuZero's comparison with Q-learning.

A policy's logits are the values themselves, so that `prior` with a temperature explores as
Boltzmann would and without one takes the best. The value of a position is that of its best
action, from which n-step returns bootstrap. MuZero, figure 3C.
"""

import functools
from dataclasses import dataclass, field
from typing import Any, NoReturn

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Prediction, TimeStep
from halfmove.models.learned import Spec, read
from halfmove.models.model import Outputs, Variables
from halfmove.nets import HeadConfig, NetConfig
from halfmove.nets.networks import ActionValues
from halfmove.nets.start import start


@dataclass(frozen=True)
class QValues:
    """Q(s, a) by a network, for planners that do not search."""

    spec: Spec
    config: NetConfig = field(default_factory=NetConfig)

    @property
    def value_head(self) -> HeadConfig:
        return self.config.value

    @property
    def reward_head(self) -> None:
        return None

    @property
    def network(self) -> Any:
        """The network's module (linen)."""
        return ActionValues(self.config, self.spec.actions)

    def init(self, key: Array) -> Variables:
        return _init(self, key)

    def observe(self, state: Any) -> Any:
        return state if self.spec.game is None else jax.vmap(self.spec.game.observe)(state)

    def root(self, params: Variables, key: Array, timestep: TimeStep) -> tuple[Array, Prediction]:
        raw = self.network.apply(params, read(timestep.observation), False)
        q = self.value_head.decode(raw)
        legal = timestep.legal
        best = jnp.max(jnp.where(legal, q, -jnp.inf), axis=-1)
        value = jnp.where(jnp.any(legal, axis=-1) & ~timestep.terminated, best, 0.0)
        return jnp.zeros(value.shape), Prediction(q, value, legal)

    def step(self, params: Variables, key: Array, node: Any, action: Array) -> NoReturn:
        raise ValueError(
            "action values are no model to search in: choose the planner `prior`, or another model"
        )

    def unroll(
        self, variables: Variables, observation: Any, action: Array, *, train: bool
    ) -> tuple[Outputs, Any]:
        """The values are those of all actions, [B, 1, A, V]; there is no policy to learn."""
        if action.shape[1] > 0:
            raise ValueError(f"action values are not unrolled: K must be 0, got {action.shape[1]}")
        raw, moved = self.network.apply(
            variables, read(observation), train, mutable=["stats"] if train else []
        )
        q = jax.lax.stop_gradient(self.value_head.decode(raw))
        return Outputs(q[:, None], raw[:, None], None), moved.get("stats", variables["stats"])

    def head_of(self, variables: Variables) -> NoReturn:
        raise ValueError("action values have no policy head")

    def policy(self, head: Variables, features: Array) -> NoReturn:
        raise ValueError("action values have no policy head")


@functools.partial(jax.jit, static_argnums=0)
def _init(model: QValues, key: Array) -> Variables:
    return start(key, model.network, jnp.zeros((1, *model.spec.observation_shape)), False)
