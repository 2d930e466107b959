"""The Go Text Protocol, version 2, and what Hex engines make of it (HTP).

Go: Farnebäck 2002. Hex: the dialect of Benzene's programs, MoHex and Wolve; black joins top and
bottom, `a1` is at the top left, as in this package.
"""

import json
import re
import time
from typing import Any

from halfmove.arena.engines.child import Child
from halfmove.arena.engines.line import MARGIN, Line
from halfmove.games.follow import Spot

COLOURS = ("black", "white")
CHATTER = 200  # lines that are no answer before they are rubbish
LONGEST = 5000  # lines of an answer
SWAPS = ("swap-pieces", "swap-sides", "swap")
MOVES = {
    "gtp": re.compile(r"[a-z]\d{1,2}|pass", re.IGNORECASE),
    "htp": re.compile(r"[a-z]\d{1,2}|swap-pieces", re.IGNORECASE),
}
STONES = re.compile(r"(A[BW])((?:\[\w+\])+)")


class Gtp:
    """A conversation in GTP or HTP."""

    goodbye = "quit"

    def __init__(self, child: Child, line: Line) -> None:
        self._child, self._line = child, line
        self._cells: list[str] = []  # Hex: where stones were put, in their order
        self.moves = MOVES[line.protocol]
        self._known = set(self._ask("list_commands").split())
        self.title = f"{self._ask('name')} {self._ask('version')}".strip()[:200] or child.name
        player = re.sub(r"[^a-z].*", "", child.name.lower())
        for name, value in line.options:
            self._do(f"param_{player} {name} {value}")

    def new_game(self, game: Any, spot: Spot, position: str) -> None:
        """An empty board with the game's rules, then the stones that stand there."""
        if self._line.protocol == "htp":
            self._new_hex(game, spot)
        else:
            self._new_go(game, spot, position)

    def play(self, player: int, move: str) -> None:
        """Tells it of a move."""
        if move in SWAPS:
            self._swap()
        else:
            self._do(f"play {COLOURS[player]} {move}")
            self._cells.append(move)

    def choose(self, player: int) -> str:
        """Its move, or `resign`."""
        limit = self._line.seconds
        wait = self._line.patience if limit is None else limit + MARGIN
        answer = self._do(f"genmove {COLOURS[player]}", wait).lower()
        if answer in SWAPS:
            self._swap()
            return SWAPS[0]
        self._cells.append(answer)
        return answer

    def final_score(self) -> str:
        """What it thinks of the result, as it puts it; "" if it does not say."""
        return self._ask("final_score")

    # -- setting up ------------------------------------------------------

    def _new_go(self, game: Any, spot: Spot, position: str) -> None:
        self._do(f"boardsize {game.size}")
        self._do("clear_board")
        self._do(f"komi {game.komi:.10g}")
        if "kata-set-rules" in self._known:
            rules = {"ko": "POSITIONAL", "scoring": "AREA", "tax": "NONE", "suicide": game.suicide}
            rules |= {"hasButton": False, "whiteHandicapBonus": "0", "friendlyPassOk": False}
            self._do(f"kata-set-rules {json.dumps(rules, separators=(',', ':'))}")
        if self._line.seconds is not None and "time_settings" in self._known:
            # A period of whole seconds for every stone, and no time before it.
            self._do(f"time_settings 0 {max(1, int(self._line.seconds))} 1")
        board = game.board(spot.state).ravel()
        stones = [
            [game.move_name(spot.state, int(at)) for at in (board == colour).nonzero()[0]]
            for colour in (1, 2)
        ]
        if game.handicap and not position:
            done, _ = self._try(f"set_free_handicap {' '.join(stones[0])}")
            if done:
                return
            self._do("clear_board")  # of the stones that it took
        self._place(stones)

    def _new_hex(self, game: Any, spot: Spot) -> None:
        self._do(f"boardsize {game.size} {game.size}")
        self._allow_swap(game.swap)
        found = dict(STONES.findall(game.position(spot.state)))
        stones = [re.findall(r"\w+", found.get(key, "")) for key in ("AB", "AW")]
        self._place(stones)
        self._cells = stones[0] + stones[1]

    def _place(self, stones: list[list[str]]) -> None:
        """The stones of a position one by one: in Go each chain has a liberty, so none is taken."""
        for colour, names in zip(COLOURS, stones, strict=True):
            for name in names:
                self._do(f"play {colour} {name}")

    def _allow_swap(self, allowed: bool) -> None:
        if "param_game" in self._known:
            self._do(f"param_game allow_swap {int(allowed)}")

    def _swap(self) -> None:
        """Sets up what a swap makes of the first stone: white's, on the cell transposed.

        MoHex leaves the stone and has the players change colours, others move it: none is asked.
        """
        if len(self._cells) != 1:
            return  # no rule allows it: the referee will say so
        cell = self._cells[0].lower()
        column, row = ord(cell[0]) - ord("a"), int(cell[1:])
        self._do("clear_board")
        self._allow_swap(False)
        self._do(f"play white {chr(ord('a') + row - 1)}{column + 1}")
        self._cells.append(SWAPS[0])

    # -- talking ---------------------------------------------------------

    def _ask(self, command: str) -> str:
        """The answer to a question; "" if it has none."""
        done, answer = self._try(command)
        return answer if done else ""

    def _do(self, command: str, wait: float | None = None) -> str:
        """The answer to a command; EngineFault if it is refused."""
        done, answer = self._try(command, wait)
        if not done:
            words = " ".join(answer.split())[:200]
            raise self._child.fault("refused", f"answered '? {words}'")
        return answer

    def _try(self, command: str, wait: float | None = None) -> tuple[bool, str]:
        """Whether a command was done, and the answer."""
        deadline = time.monotonic() + (self._line.patience if wait is None else wait)
        self._child.say(command, deadline)
        for _ in range(CHATTER):
            first = self._child.line(deadline)
            if first[:1] in ("=", "?"):
                break
        else:
            raise self._child.fault("rubbish", "gave no answer that begins with = or ?")
        lines = [first[1:].strip()]
        while line := self._child.line(deadline):
            lines.append(line)
            if len(lines) > LONGEST:
                raise self._child.fault("rubbish", "gave an answer without end")
        return first[0] == "=", "\n".join(lines).strip()
