"""The Universal Chess Interface, and its sister for shogi (play/usi.py), in one dialogue.

Specification: Stefan-Meyer Kahlen, April 2004. There are no error answers in it: what cannot be
done is said as `info string`, and changes nothing. Input is looked at between two slices of a
search, so that `stop`, `ponderhit`, `isready` and `quit` are heard while it thinks.
"""

import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from halfmove import games
from halfmove.core.game import Game, State
from halfmove.play import centipawns, gtp
from halfmove.play.clock import SAFETY
from halfmove.play.go_words import Asked, asked
from halfmove.play.minds import Source
from halfmove.play.opinion import Opinion
from halfmove.play.seat import Limits, Seat
from halfmove.play.server import Lines, Say, Stream, opened
from halfmove.play.thinking import MEMORY, MOST, opinions

EVERY = 0.5  # seconds between two reports


@dataclass(frozen=True)
class Dialect:
    """What differs between chess and shogi."""

    name: str  # "uci": what the program says first, and is answered with "uciok"
    position: str  # "fen": how a position is given
    fields: int  # words of one
    clocks: tuple[str, str]  # of player 0 and 1
    moves: int  # that a game goes on for, about
    nothing: str  # what is played if there is no legal move
    scores: centipawns.Scores


class Dialogue:
    """A conversation with a program that shows the board."""

    def __init__(self, dialect: Dialect, seat: Seat, lines: Lines, say: Say) -> None:
        self._dialect, self._seat, self._lines, self._say = dialect, seat, lines, say
        self._later: list[str] = []  # lines that came while it was thinking, the last one first
        self._over = False
        self._shown = 1  # variations
        self._handlers: dict[str, Callable[[list[str]], Any]] = {
            dialect.name: self._greet,
            "isready": self._ready,
            "setoption": self._option,
            f"{dialect.name}newgame": lambda words: seat.forget(),
            "position": self._position,
            "go": self._go,
            "quit": self._quit,
            # Outside of a search these mean nothing.
            **dict.fromkeys(("stop", "ponderhit", "debug", "register", "gameover"), lambda w: None),
        }

    def serve(self) -> int:
        """Answers until `quit` or the end of the lines; gives the exit status."""
        while not self._over:
            line = self._later.pop() if self._later else self._lines.next()
            if line is None:
                break
            words = line.split()
            if not words:
                continue
            try:
                handler = self._handlers.get(words[0])
                if handler is None:
                    raise ValueError(f"unknown command {words[0]!r:.80}")
                handler(words[1:])
            except ValueError as error:
                self._complain(str(error))
            except Exception as error:  # a command must never end the game
                traceback.print_exc(file=sys.stderr)
                self._complain(f"internal error: {type(error).__name__}: {error}")
        return 0

    def _complain(self, text: str) -> None:
        self._say("info string error: " + " ".join(text.split())[:400])

    def _quit(self, words: list[str]) -> None:
        self._over = True

    # -- who we are ------------------------------------------------------

    def _greet(self, words: list[str]) -> None:
        limits = self._seat.limits
        self._say(f"id name Halfmove {gtp.version()}")
        self._say("id author the Halfmove authors")
        for name, default, least, most in (
            ("MultiPV", self._shown, 1, 256),
            ("Simulations", limits.simulations or 0, 0, MOST),
            ("Hash", MEMORY >> 20, 1, 65536),
        ):
            self._say(f"option name {name} type spin default {default} min {least} max {most}")
        self._say("option name Ponder type check default false")
        self._say(f"{self._dialect.name}ok")

    def _ready(self, words: list[str]) -> None:
        self._seat.warm()
        self._say("readyok")

    def _option(self, words: list[str]) -> None:
        """`name Some Name value 3`."""
        at = words.index("value") if "value" in words else len(words)
        if words[:1] != ["name"] or at < 2:
            raise ValueError("an option is set by: setoption name NAME value VALUE")
        name, value = " ".join(words[1:at]).lower(), " ".join(words[at + 1 :])
        if name == "multipv":
            self._shown = gtp.whole(value, 1, 256)
        elif name == "simulations":
            number = gtp.whole(value, 0, MOST) or None
            self._seat.limits = replace(self._seat.limits, simulations=number)
        elif name in ("hash", "usi_hash"):
            self._seat.remember(gtp.whole(value, 1, 65536) << 20)
        elif name not in ("ponder", "usi_ponder", "uci_analysemode", "uci_opponent", "threads"):
            raise ValueError(f"there is no option {name!r:.80}")

    # -- the position ----------------------------------------------------

    def _position(self, words: list[str]) -> None:
        seat, dialect = self._seat, self._dialect
        at = words.index("moves") if "moves" in words else len(words)
        start, moves = words[:at], words[at + 1 :]
        if start == ["startpos"]:
            state = seat.fresh()
        elif start[:1] == [dialect.position] and len(start) <= dialect.fields + 1:
            state = seat.game.parse_position(" ".join(start[1:]))
        else:
            known = f"startpos or {dialect.position} and {dialect.fields} words"
            raise ValueError(f"a position is {known}, then moves; got {' '.join(start)!r:.80}")
        past: list[State] = [state]
        for move in moves:
            past.append(games.play(seat.game, past[-1], move))
        seat.past = past

    # -- thinking --------------------------------------------------------

    def _go(self, words: list[str]) -> None:
        wish = asked(words, self._dialect.clocks)
        if wish.mate is not None and self._dialect.name == "usi":
            self._say("checkmate notimplemented")
            return
        seat = self._seat
        if seat.over:
            self._say(f"bestmove {self._dialect.nothing}")
            return
        only = None
        if wish.only:
            only = [seat.game.parse_move(seat.state, name) for name in wish.only]
            if not set(only) <= set(seat.legal()):
                raise ValueError(f"searchmoves: not all are legal: {' '.join(wish.only)!r:.200}")
        opinion = self._search(wish, only)
        self._say("bestmove " + " ponder ".join(seat.names(opinion.lines[0].moves, 2)))

    def _search(self, wish: Asked, only: list[int] | None) -> Opinion:
        """Thinks aloud; the last opinion."""
        seat = self._seat
        began = time.monotonic()
        timer = _Timer(wish, self._spare(wish))
        thinking = seat.begin(budget=self._budget(wish, timer), only=only)
        timer.start(began)
        watched = wish.watched
        said = began
        for opinion in opinions(
            thinking,
            stopped=lambda: self._heard(timer),
            deadline=lambda: timer.end,
            every=0.0 if watched else EVERY,
        ):
            now = time.monotonic()
            if now - said >= EVERY:
                said = now
                self._report(opinion, now - began)
            if watched and not timer.open and wish.reached(opinion):
                break
        # The standard wants no move before `stop` or `ponderhit`.
        while timer.open:
            self._lines.wait()
            self._heard(timer)
        self._report(opinion, time.monotonic() - began)
        return opinion

    def _spare(self, wish: Asked) -> float | None:
        """Seconds for the move, None: no limit."""
        if wish.movetime is not None:
            return max(0.01, wish.movetime - SAFETY / 2)
        clock = wish.clocks[self._seat.to_play]
        if clock is None and not wish.plain:
            return None
        return self._seat.time_for(clock, self._dialect.moves)

    def _budget(self, wish: Asked, timer: "_Timer") -> int | None:
        if wish.nodes is not None:
            return max(1, wish.nodes)
        if wish.open or wish.watched:
            return None
        return self._seat.budget_for(timer.spare)

    def _heard(self, timer: "_Timer") -> bool:
        """Listens to what has come; whether the search is to stop.

        The end of the input stops what nothing else would; any other search is finished first.
        """
        while self._lines.waiting():
            line = self._lines.next()
            if line is None:
                return timer.close() if timer.open else False
            word = (line.split() or [""])[0]
            if word in ("stop", "quit"):
                self._over = word == "quit"
                return timer.close()
            if word == "isready":
                self._say("readyok")
            elif word == "ponderhit":
                timer.hit()
            elif word:
                self._later.insert(0, line)
        return False

    def _report(self, opinion: Opinion, seconds: float) -> None:
        milliseconds = max(1, round(1000 * seconds))
        speed = round(1000 * opinion.nodes / milliseconds)
        for number, line in enumerate(opinion.lines[: self._shown], 1):
            moves = " ".join(self._seat.names(line.moves))
            self._say(
                f"info depth {len(line.moves)} seldepth {opinion.deepest} multipv {number} "
                f"score {self._dialect.scores(line)} nodes {opinion.nodes} nps {speed} "
                f"time {milliseconds} pv {moves}"
            )


class _Timer:
    """When a search ends. It is open as long as only `stop` or `ponderhit` may end it."""

    def __init__(self, wish: Asked, spare: float | None) -> None:
        self.open = wish.open
        self.spare = spare
        self.end: float | None = None

    def start(self, now: float) -> None:
        """The clock runs, unless it is the opponent's."""
        if not self.open and self.spare is not None:
            self.end = now + self.spare

    def close(self) -> bool:
        """The search is to stop: True."""
        self.open = False
        return True

    def hit(self) -> None:
        """What was thought about beforehand is on the board."""
        if self.open:
            self.open = False
            self.start(time.monotonic())


CHESS = Dialect(
    name="uci",
    position="fen",
    fields=6,
    clocks=("wtime", "btime"),
    moves=30,
    nothing="(none)",
    scores=centipawns.chess,
)


def main(
    source: Source,
    game: Game,
    *,
    dialect: Dialect = CHESS,
    limits: Limits | None = None,
    seed: int | None = None,
    given: Stream | None = None,
    said: BinaryIO | None = None,
) -> int:
    """Speaks UCI on the standard streams, or on those given; the exit status."""
    seat = Seat(source, game, limits or Limits(), seed=seed)
    lines, say = opened(given, said)
    return Dialogue(dialect, seat, lines, say).serve()
