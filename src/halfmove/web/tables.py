"""A table: a game under way in the browser, and the pure functions that change it.

table = new("hex size=7", ("person", "hex7@64"), id="...", now=time.time())
table = moved(table, 24, now=time.time())
"""

import json
import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from halfmove.core.game import Game
from halfmove.games import records
from halfmove.games.follow import Spot
from halfmove.games.records import Note, Record, text_of
from halfmove.web.board_view import STYLES
from halfmove.web.chance import seeded
from halfmove.web.rules import game_of, spot_after, spots

PERSON = "person"
LONGEST = 2000  # moves of one game
RESULTS = ((1.0, -1.0), (-1.0, 1.0), (0.0, 0.0))
SLOWEST = 24 * 3600.0  # seconds of a clock


@dataclass(frozen=True)
class Clock:
    """What both players have, in seconds; time runs for who moves once the first move is made."""

    base: float
    increment: float  # added after every move
    left: tuple[float, float]
    since: float | None = None  # when it began to run for who moves, by `time.time`; None: stands


@dataclass(frozen=True)
class Table:
    """One game. Who sits there is PERSON or the line of a player (arena/players.py)."""

    id: str
    game: str
    seats: tuple[str, ...]  # one for each player
    position: str = ""  # where it began, if not where all begin; of chance, with a seed
    moves: tuple[int, ...] = ()
    notes: tuple[Note, ...] = field(default=())  # one for each move
    # +1, 0, -1 each; of one who plays alone, the points; None: not over
    result: tuple[float, ...] | None = None
    reason: str = ""  # why it ended, if not by the rules
    clock: Clock | None = None
    paused: bool = False  # whether the players who are no people wait
    version: int = 0  # of what is said here; a search that took longer is not played
    touched: float = 0.0  # when somebody last did something

    @property
    def rules(self) -> Game:
        """The game."""
        return game_of(self.game)

    @property
    def spot(self) -> Spot:
        """Where it stands."""
        return spot_after(self.rules, self.position, self.moves)

    @property
    def over(self) -> bool:
        """Whether no move follows."""
        return self.result is not None

    @property
    def mover(self) -> str:
        """Who sits where it is to move."""
        return self.seats[self.spot.player]


def new(
    game: str,
    seats: tuple[str, ...],
    *,
    id: str,
    now: float,
    position: str = "",
    clock: tuple[float, float] | None = None,
) -> Table:
    """A game before its first move; ValueError says what cannot be."""
    rules = game_of(game)
    if len(seats) != rules.players:
        raise ValueError(f"{rules.name} has {rules.players} players, got {len(seats)}")
    running = None
    if clock is not None:
        base, increment = clock
        if not (0 < base <= SLOWEST and 0 <= increment <= SLOWEST):
            raise ValueError(
                f"a clock has seconds above 0 and an increment, got {base}, {increment}"
            )
        running = Clock(base, increment, (base, base))
    made = Table(id, text_of(rules), seats, _normal(rules, position), clock=running, touched=now)
    return _ended(made)


def _normal(game: Game, position: str) -> str:
    """A position as the game writes it; "" for the one where all games begin."""
    if len(position) > 10_000:
        raise ValueError("a position is one line (FEN, SFEN, …); that is too long")
    if game.chance:
        return seeded(game, position)
    if not position.strip():
        return ""
    state = game.parse_position(position.strip())
    written = game.position(state)
    return "" if written == game.position(spot_after(game, "", ()).state) else written


def of_record(record: Record, *, id: str, now: float) -> Table:
    """A game that was played elsewhere, to look at and to play on: two people sit there."""
    table = new(record.game, (PERSON, PERSON), id=id, now=now, position=record.position)
    if len(record.moves) > LONGEST:
        raise ValueError(f"a game of {len(record.moves)} moves is too long; {LONGEST} are kept")
    spots(table.rules, table.position, record.moves)  # says which move is not legal
    notes = tuple(map(_sound, record.notes)) or tuple(Note() for _ in record.moves)
    table = _ended(replace(table, moves=record.moves, notes=notes))
    if table.over or record.result not in RESULTS:
        return table
    return replace(table, result=record.result, reason=record.reason)


def _sound(note: Note) -> Note:
    """A note of somebody else's file, if it can be shown."""
    fine = note.value is None or (isinstance(note.value, float | int) and abs(note.value) <= 1)
    return note if fine else Note()


def moved(
    table: Table, action: int, *, now: float, note: Note | None = None, took: float | None = None
) -> Table:
    """After a move; ValueError if it is not legal. `took`: seconds that count on its clock."""
    if table.over:
        raise ValueError("the game is over; take moves back or begin a new one")
    if len(table.moves) >= LONGEST:
        raise ValueError(f"a game has at most {LONGEST} moves here")
    game, spot = table.rules, table.spot
    if not (0 <= action < game.actions and spot.legal[action]):
        raise ValueError(
            f"{_name(game, spot, action)} is not legal here; legal: {_some(game, spot)}"
        )
    late = flagged(table, now=now) if took is None else table
    if late.over:
        return late
    after = replace(
        table,
        moves=(*table.moves, action),
        notes=(*table.notes, note or Note()),
        clock=_ticked(table, spot.player, now, took),
        version=table.version + 1,
        touched=now,
    )
    return _ended(after)


def _name(game: Game, spot: Spot, action: int) -> str:
    return game.move_name(spot.state, action) if 0 <= action < game.actions else f"action {action}"


def _some(game: Game, spot: Spot, most: int = 12) -> str:
    """The names of legal moves."""
    legal = np.flatnonzero(spot.legal)
    names = ", ".join(game.move_name(spot.state, int(action)) for action in legal[:most])
    return names + (f", … ({len(legal)} in all)" if len(legal) > most else "")


def jumped(table: Table, ply: int, *, now: float) -> Table:
    """Back to the position after `ply` moves, from which the game goes on."""
    if not 0 <= ply <= len(table.moves):
        raise ValueError(f"ply must be 0 to {len(table.moves)}, got {ply}")
    clock = None if table.clock is None else replace(table.clock, since=now if ply else None)
    back = replace(
        table,
        moves=table.moves[:ply],
        notes=table.notes[:ply],
        result=None,
        reason="",
        clock=clock,
        version=table.version + 1,
        touched=now,
    )
    return _ended(back)


def undone(table: Table, *, now: float) -> Table:
    """A person's last move taken back, with all that followed; the last move if nobody made one."""
    if not table.moves:
        raise ValueError("there is nothing to take back")
    if table.over and table.reason and not _ended(replace(table, result=None)).over:
        return jumped(table, len(table.moves), now=now)  # a resignation, or time
    past = spots(table.rules, table.position, table.moves)
    for ply in range(len(table.moves) - 1, -1, -1):
        if PERSON not in table.seats or table.seats[past[ply].player] == PERSON:
            return jumped(table, ply, now=now)
    raise ValueError("you have not moved yet: there is nothing to take back")


def resigned(table: Table, side: int, *, now: float, reason: str = "resignation") -> Table:
    """Lost for `side`, 0 or 1; who plays alone keeps the points."""
    if table.over:
        raise ValueError("the game is over already")
    if side not in (0, 1):
        raise ValueError(f"side must be 0 or 1, got {side}")
    result: tuple[float, ...] = (-1.0, 1.0) if side == 0 else (1.0, -1.0)
    if table.rules.players == 1:
        result = (score(table),)
    clock = None if table.clock is None else replace(_ticking(table, now), since=None)
    return replace(
        table, result=result, reason=reason, clock=clock, version=table.version + 1, touched=now
    )


def flagged(table: Table, *, now: float) -> Table:
    """The same table, lost on time if a person's is used up."""
    if table.clock is None or table.over or table.clock.since is None:
        return table
    player = table.spot.player
    if table.seats[player] == PERSON and _ticking(table, now).left[player] <= 0:
        return resigned(table, player, now=now, reason="time")
    return table


def seated(table: Table, seats: tuple[str, ...], *, now: float) -> Table:
    """The same game with others at it."""
    return replace(table, seats=seats, version=table.version + 1, touched=now)


def paused(table: Table, wait: bool, *, now: float) -> Table:
    """Whether the players who are no people wait."""
    return replace(table, paused=wait, version=table.version + 1, touched=now)


def record_of(table: Table) -> Record:
    """The game as it is kept in files."""
    known = any(note != Note() for note in table.notes)
    return Record(
        game=table.game,
        players=tuple(records.one_line(seat) or PERSON for seat in table.seats),
        moves=table.moves,
        result=table.result,
        reason=table.reason,
        position=table.position,
        notes=table.notes if known else (),
    )


def to_json(table: Table) -> str:
    """What `of_json` reads."""
    return json.dumps(asdict(table), allow_nan=False)


def of_json(text: str) -> Table:
    """A table that was written; ValueError if it is damaged."""
    try:
        found = json.loads(text)
        names = {one.name for one in fields(Table)}
        if not isinstance(found, dict) or set(found) != names:
            raise ValueError("its fields are not those of a table")
        clock = found["clock"]
        found["clock"] = clock and Clock(**{**clock, "left": tuple(clock["left"])})
        found["notes"] = tuple(_note(note) for note in found["notes"])
        for name in ("seats", "moves", "result"):
            found[name] = None if found[name] is None else tuple(found[name])
        table = Table(**found)
        table.spot  # noqa: B018  (says which move is not legal)
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"this table cannot be read: {error}") from None
    return table


def _note(note: dict[str, Any]) -> Note:
    visits = {int(action): int(n) for action, n in note["visits"].items()}
    return Note(note["value"], visits, note["simulations"])


def outcome(table: Table) -> str:
    """How it ended, as a sentence; "" while it goes on."""
    if table.result is None:
        return ""
    why = f" ({table.reason})" if table.reason else ""
    if table.rules.players == 1:
        return f"The end{why}: {table.result[0]:g} points."
    if table.result[0] == table.result[1]:
        return f"A draw{why}."
    winner = STYLES[table.rules.name].colours[int(table.result[1] > table.result[0])]
    return f"{winner} won{why}."


def score(table: Table, ply: int | None = None) -> float:
    """What one who plays alone has earned, by all moves or the first `ply`."""
    past = spots(table.rules, table.position, table.moves[:ply])
    return float(sum(spot.reward[0] for spot in past[1:]))


def time_left(table: Table, now: float) -> tuple[float, float] | None:
    """Seconds that both have now."""
    return None if table.clock is None else _ticking(table, now).left


def _ended(table: Table) -> Table:
    """With the result, if the rules say that the game is over."""
    spot = table.spot
    if not spot.over:
        return table
    # The last move earned it; a game that was cut short has no winner.
    result = tuple(float(np.sign(x)) for x in spot.reward)
    if table.rules.players == 1:
        result = (score(table),)
    clock = None if table.clock is None else replace(table.clock, since=None)
    return replace(table, result=result, clock=clock)


def _ticking(table: Table, now: float) -> Clock:
    """The clock with the time so far taken from who moves."""
    assert table.clock is not None
    if table.clock.since is None:
        return table.clock
    left = list(table.clock.left)
    player = table.spot.player
    if table.seats[player] == PERSON:  # others pay for their search alone, when it is done
        left[player] -= max(0.0, now - table.clock.since)
    return replace(table.clock, left=(left[0], left[1]))


def _ticked(table: Table, player: int, now: float, took: float | None) -> Clock | None:
    """After a move of `player`."""
    if table.clock is None:
        return None
    left = list(_ticking(table, now).left)
    if took is not None and math.isfinite(took):
        left[player] = max(0.0, left[player] - took)
    left[player] += table.clock.increment
    return replace(table.clock, left=(left[0], left[1]), since=now)
