"""Some games of two players at once: our moves are searched in one batch, engines think in threads.

The referee is this package: an engine that crashes, hangs, answers rubbish, plays what is not
legal or is late has lost that game, and the reason is kept.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import numpy as np

from halfmove.arena.engines import RESIGN, Engine, EngineFault
from halfmove.arena.person import ask, look
from halfmove.arena.players import Outside, Perfect, Person, Player, Random, Timed
from halfmove.arena.solver import solve
from halfmove.core.game import Game
from halfmove.games.records import Note, Record, one_line
from halfmove.selfplay.boards import (
    SHOWN,
    Board,
    Choice,
    Fixture,
    Searcher,
    carried,
    carry,
    play,
    record_of,
    searched,
    set_up,
    stacked,
)


def play_round(
    game: Game,
    players: Sequence[Player],
    fixtures: Sequence[Fixture],
    *,
    seed: int,
    limit: int = 1000,
    engines: "Engines | None" = None,
) -> list[Record]:
    """The records of some games, all under way at the same time.

    A game of more than `limit` moves is a draw by that reason. `engines` are used again in later
    rounds; without them they are started and ended here.
    """
    own = engines or Engines()
    try:
        boards = [set_up(game, fixture) for fixture in fixtures]
        own.begin(game, players, boards)
        choose = partial(_choices, game, players, own, seed)
        play(game, boards, choose, limit=limit, told=own.tell)
        for board in boards:
            _shown(game, players, board)
        return [record_of(game, [who.name for who in players], board) for board in boards]
    finally:
        if engines is None:
            own.close()


class Engines:
    """The processes of a tournament: each plays one game at a time, and then another."""

    def __init__(self, threads: int = 8) -> None:
        self._free: dict[str, list[Engine]] = {}
        self._used: dict[tuple[int, int], Engine] = {}  # (game, side)
        self._pool = ThreadPoolExecutor(threads)
        self._seed = 0

    def begin(self, game: Game, players: Sequence[Player], boards: list[Board]) -> None:
        """Sits an engine down at every game that one plays."""
        seats = [
            (board, side, who)
            for board in boards
            for side, number in enumerate(board.fixture.players)
            if isinstance(who := players[number], Outside)
        ]
        for free in self._used.items():
            self._free.setdefault(free[1].line.text, []).append(free[1])
        self._used = {}
        for board, side, who in seats:
            waiting = self._free.get(who.line.text)
            if waiting:
                engine = waiting.pop()
            else:
                engine, self._seed = Engine(who.line, seed=self._seed), self._seed + 1000
            self._used[board.fixture.number, side] = engine
        starting = [
            self._pool.submit(_guarded, engine.new_game, game, board.fixture.opening)
            for board, side, _ in seats
            for engine in [self._used[board.fixture.number, side]]
        ]
        for (board, side, _), done in zip(seats, starting, strict=True):
            if fault := done.result()[1]:
                board.lose(side, fault)

    def choose(self, boards: list[Board]) -> list[Choice]:
        """The moves of the engines whose turn it is."""
        thinking = [
            self._pool.submit(_guarded, self._used[b.fixture.number, b.to_play].choose)
            for b in boards
        ]
        found = []
        for done in thinking:
            action, fault = done.result()
            if not fault and action == RESIGN:
                fault = "resignation"
            found.append(Choice(-1 if fault else action, Note(), fault))
        return found

    def tell(self, moved: list[tuple[Board, int]]) -> None:
        """Tells engines of the other side's move; who refuses it has lost."""
        telling = [
            (board, 1 - side, self._pool.submit(_guarded, engine.play, board.moves[-1]))
            for board, side in moved
            if not board.over and (engine := self._used.get((board.fixture.number, 1 - side)))
        ]
        for board, side, done in telling:
            if fault := done.result()[1]:
                board.lose(side, fault)

    def close(self) -> None:
        """Ends every process."""
        for engine in [*self._used.values(), *(e for free in self._free.values() for e in free)]:
            engine.close()
        self._used, self._free = {}, {}
        self._pool.shutdown()


def _guarded(call: Any, *arguments: Any) -> tuple[Any, str]:
    """(what it gives, the fault)."""
    try:
        return call(*arguments), ""
    except EngineFault as fault:
        return None, one_line(str(fault)) or fault.reason


# -- moves -------------------------------------------------------------------


def _choices(
    game: Game,
    players: Sequence[Player],
    engines: Engines,
    seed: int,
    boards: list[Board],
    turn: int,
) -> list[Choice]:
    by_player: dict[int, list[int]] = {}
    for i, board in enumerate(boards):
        by_player.setdefault(board.mover, []).append(i)
    found: dict[int, Choice] = {}
    for number, rows in by_player.items():
        who, mine = players[number], [boards[i] for i in rows]
        key = jax.random.fold_in(jax.random.key(seed), turn * len(players) + number)
        if isinstance(who, Outside):
            chosen = engines.choose(mine)
        elif isinstance(who, Searcher):
            chosen = searched(game, who, mine, key)
        elif isinstance(who, Timed):
            chosen = clocked(game, who, mine, key)
        elif isinstance(who, Person):
            chosen = [_asked(game, players, board) for board in mine]
        else:
            chosen = [_drawn(game, who, board, seed) for board in mine]
        found |= dict(zip(rows, chosen, strict=True))
    return [found[i] for i in range(len(boards))]


def _asked(game: Game, players: Sequence[Player], board: Board) -> Choice:
    me, other = (
        players[board.fixture.players[side]] for side in (board.to_play, 1 - board.to_play)
    )
    who = f"{me.name} ({('first', 'second')[board.to_play]}, against {other.name})"
    action = ask(game, board.before, board.state, board.legal, who)
    return Choice(action, Note(), "resignation" if action == RESIGN else "")


def _shown(game: Game, players: Sequence[Player], board: Board) -> None:
    """Tells a person how a game ended."""
    for side, number in enumerate(board.fixture.players):
        if isinstance(players[number], Person) and board.result is not None:
            look(game, board.before, board.state)
            outcome = ("lost", "drew", "won")[int(board.result[side]) + 1]
            why = f" ({board.reason})" if board.reason else ""
            print(f"{players[number].name} {outcome}{why}.")


def _drawn(game: Game, who: Random | Perfect, board: Board, seed: int) -> Choice:
    legal = np.flatnonzero(board.legal)
    if isinstance(who, Perfect):
        legal = solve(game).moves(board.state)
    rng = np.random.default_rng([seed, board.fixture.number, len(board.moves)])
    return Choice(int(rng.choice(legal)), Note())


def clocked(game: Game, who: Timed, boards: list[Board], key: Any) -> list[Choice]:
    """The moves of a search with a clock in some games: one search."""
    search = who.search
    memory = carried(search.planner, search.model, search.variables, boards)
    found = search(key, game, stacked([board.state for board in boards]), memory)
    carry(boards, found.memory)
    chosen = []
    for i in range(len(boards)):
        row = found.visits[i]
        top = [int(a) for a in np.argsort(-row, kind="stable")[:SHOWN] if row[a]]
        visits = {a: int(row[a]) for a in top}
        note = Note(float(found.value[i]), visits, int(found.simulations[i]))
        chosen.append(Choice(int(found.action[i]), note))
    return chosen
