"""Games with known rules, one file each; `make` finds them by name.

A file of this folder adds its games by a table `GAMES` of names and classes.
Somebody else's game needs no registration: `make("package.module:Class")`.
"""

import ast
import dataclasses
import difflib
import functools
import importlib
import pkgutil
import types
import typing
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.game import Game, State

__all__ = ["Game", "make", "names", "play", "read", "setting"]


@functools.cache
def _classes() -> dict[str, type[Game]]:
    found: dict[str, type[Game]] = {}
    for module in pkgutil.iter_modules(__path__):
        found |= getattr(importlib.import_module(f"{__name__}.{module.name}"), "GAMES", {})
    return dict(sorted(found.items()))


def names() -> tuple[str, ...]:
    """Every game of this package."""
    return tuple(_classes())


def make(name: str, **options: Any) -> Game:
    """The game of that name, with its options: `make("go", size=9, komi=7.0)`."""
    if ":" in name:
        kind = _theirs(name)
    elif name in _classes():
        kind = _classes()[name]
    else:
        near = difflib.get_close_matches(name, names(), 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"unknown game {name!r}{hint}; there are {', '.join(names())}")
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            raise ValueError(f"{name} has no option {option!r}; {has}")
    kinds = typing.get_type_hints(kind)
    for option, value in options.items():
        if not _fits(value, kinds[option]):
            wanted = getattr(kinds[option], "__name__", kinds[option])
            raise ValueError(f"{name}: {option} must be of type {wanted}, got {value!r}")
    return kind(**options)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type; True where the type says too little to tell."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if not all(isinstance(k, type) for k in kinds):
        return True
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds) or (float in kinds and isinstance(value, int))


def read(text: str) -> Game:
    """The game of a line: `read("hex size=5 swap=false")`."""
    words = text.split()
    if not words:
        raise ValueError(f"a game is written with its options, such as 'hex size=5'; got {text!r}")
    return make(words[0], **dict(setting(word) for word in words[1:]))


def setting(text: str) -> tuple[str, Any]:
    """`size=9` as a name and a value."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise ValueError(f"an option is written name=value, such as size=9; got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, {"true": True, "false": False}.get(value, value)


_FIELDS = "__dataclass_fields__"


def _theirs(path: str) -> type[Game]:
    module, _, attribute = path.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"no game at {path!r} (package.module:Class): {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Game) and hasattr(kind, _FIELDS)):
        raise ValueError(f"{path!r} is no game: a game is a frozen dataclass derived from Game")
    return kind


def play(game: Game, state: State, action: int | str, key: Any = None) -> State:
    """The state after a legal move, given as a number or by name; ValueError if it is none."""
    number = game.parse_move(state, action) if isinstance(action, str) else int(action)
    legal = jax.device_get(game.legal(state))
    if not (0 <= number < game.actions and legal[number]):
        raise ValueError(f"{action!r} is not legal here{_instead(game, state, legal)}")
    return _step(game, jax.random.key(0) if key is None else key, state, jnp.int32(number))


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, key: Any, state: State, action: Any) -> State:
    return game.step(key, state, action)


def _instead(game: Game, state: State, legal: Any) -> str:
    moves = [game.move_name(state, int(a)) for a in legal.nonzero()[0][:12]]
    if not moves:
        return "; the game is over"
    more = f", ... ({int(legal.sum())} in all)" if legal.sum() > len(moves) else ""
    return f"; legal: {', '.join(moves)}{more}"
