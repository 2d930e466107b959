"""What is known of some programs, so that a short line is enough to play with them."""

import os
import shutil
from dataclasses import dataclass

from halfmove.arena.engines.line import Line

GAMES = "/usr/games:/usr/local/games"  # Debian puts games where not every PATH looks


@dataclass(frozen=True)
class Preset:
    """What a program is given unless the line says otherwise."""

    package: str  # of Debian
    # Words to add, each unless one of the spellings before it is among the arguments.
    words: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    nodes: str = ""  # the argument that limits nodes, where `go nodes` does not
    depth: str = ""  # the option that limits depth, where `go depth` does not


KO_RULES = ("--positional-superko", "--situational-superko", "--simple-ko", "--no-ko")
PRESETS = {
    # Its rules as ours, dead stones taken off the board: area is counted as it lies.
    "gnugo": Preset(
        "gnugo",
        (
            (("--mode",), ("--mode", "gtp")),
            (("--chinese-rules", "--japanese-rules"), ("--chinese-rules",)),
            (KO_RULES, ("--positional-superko",)),
            (("--capture-all-dead", "--play-out-aftermath"), ("--capture-all-dead",)),
            (("--never-resign", "--resign-allowed"), ("--never-resign",)),
            (("--seed", "-r"), ("--seed", "{seed}")),
        ),
    ),
    "stockfish": Preset("stockfish"),
    "fairy-stockfish": Preset("fairy-stockfish"),
    # It takes the whole machine unless told not to, and dies of `go movetime`. Where the nodes
    # end before its second ply does it resigns, however well it stands.
    "gpsusi": Preset(
        "gpsshogi",
        (
            (("-N", "--num-cpus"), ("-N", "1")),
            (("--memory-use-percent",), ("--memory-use-percent", "5")),
        ),
        nodes="--node-count-hard-limit",
        depth="LimitDepth",
    ),
}


def preset(line: Line) -> Preset:
    """What is known of the line's program; nothing if it is a stranger."""
    return PRESETS.get(os.path.basename(line.program).lower(), Preset(""))


def command(line: Line, seed: int) -> tuple[str, ...]:
    """The program, found, and all its arguments; ValueError if it is not on this machine."""
    known = preset(line)
    program, *arguments = map(os.path.expanduser, (line.program, *line.arguments))
    found = shutil.which(program) or shutil.which(program, path=GAMES)
    if found is None:
        hint = f"; Debian has it in the package {known.package}" if known.package else ""
        raise ValueError(f"{line.text!r}: there is no program {line.program!r} here{hint}")
    added: list[str] = []
    for spellings, words in known.words:
        if not any(word.partition("=")[0] in spellings for word in arguments):
            added += [word.format(seed=seed) for word in words]
    if known.nodes and line.nodes:
        added += [known.nodes, str(line.nodes)]
    return (found, *arguments, *added)
