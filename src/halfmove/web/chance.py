"""Games of chance: what is drawn follows from a seed that is written behind the position.

`2,0,0,4/0,0,0,0/0,0,0,0/0,0,0,0 #7` and the moves then tell the whole game, as they do in games
without chance; a move that is taken back and made again draws the same.
"""

import functools
import re
import secrets

import jax
import numpy as np

from halfmove.core.game import Game, State
from halfmove.core.types import Array
from halfmove.games.follow import Spot, at, begin, moved

SEED = re.compile(r"(?P<position>.*?)(?: *#(?P<seed>\d{1,9}))?", re.DOTALL | re.ASCII)


def begun(game: Game, position: str) -> Spot:
    """The first position of a game; ValueError if it cannot be read."""
    return begin(game, _parted(position)[0] if game.chance else position)


def followed(game: Game, position: str, spot: Spot, action: int, ply: int) -> Spot:
    """Where the game that began at `position` stands after its move number `ply`, from 0."""
    if not game.chance:
        return moved(game, spot, action)
    if not (0 <= action < len(spot.legal) and spot.legal[action]):
        raise ValueError(f"action {action} is not legal in {game.position(spot.state)}")
    key = jax.random.fold_in(jax.random.key(_parted(position)[1] or 0), ply)
    return at(game, _stepped(game, key, spot.state, np.int32(action)))


def seeded(game: Game, position: str) -> str:
    """A position, "" for a new one, with a seed of its own; ValueError if it cannot be read."""
    text, seed = _parted(position.strip())
    fresh = secrets.randbelow(10**9) if seed is None else seed
    state = game.parse_position(text) if text else game.init(jax.random.key(fresh))
    return f"{game.position(state)} #{fresh}"


def _parted(position: str) -> tuple[str, int | None]:
    found = SEED.fullmatch(position)
    assert found is not None  # it matches anything
    return found["position"], int(found["seed"]) if found["seed"] else None


@functools.partial(jax.jit, static_argnums=0)
def _stepped(game: Game, key: Array, state: State, action: Array) -> State:
    return game.step(key, state, action)
