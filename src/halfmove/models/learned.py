"""Learned dynamics: MuZero's model. A node is a hidden state."""

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.game import Game
from halfmove.core.types import Array, Edge, Prediction, TimeStep
from halfmove.envs.history import History, planes
from halfmove.models.model import Outputs, Variables
from halfmove.models.places import wanted
from halfmove.nets import HeadConfig, NetConfig
from halfmove.nets.heads import PolicyHead
from halfmove.nets.networks import World
from halfmove.nets.start import start


@dataclass(frozen=True)
class Spec:
    """What a learned model must know of a game or an environment before it has seen any."""

    observation_shape: tuple[int, ...]
    actions: int
    players: int = 1  # 2: turns alternate
    discount: float = 0.997  # γ; the sign follows from the players
    game: Game | None = None  # says how actions become planes; None: one-hot

    def __post_init__(self) -> None:
        if self.players not in (1, 2):
            raise ValueError(f"players must be 1 or 2, got {self.players}")
        if not 0 < self.discount <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {self.discount}")
        if self.actions < 1:
            raise ValueError(f"actions must be at least 1, got {self.actions}")

    @staticmethod
    def of_game(game: Game, *, discount: float = 1.0) -> "Spec":
        """The spec of a game, with its own action planes."""
        return Spec(game.observation_shape, game.actions, game.players, discount, game)

    @staticmethod
    def of_timestep(timestep: TimeStep, *, discount: float = 0.997) -> "Spec":
        """The spec of the environment that gave this [B, ...] time step, one player."""
        shape = jax.eval_shape(read, timestep.observation).shape[1:]
        return Spec(shape, timestep.legal.shape[-1], 1, discount)


def read(observation: Any) -> Array:
    """[B, ...] f32: a history as planes, bytes as [0, 1], anything else as it is."""
    if isinstance(observation, History):
        return planes(observation)
    x = jnp.asarray(observation)
    return x.astype(jnp.float32) / 255 if x.dtype == jnp.uint8 else x.astype(jnp.float32)


@dataclass(frozen=True)
class Learned:
    """Representation, dynamics and prediction by a network.

    Illegal actions are masked at the root only, and no node is terminal: past the end of a
    game the network has learned that nothing more is earned.
    """

    spec: Spec
    config: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        shape, kind = self.spec.observation_shape, self.config.kind
        if kind != "mlp" and len(shape) != 3:
            raise ValueError(
                f'kind="{kind}" reads boards or images [H, W, C], but an observation has shape '
                f'{shape}; use kind="mlp"'
            )

    @property
    def value_head(self) -> HeadConfig:
        return self.config.value

    @property
    def reward_head(self) -> HeadConfig:
        return self.config.reward

    @property
    def network(self) -> Any:
        """The network's module (linen)."""
        return World(self.config, self.spec.actions, self._places())

    def init(self, key: Array) -> Variables:
        return _init(self, key)

    @property
    def repeats(self) -> bool:
        """Whether the same moves always lead to the same state: they do."""
        return True

    def observe(self, state: Any) -> Any:
        """Of game states what `game.observe` says; an environment's are observations already."""
        return state if self.spec.game is None else jax.vmap(self.spec.game.observe)(state)

    def root(self, params: Variables, key: Array, timestep: TimeStep) -> tuple[Array, Prediction]:
        x = read(timestep.observation)
        hidden = self.network.apply(params, x, False, method="represent")
        return hidden, self._predict(params, hidden, timestep.legal)

    def step(
        self, params: Variables, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        network = self.network
        hidden = network.apply(params, node, self._encode(action, node), False, method="follow")
        hidden = self._passed(hidden)
        raw = network.apply(params, hidden, False, method="earned")
        sign = -1.0 if self.spec.players == 2 else 1.0
        discount = jnp.full(action.shape, sign * self.spec.discount, jnp.float32)
        edge = Edge(self.reward_head.decode(raw), discount)
        return hidden, edge, self._predict(params, hidden, None)

    def unroll(
        self, variables: Variables, observation: Any, action: Array, *, train: bool
    ) -> tuple[Outputs, Any]:
        """The gradient that enters each step of the dynamics is halved on its way back.

        The heads see all K + 1 hidden states as one batch. MuZero, appendix G.
        """
        stats = variables["stats"]

        def call(stats: Any, *args: Array, method: str) -> tuple[Any, Any]:
            given = {"params": variables["params"], "stats": stats}
            if not train:
                return self.network.apply(given, *args, False, method=method), stats
            out, moved = self.network.apply(given, *args, True, method=method, mutable=["stats"])
            return out, {**stats, **moved.get("stats", {})}

        def follow(carry: tuple[Array, Any], action: Array) -> tuple[tuple[Array, Any], Array]:
            hidden, stats = carry
            hidden = halved(hidden)
            hidden, stats = call(stats, hidden, self._encode(action, hidden), method="follow")
            hidden = self._passed(hidden)
            return (hidden, stats), hidden

        first, stats = call(stats, read(observation), method="represent")
        # A GPU starts a loop's many small kernels one by one, and copies what the loop carries.
        written_out = jax.default_backend() == "gpu"
        (_, stats), later = jax.lax.scan(follow, (first, stats), action.T, unroll=written_out)
        hidden = jnp.concatenate([first[None], later])  # [K + 1, B, ...]
        (policy, value), stats = call(stats, _merged(hidden), method="predict")
        reward, stats = call(stats, _merged(hidden), method="earned")
        split = functools.partial(_split, steps=hidden.shape[0])
        return Outputs(split(policy), split(value), split(reward)), stats

    def head_of(self, variables: Variables) -> Variables:
        return {part: tree.get("policy", {}) for part, tree in variables.items()}

    def policy(self, head: Variables, features: Array) -> Array:
        module: Any = PolicyHead(self.config, self.spec.actions, self._places())
        return module.apply(head, features, False)

    def _places(self) -> Any:
        return wanted(self.config, self.spec.game, self.spec.actions)

    def _predict(self, variables: Variables, hidden: Array, legal: Array | None) -> Prediction:
        logits, raw = self.network.apply(variables, hidden, False, method="predict")
        return Prediction(logits, self.value_head.decode(raw), legal, hidden)

    def _passed(self, hidden: Array) -> Array:
        """Hidden states [B, ...] after a move, laid as the next player sees the board.

        Convolutions can hardly learn to turn a board, and need not: how it lies is a matter of
        observing it, not a rule.
        """
        if self.spec.game is None or self.config.kind != "tower":
            return hidden
        return jax.vmap(self.spec.game.passed)(hidden)

    def _encode(self, action: Array, hidden: Array) -> Array:
        """Actions [B] as the dynamics read them: [B, H, W, C'], or [B, A] for an mlp."""
        if self.spec.game is not None and self.config.kind == "tower":
            return jax.vmap(self.spec.game.action_planes)(action)
        row = jax.nn.one_hot(action, self.spec.actions, dtype=hidden.dtype)
        if hidden.ndim == 2:
            return row
        tiled = (*hidden.shape[:3], self.spec.actions)
        return jnp.broadcast_to(row[:, None, None], tiled)


@jax.custom_vjp
def halved(x: Array) -> Array:
    """x; its gradient is halved."""
    return x


halved.defvjp(lambda x: (x, None), lambda _, gradient: (gradient * 0.5,))


def _merged(x: Array) -> Array:
    """[K + 1, B, ...] -> [(K + 1) B, ...]."""
    return x.reshape(-1, *x.shape[2:])


def _split(x: Array, steps: int) -> Array:
    """[(K + 1) B, V] -> [B, K + 1, V]."""
    return jnp.swapaxes(x.reshape(steps, -1, x.shape[-1]), 0, 1)


@functools.partial(jax.jit, static_argnums=0)
def _init(model: Learned, key: Array) -> Variables:
    blank = jnp.zeros((1, *model.spec.observation_shape))
    # The hidden state's shape says what an action becomes.
    hidden = jax.eval_shape(lambda: jnp.zeros(hidden_shape(model)))
    action = jnp.zeros(jax.eval_shape(model._encode, jnp.zeros(1, jnp.int32), hidden).shape)
    return start(key, model.network, blank, action, False)


def hidden_shape(model: Learned) -> tuple[int, ...]:
    """The shape of one hidden state, with a batch of 1 before it."""
    if model.config.kind == "mlp":
        return (1, model.config.planes)
    height, width = model.spec.observation_shape[:2]
    times = 16 if model.config.kind == "atari" else 1
    return (1, math.ceil(height / times), math.ceil(width / times), model.config.planes)
