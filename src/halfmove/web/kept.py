"""The tables of all visitors: in memory while somebody is there, in a folder until they expire."""

import re
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from halfmove.train.durable import write_whole
from halfmove.web.answers import missing
from halfmove.web.tables import Table, of_json, to_json

ID = re.compile(r"[A-Za-z0-9_-]{12}")
RESTING = 600.0  # seconds after which a table that nobody touches leaves memory
MOST = 10_000  # tables in the folder


def new_id() -> str:
    """A name that nobody guesses."""
    return secrets.token_urlsafe(9)


class Tables:
    """Games by their names. Changes of one game follow each other; `flush` writes them down."""

    def __init__(self, folder: Path, *, idle: float) -> None:
        self.folder, self._idle = folder, idle
        self._tables: dict[str, Table] = {}
        self._seen: dict[str, float] = {}  # when somebody last asked
        self._dirty: set[str] = set()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()  # of the dictionaries
        self._writing = threading.Lock()

    def __len__(self) -> int:
        return len(self._tables)

    def put(self, table: Table) -> Table:
        """Keeps a new table."""
        with self._lock:
            self._keep(table)
        return table

    def get(self, id: str) -> Table:
        """The table of that name; 404 if there is none, or none any more."""
        if not ID.fullmatch(id):
            raise missing("there is no such game")
        with self._lock:
            table = self._tables.get(id)
            if table is not None:
                self._seen[id] = time.time()
                return table
        try:
            read = of_json((self.folder / f"{id}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise missing("there is no such game; it may have been idle for too long") from None
        with self._lock:
            self._seen[id] = time.time()
            return self._tables.setdefault(id, read)

    def change(self, id: str, how: Callable[[Table], Table]) -> Table:
        """The table after a change; what `how` raises leaves it as it was."""
        self.get(id)
        with self._lock:
            lock = self._locks.setdefault(id, threading.Lock())
        with lock:
            table = self.get(id)
            after = how(table)
            if after is not table:
                with self._lock:
                    self._keep(after)
            return after

    def flush(self) -> None:
        """Writes what has changed, and forgets what nobody has looked at for too long."""
        with self._writing:
            with self._lock:
                dirty = [self._tables[id] for id in self._dirty if id in self._tables]
                self._dirty = set()
            if dirty:
                self.folder.mkdir(parents=True, exist_ok=True)
            for table in dirty:
                try:
                    write_whole(self.folder / f"{table.id}.json", to_json(table).encode())
                except OSError:
                    with self._lock:
                        self._dirty |= {other.id for other in dirty}
                    raise
            self._rest(time.time())

    def expire(self) -> None:
        """Removes the files of tables that were idle for too long, and the oldest of too many."""
        now = time.time()
        with self._lock:
            here = {id for id, seen in self._seen.items() if now - seen <= self._idle}
        found = []
        for path in self.folder.glob("*.json"):
            try:
                if ID.fullmatch(path.stem) and path.stem not in here:
                    found.append((path.stat().st_mtime, path))
            except OSError:
                continue
        found.sort()
        too_many = max(0, len(found) - MOST)
        for number, (changed, path) in enumerate(found):
            if number < too_many or now - changed > self._idle:
                path.unlink(missing_ok=True)

    def _keep(self, table: Table) -> None:
        self._tables[table.id] = table
        self._seen[table.id] = time.time()
        self._dirty.add(table.id)

    def _rest(self, now: float) -> None:
        """Tables that are written and were not asked for lately leave memory."""
        with self._lock:
            for id in [id for id, seen in self._seen.items() if now - seen > RESTING]:
                if id in self._dirty:
                    continue
                self._tables.pop(id, None)
                self._locks.pop(id, None)
                del self._seen[id]
