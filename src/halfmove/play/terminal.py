"""A person against a network, plain MCTS or an engine, in the terminal."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from halfmove import games
from halfmove.arena.board import show
from halfmove.arena.engines import RESIGN, Engine, EngineFault
from halfmove.arena.players import Outside, Player, Timed, game_of, player
from halfmove.arena.round import clocked
from halfmove.core.game import Game, State, over
from halfmove.core.types import Array
from halfmove.games.follow import at
from halfmove.games.records import text_of
from halfmove.selfplay.boards import Board, Choice, Fixture, Searcher, searched
from halfmove.train import zoo

HELP = "a move, `undo`, `hint`, or `quit`"
SHOWN = 3  # moves of a hint


@dataclass(frozen=True)
class Thought:
    """What somebody makes of a position."""

    action: int
    value: float | None = None  # from -1 to 1, for who moves
    visits: tuple[tuple[int, int], ...] = ()  # the most visited actions, and how often


Choose = Callable[[State, list[int]], Thought]  # a position, and the moves that led to it
Search = Callable[[list[Board], Array], list[Choice]]


def main(who: str, *, game: str | None = None, simulations: int = 64, second: bool = False) -> int:
    """Plays one game against `who`, a game's name standing for plain MCTS; the exit status."""
    rules, other = opponent(who, game, simulations)
    if rules.players != 2 or rules.chance:
        raise ValueError(f"{rules.name} is no game for two without chance")
    with _choosing(other, rules) as choose:
        print(
            f"{text_of(rules)} against {other.name}: you play "
            f"{'second' if second else 'first'}. Type {HELP}."
        )
        return _play(rules, choose, int(second))


def opponent(who: str, game: str | None, simulations: int) -> tuple[Game, Player]:
    """The game and the player of the words on the command line."""
    run = Path(who).exists() or who in zoo.names()
    if not run and who.split()[0].split("@")[0] in games.names():
        rules = games.read(who)
        return rules, player(f"mcts@{simulations}", rules)
    rules = games.read(game) if game else game_of([who])
    plain = ":" in who or "@" in who or who in ("random", "perfect")
    return rules, player(who if plain else f"{who}@{simulations}", rules)


@contextlib.contextmanager
def _choosing(who: Player, game: Game) -> Iterator[Choose]:
    if isinstance(who, Outside):
        with Engine(who.line) as engine:
            yield functools.partial(_asked, engine, game)
    elif isinstance(who, Searcher):
        search = functools.partial(searched, game, who)
        yield functools.partial(_searched, search, game, Carried())
    elif isinstance(who, Timed):
        search = functools.partial(clocked, game, who)
        yield functools.partial(_searched, search, game, Carried())
    else:
        raise ValueError(f"{who.name} is no opponent for a person: choose mcts@100 or a run")


def _asked(engine: Engine, game: Game, state: State, moves: list[int]) -> Thought:
    engine.new_game(game, moves)
    return Thought(engine.choose())


@dataclass
class Carried:
    """What a planner carries along a game, a hint for the other side its own."""

    # By side: the moves before its last two searches, and what these left.
    last: dict[int, list[tuple[list[int], Any]]] = field(default_factory=dict)

    def board(self, game: Game, state: State, moves: list[int]) -> Board:
        """The position, with what was carried to it from earlier ones.

        Nothing from moves that were taken back: who looks at a position again begins as at first.
        """
        spot = at(game, state)
        memory = {
            side: earlier[-1][1]
            for side, kept in self.last.items()
            if (earlier := _earlier(kept, moves))
        }
        none = Fixture(0, (0, 1), ())
        return Board(none, spot.state, spot.player, spot.legal, moves, memory=memory)

    def keep(self, board: Board) -> None:
        """What the side to move has after its search."""
        if board.to_play in board.memory:
            before = _earlier(self.last.get(board.to_play, []), board.moves)[-1:]
            found = (list(board.moves), board.memory[board.to_play])
            self.last[board.to_play] = [*before, found]


def _earlier(kept: list[tuple[list[int], Any]], moves: list[int]) -> list[tuple[list[int], Any]]:
    """Those of positions before that after `moves`, in the same game."""
    return [x for x in kept if len(x[0]) < len(moves) and moves[: len(x[0])] == x[0]]


def _searched(
    search: Search, game: Game, carried: Carried, state: State, moves: list[int]
) -> Thought:
    board = carried.board(game, state, moves)
    (choice,) = search([board], jax.random.key(len(moves)))
    carried.keep(board)
    visits = tuple(choice.note.visits.items())[:SHOWN]
    return Thought(choice.action, choice.note.value, visits)


def _play(game: Game, choose: Choose, person: int) -> int:
    past = [game.init(jax.random.key(0))]
    moves: list[int] = []
    while True:
        state = past[-1]
        _show(game, past)
        if over(game, state):
            gained = np.asarray(game.reward(state))[person]
            print("You won." if gained > 0 else "You lost." if gained < 0 else "A draw.")
            return 0
        if int(game.to_play(state)) != person:
            try:
                thought = choose(state, moves)
            except EngineFault as fault:
                print(f"It cannot go on ({fault}). You won.")
                return 0
            if thought.action == RESIGN:
                print("It resigns. You won.")
                return 0
            expects = (
                "" if thought.value is None else f" and expects {thought.value:+.2f} for itself"
            )
            print(f"It plays {game.move_name(state, thought.action)}{expects}.")
            _move(game, past, moves, thought.action)
        elif not _moved(game, choose, past, moves):
            return 0


def _move(game: Game, past: list[State], moves: list[int], move: int | str) -> None:
    state = past[-1]
    past.append(games.play(game, state, move))
    moves.append(game.parse_move(state, move) if isinstance(move, str) else move)


def _moved(game: Game, choose: Choose, past: list[State], moves: list[int]) -> bool:
    """Asks until the game has moved on, or back; False: the person has left."""
    state = past[-1]
    while True:
        print("your move: ", end="", flush=True)
        line = sys.stdin.readline()
        word = line.strip()
        if not line or word in ("quit", "exit"):
            print()
            return False
        if word == "undo":
            if len(past) > 2:
                del past[-2:], moves[-2:]
                return True
            print("There is nothing to take back.")
        elif word == "hint":
            _hint(game, past, choose(state, moves))
        else:
            try:
                _move(game, past, moves, word)
            except ValueError as error:
                print(f"{error}. Type {HELP}.")
                continue
            return True


def _show(game: Game, past: list[State], hints: tuple[int, ...] = ()) -> None:
    before = game.show(past[-2]) if len(past) > 1 else ""
    after = [game.show(games.play(game, past[-1], action)) for action in hints]
    print()
    show(Console(), game.show(past[-1]), before, after)
    print()


def _hint(game: Game, past: list[State], thought: Thought) -> None:
    state = past[-1]
    if thought.action == RESIGN:
        print("It would resign.")
        return
    if Console().is_terminal:
        _show(game, past, (thought.action,))
    value = "" if thought.value is None else f" ({thought.value:+.2f} for you)"
    looked = ", ".join(f"{game.move_name(state, a)} {n}" for a, n in thought.visits)
    print(
        f"{game.move_name(state, thought.action)}{value}"
        + (f"; visits: {looked}" if looked else "")
    )
