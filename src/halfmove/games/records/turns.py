"""Games played again from their moves."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from halfmove.core.game import Game
from halfmove.games.follow import TOGETHER, Spot, begin, moved, moved_together
from halfmove.games.records.record import Record


@dataclass(frozen=True)
class Turn(Spot):
    """A position of a game and, but at the end, the move made in it; all on the host."""

    action: int | None = None


# To compile the program that follows many games takes as long as so many moves one by one.
MANY = 4_000


def replay(game: Game, record: Record) -> Iterator[Turn]:
    """Every turn of a record, then the end without a move; ValueError at an illegal move."""
    if game.chance and record.moves:
        raise ValueError(f"{game.name} is a game of chance: its moves alone do not tell it")
    return follow(game, begin(game, record.position), record.moves)


def replays(game: Game, records: Sequence[Record]) -> Iterator[Iterator[Turn]]:
    """The same of each of several records. Where they have many moves, many games at a time."""
    many = not game.chance and sum(len(record.moves) for record in records) >= MANY
    for at in range(0, len(records), TOGETHER):
        part = records[at : at + TOGETHER]
        whole = [record.moves for record in part if many and not record.position]
        ready = iter(_side_by_side(game, whole) if len(whole) > 1 else ())
        for record in part:
            if len(whole) > 1 and not record.position:
                known = iter(next(ready))
                yield follow(game, next(known), record.moves, _reader(known))
            else:
                yield replay(game, record)


def _reader(known: Iterator[Spot]) -> Callable[[Game, Spot, int], Spot]:
    """A step whose outcome is known already."""
    return lambda game, spot, action: next(known)


def _side_by_side(game: Game, games: Sequence[Sequence[int]]) -> list[list[Spot]]:
    """Where games of these moves stand before the first and after each, up to one not legal."""
    spots = [[begin(game)] for _ in games]
    for number in range(max(map(len, games))):
        going = [
            (mine, int(moves[number]))
            for mine, moves in zip(spots, games, strict=True)
            if number < len(moves) and len(mine) == number + 1
        ]
        legal = [(mine, a) for mine, a in going if 0 <= a < game.actions and mine[-1].legal[a]]
        after = moved_together(game, [mine[-1] for mine, _ in legal], [a for _, a in legal])
        for (mine, _), spot in zip(legal, after, strict=True):
            mine.append(spot)
    return spots


def follow(
    game: Game,
    spot: Spot,
    moves: Iterable[int | Callable[[Spot], int]],
    step: Callable[[Game, Spot, int], Spot] = moved,
) -> Iterator[Turn]:
    """The turns of `moves` from `spot`: actions, or what chooses one where the game then stands.

    A move that is not legal is a ValueError, which names it. `step` makes one that is.
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
        spot = step(game, spot, action)
    yield Turn(**vars(spot))
