"""Some games of two players at once: our moves are searched in one batch, engines think in threads.

The referee is this package: an engine that crashes, hangs, answers rubbish, plays what is not
legal or is late has lost that game, and the reason is kept.
"""

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.arena.engines import RESIGN, Engine, EngineFault
from halfmove.arena.openings import Opening
from halfmove.arena.players import Outside, Perfect, Player, Random, Searcher
from halfmove.arena.solver import solve
from halfmove.core.game import Game, State, timestep
from halfmove.games.records import Note, Record, one_line, text_of

SHOWN = 8  # actions whose visits a record keeps


@dataclass(frozen=True)
class Fixture:
    """A game to be played: the number says when it was drawn, the same for every start."""

    number: int
    players: tuple[int, int]  # who is player 0 and player 1, of a tournament's list
    opening: Opening


@dataclass
class _Board:
    """One game under way."""

    fixture: Fixture
    state: State  # numpy
    to_play: int
    legal: np.ndarray
    moves: list[int] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    result: tuple[float, ...] | None = None
    reason: str = ""
    over: bool = False
    earned: np.ndarray = field(default_factory=lambda: np.zeros(2))


@dataclass(frozen=True)
class _Choice:
    action: int
    note: Note
    fault: str = ""  # why the game is lost instead


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
        boards = [_set_up(game, fixture) for fixture in fixtures]
        own.begin(game, players, boards)
        ply = 0
        while going := [board for board in boards if not board.over]:
            choices = _choices(game, players, going, own, seed, ply)
            _make_moves(game, players, going, choices, own)
            for board in going:
                if not board.over and len(board.moves) >= limit:
                    board.over, board.result = True, (0.0, 0.0)
                    board.reason = f"adjudicated: {limit} moves were made"
            ply += 1
        return [_record(game, players, board) for board in boards]
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

    def begin(self, game: Game, players: Sequence[Player], boards: list[_Board]) -> None:
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
                _lost(board, side, fault)

    def choose(self, boards: list[_Board]) -> list[_Choice]:
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
            found.append(_Choice(-1 if fault else action, Note(), fault))
        return found

    def tell(self, told: list[tuple[_Board, int, int]]) -> None:
        """Tells engines (board, their side) of the other's move; who refuses it has lost."""
        telling = [
            (board, side, self._pool.submit(_guarded, engine.play, action))
            for board, side, action in told
            if (engine := self._used.get((board.fixture.number, side)))
        ]
        for board, side, done in telling:
            if fault := done.result()[1]:
                _lost(board, side, fault)

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
    boards: list[_Board],
    engines: Engines,
    seed: int,
    ply: int,
) -> list[_Choice]:
    by_player: dict[int, list[int]] = {}
    for i, board in enumerate(boards):
        by_player.setdefault(board.fixture.players[board.to_play], []).append(i)
    found: dict[int, _Choice] = {}
    for number, rows in by_player.items():
        who, mine = players[number], [boards[i] for i in rows]
        if isinstance(who, Outside):
            chosen = engines.choose(mine)
        elif isinstance(who, Searcher):
            key = jax.random.fold_in(jax.random.key(seed), ply * len(players) + number)
            chosen = _searched(game, who, mine, key)
        else:
            chosen = [_drawn(game, who, board, seed) for board in mine]
        found |= dict(zip(rows, chosen, strict=True))
    return [found[i] for i in range(len(boards))]


def _drawn(game: Game, who: Random | Perfect, board: _Board, seed: int) -> _Choice:
    legal = np.flatnonzero(board.legal)
    if isinstance(who, Perfect):
        legal = solve(game).moves(board.state)
    rng = np.random.default_rng([seed, board.fixture.number, len(board.moves)])
    return _Choice(int(rng.choice(legal)), Note())


def _searched(game: Game, who: Searcher, boards: list[_Board], key: Any) -> list[_Choice]:
    states = _stacked([board.state for board in boards])
    action, value, top, visits = jax.device_get(
        _search(game, who.planner, who.model, who.variables, key, states)
    )
    return [
        _Choice(
            int(action[i]),
            Note(
                float(value[i]),
                {int(a): int(n) for a, n in zip(top[i], visits[i], strict=True) if n},
            ),
        )
        for i in range(len(boards))
    ]


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _search(game: Game, planner: Any, model: Any, variables: Any, key: Any, states: State) -> Any:
    seen = jax.vmap(functools.partial(timestep, game))(states)
    plan = planner(key, model, variables, seen)
    visits, top = jax.lax.top_k(plan.stats.visits, min(SHOWN, game.actions))
    return plan.action, plan.value, top, visits


def _stacked(states: list[State]) -> State:
    """As many rows as a power of two, the last one again, so that few programs are compiled."""
    size = 1 << (len(states) - 1).bit_length()
    rows = [*states, *[states[-1]] * (size - len(states))]
    return jax.tree.map(lambda *x: np.stack(x), *rows)


def _make_moves(
    game: Game,
    players: Sequence[Player],
    boards: list[_Board],
    choices: list[_Choice],
    engines: Engines,
) -> None:
    moving = []
    for board, choice in zip(boards, choices, strict=True):
        side = board.to_play
        if choice.fault:
            _lost(board, side, choice.fault)
        elif not (0 <= choice.action < game.actions and board.legal[choice.action]):
            name = players[board.fixture.players[side]].name
            raise ValueError(f"{name} chose action {choice.action}, which is not legal")
        else:
            moving.append((board, choice))
    if not moving:
        return
    told = [(board, 1 - board.to_play, choice.action) for board, choice in moving]
    _advance(game, [board for board, _ in moving], [choice.action for _, choice in moving])
    for board, choice in moving:
        board.notes.append(choice.note)
    engines.tell([each for each in told if not each[0].over])


def _advance(game: Game, boards: list[_Board], actions: list[int]) -> None:
    padded = [*actions, *[actions[-1]] * ((1 << (len(actions) - 1).bit_length()) - len(actions))]
    states = _stacked([board.state for board in boards])
    after, to_play, legal, reward, ended, cut = jax.device_get(
        _step(game, states, jnp.asarray(padded, jnp.int32))
    )
    for i, (board, action) in enumerate(zip(boards, actions, strict=True)):
        board.moves.append(action)
        board.state = jax.tree.map(lambda x, i=i: x[i], after)
        board.to_play, board.legal = int(to_play[i]), legal[i]
        board.earned = board.earned + reward[i]
        if ended[i] or cut[i]:
            board.over = True
            board.result = (0.0, 0.0) if cut[i] else tuple(np.sign(board.earned).tolist())
            board.reason = "adjudicated: cut short by the game" if cut[i] else ""


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, states: State, actions: Any) -> Any:
    after = jax.vmap(functools.partial(game.step, jax.random.key(0)))(states, actions)
    shown = (game.to_play, game.legal, game.reward, game.terminated, game.truncated)
    return after, *(jax.vmap(f)(after) for f in shown)


def _lost(board: _Board, side: int, reason: str) -> None:
    if not board.over:
        board.over, board.reason = True, reason
        board.result = (-1.0, 1.0) if side == 0 else (1.0, -1.0)


def _set_up(game: Game, fixture: Fixture) -> _Board:
    state = jax.device_get(game.init(jax.random.key(0)))
    board = _Board(fixture, state, int(game.to_play(state)), np.asarray(game.legal(state)))
    for action in fixture.opening:
        if board.over or not board.legal[action]:
            raise ValueError(f"opening {fixture.opening}: action {action} is not legal")
        _advance(game, [board], [action])
        board.notes.append(Note())
    return board


def _record(game: Game, players: Sequence[Player], board: _Board) -> Record:
    return Record(
        game=text_of(game),
        players=tuple(players[i].name for i in board.fixture.players),
        moves=tuple(board.moves),
        result=board.result,
        reason=board.reason,
        info={"number": str(board.fixture.number), "opening": str(len(board.fixture.opening))},
        notes=tuple(board.notes),
    )
