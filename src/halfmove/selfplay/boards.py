"""Games of two under way on the host, many at once: one search moves all, one call steps all.

This is the one loop by which players meet: matches while training (match.py), curves, and
tournaments with engines and people (arena/round.py). `choose` says who moves where.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game, State, timestep
from halfmove.core.types import Array, Model, Planner, Remembering
from halfmove.games.follow import begin, moved
from halfmove.games.records import Note, Record, text_of

SHOWN = 8  # actions whose visits a record keeps


@dataclass(frozen=True, eq=False)
class Searcher:
    """A planner on a model: many games' moves are one call."""

    name: str
    planner: Planner
    model: Model
    variables: Any = None


@dataclass(frozen=True)
class Fixture:
    """A game to be played: the number says when it was drawn, the same for every start."""

    number: int
    players: tuple[int, int]  # who is player 0 and player 1, of a list
    opening: tuple[int, ...]


@dataclass
class Board:
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
    before: State | None = None  # a move ago
    memory: dict[int, Any] = field(default_factory=dict)  # of a `Remembering` planner, by side

    @property
    def mover(self) -> int:
        """Who moves, of the list."""
        return self.fixture.players[self.to_play]

    def lose(self, side: int, reason: str) -> None:
        """Ends the game, unless it is over."""
        if not self.over:
            self.over, self.reason = True, reason
            self.result = (-1.0, 1.0) if side == 0 else (1.0, -1.0)


@dataclass(frozen=True)
class Choice:
    """A move, and what the player thought of it."""

    action: int
    note: Note = field(default_factory=Note)
    fault: str = ""  # why the game is lost instead


# The moves in some games, none of which is over; the second argument counts the calls.
Choose = Callable[[list[Board], int], list[Choice]]


def play(
    game: Game,
    boards: list[Board],
    choose: Choose,
    *,
    limit: int,
    told: Callable[[list[tuple[Board, int]]], None] = lambda moved: None,
    ended: Callable[[list[Board]], None] = lambda boards: None,
) -> None:
    """Plays all games to their ends, in turns.

    `told` hears who has moved where, `ended` which games have ended since it heard last.
    A game of more than `limit` moves is a draw by that reason.
    """
    turn = 0
    while going := [board for board in boards if not board.over]:
        choices = choose(going, turn)
        moving = []
        for board, choice in zip(going, choices, strict=True):
            if choice.fault:
                board.lose(board.to_play, choice.fault)
            else:
                moving.append((board, choice))
        if moving:
            sides = [(board, board.to_play) for board, _ in moving]
            advance(game, [b for b, _ in moving], [c.action for _, c in moving], len(boards))
            for board, choice in moving:
                board.notes.append(choice.note)
            told(sides)
        for board in going:
            if not board.over and len(board.moves) >= limit:
                board.over, board.result = True, (0.0, 0.0)
                board.reason = f"adjudicated: {limit} moves were made"
        ended([board for board in going if board.over])
        turn += 1


def set_up(game: Game, fixture: Fixture) -> Board:
    """A game after its opening; ValueError if that is not legal."""
    spot = begin(game)
    board = Board(fixture, spot.state, spot.player, spot.legal)
    for action in fixture.opening:
        try:
            spot = moved(game, spot, action)
        except ValueError as error:
            raise ValueError(f"opening {fixture.opening}: {error}") from error
        board.before, board.state = board.state, spot.state
        board.to_play, board.legal, board.over = spot.player, spot.legal, spot.over
        board.earned = board.earned + spot.reward
        board.moves.append(int(action))
        board.notes.append(Note())
    if board.over:
        raise ValueError(f"opening {fixture.opening}: the game is over after it")
    return board


def searched(
    game: Game, who: Searcher, boards: list[Board], key: Array, rows: int = 0
) -> list[Choice]:
    """The moves of a searcher in some games: one search.

    It has `rows` rows, or as many as a power of two, so that few programs are compiled.
    """
    states = stacked([board.state for board in boards], rows)
    memory = carried(who.planner, who.model, who.variables, boards, rows)
    action, value, top, visits, after = jax.device_get(
        _search(game, who.planner, who.model, who.variables, key, states, memory)
    )
    if memory is not None:
        carry(boards, after)
    found = []
    for i, board in enumerate(boards):
        counts = {int(a): int(n) for a, n in zip(top[i], visits[i], strict=True) if n}
        found.append(Choice(int(action[i]), Note(float(value[i]), counts)))
        if not (0 <= found[-1].action < game.actions and board.legal[found[-1].action]):
            raise ValueError(
                f"{who.name} chose action {action[i]}, which is not legal after {board.moves}"
            )
    return found


def advance(game: Game, boards: list[Board], actions: list[int], rows: int = 0) -> None:
    """Makes legal moves, one in each of some games."""
    states = stacked([board.state for board in boards], rows)
    padded = [*actions, *[actions[-1]] * (jax.tree.leaves(states)[0].shape[0] - len(actions))]
    after, to_play, legal, reward, ended, cut = jax.device_get(
        _step(game, states, jnp.asarray(padded, jnp.int32))
    )
    for i, (board, action) in enumerate(zip(boards, actions, strict=True)):
        board.moves.append(action)
        board.before, board.state = board.state, jax.tree.map(lambda x, i=i: x[i], after)
        board.to_play, board.legal = int(to_play[i]), legal[i]
        board.earned = board.earned + reward[i]
        if ended[i] or cut[i]:
            board.over = True
            board.result = (0.0, 0.0) if cut[i] else tuple(np.sign(board.earned).tolist())
            board.reason = "adjudicated: cut short by the game" if cut[i] else ""


def record_of(game: Game, names: Sequence[str], board: Board) -> Record:
    """What is kept of a game; `names` are those of the list of players."""
    return Record(
        game=text_of(game),
        players=tuple(names[i] for i in board.fixture.players),
        moves=tuple(board.moves),
        result=board.result,
        reason=board.reason,
        info={"number": str(board.fixture.number), "opening": str(len(board.fixture.opening))},
        notes=tuple(board.notes),
    )


def stacked(states: list[Any], rows: int = 0) -> Any:
    """Trees as one, filled up with the last one again: `rows` rows, or a power of two."""
    size = rows or 1 << (len(states) - 1).bit_length()
    filled = [*states, *[states[-1]] * (size - len(states))]
    return jax.tree.map(lambda *x: np.stack(x), *filled)


def carried(
    planner: Planner, model: Model, variables: Any, boards: list[Board], rows: int = 0
) -> Any:
    """What who moves has carried along these games, as `stacked`; None: the planner has nothing."""
    if not isinstance(planner, Remembering):
        return None
    fresh: Any = None
    kept = []
    for board in boards:
        if board.to_play not in board.memory and fresh is None:
            new = jax.device_get(planner.begin(model, variables, 1))
            fresh = jax.tree.map(lambda x: x[0], new)
        kept.append(board.memory.get(board.to_play, fresh))
    return stacked(kept, rows)


def carry(boards: list[Board], memory: Any) -> None:
    """Keeps the memory [B, ...] that who moves has after these searches."""
    for i, board in enumerate(boards):
        board.memory[board.to_play] = jax.tree.map(lambda x, i=i: x[i], memory)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _search(
    game: Game, planner: Any, model: Any, variables: Any, key: Any, states: State, memory: Any
) -> Any:
    seen = jax.vmap(functools.partial(timestep, game))(states)
    options = {} if memory is None else {"memory": memory}
    plan = planner(key, model, variables, seen, **options)
    visits, top = jax.lax.top_k(plan.stats.visits, min(SHOWN, game.actions))
    return plan.action, plan.value, top, visits, plan.memory if options else ()


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, states: State, actions: Any) -> Any:
    after = jax.vmap(functools.partial(game.step, jax.random.key(0)))(states, actions)
    shown = (game.to_play, game.legal, game.reward, game.terminated, game.truncated)
    return after, *(jax.vmap(f)(after) for f in shown)
