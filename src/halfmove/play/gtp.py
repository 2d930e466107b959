"""The Go Text Protocol, version 2: how commands are read and answered, whatever the game.

Specification: Gunnar Farnebäck, GTP version 2 draft 2. Lizzie, Sabaki and GoGui speak it; Hex
programs speak its dialect HTP. What the commands do is in play/gtp_go.py and play/htp.py.
"""

import importlib.metadata
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from halfmove.play.server import Lines, Say

# What is asked -> the answer, or its lines one after the other as they become known.
Handler = Callable[[Sequence[str]], "str | Iterable[str]"]
NUMBER = re.compile(r"\d{1,18}", re.ASCII)
REAL = re.compile(r"[+-]?(\d{1,12}(\.\d{0,12})?|\.\d{1,12})([eE][+-]?\d\d?)?", re.ASCII)
COLOURS = {"b": 0, "black": 0, "w": 1, "white": 1}


@dataclass(frozen=True)
class Command:
    """A line that is one."""

    number: str  # as it was given; "" if it was not
    name: str
    arguments: tuple[str, ...]


def parse(line: str) -> Command | None:
    """The command of a line, None if it is empty or a comment. Section 3.1 of the specification."""
    line = line.replace("\t", " ").partition("#")[0]
    words = "".join(c for c in line if ord(c) >= 32 and ord(c) != 127).split()
    number = words.pop(0) if words and NUMBER.fullmatch(words[0]) else ""
    if not (words or number):
        return None
    return Command(number, words[0] if words else "", tuple(words[1:]))


def serve(lines: Lines, say: Say, commands: Mapping[str, Handler]) -> int:
    """Answers until `quit` or the end of the lines; gives the exit status."""
    known = {**_about(commands), **commands}
    while (line := lines.next()) is not None:
        command = parse(line)
        if command is None:
            continue
        handler = known.get(command.name)
        if handler is None:
            say(_reply("?", command, "unknown command"))
            continue
        _answer(say, command, handler)
        if command.name == "quit":
            break
    return 0


def _answer(say: Say, command: Command, handler: Handler) -> None:
    begun = False
    try:
        found = handler(command.arguments)
        if isinstance(found, str):
            say(_reply("=", command, found))
            return
        say(f"={command.number}")
        begun = True
        for line in found:
            say(line)
        say("")
    except Exception as error:  # a command must never end the game
        if not isinstance(error, ValueError):
            traceback.print_exc(file=sys.stderr)
            error = ValueError(f"internal error: {type(error).__name__}: {error}")
        say("" if begun else _reply("?", command, str(error)))


def _reply(mark: str, command: Command, text: str) -> str:
    """An answer with the empty line that ends it, and no other empty line."""
    first, *others = text.splitlines() or [""]
    begun = f"{mark}{command.number} {first}".rstrip()
    return "\n".join([begun, *(line.rstrip() for line in others if line.strip())]) + "\n"


def _about(commands: Mapping[str, Handler]) -> dict[str, Handler]:
    """The commands about the program itself."""

    def listed(arguments: Sequence[str]) -> str:
        nothing(arguments)
        return "\n".join(sorted({*about, *commands}))

    def known(arguments: Sequence[str]) -> str:
        (name,) = exactly(arguments, "a command's name")
        return "true" if name in about or name in commands else "false"

    about: dict[str, Handler] = {
        "protocol_version": lambda a: nothing(a) or "2",
        "name": lambda a: nothing(a) or "Halfmove",
        "version": lambda a: nothing(a) or version(),
        "known_command": known,
        "list_commands": listed,
        "quit": lambda a: "",
    }
    return about


def version() -> str:
    """Of this package."""
    try:
        return importlib.metadata.version("halfmove")
    except importlib.metadata.PackageNotFoundError:
        return "0"


# -- arguments ---------------------------------------------------------------


def nothing(arguments: Sequence[str]) -> str:
    """'' if there are no arguments; else the command is refused."""
    if arguments:
        raise ValueError(f"syntax error: no argument was expected, got {' '.join(arguments)!r:.80}")
    return ""


def exactly(arguments: Sequence[str], *names: str) -> Sequence[str]:
    """The arguments, if there are as many as names for them."""
    if len(arguments) != len(names):
        raise ValueError(f"syntax error: expected {', '.join(names)}; got {len(arguments)} words")
    return arguments


def whole(text: str, least: int = 0, most: int = 10**6) -> int:
    """A whole number of a command."""
    if not (NUMBER.fullmatch(text) and least <= int(text) <= most):
        raise ValueError(f"syntax error: {text!r:.80} is not a whole number of {least} to {most}")
    return int(text)


def real(text: str) -> float:
    """A finite number of a command."""
    if not REAL.fullmatch(text):
        raise ValueError(f"syntax error: {text!r:.80} is not a number")
    return float(text)


def colour(text: str) -> int:
    """0 for black, 1 for white."""
    if text.lower() not in COLOURS:
        raise ValueError(f"syntax error: {text!r:.80} is not a colour: black or white, b or w")
    return COLOURS[text.lower()]
