"""Who searches for all visitors: moves that are asked for at the same time are one batch.

One thread has the device. What is not compiled yet, takes its own time or is another program's
goes to other threads, so that nobody waits for it who need not. Batches are filled up to few
sizes, so that after the first visitors nothing compiles again.
"""

import asyncio
import contextlib
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from halfmove.arena.players import Outside, Perfect, Player, Random, Timed, player
from halfmove.arena.round import clocked
from halfmove.arena.solver import solve
from halfmove.core.game import Game
from halfmove.play.terminal import Carried
from halfmove.selfplay.boards import Board, Choice, Searcher, searched
from halfmove.web.outsiders import STOPPED, Outsiders
from halfmove.web.rules import spot_after

SIZES = (1, 4, 16, 64)  # rows of a batch
GATHER = 0.004  # seconds to wait for others who ask for the same
PLAYERS = 16  # in memory
PROGRAMS = 200  # compiled, before all are forgotten
CARRIED = 256  # games whose planner's memory is kept
THREADS = 8


@dataclass(eq=False)
class Ask:
    """A move that is wanted."""

    game: Game
    line: str  # as the arena reads it
    position: str
    moves: tuple[int, ...]
    table: str = ""  # what is carried along a game belongs to one table; "": nothing is
    answer: "Future[Choice]" = field(default_factory=Future)
    state: str = "waiting"  # then compiling or searching
    since: float = field(default_factory=time.monotonic)
    took: float = 0.0  # seconds of its search

    @property
    def key(self) -> tuple[Game, str]:
        """Those with the same one are searched together."""
        return self.game, self.line

    def turn(self, state: str) -> None:
        """Says what is done now."""
        self.state, self.since = state, time.monotonic()

    def status(self) -> dict[str, Any]:
        """For the page."""
        return {"state": self.state, "seconds": round(time.monotonic() - self.since, 1)}


@dataclass(eq=False)
class Job:
    """Anything else for the device's thread, such as a slice of a search that is looked at."""

    run: Callable[[], Any]
    answer: "Future[Any]" = field(default_factory=Future)


class Desk:
    """Takes questions from any thread, answers them by futures."""

    def __init__(self) -> None:
        self._queue: deque[Ask | Job] = deque()
        self._bell = threading.Condition()
        self._open = True
        self._players: OrderedDict[tuple[Game, str], Player] = OrderedDict()
        self._ready: set[tuple[tuple[Game, str], int]] = set()  # what is compiled
        self._compiling: set[tuple[tuple[Game, str], int]] = set()
        self._waiting: dict[tuple[Game, str], list[Ask]] = {}  # for what is being compiled
        self._carried: OrderedDict[tuple[str, str], Carried] = OrderedDict()
        self._outsiders = Outsiders()
        self._others = ThreadPoolExecutor(THREADS, "desk")  # for what compiles
        self._slow = ThreadPoolExecutor(THREADS, "slow")  # for who takes as long as it likes
        self._key = jax.random.key(secrets.randbits(32))
        self._searches = 0
        self._batches: list[int] = []  # games of the last batches
        self._thread = threading.Thread(target=self._work, name="device", daemon=True)
        self._thread.start()

    # -- for the pages ---------------------------------------------------

    def ask(self, ask: Ask) -> "Future[Choice]":
        """The move that is wanted, some time."""
        self._put(ask)
        return ask.answer

    async def run(self, work: Callable[[], Any]) -> Any:
        """What `work` gives, in the device's thread; between the moves of others."""
        job = Job(work)
        self._put(job)
        return await asyncio.wrap_future(job.answer)

    async def aside(self, work: Callable[[], Any]) -> Any:
        """What `work` gives, in a thread beside the device's: for what compiles first."""
        return await asyncio.wrap_future(self._others.submit(work))

    @property
    def batches(self) -> list[int]:
        """How many games the last batches had."""
        return list(self._batches)

    def close(self) -> None:
        """Answers nothing more."""
        with self._bell:
            self._open = False
            self._bell.notify_all()
        self._thread.join(5.0)
        for pool in (self._others, self._slow):
            pool.shutdown(wait=False, cancel_futures=True)
        self._outsiders.close()

    # -- the device's thread ----------------------------------------------

    def _put(self, *some: Ask | Job) -> None:
        with self._bell:
            if not self._open:
                raise ValueError(STOPPED)
            self._queue.extend(some)
            self._bell.notify()

    def _work(self) -> None:
        while True:
            with self._bell:
                while not self._queue and self._open:
                    self._bell.wait()
                if not self._open:
                    return
                first = self._queue.popleft()
            if isinstance(first, Job):
                _fulfil(first.answer, first.run)
                continue
            time.sleep(GATHER)
            with self._bell:
                alike = [x for x in self._queue if isinstance(x, Ask) and x.key == first.key]
                asks = [first, *alike[: SIZES[-1] - 1]]
                taken = set(map(id, asks))
                self._queue = deque(x for x in self._queue if id(x) not in taken)
            try:
                self._answer(asks)
            except Exception as error:
                _fail(asks, error)

    def _answer(self, asks: list[Ask]) -> None:
        """Searches, or has somebody else do it."""
        key = asks[0].key
        with self._bell:
            who = self._players.get(key)
            if who is not None:
                self._players.move_to_end(key)
        if who is not None and not isinstance(who, Searcher):
            for ask in asks if isinstance(who, Outside) else asks[:1]:
                part = [ask] if isinstance(who, Outside) else asks
                self._slow.submit(self._elsewhere, who, part)
            return
        size = _size(asks)
        ready = [rows for rows in SIZES if who is not None and (key, rows) in self._ready]
        for ask in asks if not ready else ():
            ask.turn("compiling")
        with self._bell:
            compiling = any((key, rows) in self._compiling for rows in SIZES)
            if compiling and not ready:
                self._waiting.setdefault(key, []).extend(asks)
                return
            if not compiling and size not in ready:
                self._compiling.add((key, size))
                first = [_copy(ask) for ask in asks] if ready else asks
                self._others.submit(self._first, first, size)
        if not ready:
            return
        # The largest that is not too large; else the next, which costs more than it must.
        rows = max((r for r in ready if r <= size), default=min(ready))
        assert isinstance(who, Searcher)
        for at in range(0, len(asks), rows):
            self._search(who, asks[at : at + rows], rows)

    def _again(self, asks: list[Ask]) -> None:
        try:
            self._put(*asks)
        except ValueError as error:
            _fail(asks, error)

    def _search(self, who: Searcher, asks: list[Ask], rows: int, state: str = "searching") -> None:
        for ask in asks:
            if ask.state != state:
                ask.turn(state)
        began = time.monotonic()
        asks, boards = self._boards(asks)
        if not asks:
            return
        try:
            key = jax.random.fold_in(self._key, self._number())
            found = searched(asks[0].game, who, boards, key, rows)
        except Exception as error:
            _fail(asks, error)
            return
        self._batches = [*self._batches[-999:], len(asks)]
        self._give(asks, boards, found, time.monotonic() - began)

    # -- other threads ------------------------------------------------------

    def _first(self, asks: list[Ask], rows: int) -> None:
        """Makes the player and its program for so many rows, and answers with it."""
        key = asks[0].key
        try:
            who = self._player(key)
            if isinstance(who, Searcher):
                self._search(who, asks, rows, "compiling")
                with self._bell:
                    self._ready.add((key, rows))
            else:
                self._again(asks)  # now that it is known who they want
        except Exception as error:
            _fail(asks, error)
        finally:
            with self._bell:
                self._compiling.discard((key, rows))
                waiting = self._waiting.pop(key, [])
            self._again(waiting)

    def _player(self, key: tuple[Game, str]) -> Player:
        who = self._players.get(key)
        if who is None:
            who = player(key[1], key[0])
            with self._bell:
                self._players[key] = who
                while len(self._players) > PLAYERS:
                    gone, _ = self._players.popitem(last=False)
                    self._ready -= {program for program in self._ready if program[0] == gone}
                full = len(self._ready) > PROGRAMS
                if full:
                    self._ready.clear()
            if full:
                jax.clear_caches()
        return who

    def _elsewhere(self, who: Player, asks: list[Ask]) -> None:
        """Players who need no batch, or have a clock of their own."""
        program = asks[0].key, _size(asks)
        compiles = isinstance(who, Timed) and program not in self._ready
        for ask in asks:
            ask.turn("compiling" if compiles else "searching")
        began = time.monotonic()
        try:
            if isinstance(who, Outside):
                ask = asks[0]
                found = [self._outsiders.choose(who.line, ask.game, ask.position, ask.moves)]
                boards: list[Board] = []
            else:
                asks, boards = self._boards(asks)
                found = self._chosen(who, asks[0].game, boards) if asks else []
        except Exception as error:
            _fail(asks, error)
            return
        took = time.monotonic() - began
        if isinstance(who, Timed) and compiles:
            took = min(took, who.search.seconds)
            with self._bell:
                self._ready.add(program)
        self._give(asks, boards, found, took)

    def _chosen(self, who: Player, game: Game, boards: list[Board]) -> list[Choice]:
        if isinstance(who, Timed):
            # Filled up as the others are: every size is a program.
            padded = [*boards, *[boards[-1]] * (_size(boards) - len(boards))]
            key = jax.random.fold_in(self._key, self._number())
            return clocked(game, who, padded, key)[: len(boards)]
        if isinstance(who, Random):
            return [Choice(int(secrets.choice(np.flatnonzero(b.legal)))) for b in boards]
        if isinstance(who, Perfect):
            return [Choice(int(secrets.choice(solve(game).moves(b.state)))) for b in boards]
        raise ValueError(f"{who.name} cannot play here")

    # -- both -----------------------------------------------------------------

    def _number(self) -> int:
        with self._bell:
            self._searches += 1
            return self._searches

    def _boards(self, asks: list[Ask]) -> tuple[list[Ask], list[Board]]:
        """The positions of those who can be answered; the others hear why not."""
        sound, boards = [], []
        for ask in asks:
            try:
                boards.append(self._board(ask))
                sound.append(ask)
            except Exception as error:
                _fail([ask], error)
        return sound, boards

    def _board(self, ask: Ask) -> Board:
        spot = spot_after(ask.game, ask.position, ask.moves)
        if spot.over:
            raise ValueError("the game is over: there is no move to choose")
        if not ask.table:
            return Carried().board(ask.game, spot.state, list(ask.moves))
        with self._bell:
            kept = self._carried.setdefault((ask.table, ask.line), Carried())
            self._carried.move_to_end((ask.table, ask.line))
            while len(self._carried) > CARRIED:
                self._carried.popitem(last=False)
        return kept.board(ask.game, spot.state, list(ask.moves))

    def _give(self, asks: list[Ask], boards: list[Board], found: list[Choice], took: float) -> None:
        for i, (ask, choice) in enumerate(zip(asks, found, strict=True)):
            if boards:
                with self._bell:
                    kept = self._carried.get((ask.table, ask.line))
                if kept is not None:
                    kept.keep(boards[i])
            ask.took = took
            if ask.answer.set_running_or_notify_cancel():
                ask.answer.set_result(choice)


def _size(some: Sequence[Any]) -> int:
    """Rows of the smallest batch that holds them."""
    return next(size for size in SIZES if size >= len(some))


def _copy(ask: Ask) -> Ask:
    """The same question, whose answer nobody waits for."""
    return Ask(ask.game, ask.line, ask.position, ask.moves)


def _fail(asks: list[Ask], error: Exception) -> None:
    for ask in asks:
        with contextlib.suppress(InvalidStateError):  # it was answered, or nobody wants it now
            ask.answer.set_exception(error)


def _fulfil(answer: "Future[Any]", work: Callable[[], Any]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(work())
    except Exception as error:
        answer.set_exception(error)
