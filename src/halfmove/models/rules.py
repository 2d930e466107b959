"""Known rules and a network: AlphaZero's model. A node is a game state and nothing else."""

import functools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.game import Game, edge, over
from halfmove.core.types import Array, Edge, Prediction, TimeStep
from halfmove.models.model import Outputs, Variables
from halfmove.models.places import wanted
from halfmove.nets import HeadConfig, NetConfig
from halfmove.nets.heads import PolicyHead
from halfmove.nets.networks import Network
from halfmove.nets.start import start


@dataclass(frozen=True)
class Rules:
    """The game's own rules, the network's policy and value. `discount` is γ, for long games.

    Where a game ended the line ends with what the last move earned: the edge's discount is 0.
    Where it was cut short there is no result: the network's value stands, and no move follows.
    """

    game: Game
    config: NetConfig = field(default_factory=NetConfig)
    discount: float = 1.0

    @property
    def value_head(self) -> HeadConfig:
        return self.config.value

    @property
    def reward_head(self) -> None:
        return None

    @property
    def network(self) -> Any:
        """The network's module (linen)."""
        return Network(self.config, self.game.actions, self._places())

    def init(self, key: Array) -> Variables:
        return _init(self, key)

    @property
    def repeats(self) -> bool:
        """Whether the same moves always lead to the same state."""
        return not self.game.chance

    def observe(self, state: Any) -> Array:
        return jax.vmap(self.game.observe)(state)

    def root(self, params: Variables, key: Array, timestep: TimeStep) -> tuple[Any, Prediction]:
        prediction = self._predict(params, timestep.observation, timestep.legal)
        value = jnp.where(timestep.terminated, 0.0, prediction.value)
        return timestep.state, _valued(prediction, value)

    def step(
        self, params: Variables, key: Array, node: Any, action: Array
    ) -> tuple[Any, Edge, Prediction]:
        if self.game.chance:
            keys = jax.random.split(key, action.shape[0])
            state = jax.vmap(self.game.step)(keys, node, action)
        else:
            state = jax.vmap(self.game.step, in_axes=(None, 0, 0))(key, node, action)
        earned = jax.vmap(functools.partial(edge, self.game))(node, state)
        ended = jax.vmap(functools.partial(over, self.game))(state)
        legal = jax.vmap(self.game.legal)(state) & ~ended[:, None]
        prediction = self._predict(params, self.observe(state), legal)
        value = jnp.where(earned.discount == 0, 0.0, prediction.value)
        after = Edge(earned.reward, self.discount * earned.discount)
        return state, after, _valued(prediction, value)

    def unroll(
        self, variables: Variables, observation: Any, action: Array, *, train: bool
    ) -> tuple[Outputs, Any]:
        if action.shape[1] > 0:
            raise ValueError(
                f"known rules are not unrolled: K must be 0, got {action.shape[1]} actions; "
                "use models.Learned to unroll a learned model"
            )
        (policy, value, *owners), moved = self.network.apply(
            variables, observation, train, mutable=["stats"] if train else []
        )
        outputs = Outputs(policy[:, None], value[:, None], None, *owners)
        return outputs, moved.get("stats", variables["stats"])

    def owners(self, variables: Variables, state: Any) -> Array:
        """[B, H, W] f32: 1 where the mover will own a place for sure, -1 the other. For networks
        with `ownership` alone."""
        logits = self.network.apply(variables, self.observe(state), False)[2]
        return jnp.tanh(logits / 2)  # twice the probability, less 1

    def head_of(self, variables: Variables) -> Variables:
        return {part: tree.get("policy", {}) for part, tree in variables.items()}

    def policy(self, head: Variables, features: Array) -> Array:
        module: Any = PolicyHead(self.config, self.game.actions, self._places())
        return module.apply(head, features, False)

    def _places(self) -> Any:
        return wanted(self.config, self.game, self.game.actions)

    def _predict(self, variables: Variables, observation: Array, legal: Array) -> Prediction:
        network = self.network
        features = network.apply(variables, observation, False, method="features")
        logits, raw = network.apply(variables, features, False, method="predict")
        return Prediction(logits, self.value_head.decode(raw), legal, features)


def _valued(prediction: Prediction, value: Array) -> Prediction:
    return Prediction(prediction.logits, value, prediction.legal, prediction.features)


@functools.partial(jax.jit, static_argnums=0)
def _init(model: Rules, key: Array) -> Variables:
    blank = jnp.zeros((1, *model.game.observation_shape))
    return start(key, model.network, blank, False)
