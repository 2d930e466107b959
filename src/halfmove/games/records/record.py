"""What is kept of a game that was played."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from halfmove import games
from halfmove.core.game import Game

# Names that the formats use themselves.
TAKEN = frozenset(
    {"game", "players", "white", "black", "moves", "position", "ply", "setUp", "fEN", "variant"}
    | {"result", "reason", "termination", "notes"}
)
KEY = re.compile(r"[a-z][A-Za-z0-9_]*")


class RecordError(ValueError):
    """A record that cannot be read; the message says where and why."""


@dataclass(frozen=True)
class Note:
    """What the player who moved thought of one move."""

    value: float | None = None  # of the position, as seen by that player
    visits: Mapping[int, int] = field(default_factory=dict)  # by action, of its search
    simulations: int | None = None  # of a search that a clock has ended


@dataclass(frozen=True)
class Record:
    """One game. Player 0 is black in Go, Hex and shogi, and white in chess."""

    game: str  # with its options, what `halfmove.games.read` reads
    players: tuple[str, ...]  # their names, by number
    moves: tuple[int, ...] = ()  # actions, from the first one
    result: tuple[float, ...] | None = None  # what each player earned: 1, 0, -1; None: unknown
    reason: str = ""  # why it ended, if not by the rules: "resignation", "time", "crash: ...", ...
    position: str = ""  # where it began, as `Game.parse_position` reads it; "": where all begin
    info: Mapping[str, str] = field(default_factory=dict)  # settings; event, site, date, round
    notes: tuple[Note, ...] = ()  # one for each move, or none at all

    def __post_init__(self) -> None:
        named = [("player", name) for name in self.players]
        for what, text in [*named, ("reason", self.reason), *self.info.items()]:
            if not isinstance(text, str) or not (text.isprintable() and text == text.strip()):
                raise ValueError(
                    f"{what} must be printable text in one line, without blanks around it; "
                    f"got {text!r}"
                )
        for key, text in self.info.items():
            if not text:
                raise ValueError(f"{key} says nothing: leave it out of info")
            if not KEY.fullmatch(key) or key in TAKEN:
                raise ValueError(
                    f"{key!r} cannot name an entry of info: a small letter, then letters, digits "
                    f"and _; and none of {', '.join(sorted(TAKEN))}"
                )
        if self.notes and len(self.notes) != len(self.moves):
            raise ValueError(
                f"notes must be one for each move or none: {len(self.notes)} for "
                f"{len(self.moves)} moves"
            )
        if self.result is not None and len(self.result) != len(self.players):
            raise ValueError(
                f"result must be one number for each player: {self.result} for {self.players}"
            )


def one_line(text: str) -> str:
    """Any text as a record may hold it, as a reason for one: printable, in one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split(" ")).strip()


def text_of(game: Game) -> str:
    """A game with the options that are not as usual: `go size=19 komi=6.5`."""
    kind = type(game)
    words = [game.name if kind is _named(game.name) else f"{kind.__module__}:{kind.__qualname__}"]
    for option in dataclasses.fields(game):  # type: ignore[arg-type]
        value = getattr(game, option.name)
        if value != option.default:
            words.append(f"{option.name}={_written(value)}")
    text = " ".join(words)
    if games.read(text) != game:
        raise ValueError(f"{game} has an option that cannot be written in a line: {text!r}")
    return text


def _named(name: str) -> type | None:
    return type(games.make(name)) if name in games.names() else None


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)
