"""Properties of the texts: names of moves, positions in one line."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import State
from halfmove.games.check.forms import same_form
from halfmove.games.check.play import Sight
from halfmove.games.check.subject import BrokenError, Place, Subject

MOVES = 1500  # names read back
LINES = 24  # positions read back
NONSENSE = ("", "??", "no such thing", "\x00", "¼", "9" * 30)


def moves(subject: Subject) -> str:
    """The legal moves of a position have different names, each of which means the move."""
    game, count = subject.game, 0
    for place in subject.few(LINES):
        state = subject.state(place)
        actions = np.flatnonzero(subject.seen(place).legal)
        names: dict[str, int] = {}
        for action in actions.tolist():
            name = _run("move_name", game.move_name, state, action)
            if not isinstance(name, str) or not name.strip():
                raise BrokenError(f"move_name of action {action} is {name!r}, not a text")
            if names.setdefault(name, action) != action:
                raise BrokenError(
                    f"two legal moves are both named {name!r}",
                    *subject.told(place),
                    f"actions {names[name]} and {action}",
                )
        for name, action in names.items():
            if count >= MOVES:
                break
            found = _run(f"parse_move of {name!r}", game.parse_move, state, name)
            count += 1
            if found != action:
                raise BrokenError(
                    f"move_name says {name!r} of action {action}, and parse_move {found} of that",
                    *subject.told(place),
                )
    state = subject.state(Place(0, 0))
    for text in NONSENSE:
        _refuses("parse_move", lambda t: game.parse_move(state, t), text, str)
    return f"{count:,} names read back"


def positions(subject: Subject) -> str:
    """A position's line is read back as the same position, and bad lines raise ValueError.

    What a line cannot hold (the boards before this one, which superko and repetition
    look at) a game names in `position_forgets`. Then the position read back may allow
    more moves, and may go on where the game was over, but nothing else.
    """
    game = subject.game
    form = jax.eval_shape(game.init, jax.random.key(0))
    forgets = game.position_forgets
    lines = []
    for place in subject.few(LINES):
        state = subject.state(place)
        shown = _run("show", game.show, state)
        if not isinstance(shown, str) or not shown.strip():
            raise BrokenError(f"show gives {shown!r}, not a text", *subject.told(place))
        text = _run("position", game.position, state)
        if not isinstance(text, str) or len(text.splitlines()) != 1:
            raise BrokenError(f"position gives {text!r}, not one line")
        read = _run(f"parse_position of {text!r}", game.parse_position, text)
        same_form(f"parse_position of {text!r}", jax.eval_shape(lambda s: s, read), form)
        again = game.position(read)
        if again != text:
            raise BrokenError(
                "position, parse_position, position gives another line",
                *subject.told(place),
                f"found {again}",
            )
        _same_position(subject, place, read, bool(forgets))
        lines.append(text)
    for text in NONSENSE:
        _refuses("parse_position", game.parse_position, text, game.position)
    tried = 0
    for text in _misspelt(lines, subject.seed):
        _misread(subject, text)
        tried += 1
    also = f", but for {forgets}" if forgets else ""
    return f"{len(lines)} read back{also}; {tried} misspelt ones refused or understood"


def _same_position(subject: Subject, place: Place, read: State, forgets: bool) -> None:
    found: Sight = jax.device_get(subject.see_one(read))
    wanted = subject.seen(place)
    ended, over = (bool(s.terminated | s.truncated) for s in (wanted, found))
    extra, missing = found.legal & ~wanted.legal, wanted.legal & ~found.legal
    goes_on = forgets and ended and not over
    faults = {
        "player to move": found.to_play != wanted.to_play and not (ended and forgets),
        "end": ended != over and not goes_on,
        "set of legal moves": missing.any() or (extra.any() and not forgets),
        "observation": not forgets
        and (subject.observe_one(read) != subject.observe_one(subject.state(place))).any(),
    }
    for what, bad in faults.items():
        if bad:
            differing = [*np.flatnonzero(extra | missing)[:8].tolist()]
            state = subject.state(place)
            raise BrokenError(
                f"a position read back has another {what}"
                + ("" if forgets else " (if a line cannot hold that: `position_forgets`)"),
                *subject.told(place),
                *(f"differs: {subject.name(state, action)}" for action in differing),
            )
    if wanted.legal.any():
        _same_after(subject, place, read)


def _same_after(subject: Subject, place: Place, read: State) -> None:
    action = int(np.flatnonzero(subject.seen(place).legal)[-1])
    state = subject.state(place)
    lines = []
    for start in (state, read):
        key = subject.keys(subject.rows[:1], 1)[0]
        after = subject.move_one(key, start, jnp.int32(action))
        lines.append(subject.game.position(after))
    if lines[0] != lines[1]:
        raise BrokenError(
            f"after {subject.name(state, action)} a position read back goes on differently",
            *subject.told(place),
            f"expected {lines[0]}",
            f"found    {lines[1]}",
        )


def _run(what: str, function: Callable, *arguments: Any) -> Any:
    """Its result; any error is the game's."""
    try:
        return function(*arguments)
    except Exception as error:
        raise BrokenError(f"{what} raises {error.__class__.__name__}: {error}") from error


def _refuses(what: str, read: Callable[[str], Any], text: str, write: Callable) -> None:
    """Raises unless `read` refuses nonsense with a ValueError that says something."""
    try:
        found = read(text)
    except ValueError as error:
        if not str(error):
            raise BrokenError(f"{what} of {text!r} raises a ValueError without words") from error
    except Exception as error:
        raise BrokenError(
            f"{what} of {text!r} raises {error.__class__.__name__}, not ValueError: {error}"
        ) from error
    else:
        raise BrokenError(f"{what} reads {text!r} as {write(found)!r}; expected ValueError")


def _misspelt(lines: list[str], seed: int) -> Iterator[str]:
    """Real lines with one character left out, doubled or replaced, or cut short."""
    rng = np.random.default_rng(seed)
    letters = sorted(set("".join(lines)) | set("x9 /-Q"))
    for text in lines[:: max(1, len(lines) // 8)]:
        at = int(rng.integers(len(text)))
        other = letters[int(rng.integers(len(letters)))]
        yield text[:at] + text[at + 1 :]
        yield text[:at] + text[at] + text[at:]
        yield text[:at] + other + text[at + 1 :]
        yield text[:at]


def _misread(subject: Subject, text: str) -> None:
    """A misspelt line is refused, or stands for a position that has a line of its own."""
    game = subject.game
    try:
        state = game.parse_position(text)
    except ValueError:
        return
    except Exception as error:
        raise BrokenError(
            f"parse_position of {text!r} raises {error.__class__.__name__}, not ValueError: {error}"
        ) from error
    line = _run("position", game.position, state)
    own = f"parse_position of {line!r}, its own line for {text!r},"
    again = game.position(_run(own, game.parse_position, line))
    if again != line:
        raise BrokenError(f"parse_position of {text!r} gives {line!r}, which is read as {again!r}")
