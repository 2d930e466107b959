"""Properties of the functions as JAX sees them: types, purity, batches."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import State
from halfmove.games.check.play import differs, sight
from halfmove.games.check.subject import WIDTH, BrokenError, Place, Subject

ODD = 3  # a batch size that no kernel expects


def types(subject: Subject) -> str:
    """Shapes and types are as the protocol says, and a state keeps its own."""
    game = subject.game
    _options(game)
    key, action = jax.random.key(0), jax.ShapeDtypeStruct((), jnp.int32)
    start = jax.eval_shape(game.init, key)
    same_form("step", jax.eval_shape(game.step, key, start, action), start)
    wanted: dict[str, tuple[tuple[int, ...], str]] = {
        "legal": ((game.actions,), "bool"),
        "to_play": ((), "int32"),
        "reward": ((game.players,), "float32"),
        "terminated": ((), "bool"),
        "truncated": ((), "bool"),
    }
    for name, (shape, dtype) in wanted.items():
        _result(name, jax.eval_shape(getattr(game, name), start), shape, dtype)
    seen = jax.eval_shape(game.observe, start)
    _result("observe", seen, seen.shape, "float32")
    if len(seen.shape) != 3:
        raise BrokenError(f"observe gives {_form(seen)}; expected [H, W, C] float32")
    board = jax.ShapeDtypeStruct((*seen.shape[:2], 3), seen.dtype)
    _result("passed", jax.eval_shape(game.passed, board), board.shape, "float32")
    planes = jax.eval_shape(game.action_planes, action)
    _result("action_planes", planes, (*seen.shape[:2], *planes.shape[2:]), "float32")
    if len(planes.shape) != 3:
        raise BrokenError(f"action_planes gives {_form(planes)}; expected [H, W, C] float32")
    _compiled_once(subject)
    sides = "×".join(map(str, seen.shape))
    return f"{game.actions} actions, observation {sides}, {planes.shape[2]} action planes"


def _options(game: Any) -> None:
    try:
        same = hash(game) == hash(game) and game == game
    except TypeError as error:
        raise BrokenError(f"the game cannot be hashed, which jit needs: {error}") from error
    if not same:
        raise BrokenError("the game is not equal to itself; let it be a frozen dataclass")
    if not (isinstance(game.actions, int) and game.actions > 0 and game.players > 0):
        raise BrokenError(f"actions is {game.actions!r} and players {game.players!r}")


def _form(leaf: Any) -> str:
    weak = ", weak" if getattr(leaf, "weak_type", False) else ""
    return f"{leaf.dtype}{list(leaf.shape)}{weak}"


def _result(name: str, found: Any, shape: tuple[int, ...], dtype: str) -> None:
    if found.shape != shape or str(found.dtype) != dtype:
        raise BrokenError(f"{name} gives {_form(found)}; expected {dtype}{list(shape)}")


def same_form(what: str, found: State, wanted: State) -> None:
    """Raises unless two states have the same structure, shapes and types."""
    structures = [str(jax.tree.structure(state)) for state in (found, wanted)]
    if structures[0] != structures[1]:
        raise BrokenError(
            f"{what} gives a state of another structure than init",
            f"found    {structures[0]}",
            f"expected {structures[1]}",
        )
    for (path, ours), theirs in zip(
        jax.tree.leaves_with_path(found), jax.tree.leaves(wanted), strict=True
    ):
        if _form(ours) != _form(theirs):
            raise BrokenError(
                f"{what} changes the type of state{jax.tree_util.keystr(path)}: "
                f"{_form(ours)}; init gives {_form(theirs)}"
            )


def _compiled_once(subject: Subject) -> None:
    traces = []

    def counted(*arguments: Any) -> State:
        traces.append(arguments)
        return subject.game.step(*arguments)

    step = jax.jit(counted)
    state = jax.jit(subject.game.init)(subject.keys(np.array([0]), 0)[0])
    keys = subject.keys(np.array([0, 1, 2]), 1)
    for turn in range(3):
        state = step(keys[turn], state, jnp.int32(turn % subject.game.actions))
    if len(traces) != 1:
        raise BrokenError(f"three calls of step compiled it {len(traces)} times")


def pure(subject: Subject) -> str:
    """The result depends on the arguments only, and on the key only where there is chance."""
    game = subject.game
    key = jax.random.key(0)
    start, action = jax.eval_shape(game.init, key), jnp.int32(0)
    traced: dict[str, tuple] = {
        "init": (game.init, key),
        "step": (game.step, key, start, action),
        "observe": (game.observe, start),
        "legal": (game.legal, start),
    }
    for name, (function, *arguments) in traced.items():
        programs = [jax.make_jaxpr(_fresh(function))(*arguments) for _ in range(2)]
        if not _same_program(*programs):
            raise BrokenError(f"{name} is another program every time it is traced")
    places = subject.going()
    states, actions = subject.batch(places), _first_legal(subject, places)
    made = [subject.move(subject.keys(subject.rows, ply), states, actions) for ply in (1, 1, 2)]
    where = _unlike(made[0], made[1])
    if where is not None:
        raise BrokenError("the same key gives another result", *subject.told(places[where]))
    inits = jax.jit(jax.vmap(game.init))
    starts = [inits(subject.keys(subject.rows, ply)) for ply in (0, 1)]
    where, begin = _unlike(made[0], made[2]), _unlike(starts[0], starts[1])
    if not game.chance and begin is not None:
        raise BrokenError("init depends on its key, but the game does not say `chance = True`")
    if not game.chance and where is not None:
        raise BrokenError(
            "step depends on its key, but the game does not say `chance = True`",
            *subject.told(places[where]),
        )
    if game.chance and where is None and begin is None:
        raise BrokenError("the game says `chance = True`, but no key made a difference")
    return "draws from its key" if game.chance else "its key is never used"


def _fresh(function: Callable) -> Callable:
    """The same function as a new object, of which JAX remembers no trace."""

    def anew(*arguments: Any) -> Any:
        return function(*arguments)

    return anew


def _first_legal(subject: Subject, places: list[Place]) -> jax.Array:
    return jnp.array([subject.seen(place).legal.argmax() for place in places], jnp.int32)


def _same_program(one: Any, other: Any) -> bool:
    # Addresses of functions differ from one trace to the next.
    texts = [re.sub(r"0x[0-9a-f]+", "", str(program.jaxpr)) for program in (one, other)]
    if texts[0] != texts[1] or len(one.consts) != len(other.consts):
        return False
    pairs = zip(one.consts, other.consts, strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def _unlike(one: State, other: State) -> int | None:
    """The first row in which two batches of states differ."""
    rows = np.asarray(jax.vmap(differs)(one, other))
    return int(rows.argmax()) if rows.any() else None


def batches(subject: Subject) -> str:
    """`jit` and `vmap`, at an odd batch size too, give what the plain call gives."""
    game = subject.game
    places = subject.going()
    states, actions = subject.batch(places), _first_legal(subject, places)

    def rows(which: Any) -> tuple:
        keys = subject.keys(subject.rows, 1)
        return keys[which], jax.tree.map(lambda leaf: leaf[which], states), actions[which]

    def many(*arguments: Any) -> tuple:
        new = subject.move(*arguments)
        return new, subject.see(new), subject.observe(new)

    def one(*arguments: Any) -> tuple:
        new = subject.move_one(*arguments)
        return new, subject.see_one(new), subject.observe_one(new)

    def plain(*arguments: Any) -> tuple:
        new = game.step(*arguments)
        return new, sight(game, new), game.observe(new)

    wanted = many(*rows(slice(None)))
    for name, how, which in (
        (f"vmap over {ODD}", many, slice(WIDTH - ODD, WIDTH)),
        ("jit", one, WIDTH - 1),
        ("jit", one, 0),
        ("the plain call", plain, WIDTH // 2),
    ):
        found = how(*rows(which))
        pairs = zip(jax.tree.leaves_with_path(found), jax.tree.leaves(wanted), strict=True)
        for (path, a), b in pairs:
            if not _near(a, b[which]):
                row = which.start if isinstance(which, slice) else which
                raise BrokenError(
                    f"{name} gives another {_part(path)} than vmap over {WIDTH}",
                    *subject.told(places[row]),
                    f"after {subject.name(subject.state(places[row]), int(actions[row]))}",
                )
    return f"plain, jit, vmap over {ODD} and {WIDTH}"


def _part(path: tuple) -> str:
    part = ("state", "sight", "observation")[path[0].idx]
    return part + jax.tree_util.keystr(path[1:])


def _near(one: Any, other: Any) -> bool:
    if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
        one, other = jax.random.key_data(one), jax.random.key_data(other)
    return np.allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-6, equal_nan=True)
