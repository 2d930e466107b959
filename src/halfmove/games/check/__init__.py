"""What every game owes, whatever its rules: `halfmove check GAME`.

    from halfmove.games import check, make

    for finding in check.check(make("go", size=5)):
        print(finding.name, finding.ok, finding.note)

A property is a function of a `Subject` that gives a remark, or raises `BrokenError`
with what was found and how to see it again.
"""

import traceback
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from halfmove.core.game import Game
from halfmove.games.check import forms, rules, speed, text, views
from halfmove.games.check.subject import BrokenError, Subject

__all__ = ["PROPERTIES", "Finding", "check"]

PROPERTIES: dict[str, Callable[[Subject], str]] = {
    "types": forms.types,
    "legal": rules.legal,
    "ends": rules.ends,
    "rewards": rules.rewards,
    "turns": rules.turns,
    "results": rules.results,
    "pure": forms.pure,
    "batches": forms.batches,
    "side": views.side,
    "symmetries": views.symmetries,
    "planes": views.planes,
    "moves": text.moves,
    "positions": text.positions,
    "size": views.size,
    "speed": speed.speed,
}


@dataclass(frozen=True)
class Finding:
    """What was found of one property."""

    name: str
    ok: bool
    note: str  # a remark, or what is wrong
    story: tuple[str, ...] = ()  # how to see it again
    figure: float | None = None  # steps per second
    run: bool = True  # False: not looked at, because of what was found before


def check(
    game: Game,
    *,
    games: int = 1000,
    seed: int = 0,
    plies: int = 2000,
    only: Collection[str] | None = None,
    skip: Collection[str] = (),
) -> Iterator[Finding]:
    """Examines one property after the other; all of them unless told otherwise.

    `games` random games of at most `plies` moves are played. A state that does not keep
    its types cannot be played at all, so nothing else is looked at then.
    """
    for option in (*(only or ()), *skip):
        if option not in PROPERTIES:
            raise ValueError(f"unknown property {option!r}; there are {', '.join(PROPERTIES)}")
    if games < 1 or plies < 1:
        raise ValueError(f"games and plies must be at least 1, got {games} and {plies}")
    subject = Subject(game, games=games, seed=seed, plies=plies)
    sound = True
    for name, examine in PROPERTIES.items():
        if name in skip or (only is not None and name not in only and name != "types"):
            continue
        if not sound:
            yield Finding(name, False, "not looked at: first mend the types", run=False)
            continue
        finding = _examined(name, examine, subject)
        sound = name != "types" or finding.ok
        if only is None or name in only or not finding.ok:
            yield finding


def _examined(name: str, examine: Callable[[Subject], str], subject: Subject) -> Finding:
    try:
        note = examine(subject)
    except BrokenError as broken:
        return Finding(name, False, broken.found, tuple(broken.story))
    except Exception as error:
        # The game's own functions may raise anything; where, is what its author needs.
        where = [
            f"{f.filename}:{f.lineno} in {f.name}"
            for f in traceback.extract_tb(error.__traceback__)
        ]
        first = str(error).strip().partition("\n")[0]
        return Finding(name, False, f"{error.__class__.__name__}: {first}", tuple(where[-3:]))
    return Finding(name, True, note, figure=subject.steps_per_second if name == "speed" else None)
