"""One line names one engine: `gtp:gnugo --level 10`, `uci:stockfish nodes=1000 Skill Level=5`.

    PROTOCOL:PROGRAM [ARGUMENT ...] [NAME=VALUE ...]

PROTOCOL is `gtp` (Go), `htp` (Hex), `uci` (chess) or `usi` (shogi). PROGRAM is looked for as a
shell does; words are split as a shell splits them, so quotes hold one together, and `~` at the
beginning of one is the home folder. What some programs need is added (`presets.py`). The words
before the first NAME=VALUE are the program's own arguments, and a word that begins with a dash is
one of them: `--weights=net.pb`. From there on all are settings, and a name may have spaces: write
`nodes=1000 Skill Level=5`, or quote the first, `"Skill Level=5" nodes=1000`. Settings of every
protocol are

    seconds=S    time for a move; the engine loses when it takes `MARGIN` longer. It is told, but
                 for Hex: MoHex has a parameter for it, max_time
    patience=S   how long it may take over any other answer, or over a move without `seconds`

and beyond them

    uci, usi     nodes=N and depth=N limit the search, other names are options of the engine; one
                 of nodes, depth and seconds must be there
    htp          NAME=VALUE is sent as `param_PROGRAM NAME VALUE`: `htp:mohex max_games=1000`
    gtp          there are no others: Go engines have words such as `threads=1,pass_all_alive`
                 among their arguments, and keep them
"""

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PROTOCOLS = {"gtp": "go", "htp": "hex", "uci": "chess", "usi": "shogi"}  # and their games
EXAMPLES = {
    "gtp": "gtp:gnugo --level 10",
    "htp": "htp:mohex max_games=1000",
    "uci": "uci:stockfish nodes=1000",
    "usi": "usi:fairy-stockfish nodes=1000",
}
MARGIN = 1.0  # seconds, for the way there and back and for a busy machine
PATIENCE = 60.0


@dataclass(frozen=True)
class Line:
    """What such a line says."""

    text: str
    protocol: str
    program: str
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    nodes: int | None = None
    depth: int | None = None
    seconds: float | None = None
    patience: float = PATIENCE

    @property
    def game(self) -> str:
        """The name of the game that it plays."""
        return PROTOCOLS[self.protocol]


def is_engine(text: str) -> bool:
    """Whether a player's name is such a line."""
    return text.partition(":")[0] in PROTOCOLS


def read(text: str) -> Line:
    """The line in parts; ValueError says what is wrong with it."""
    protocol, colon, rest = text.strip().partition(":")
    if not (colon and protocol in PROTOCOLS):
        raise ValueError(
            f"an engine is written PROTOCOL:PROGRAM, the protocol one of {', '.join(PROTOCOLS)}, "
            f"such as {EXAMPLES['gtp']!r}; got {text!r}"
        )
    try:
        program, *words = shlex.split(rest)
    except ValueError as error:
        why = str(error).lower() if rest.strip() else f"no program; try {EXAMPLES[protocol]!r}"
        raise ValueError(f"{text!r}: {why}") from None
    arguments, settings = _parted(protocol, words)
    limits: dict[str, Any] = {}
    options: list[tuple[str, str]] = []
    kinds = _LIMITS if protocol in ("uci", "usi") else _TIMES
    for name, value in settings:
        if name in limits or name in dict(options):
            raise ValueError(f"{text!r}: {name} is there twice")
        if name in kinds:
            limits[name] = _number(text, name, value, kinds[name])
        else:
            options.append((name, value))
    if protocol in ("uci", "usi") and not {"nodes", "depth", "seconds"} & set(limits):
        raise ValueError(
            f"{text!r} does not say how long it may think: add nodes=1000, depth=8 or seconds=1"
        )
    return Line(text.strip(), protocol, program, tuple(arguments), tuple(options), **limits)


_TIMES: dict[str, Callable[[str], float]] = {"seconds": float, "patience": float}
_LIMITS: dict[str, Callable[[str], float]] = {**_TIMES, "nodes": int, "depth": int}


def _parted(protocol: str, words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The arguments, and the settings as names and values."""
    if protocol == "gtp":
        ours = [word for word in words if word.partition("=")[0] in _TIMES and "=" in word]
        return [word for word in words if word not in ours], [_halves(word) for word in ours]
    first = next(
        (i for i, word in enumerate(words) if "=" in word and not word.startswith("-")), len(words)
    )
    settings, name = [], ""
    for word in words[first:]:
        name = f"{name} {word}".strip()
        if "=" in word and not name.startswith("-"):
            settings.append(_halves(name))
            name = ""
    if name:
        raise ValueError(
            f"{name!r} after the settings has no value: arguments of the program come first, "
            "and an option is written NAME=VALUE"
        )
    return words[:first], settings


def _halves(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    if not name.strip():
        raise ValueError(f"{word!r} has no name: a setting is written NAME=VALUE")
    return name.strip(), value.strip()


def _number(text: str, name: str, value: str, kind: Callable[[str], float]) -> float:
    try:
        number = kind(value)
    except ValueError:
        number = 0
    if not (number > 0 and math.isfinite(number)):
        what = "a whole number from 1" if kind is int else "a number of seconds above 0"
        raise ValueError(f"{text!r}: {name} must be {what}, got {value!r}")
    return number
