"""The rules of a game, and what follows from them.

A game is a frozen dataclass of its options with pure functions of ONE state;
`jax.vmap` makes them many. Nothing here knows how many players there are but
`edge`, which reads it off who moves next.
"""

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Edge, TimeStep

State = Any  # a pytree of arrays, small: a node of a search tree holds one


class Game(abc.ABC):
    """What a person writes to add a game. Subclasses are frozen dataclasses of options.

    The first group of methods is traced (under `jit` and `vmap`); the second runs
    on the host, for people and protocols.
    """

    name: ClassVar[str]  # as in `halfmove.games.make(name)`
    players: ClassVar[int] = 2
    chance: ClassVar[bool] = False  # whether `step` or `init` draws from its key
    position_forgets: ClassVar[str] = ""  # what `position` leaves out: "the boards before", ...

    @property
    @abc.abstractmethod
    def actions(self) -> int:
        """A, the number of actions."""

    @abc.abstractmethod
    def init(self, key: Array) -> State:
        """The state before the first move."""

    @abc.abstractmethod
    def step(self, key: Array, state: State, action: Array) -> State:
        """The state after `action`. An illegal one changes nothing and earns nothing.

        A finished game has no legal action, so it stays as it is and earns nothing more.
        """

    @abc.abstractmethod
    def legal(self, state: State) -> Array:
        """[A] bool; all False once the game is over."""

    @abc.abstractmethod
    def to_play(self, state: State) -> Array:
        """[] i32, the player who moves next. 0 begins, unless a handicap says otherwise."""

    @abc.abstractmethod
    def reward(self, state: State) -> Array:
        """[P] f32, what the last move earned each player."""

    @abc.abstractmethod
    def terminated(self, state: State) -> Array:
        """[] bool, whether the game is over by its rules."""

    def truncated(self, state: State) -> Array:
        """[] bool, whether it was cut short: no rule ended it, and it has no result."""
        return jnp.zeros((), bool)

    @abc.abstractmethod
    def observe(self, state: State) -> Array:
        """[H, W, C] f32, what the player to move sees, from that player's side."""

    def ownership(self, state: State) -> Array | None:
        """[H, W] f32, whose each place of a finished game is: 1 player 0's, -1 player 1's, 0 no
        one's. None: the game has no such thing."""
        return None

    def action_planes(self, action: Array) -> Array:
        """[H, W, C'] f32, an action as a learned model's dynamics read it."""
        height, width = self.observation_shape[:2]
        one = jax.nn.one_hot(action, self.actions)
        return jnp.broadcast_to(one, (height, width, self.actions))

    def passed(self, planes: Array) -> Array:
        """Planes [H, W, C] laid as one player sees the board, as the next one to move sees it.

        Where each player has a side of its own, a learned model need not learn to turn the board.
        """
        return planes

    def action_maps(self) -> Any:
        """[S, A] int, numpy: under symmetry s, action a becomes `maps[s, a]`.

        The first row is the identity. One row: the game has no symmetries.
        """
        return [list(range(self.actions))]

    def turn(self, observation: Array, s: Array) -> Array:
        """The observation under symmetry `s` ([] i32)."""
        return observation

    # -- on the host -----------------------------------------------------

    @abc.abstractmethod
    def show(self, state: State) -> str:
        """The position as text, for a terminal."""

    def move_name(self, state: State, action: int) -> str:
        """An action as people and protocols write it."""
        return str(int(action))

    def parse_move(self, state: State, text: str) -> int:
        """The action behind such a name; ValueError says what is wrong with it.

        Whether it is legal is another question: `halfmove.games.play` asks it.
        """
        try:
            action = int(text)
        except ValueError:
            action = -1
        if not 0 <= action < self.actions:
            raise ValueError(f"{text!r} is not a move of {self.name}: 0 to {self.actions - 1}")
        return action

    @abc.abstractmethod
    def position(self, state: State) -> str:
        """The position as one line of text (FEN, SFEN, ...), what `parse_position` reads."""

    @abc.abstractmethod
    def parse_position(self, text: str) -> State:
        """The state of such a line; ValueError says what is wrong with it."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one observation, found without computing one."""
        start = jax.eval_shape(self.init, jax.random.key(0))
        return tuple(jax.eval_shape(self.observe, start).shape)


def over(game: Game, state: State) -> Array:
    """[] bool, whether no move follows."""
    return game.terminated(state) | game.truncated(state)


def edge(game: Game, before: State, after: State) -> Edge:
    """What the move between two states earned the player who made it."""
    mover, following = game.to_play(before), game.to_play(after)
    sign = jnp.where(mover == following, 1.0, -1.0)
    return Edge(game.reward(after)[mover], jnp.where(game.terminated(after), 0.0, sign))


def timestep(game: Game, state: State) -> TimeStep:
    """All that is shown of one state."""
    return TimeStep(
        state=state,
        observation=game.observe(state),
        legal=game.legal(state),
        to_play=game.to_play(state),
        reward=game.reward(state),
        terminated=game.terminated(state),
        truncated=game.truncated(state),
    )
