"""Games that a visitor may name, and where they stand after some moves.

A line such as `hex size=7` comes from outside: it never imports anything, and its options stay
within what one machine can hold.
"""

import dataclasses
import functools
import threading
from collections import OrderedDict
from typing import Any

from halfmove import games
from halfmove.core.game import Game
from halfmove.games.follow import Spot
from halfmove.web.board_view import STYLES
from halfmove.web.chance import begun, followed

MOST = 10_000  # of any option that is a number
HISTORY = 16  # boards in an observation
KEPT = 2048  # positions in memory
GAMES = 300  # different ones since the server was started: each is compiled, and stays so


def names() -> list[str]:
    """The games that are played here: all that have a board to be drawn."""
    return [name for name in games.names() if name in STYLES]


_lock = threading.Lock()
_made: set[Game] = set()


@functools.lru_cache(maxsize=256)
def game_of(text: str) -> Game:
    """The game of a line; ValueError if it is none that is played here."""
    word = text.split()[0] if text.split() else ""
    if word not in names():
        raise ValueError(f"{word!r:.80} is not played here; there are {', '.join(names())}")
    if len(text) > 200:
        raise ValueError("a game is written with its options, such as 'hex size=5'")
    settings = dict(games.setting(part) for part in text.split()[1:])
    for name, value in settings.items():
        _check(name, value)
    try:
        made = games.make(word, **settings)
    except TypeError as error:
        raise ValueError(f"{text!r}: {error}") from None
    with _lock:
        if made not in _made and len(_made) >= GAMES:
            raise ValueError(f"{GAMES} different games were played here; choose one of those")
        _made.add(made)
    return made


def _check(name: str, value: Any) -> None:
    if name == "engine":
        raise ValueError("engine is no option of a game in the browser")
    if isinstance(value, bool) or value is None:
        return
    if not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, true or false; got {value!r:.80}")
    if not -MOST <= value <= MOST:
        raise ValueError(f"{name} must be within {MOST}, got {value!r:.80}")
    if name == "history" and value > HISTORY:
        raise ValueError(f"history must be at most {HISTORY} boards here, got {value}")
    # Every komi is a program of its own.
    if isinstance(value, float) and not (2 * value).is_integer():
        raise ValueError(f"{name} must be whole or a half, got {value}")


def described(name: str) -> dict[str, Any]:
    """A game and the options that a person may choose."""
    game = games.make(name)
    fields = dataclasses.fields(game)  # type: ignore[arg-type]
    offered = ("size", "komi", "handicap", "swap", "suicide")
    return {
        "name": name,
        "title": (type(game).__doc__ or name).partition("\n")[0],
        "players": game.players,
        "options": {f.name: getattr(game, f.name) for f in fields if f.name in offered},
    }


_spots: OrderedDict[Any, Spot] = OrderedDict()


def spot_after(game: Game, position: str, moves: tuple[int, ...]) -> Spot:
    """Where a game stands; ValueError if the position cannot be read or a move is not legal."""
    return spots(game, position, moves)[-1]


def spots(game: Game, position: str, moves: tuple[int, ...]) -> list[Spot]:
    """Every position of a game, the first one first; those asked for lately are remembered."""
    found: list[Spot] = []
    for number in range(len(moves) + 1):
        key = (game, position, moves[:number])
        with _lock:
            spot = _spots.get(key)
            if spot is not None:
                _spots.move_to_end(key)
        if spot is None:
            if found:
                spot = followed(game, position, found[-1], moves[number - 1], number - 1)
            else:
                spot = begun(game, position)
            with _lock:
                _spots[key] = spot
                while len(_spots) > KEPT:
                    _spots.popitem(last=False)
        found.append(spot)
    return found
