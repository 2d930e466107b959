"""An outside engine as a player: a program that speaks GTP, HTP, UCI or USI.

with Engine("gtp:gnugo --level 10") as engine:
    engine.new_game(game)
    engine.play(40)           # the opponent's move
    action = engine.choose()  # its own

This package's rules are the referee: they follow every game here, and a move of the engine's
that they forbid is a fault of the engine's, and so is a legal move that it refuses.
"""

import contextlib
import re
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self

from halfmove.arena.engines.child import Child
from halfmove.arena.engines.fault import MILD, EngineFault
from halfmove.arena.engines.gtp import Gtp
from halfmove.arena.engines.line import MARGIN, Line, read
from halfmove.arena.engines.presets import command
from halfmove.arena.engines.uci import Uci
from halfmove.core.game import Game
from halfmove.games.follow import Spot, begin, moved

RESIGN = -1  # instead of an action


class Talk(Protocol):
    """A conversation with a program that is running; EngineFault where it goes wrong."""

    goodbye: str
    title: str  # what the program calls itself
    moves: re.Pattern[str]  # what a move looks like

    def new_game(self, game: Any, spot: Spot, position: str) -> None:
        """Sets up the position that `spot` is, the first one if `position` is empty."""
        ...

    def play(self, player: int, move: str) -> None:
        """Tells it of a move."""
        ...

    def choose(self, player: int) -> str:
        """Its move as it writes it, which it then takes as played; or `resign`."""
        ...

    def final_score(self) -> str:
        """What it thinks of the result; "" if it does not say."""
        ...


TALKS: dict[str, type[Gtp] | type[Uci]] = {"gtp": Gtp, "htp": Gtp, "uci": Uci, "usi": Uci}


class Engine:
    """One program, one game at a time, one thread at a time (but `close` is for any thread).

    It is started by the first game, and again by the next game after it has failed, until it is
    closed. ValueError if the line is wrong or the program is not there.
    """

    def __init__(self, line: str | Line, *, seed: int = 0) -> None:
        self.line = read(line) if isinstance(line, str) else line
        self.starts = 0  # how often the program has been started
        self.title = self.line.text  # once it has been started, what it calls itself
        self._seed = seed
        self._child: Child | None = None
        self._talk: Talk | None = None
        self._game: Game | None = None
        self._spot: Spot | None = None
        self._turn = threading.Lock()
        self._closed = False
        command(self.line, seed)

    def new_game(self, game: Game, opening: Iterable[int] = (), *, position: str = "") -> None:
        """Begins a game at the start or at a position, with the actions of `opening` made.

        ValueError if the protocol is for another game, or the opening is not legal.
        """
        if game.name != self.line.game:
            raise ValueError(
                f"{self.line.text!r} plays {self.line.game}, as all {self.line.protocol} engines "
                f"do; the game is {game.name}"
            )
        with self._talking():
            self._game, self._spot = game, None
            spots, actions = [begin(game, position)], [int(action) for action in opening]
            for action in actions:
                spots.append(moved(game, spots[-1], action))
            talk = self._start()
            talk.new_game(game, spots[0], position)
            for spot, action in zip(spots, actions, strict=False):
                talk.play(spot.player, game.move_name(spot.state, action))
            self._spot = spots[-1]

    def play(self, action: int) -> None:
        """Tells it of the opponent's move; ValueError if that is not legal."""
        with self._talking():
            game, spot, talk = self._playing()
            after = moved(game, spot, action)
            talk.play(spot.player, game.move_name(spot.state, action))
            self._spot = after

    def choose(self) -> int:
        """Its move, which is then made; or `RESIGN`."""
        with self._talking():
            game, spot, talk = self._playing()
            if spot.over:
                raise ValueError("the game is over: there is no move to choose")
            began = time.monotonic()
            try:
                text = talk.choose(spot.player)
            except EngineFault as fault:
                if fault.reason == "hang" and self.line.seconds is not None:
                    raise EngineFault("time", fault.text) from None
                raise
            took, limit = time.monotonic() - began, self.line.seconds
            if limit is not None and took > limit + MARGIN:
                raise EngineFault("time", f"{self.line.program} took {took:.2f} s of {limit:g} s")
            if text == "resign":
                return RESIGN
            action = self._legal(game, spot, talk, text)
            self._spot = moved(game, spot, action)
            return action

    def final_score(self) -> str:
        """What it thinks of the result, such as `B+3.5`; "" if it has no say."""
        with self._talking():
            return self._playing()[2].final_score()

    def close(self) -> None:
        """Ends the program for good. A thread that waits for it gets an EngineFault."""
        self._closed = True
        if not self._turn.acquire(blocking=False):
            if child := self._child:
                child.cut()
            self._turn.acquire()
        try:
            self._drop(self._talk.goodbye if self._talk else "")
        finally:
            self._turn.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside ----------------------------------------------------------

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        with self._turn:
            if self._closed:
                raise RuntimeError(f"{self.line.text!r} was closed: make another Engine")
            try:
                yield
            except EngineFault as fault:
                self._spot = None
                if fault.reason not in MILD:
                    self._drop()
                raise
            except (ValueError, RuntimeError):  # the caller's mistake: nothing was said
                raise
            except BaseException:  # interrupted: nobody knows what it will say next
                self._drop()
                raise

    def _start(self) -> Talk:
        if self._talk is None or self._child is None:
            self._drop()
            # Another seed each time, or it would play its first games again.
            words = command(self.line, self._seed + self.starts)
            self.starts += 1
            self._child = Child(words)
            self._talk = TALKS[self.line.protocol](self._child, self.line)
            self.title = self._talk.title
        return self._talk

    def _drop(self, goodbye: str = "") -> None:
        child, self._child, self._talk, self._spot = self._child, None, None, None
        if child is not None:
            child.close(goodbye)

    def _playing(self) -> tuple[Game, Spot, Talk]:
        if self._game is None or self._spot is None or self._talk is None:
            raise RuntimeError("no game has begun: call new_game first")
        return self._game, self._spot, self._talk

    def _legal(self, game: Game, spot: Spot, talk: Talk, text: str) -> int:
        """The action that the engine wrote; EngineFault if it is none, or forbidden."""
        name = self.line.program
        if not talk.moves.fullmatch(text):
            raise EngineFault("rubbish", f"{name} answered {text[:80]!r}, which is no move")
        try:
            action = game.parse_move(spot.state, text)
        except ValueError as error:
            raise EngineFault("illegal", f"{name} played {text}: {error}") from None
        if not spot.legal[action]:
            where = game.position(spot.state)
            raise EngineFault("illegal", f"{name} played {text}, which is not legal in {where}")
        return action
