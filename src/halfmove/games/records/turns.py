"""A game played again from its moves."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from halfmove.core.game import Game
from halfmove.games.follow import Spot, begin, moved
from halfmove.games.records.record import Record


@dataclass(frozen=True)
class Turn(Spot):
    """A position of a game and, but at the end, the move made in it; all on the host."""

    action: int | None = None


def replay(game: Game, record: Record) -> Iterator[Turn]:
    """Every turn of a record, then the end without a move; ValueError at an illegal move."""
    if game.chance and record.moves:
        raise ValueError(f"{game.name} is a game of chance: its moves alone do not tell it")
    return follow(game, begin(game, record.position), record.moves)


def follow(game: Game, spot: Spot, moves: Iterable[int | Callable[[Spot], int]]) -> Iterator[Turn]:
    """The turns of `moves` from `spot`: actions, or what chooses one where the game then stands.

    A move that is not legal is a ValueError, which names it.
    """
    for number, move in enumerate(moves, 1):
        action = move(spot) if callable(move) else int(move)
        if not (0 <= action < game.actions and spot.legal[action]):
            name = f"action {action}"
            if 0 <= action < game.actions:
                name = game.move_name(spot.state, action)
            why = "the game was over" if spot.over else "not legal"
            raise ValueError(f"move {number}, {name}: {why}")
        yield Turn(**vars(spot), action=action)
        spot = moved(game, spot, action)
    yield Turn(**vars(spot))
