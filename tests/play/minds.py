"""Players and conversations that the tests of the protocols share."""

import io
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.arena.players import Mind
from halfmove.core.game import Game, edge, over
from halfmove.core.types import Array, Edge, Prediction, TimeStep
from halfmove.play.server import Lines
from halfmove.search import planner


@dataclass(frozen=True)
class Even:
    """Known rules and no opinion: every move is as likely as any other, every position even."""

    game: Game

    def root(self, params: Any, key: Array, timestep: TimeStep) -> tuple[Any, Prediction]:
        return timestep.state, Prediction(
            jnp.zeros(timestep.legal.shape), jnp.zeros(timestep.legal.shape[:1]), timestep.legal
        )

    def step(
        self, params: Any, key: Array, node: Any, action: Array
    ) -> tuple[Any, Edge, Prediction]:
        game = self.game
        keys = jax.random.split(key, action.shape[0])
        state = jax.vmap(game.step)(keys, node, action)
        earned = jax.vmap(lambda a, b: edge(game, a, b))(node, state)
        ended = jax.vmap(lambda s: over(game, s))(state)
        legal = jax.vmap(game.legal)(state) & ~ended[:, None]
        return state, earned, Prediction(jnp.zeros(legal.shape), jnp.zeros(action.shape), legal)


def even(game: Game) -> Mind:
    """A search by the rules alone, which sees what is won or lost within its reach."""

    def planner_for(simulations: int) -> Any:
        return planner(
            "alphazero",
            simulations=simulations,
            c_puct=3.0,  # it must look around: a move not tried counts as lost
            dirichlet_fraction=0.0,
            temperature=0.0,
        )

    return Mind(game, Even(game), None, planner_for)


def spoken(main: Callable[..., int], game: Game, text: str | bytes, **options: Any) -> str:
    """All that a server says to a text; it must end with it."""
    said = io.BytesIO()
    given = text if isinstance(text, bytes) else text.encode()
    assert main(even, game, given=io.BytesIO(given), said=said, seed=0, **options) == 0
    return said.getvalue().decode()


class Live:
    """A server in a thread, to talk with line by line."""

    def __init__(self, main: Callable[..., int], game: Game, **options: Any) -> None:
        ours, theirs = os.pipe(), os.pipe()
        self._in = os.fdopen(theirs[1], "wb", buffering=0)
        self._lines = Lines(os.fdopen(ours[0], "rb", buffering=0))
        given, said = os.fdopen(theirs[0], "rb", buffering=0), os.fdopen(ours[1], "wb")
        self.status: list[int] = []

        def serve() -> None:
            with said:
                self.status.append(main(even, game, given=given, said=said, seed=0, **options))

        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()

    def tell(self, line: str) -> None:
        self._in.write(line.encode() + b"\n")

    def hear(self, until: Callable[[str], bool]) -> list[str]:
        """Lines up to the first that will do."""
        heard: list[str] = []
        while not (heard and until(heard[-1])):
            line = self._lines.next()
            assert line is not None, f"it ended after {heard}"
            heard.append(line)
        return heard

    def silent(self) -> bool:
        return not self._lines.waiting()

    def end(self) -> int:
        """Closes its input; the exit status."""
        self._in.close()
        self._thread.join(60)
        assert not self._thread.is_alive(), "it did not end with its input"
        return self.status[0]
