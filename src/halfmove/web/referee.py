"""Moves of players who are no people, as soon as it is their turn; and who watches which table."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from halfmove.games.records import one_line
from halfmove.selfplay.boards import Choice
from halfmove.train.durable import RunError
from halfmove.web import tables
from halfmove.web.answers import BROKEN
from halfmove.web.desk import Ask, Desk
from halfmove.web.kept import Tables
from halfmove.web.settings import Settings
from halfmove.web.tables import PERSON, Table
from halfmove.web.who import line_of

FAULTS = 1000  # tables whose player could not move, in memory
PACE = 0.4  # seconds between two moves of players who are no people, so that they can be followed


class Referee:
    """Lives in the event loop's thread."""

    def __init__(self, kept: Tables, desk: Desk, settings: Settings) -> None:
        self._kept, self._desk, self._settings = kept, desk, settings
        self._asks: dict[str, Ask] = {}
        self._driven: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()  # of these, those that have changed since
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._faults: dict[str, str] = {}  # why a player cannot move

    async def change(self, id: str, how: Callable[[Table], Table]) -> Table:
        """A table after a change, of which all who watch it hear."""
        after = await run_in_threadpool(self._kept.change, id, how)
        self._faults.pop(id, None)
        self.nudge(id)
        self._wake(id)
        return after

    def nudge(self, id: str) -> None:
        """Lets the player move whose turn it is, unless that is a person."""
        self._again.add(id)
        if id not in self._driven:
            task = asyncio.get_running_loop().create_task(self._drive(id))
            self._driven[id] = task

    @contextmanager
    def watching(self, id: str) -> Iterator[asyncio.Event]:
        """Set whenever something has changed at that table."""
        event = asyncio.Event()
        self._watchers.setdefault(id, set()).add(event)
        try:
            yield event
        finally:
            self._watchers[id].discard(event)
            if not self._watchers[id]:
                del self._watchers[id]

    def thinking(self, id: str) -> dict[str, Any] | None:
        """What is being done about the next move; None: nothing."""
        if id in self._faults:
            return {"state": "fault", "fault": self._faults[id]}
        ask = self._asks.get(id)
        return None if ask is None else ask.status()

    def _wake(self, id: str) -> None:
        for event in self._watchers.get(id, ()):
            event.set()

    async def _drive(self, id: str) -> None:
        try:
            while id in self._again:
                self._again.discard(id)
                while await self._moved(id):
                    self._wake(id)
        finally:
            del self._driven[id]
            self._again.discard(id)
            self._asks.pop(id, None)
            self._wake(id)

    async def _moved(self, id: str) -> bool:
        """Whether there may be more to do."""
        try:
            table = await run_in_threadpool(self._kept.get, id)
            seat = await run_in_threadpool(_to_move, table)
            if seat is None or id in self._faults:
                return False
            alone = PERSON not in table.seats
            if alone and id not in self._watchers:
                return False
            line = await run_in_threadpool(line_of, seat, table.rules, self._settings)
            ask = Ask(table.rules, line, table.position, table.moves, id)
            self._asks[id] = ask
            self._wake(id)
            began = time.monotonic()
            choice = await asyncio.wrap_future(self._desk.ask(ask))
            if alone:
                await asyncio.sleep(max(0.0, PACE - (time.monotonic() - began)))
            played = _played(choice, table.version, ask.took)
            await run_in_threadpool(self._kept.change, id, played)
        except (ValueError, RunError, OSError, HTTPException) as error:
            self._fault(id, str(error))
            return False
        except Exception:
            self._fault(id, BROKEN)
            raise
        return True

    def _fault(self, id: str, why: str) -> None:
        self._faults[id] = one_line(why)
        while len(self._faults) > FAULTS:  # of tables that nobody looks at any more
            self._faults.pop(next(iter(self._faults)))


def _to_move(table: Table) -> str | None:
    return None if table.over or table.paused or table.mover == PERSON else table.mover


def _played(choice: Choice, version: int, took: float) -> Callable[[Table], Table]:
    def how(table: Table) -> Table:
        if table.version != version:  # moves were taken back in the meantime
            return table
        now = time.time()
        if choice.fault:
            return tables.resigned(table, table.spot.player, now=now, reason=choice.fault)
        return tables.moved(table, choice.action, now=now, note=choice.note, took=took)

    return how
