"""Some games of two players at once: our moves are searched in one batch, engines think in threads.

The referee is this package: an engine that crashes, hangs, answers rubbish, plays what is not
legal or is late has lost that game, and the reason is kept.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
    ended: Callable[[list[Record]], None] = lambda records: None,
) -> list[Record]:
    """The records of some games, all under way at the same time.

    A game of more than `limit` moves is a draw by that reason. `engines` are used again in later
    rounds; without them they are started and ended here. `ended` hears of games that are over
    while others go on.
    """
    own = engines or Engines()
    names = [who.name for who in players]

    def over(boards: list[Board]) -> None:
        for board in boards:
            _shown(game, players, board)
        ended([record_of(game, names, board) for board in boards])

    try:
        boards = [set_up(game, fixture) for fixture in fixtures]
        own.begin(game, players, boards)
        over([board for board in boards if board.over])  # an engine that did not begin
        most = Counter(number for fixture in fixtures for number in set(fixture.players))
        choose = partial(_choices, game, players, own, seed, most)
        play(game, boards, choose, limit=limit, told=own.tell, ended=over)
        return [record_of(game, names, board) for board in boards]
    finally:
        if engines is None:
            own.close()


class Engines:
    """The processes of a tournament: each plays one game at a time, and then another."""

    def __init__(self, threads: int = 8) -> None:
        self._free: dict[str, list[Engine]] = {}
        self._used: dict[tuple[int, int], Engine] = {}  # (game, side)
        self._sound: set[str] = set()  # lines whose program has begun a game
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
        # Of a program that has not begun any game yet one is tried before the others: if it does
        # not begin, they are not waited for.
        lines: dict[str, list[tuple[Board, int]]] = {}
        for board, side, who in seats:
            lines.setdefault(who.line.text, []).append((board, side))
        new = {text: mine[0] for text, mine in lines.items() if text not in self._sound}
        failed = dict(zip(new, self._start(game, list(new.values())), strict=True))
        for text, mine in lines.items():
            if fault := failed.get(text, ""):
                faults = [fault] * len(mine)
            else:
                self._sound.add(text)
                begun = int(text in new)
                faults = [""] * begun + self._start(game, mine[begun:])
            for (board, side), said in zip(mine, faults, strict=True):
                if said:
                    board.lose(side, said)

    def _start(self, game: Game, seats: list[tuple[Board, int]]) -> list[str]:
        """Begins their games; gives what went wrong in each."""
        starting = [
            self._pool.submit(_guarded, engine.new_game, game, board.fixture.opening)
            for board, side in seats
            for engine in [self._used[board.fixture.number, side]]
        ]
        return [done.result()[1] for done in starting]

    def think(self, boards: list[Board]) -> list[Future]:
        """Asks the engines whose turn it is for their moves, and does not wait."""
        return [
            self._pool.submit(_guarded, self._used[b.fixture.number, b.to_play].choose)
            for b in boards
        ]

    def chosen(self, thinking: list[Future]) -> list[Choice]:
        """The moves of those who were asked."""
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
    most: Counter[int],
    boards: list[Board],
    turn: int,
) -> list[Choice]:
    """The moves of all whose turn it is; `most` is how many games each of the players began."""
    by_player: dict[int, list[int]] = {}
    for i, board in enumerate(boards):
        by_player.setdefault(board.mover, []).append(i)
    found: dict[int, Choice] = {}
    asked: dict[int, list[Future]] = {}
    if _beside():  # the engines think while we do
        for number, rows in by_player.items():
            if isinstance(players[number], Outside):
                asked[number] = engines.think([boards[i] for i in rows])
    for number, rows in sorted(by_player.items(), key=lambda item: item[0] in asked):
        who, mine = players[number], [boards[i] for i in rows]
        key = jax.random.fold_in(jax.random.key(seed), turn * len(players) + number)
        if isinstance(who, Outside):
            chosen = engines.chosen(asked.get(number) or engines.think(mine))
        elif isinstance(who, Searcher):
            chosen = _searched(game, who, mine, key, most[number])
        elif isinstance(who, Timed):
            chosen = clocked(game, who, mine, key)
        elif isinstance(who, Person):
            chosen = [_asked(game, players, board) for board in mine]
        else:
            chosen = [_drawn(game, who, board, seed) for board in mine]
        found |= dict(zip(rows, chosen, strict=True))
    return [found[i] for i in range(len(boards))]


def _beside() -> bool:
    """Whether our searches leave the cores, on which engines think, alone."""
    return jax.default_backend() != "cpu"


def _searched(game: Game, who: Searcher, boards: list[Board], key: Any, most: int) -> list[Choice]:
    """The moves of a searcher that plays `most` games of this round.

    On a GPU a search of many games takes hardly longer than one of few, and to compile it for
    every number of games still going on takes longer than they do: there is one program, for
    half of the games, as where turns alternate no more are to be searched at once.
    """
    if not _beside():
        return searched(game, who, boards, key)
    rows = 1 << max(0, (most + 1) // 2 - 1).bit_length()
    parts = [boards[at : at + rows] for at in range(0, len(boards), rows)]
    keys = [key, *(jax.random.fold_in(key, i) for i in range(1, len(parts)))]
    return [
        choice
        for part, own in zip(parts, keys, strict=True)
        for choice in searched(game, who, part, own, rows)
    ]


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
