"""The Universal Chess Interface, and its cousin for shogi (USI).

UCI: Huber and Meyer-Kahlen 2000 to 2006. USI: Tord Romstad's adaptation of it.
"""

import difflib
import math
import re
import time
from collections.abc import Callable
from typing import Any

from halfmove.arena.engines.child import Child
from halfmove.arena.engines.line import MARGIN, Line
from halfmove.arena.engines.presets import preset
from halfmove.games.follow import Spot

NODES = re.compile(r"info\b.*?\bnodes (\d{1,18})\b")
OPTION = re.compile(r"option name (.+?) type (\w+)(.*)")
MOVES = {
    "uci": re.compile(r"[a-h][1-8][a-h][1-8][a-z]?"),
    "usi": re.compile(r"[1-9][a-i][1-9][a-i]\+?|[A-Z]\*[1-9][a-i]"),
}
# Engines look at their nodes only now and then; these are none that do not look at all.
SLACK = 100_000
ENTRY = {"uci": "fen", "usi": "sfen"}
NO_MOVE = ("(none)", "0000", "none")
BYOYOMI_MS = 10_000  # where `go` cannot tell the limit: more than is needed


class Uci:
    """A conversation in UCI or USI."""

    goodbye = "quit"

    def __init__(self, child: Child, line: Line) -> None:
        self._child, self._line = child, line
        self._position = ""
        self._moves: list[str] = []
        self.moves = MOVES[line.protocol]
        self.title = child.name
        options, depth = self._greet(), preset(line).depth
        limit = ((depth, str(line.depth)),) if depth and line.depth else ()
        for name, value in line.options + limit:
            self._say(self._setting(options, name, value))
        self._ready()
        self._go = _go(line)

    def new_game(self, game: Any, spot: Spot, position: str) -> None:
        """Forgets the game before; the moves follow with each question."""
        self._position = "startpos"
        if position:
            self._position = f"{ENTRY[self._line.protocol]} {game.position(spot.state)}"
        self._moves = []
        if self._line.protocol == "uci":
            self._say("ucinewgame")
        self._ready()
        if self._line.protocol == "usi":
            self._say("usinewgame")

    def play(self, player: int, move: str) -> None:
        """Keeps a move for the next question."""
        self._moves.append(move)

    def choose(self, player: int) -> str:
        """Its move, or `resign`; EngineFault if it says that it has none."""
        moves = f" moves {' '.join(self._moves)}" if self._moves else ""
        self._say(f"position {self._position}{moves}")
        limit = self._line.seconds
        wait = self._line.patience if limit is None else limit + MARGIN
        answer = self._ask(self._go, "bestmove", wait, self._past)[-1].split()
        move = answer[1] if len(answer) > 1 else ""
        if move.lower() == "resign":
            return "resign"
        if move.lower() == "win":
            what = "claims to have won by entering, for which there is no rule here"
            raise self._child.fault("illegal", what)
        if move.lower() in NO_MOVE:
            raise self._child.fault("illegal", "says that it has no move")
        self._moves.append(move)
        return move

    def final_score(self) -> str:
        """These protocols have no word for it."""
        return ""

    # -- settings --------------------------------------------------------

    def _greet(self) -> dict[str, re.Match[str]]:
        """The engine's options by their names in small letters; it tells its title too."""
        word = self._line.protocol
        options: dict[str, re.Match[str]] = {}
        for said in self._ask(word, f"{word}ok"):
            if said.startswith("id name "):
                self.title = said[len("id name ") :].strip()[:200]
            elif found := OPTION.match(said):
                options[found[1].lower()] = found
        return options

    def _setting(self, options: dict[str, re.Match[str]], name: str, value: str) -> str:
        """The command that sets an option; EngineFault if the engine has none such."""
        found = options.get(name.lower())
        if found is None:
            if self._line.protocol == "usi" and name.startswith("USI_"):
                return f"setoption name {name} value {value}"  # every engine has these, untold
            near = difflib.get_close_matches(name.lower(), options, 1)
            hint = f" (did you mean {options[near[0]][1]!r}?)" if near else ""
            has = ", ".join(option[1] for option in options.values()) or "none"
            raise self._child.fault("refused", f"has no option {name!r}{hint}; it has {has}")
        if found[2] == "button":
            return f"setoption name {found[1]}"
        if wrong := _wrong(found[2], found[3], value):
            raise self._child.fault("refused", f"wants {wrong} for {found[1]}, not {value!r}")
        value = value.lower() if found[2] == "check" else value
        return f"setoption name {found[1]} value {value}"

    # -- talking ---------------------------------------------------------

    def _ready(self) -> None:
        self._ask("isready", "readyok")

    def _say(self, command: str) -> None:
        self._child.say(command, time.monotonic() + self._line.patience)

    def _past(self, said: str) -> bool:
        """Whether it says that it has searched many more nodes than it was asked to."""
        found = NODES.match(said)
        return bool(self._line.nodes and found and int(found[1]) > 2 * self._line.nodes + SLACK)

    def _ask(
        self,
        command: str,
        word: str,
        wait: float | None = None,
        enough: Callable[[str], bool] = lambda said: False,
    ) -> list[str]:
        """What it says from there to the line that begins with `word`; told to stop at `enough`."""
        deadline = time.monotonic() + (self._line.patience if wait is None else wait)
        self._child.say(command, deadline)
        said: list[str] = []
        stopped = False
        while True:
            said.append(self._child.line(deadline))
            if said[-1].split()[:1] == [word]:
                return said
            if not stopped and enough(said[-1]):  # some engines do not know `go nodes`
                stopped = True
                self._child.interject("stop", deadline)


def _go(line: Line) -> str:
    """The question for a move."""
    known = preset(line)
    milliseconds = None if line.seconds is None else max(1, math.floor(1000 * line.seconds))
    words = ["go"]
    if known.nodes:
        milliseconds = milliseconds or BYOYOMI_MS
    elif line.nodes:
        words.append(f"nodes {line.nodes}")
    if line.depth and not known.depth:
        words.append(f"depth {line.depth}")
    if milliseconds:
        clock = "movetime" if line.protocol == "uci" else "btime 0 wtime 0 byoyomi"
        words.append(f"{clock} {milliseconds}")
    return " ".join(words)


def _wrong(kind: str, rest: str, value: str) -> str:
    """What an option of that kind takes instead of the value; "" if it takes it."""
    if kind == "check" and value.lower() not in ("true", "false"):
        return "true or false"
    if kind == "spin":
        low, high = (re.search(rf"\b{word} (-?\d+)", rest) for word in ("min", "max"))
        if not re.fullmatch(r"-?\d{1,18}", value):
            return "a whole number"
        if low and high and not int(low[1]) <= int(value) <= int(high[1]):
            return f"{low[1]} to {high[1]}"
    if kind == "combo":
        choices = re.findall(r"\bvar (.+?)(?= var |$)", rest)
        if value not in choices:
            return f"one of {', '.join(choices)}"
    return ""
