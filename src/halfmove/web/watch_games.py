"""The sample games of a run, move by move, and what its networks think of each position.

A position is looked at by the run's own planner without noise, `SIMULATIONS` a move, so that what
the network says alone and what it says after a search come from one call, `ROWS` positions each.
"""

import functools
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from halfmove.core.game import Game, State, timestep
from halfmove.core.types import Array, Planner
from halfmove.games import records
from halfmove.games.follow import Spot, begin
from halfmove.games.records import Record
from halfmove.games.records.turns import follow
from halfmove.models import Variables
from halfmove.selfplay.boards import stacked
from halfmove.train.durable import RunError
from halfmove.train.folder import configuration
from halfmove.train.trained import saved, trained
from halfmove.web.board_view import board_of, move_of, position_of
from halfmove.web.rules import game_of, spots
from halfmove.web.upload import games_in
from halfmove.web.watch_runs import file_of

SIMULATIONS = 32
ROWS = 16  # positions of one call: of this one shape a program is compiled
BEST = 5  # moves of a list
LARGEST = 1 << 20  # bytes of a record
KEPT = 4  # runs whose programs stay compiled
RESULT = re.compile(r"result (?P<earned>[-+\d. ]+)(?P<reason>, by resignation)?")


def game_in(run: Path) -> Game:
    """The game of a run; ValueError if it is none with a board. Nothing is imported for it."""
    return game_of(str(configuration(run).get("game", "")))


def samples(run: Path) -> dict[str, Any]:
    """What there is to replay: the files, and the checkpoints that can be asked."""
    folder = run / "games"
    names = [f.name for f in folder.iterdir() if f.is_file()] if folder.is_dir() else []
    numbered = [(int(found[0]), name) for name in names if (found := re.match(r"\d+", name))]
    files = [{"file": name, "iteration": number} for number, name in sorted(numbered)]
    try:
        if game_in(run).chance:
            raise ValueError("a game of chance is not told by its moves: no sample games are kept")
    except ValueError as error:
        return {"games": [], "checkpoints": [], "why": str(error)}
    return {"games": files, "checkpoints": saved(run), "why": ""}


def sample(run: Path, name: str) -> Record:
    """One of them; ValueError if it cannot be read."""
    game, path = game_in(run), file_of(run, "games", name)
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{name} is too large for a record: more than {LARGEST >> 20} MB")
    data = path.read_bytes()
    if path.suffix == ".txt":
        return _plain(game, data.decode())
    found = games_in(data)[0]
    if game_of(found.game) != game:
        raise ValueError(f"{name} is a game of {found.game}, not of {records.text_of(game)}")
    return found


def _plain(game: Game, text: str) -> Record:
    """The text that `train/record.py` writes of games without a form of their own."""
    words, _, rest = text.partition("\n")

    def reader(word: str) -> Callable[[Spot], int]:
        return lambda spot: game.parse_move(spot.state, word)

    turns = follow(game, begin(game), map(reader, words.split()))
    moves = tuple(turn.action for turn in turns if turn.action is not None)
    names = ("halfmove",) * game.players
    ended = RESULT.match(rest)
    if not ended:
        return Record(records.text_of(game), names, moves)
    earned = tuple(float(x) for x in ended["earned"].split())
    reason = "resignation" if ended["reason"] else ""
    return Record(records.text_of(game), names, moves, earned, reason)


def replayed(run: Path, name: str) -> dict[str, Any]:
    """A sample game as a page draws it: the board, every position, the moves between them."""
    game, record = game_in(run), sample(run, name)
    stood = spots(game, record.position, record.moves)
    shown = []
    for number, spot in enumerate(stood):
        before = stood[number - 1] if number else None
        action = record.moves[number - 1] if number else None
        # Only to look at: nobody moves here.
        shown.append({**position_of(game, spot, before, action), "legal": []})
    moves = [game.move_name(stood[i].state, a) for i, a in enumerate(record.moves)]
    return {
        "game": record.game,
        "board": board_of(game),
        "positions": shown,
        "moves": moves,
        "movers": [spot.player for spot in stood],
        "result": record.result,
        "reason": record.reason,
        "record": records.write(game, record, "json"),
    }


class Looker:
    """A run's planner, compiled once for all of its checkpoints."""

    def __init__(self, run: Path, game: Game) -> None:
        net = trained(run, game=game)
        self._run, self._game, self._number = run, game, net.number
        self._variables: Variables = net.variables
        # A function of its own: it and what was compiled for it go together.
        self._look = jax.jit(functools.partial(_look, game, net.planner(SIMULATIONS), net.model))

    def opinions(self, number: int, stood: list[Spot]) -> list[Any]:
        """What the network of a checkpoint thinks of at most `ROWS` positions."""
        if number != self._number:
            self._variables = trained(self._run, number, game=self._game).variables
            self._number = number
        states = stacked([spot.state for spot in stood], ROWS)
        found = jax.device_get(self._look(self._variables, jax.random.key(0), states))
        return [jax.tree.map(lambda x, i=i: x[i], found) for i in range(len(stood))]


def _look(
    game: Game, planner: Planner, model: Any, variables: Variables, key: Array, states: State
) -> dict[str, Array]:
    seen = jax.vmap(functools.partial(timestep, game))(states)
    plan = planner(key, model, variables, seen)
    return {
        "alone": plan.stats.raw_value, "prior": plan.stats.prior,
        "searched": plan.value, "policy": plan.policy, "action": plan.action,
    }  # fmt: skip


class Lookers:
    """Those asked for last. For one thread: two searches at a time would only slow each other."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Path, int], Looker] = OrderedDict()

    def opinions(self, run: Path, name: str, number: int, start: int) -> dict[str, Any]:
        """The network's opinions of the positions from `start` on, at most `ROWS`."""
        game, record = game_in(run), sample(run, name)
        if number not in saved(run):
            there = ", ".join(map(str, saved(run))) or "none"
            raise RunError(f"the run has no checkpoint {number}; there are {there}")
        stood = spots(game, record.position, record.moves)
        some = [(i, s) for i, s in enumerate(stood) if i >= start and not s.over][:ROWS]
        found: list[Any] = []
        if some:
            # Another run may have come to the same folder.
            key = run, (run / "config.json").stat().st_mtime_ns
            looker = self._kept.pop(key, None) or Looker(run, game)
            self._kept[key] = looker
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            found = looker.opinions(number, [spot for _, spot in some])
        moves = [*record.moves, None]
        told = [
            _told(game, i, spot, each, moves[i])
            for (i, spot), each in zip(some, found, strict=True)
        ]
        left = some[-1][0] + 1 if len(some) == ROWS else None
        return {"opinions": told, "next": left, "simulations": SIMULATIONS}


def _told(game: Game, ply: int, spot: Spot, seen: Any, played: int | None) -> dict[str, Any]:
    """One opinion; values are those of the first player, so that they can be drawn as one line."""
    sign = -1.0 if spot.player else 1.0
    prior, policy = np.asarray(seen["prior"]), np.asarray(seen["policy"])
    order = sorted(np.flatnonzero(spot.legal).tolist(), key=lambda a: (-policy[a], -prior[a]))[
        :BEST
    ]
    if played is not None and played not in order:
        order.append(played)
    moves = [
        {
            **move_of(game, spot, a),
            "prior": round(float(prior[a]), 4),
            "policy": round(float(policy[a]), 4),
            "played": a == played,
        }
        for a in order
    ]
    return {
        "ply": ply,
        "alone": round(sign * float(seen["alone"]), 4),
        "searched": round(sign * float(seen["searched"]), 4),
        "moves": moves,
    }
