"""Outside engines of all visitors: as many processes as are asked at the same time."""

import secrets
import threading

from halfmove.arena.engines import RESIGN, Engine, EngineFault, Line
from halfmove.core.game import Game
from halfmove.games.records import Note, one_line
from halfmove.selfplay.boards import Choice

STOPPED = "the server is being stopped"


class Outsiders:
    """For any thread. Those who wait for a move when it is closed hear of that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = True
        self._all: list[Engine] = []
        self._free: dict[str, list[Engine]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def choose(self, line: Line, game: Game, position: str, moves: tuple[int, ...]) -> Choice:
        """The engine's move; ValueError says why it has none, and the next call starts it anew.

        Only what it does by the rules loses the game: to resign, and to think for too long.
        """
        engine = self._taken(line)
        try:
            engine.new_game(game, moves, position=position)
            action = engine.choose()
        except EngineFault as fault:
            if not self._open:
                raise ValueError(STOPPED) from None
            if fault.reason == "time":
                return Choice(-1, Note(), one_line(str(fault)))
            raise ValueError(one_line(fault.text) or fault.reason) from None
        finally:
            with self._lock:
                self._free[line.text].append(engine)
        return Choice(-1, Note(), "resignation") if action == RESIGN else Choice(action)

    def close(self) -> None:
        """Ends them all, also those that are thinking."""
        with self._lock:
            self._open = False
            engines = list(self._all)
        for engine in engines:
            engine.close()

    def _taken(self, line: Line) -> Engine:
        with self._lock:
            if not self._open:
                raise ValueError(STOPPED)
            free = self._free.setdefault(line.text, [])
            if free:
                return free.pop()
            self._all.append(Engine(line, seed=secrets.randbits(20)))
            return self._all[-1]
