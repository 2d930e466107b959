"""Properties of what networks see: observations, symmetries, action planes, size of a state."""

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import State
from halfmove.games.check.subject import WIDTH, BrokenError, Place, Subject

ROUNDS = 4  # batches of games that are played again under every symmetry
SHORT = 6  # moves of a game: in fewer, two of them change most of what there is
PLANES = 64  # actions whose planes are computed at once


def side(subject: Subject) -> str:
    """Observations are finite, and show the position from the side of the player to move.

    Two moves after a position the same player looks at it again, and little has
    changed; one move after it the other player looks, to whom all that is ours is
    theirs. An observation from a fixed side changes less in one move than in two.
    Planes that hold one number (whose turn it is) are left out.
    """
    one, two, pairs = None, None, 0
    window: list[np.ndarray] = []
    moved = False
    for ply, states in enumerate(subject.walk[0]):
        seen = np.asarray(subject.observe(states))
        bad = ~np.isfinite(seen).all((1, 2, 3))
        if bad.any():
            place = Place(int(bad.argmax()), ply)
            raise BrokenError("an observation is not finite", *subject.told(place))
        moved = moved or bool(window and (seen != window[-1]).any())
        window = [*window[-2:], seen]
        which = _comparable(subject, ply - 2)
        if which.any():
            near = _distance(window[1], window[0])[which].sum(0)
            far = _distance(window[2], window[0])[which].sum(0)
            one, two = (near, far) if one is None else (one + near, two + far)
            pairs += int(which.sum())
    if not moved:
        raise BrokenError("the observation never changes")
    if subject.game.players == 1:
        return "finite"
    if one is None or two is None or subject.run.length.mean() < SHORT:
        return "finite; the games are too short to tell whose side it is"
    if one.sum() <= two.sum():
        raise BrokenError(
            "the observation looks the same from both sides: after one move it has changed by "
            f"{one.sum() / pairs:.3g}, after two by {two.sum() / pairs:.3g}; expected a larger "
            "change after one, when the other player looks (both own the same, as in nim? "
            "--skip side)",
        )
    return (
        f"{(one > two).sum()} of {len(one)} planes turn with the mover; after one move "
        f"{one.sum() / max(two.sum(), 1e-9):.1f} times the change after two"
    )


def _comparable(subject: Subject, ply: int) -> np.ndarray:
    """[WIDTH] bool: late enough in its game, and players alternate over the next two moves."""
    if ply < 0:
        return np.zeros(WIDTH, bool)
    first, second, third = (subject.walk[1][ply + ahead] for ahead in range(3))
    length = subject.run.length[subject.rows]
    # The first positions of chess look alike from both sides.
    late = (ply + 2 <= length) & (2 * ply + 2 >= np.minimum(length, len(subject.walk[0])))
    return late & (first.to_play != second.to_play) & (first.to_play == third.to_play)


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """[WIDTH, C], how far two batches of observations are apart, plane by plane."""
    apart = one - other
    return np.abs(apart - apart.mean((1, 2), keepdims=True)).sum((1, 2))


def symmetries(subject: Subject) -> str:
    """The maps of the actions form a group, and turning the board commutes with moving."""
    game = subject.game
    maps = np.asarray(game.action_maps())
    count = _group(maps, game.actions)
    if count == 1:
        return "none"
    turn = jax.jit(jax.vmap(game.turn))
    _composed(subject, maps, turn)
    fixed = _symmetric_start(subject, maps, turn)
    if len(fixed) > 1:
        moves = sum(_replayed(subject, maps, turn, fixed, first) for first in _rounds(len(fixed)))
        each = "each" if len(fixed) == count else f"the {len(fixed)} that keep the first position"
        return f"{count}; {moves:,} moves made again under {each}"
    pairs = _alike(subject, maps, turn)
    if not pairs:
        return f"{count}; not tried with moves: no two positions are each other's image"
    return f"{count}; {pairs:,} pairs of positions that are each other's image"


def _group(maps: np.ndarray, actions: int) -> int:
    if maps.ndim != 2 or maps.shape[1] != actions or not len(maps):
        raise BrokenError(f"action_maps has the shape {maps.shape}; expected (S, {actions})")
    for s, row in enumerate(maps):
        if not np.array_equal(np.sort(row), np.arange(actions)):
            twice = np.flatnonzero(np.bincount(row.clip(0, actions - 1), minlength=actions) != 1)
            raise BrokenError(f"action map {s} is no permutation: see action {twice[0]}")
    if not np.array_equal(maps[0], np.arange(actions)):
        raise BrokenError("action map 0 is not the identity")
    rows = {row.tobytes() for row in np.ascontiguousarray(maps)}
    for s, first in enumerate(maps):
        for t, second in enumerate(maps):
            if np.ascontiguousarray(second[first]).tobytes() not in rows:
                raise BrokenError(f"action map {s} and then {t} is none of the maps")
    return len(maps)


def _composed(subject: Subject, maps: np.ndarray, turn: jax.stages.Wrapped) -> None:
    """Observations turn as the actions do."""
    seen = np.asarray(subject.observe(subject.batch(subject.going())))
    images = [np.asarray(turn(seen, jnp.full(WIDTH, s))) for s in range(len(maps))]
    if not np.array_equal(images[0], seen):
        raise BrokenError("turn(observation, 0) is not the observation itself")
    for s, first in enumerate(maps):
        for t, second in enumerate(maps):
            both = np.asarray(turn(images[s], jnp.full(WIDTH, t)))
            same = [r for r, row in enumerate(maps) if np.array_equal(row, second[first])]
            if not any(np.array_equal(both, images[r]) for r in same):
                raise BrokenError(
                    f"turning an observation by {s} and then {t} is not turning it by {same[0]}, "
                    "as it is with the actions"
                )


def _symmetric_start(subject: Subject, maps: np.ndarray, turn: jax.stages.Wrapped) -> list[int]:
    """The symmetries under which the first position is its own image."""
    if subject.game.chance:
        return [0]
    seen = np.asarray(subject.observe(subject.start))
    images = [np.asarray(turn(seen, jnp.full(WIDTH, s))) for s in range(len(maps))]
    return [s for s, image in enumerate(images) if np.array_equal(image, seen)]


def _rounds(count: int) -> Iterator[int]:
    """The first game of each batch, when a batch holds `count` images of every game."""
    each = max(1, WIDTH // count)
    return iter(range(0, min(ROUNDS * each, WIDTH), each))


@dataclass(frozen=True)
class _Images:
    """States that ought to be images of positions of the walked games."""

    states: State  # [WIDTH, ...]
    ply: int
    row: np.ndarray  # [WIDTH], of which game
    s: np.ndarray  # [WIDTH], under which symmetry


def _replayed(
    subject: Subject, maps: np.ndarray, turn: jax.stages.Wrapped, which: list[int], first: int
) -> int:
    """Plays some games under those symmetries beside the original, and counts the moves."""
    each = max(1, WIDTH // len(which))
    batch = np.arange(WIDTH)
    row, s = (first + batch // len(which) % each) % WIDTH, np.resize(which, WIDTH)
    rows = subject.rows[row]
    length = min(int(subject.run.length[rows].max()), len(subject.walk[0]) - 1)
    # All games start from the same position.
    states = subject.start
    moves = 0
    for ply in range(length + 1):
        _compare(subject, maps, turn, _Images(states, ply, row, s))
        if ply < length:
            action = maps[s, subject.run.actions[ply, rows]]
            keys = subject.keys(rows, ply + 1)
            states = subject.move(keys, states, jnp.asarray(action, jnp.int32))
            moves += int((subject.run.length[rows] > ply).sum()) // len(which)
    return moves


def _compare(subject: Subject, maps: np.ndarray, turn: jax.stages.Wrapped, batch: _Images) -> None:
    """Raises unless they are: observations, masks, turns and rewards."""
    original, wanted = subject.walk[0][batch.ply], subject.walk[1][batch.ply]
    found = jax.device_get(subject.see(batch.states))
    pick = jax.tree.map(lambda leaf: leaf[batch.row], wanted)
    back = np.take_along_axis(found.legal, maps[batch.s], 1)
    seen = np.asarray(subject.observe(original))[batch.row]
    turned = np.asarray(turn(seen, jnp.asarray(batch.s, jnp.int32)))
    for what, bad in (
        ("set of legal moves", (back != pick.legal).any(1)),
        ("player to move", found.to_play != pick.to_play),
        ("reward", (found.reward != pick.reward).any(1)),
        ("end", (found.terminated != pick.terminated) | (found.truncated != pick.truncated)),
        ("observation", (np.asarray(subject.observe(batch.states)) != turned).any((1, 2, 3))),
    ):
        if bad.any():
            which = int(bad.argmax())
            raise BrokenError(
                f"symmetry {batch.s[which]}: the same game turned has another {what}",
                *subject.told(Place(int(batch.row[which]), batch.ply)),
            )


def _alike(subject: Subject, maps: np.ndarray, turn: jax.stages.Wrapped) -> int:
    """For games whose first position is no image of itself: pairs of images among positions.

    They must allow the same moves. What follows is up to chance, or cannot be compared.
    """
    known: dict[bytes, Place] = {}
    pairs = 0
    for ply in range(min(4, len(subject.walk[0]))):
        seen = np.asarray(subject.observe(subject.walk[0][ply]))
        for row, image in enumerate(seen):
            known.setdefault(image.tobytes(), Place(row, ply))
    for ply in range(min(4, len(subject.walk[0]))):
        seen = subject.observe(subject.walk[0][ply])
        for s, actions in enumerate(maps[1:], 1):
            for row, image in enumerate(np.asarray(turn(seen, jnp.full(WIDTH, s)))):
                other = known.get(image.tobytes())
                if other is None:
                    continue
                mask = subject.walk[1][ply].legal[row]
                if (subject.seen(other).legal[actions] != mask).any():
                    raise BrokenError(
                        f"symmetry {s}: a position and its image allow other moves",
                        *subject.told(Place(row, ply)),
                        "and its image",
                        *subject.told(other),
                    )
                pairs += 1
    return pairs


def planes(subject: Subject) -> str:
    """Action planes are finite, and differ between the legal moves of a position."""
    masks = np.stack([subject.seen(place).legal for place in subject.places])
    actions = np.flatnonzero(masks.any(0))
    compute = jax.jit(jax.vmap(subject.game.action_planes))
    texts: dict[int, bytes] = {}
    for start in range(0, len(actions), PLANES):
        some = np.resize(actions[start : start + PLANES], PLANES)
        found = np.asarray(compute(jnp.asarray(some, jnp.int32)))
        if not np.isfinite(found).all():
            raise BrokenError("action planes are not finite")
        texts |= {int(a): plane.tobytes() for a, plane in zip(some, found, strict=True)}
    for place, mask in zip(subject.places, masks, strict=True):
        seen: dict[bytes, int] = {}
        for action in np.flatnonzero(mask).tolist():
            other = seen.setdefault(texts[action], action)
            if other != action:
                state = subject.state(place)
                raise BrokenError(
                    "two legal moves have the same action planes",
                    *subject.told(place),
                    f"moves {subject.name(state, other)} and {subject.name(state, action)}",
                )
    return f"those of {len(actions):,} actions differ where they could be confused"


def size(subject: Subject) -> str:
    """A state is small: it does not hold its own observation."""
    place = subject.going()[-1]
    state = subject.state(place)
    seen = np.asarray(subject.observe_one(state))
    for path, leaf in jax.tree.leaves_with_path(state):
        if leaf.shape == seen.shape and seen.any() and np.array_equal(np.asarray(leaf), seen):
            raise BrokenError(f"state{jax.tree_util.keystr(path)} is the observation")
    return f"{state_bytes(state):,} bytes a state; an observation takes {seen.nbytes:,}"


def state_bytes(state: object) -> int:
    """How many bytes a state takes, from its arrays or their shapes."""
    return sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
