"""KataGo's analysis protocol: a line of JSON asks for positions of a game of Go, lines answer.

KaTrain and other programs that review games speak it (`halfmove analysis` where they start
`katago analysis`). Queries wait in a queue by their priority; one position is searched at a time,
and lines that come in meanwhile are read between two slices of the search, so that `terminate`
ends it at once. Documented in KataGo's docs/Analysis_Engine.md.

The score and the owners of points are those of play/territory.py. KaTrain cannot do without a
score: where a network does not predict it, `scoreLead` is the win rate on the scale of `POINTS`
points, and every query is told so by a warning.
"""

import functools
import heapq
import itertools
import json
import math
import sys
import time
import traceback
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import State, timestep
from halfmove.core.types import Model
from halfmove.games import go_text
from halfmove.games.go import Go
from halfmove.play import gtp, katago_query, territory
from halfmove.play.gtp_go import turn_to
from halfmove.play.katago_query import Move, Query, Refused
from halfmove.play.minds import Source
from halfmove.play.opinion import Line, Opinion
from halfmove.play.seat import Limits, Seat
from halfmove.play.server import Lines, Say, Stream, opened
from halfmove.play.territory import Territory, territories
from halfmove.play.thinking import opinions

POINTS = 10.0  # what a sure win is called in `scoreLead`
SEATS = 4  # sizes and komis whose searches stay compiled
STAND_IN = f"this player predicts no score: the win rate, from -{POINTS:g} to {POINTS:g}"
NO_OWNERS = "this player does not predict it: left out"


def main(
    source: Source,
    game: Go,
    *,
    limits: Limits | None = None,
    seed: int | None = None,
    given: Stream | None = None,
    said: BinaryIO | None = None,
) -> int:
    """Answers on the standard streams, or on those given; the exit status."""
    lines, say = opened(given, said)
    server = Analysis(source, replace(game, handicap=0), limits or Limits(), seed, lines, say)
    return server.serve()


@dataclass(order=True)
class Job:
    """One position that waits; the smallest comes first."""

    rank: tuple[int, int]  # less its priority, and when it came
    query: Query = field(compare=False)
    turn: int = field(compare=False)
    over: bool = field(compare=False, default=False)  # nobody wants it any more


class Analysis:
    """The queue, and who thinks."""

    def __init__(
        self, source: Source, game: Go, limits: Limits, seed: int | None, lines: Lines, say: Say
    ) -> None:
        self._source, self._game, self._limits, self._seed = source, game, limits, seed
        self._lines, self._say = lines, say
        self._jobs: list[Job] = []
        self._now: Job | None = None
        self._count = itertools.count()
        self._open = True
        self._seats: dict[Go, Seat] = {}
        self._known: tuple[Any, tuple[Move, ...], list[State]] | None = None  # the last game

    def serve(self) -> int:
        """Until the lines end and all has been answered."""
        while self._open or self._jobs:
            self._hear(wait=not self._jobs)
            if self._jobs:
                self._now = heapq.heappop(self._jobs)
                self._answer(self._now)
                self._now = None
        return 0

    def _hear(self, wait: bool) -> None:
        """Takes in what has come; if it must, waits for one line."""
        while self._open and (wait or self._lines.waiting()):
            wait = False
            line = self._lines.next()
            if line is None:
                self._open = False
            elif line.strip():
                self._take(line)

    def _tell(self, **fields: Any) -> None:
        self._say(json.dumps(fields))

    def _take(self, line: str) -> None:
        fields: dict[str, Any] = {}
        try:
            fields = katago_query.decoded(line)
            if not isinstance(fields.get("id"), str):
                raise Refused("id must be a text", "id")
            if "action" in fields:
                self._act(fields)
            else:
                self._wait(katago_query.read(fields))
        except ValueError as error:
            wrong = getattr(error, "field", "")
            name = fields.get("id")
            about = {"field": wrong} if wrong else {}
            about |= {"id": name} if isinstance(name, str) else {}
            self._tell(error=str(error), **about)

    def _wait(self, query: Query) -> None:
        for name, text in (*query.warnings, *self._missing(query)):
            self._tell(warning=text, field=name, id=query.name)
        for turn, priority in zip(query.turns, query.priorities, strict=True):
            heapq.heappush(self._jobs, Job((-priority, next(self._count)), query, turn))

    def _missing(self, query: Query) -> list[tuple[str, str]]:
        """What the player of that board has nothing to say about."""
        try:
            if territory.says(self._seat(query).mind):
                return []
        except Refused:
            pass  # which is the answer to the query then
        asked = query.ownership or query.moves_ownership
        return [("includeOwnership", NO_OWNERS)] * asked + [("scoreLead", STAND_IN)]

    # -- actions ---------------------------------------------------------

    def _act(self, fields: dict[str, Any]) -> None:
        action = fields["action"]
        if action in ("terminate", "terminate_all"):
            self._terminate(fields)
        elif action == "query_version":
            fields = {**fields, "version": gtp.version(), "git_hash": "<omitted>"}
        elif action == "query_models":
            fields = {**fields, "models": []}
        elif action != "clear_cache":
            raise Refused(f"unknown action {action!r:.40}", "action")
        self._tell(**fields)

    def _terminate(self, fields: dict[str, Any]) -> None:
        name, turns = fields.get("terminateId"), fields.get("turnNumbers")
        if fields["action"] == "terminate" and not isinstance(name, str):
            raise Refused("must be the id of a query", "terminateId")
        if turns is not None and not isinstance(turns, list):
            raise Refused("must be a list of turns", "turnNumbers")
        for job in [*self._jobs, *([self._now] if self._now else [])]:
            meant = fields["action"] == "terminate_all" or job.query.name == name
            if meant and (turns is None or job.turn in turns):
                job.over = True

    # -- answers ---------------------------------------------------------

    def _answer(self, job: Job) -> None:
        query, about = job.query, {"id": job.query.name, "turnNumber": job.turn}
        if job.over:
            self._tell(**about, isDuringSearch=False, noResults=True)
            return
        try:
            self._search(job)
        except Exception as error:  # a query must never end the others
            if not isinstance(error, ValueError):
                traceback.print_exc(file=sys.stderr)
            wrong = getattr(error, "field", "") or "moves"
            self._tell(error=str(error)[:300], field=wrong, id=query.name)
            self._jobs = [other for other in self._jobs if other.query is not query]
            heapq.heapify(self._jobs)

    def _search(self, job: Job) -> None:
        query, player = job.query, job.query.player(job.turn)
        began = time.monotonic()
        seat = self._seat(query)
        seat.past = self._states(seat, query)[: job.turn + 1]
        turn_to(seat, player)
        only = katago_query.restricted(query, player, seat.legal())
        given = [s for s in (query.seconds, self._limits.seconds) if s is not None]
        end = began + min(given) if given else None
        most = seat.budget_for(min(given, default=None))
        visits = most if query.visits is None else query.visits
        if self._limits.simulations is not None:
            visits = min(visits, self._limits.simulations)
        thinking = seat.begin(budget=visits, only=only)

        def stopped() -> bool:
            self._hear(wait=False)
            return job.over

        for opinion in opinions(thinking, stopped=stopped, deadline=lambda: end, every=query.every):
            if query.every < math.inf and not (thinking.done or job.over):
                self._tell(**self._report(job, seat, opinion), isDuringSearch=True)
        self._tell(**self._report(job, seat, opinion), isDuringSearch=False)

    def _seat(self, query: Query) -> Seat:
        komi = self._game.komi if query.komi is None else query.komi
        try:
            game = replace(self._game, size=query.size, komi=komi)
            if game not in self._seats:
                seat = Seat(self._source, game, self._limits, seed=self._seed)
                while len(self._seats) >= SEATS:
                    del self._seats[next(iter(self._seats))]
                self._seats[game] = seat
        except ValueError as error:
            raise Refused(str(error), "boardXSize") from error
        return self._seats[game]

    def _states(self, seat: Seat, query: Query) -> list[State]:
        """The positions of a game; those that the last query had too are not made again."""
        same = (seat.game, query.stones, query.first)
        if self._known is not None and self._known[0] == same:
            _, made, states = self._known
            shared = next(
                (i for i, (a, b) in enumerate(zip(made, query.moves, strict=False)) if a != b),
                min(len(made), len(query.moves)),
            )
            states = states[: shared + 1]
        else:
            states = [_beginning(seat, query)]
        for number in range(len(states) - 1, len(query.moves)):
            player, action = query.moves[number]
            seat.past = states[-1:]
            try:
                turn_to(seat, player)
                seat.play(action)
            except ValueError:
                name = go_text.vertex(query.size, action)
                raise Refused(f"Illegal move {number}: {name}", "moves") from None
            states = [*states, seat.state]
        self._known = same, query.moves, states
        return states

    def _report(self, job: Job, seat: Seat, opinion: Opinion) -> dict[str, Any]:
        query, player = job.query, seat.to_play
        flip = query.side != "SIDETOMOVE" and katago_query.PLAYERS[query.side] != player
        lines = [line for line in opinion.lines if line.visits]
        whose: list[Territory | None] = [None] * (1 + len(lines))
        if territory.says(seat.mind):
            known = territories(seat.mind, seat.state, [line.moves[0] for line in lines])
            whose = [each.seen_by(flip != (player == 1)) for each in known]
        infos = [_info(query.size, i, x, flip, whose[i + 1]) for i, x in enumerate(lines)]
        found: dict[str, Any] = {
            "id": query.name,
            "turnNumber": job.turn,
            "moveInfos": infos,
            "rootInfo": {
                **_values(opinion.value, flip, whose[0]),
                "visits": opinion.nodes + 1,
                "currentPlayer": "BW"[player],
            },
        }
        if query.ownership and whose[0] is not None:
            found["ownership"] = _flat(whose[0])
        if query.moves_ownership:
            for info, after in zip(infos, whose[1:], strict=True):
                info.update({} if after is None else {"ownership": _flat(after)})
        if query.policy:
            mind = seat.mind
            found["policy"] = _policy(mind.game, mind.model, mind.variables, seat.state).tolist()
        return found


@functools.partial(jax.jit, static_argnums=(0, 1))
def _policy(game: Go, model: Model, variables: Any, state: State) -> jax.Array:
    """[A]: what the network thinks of every move before any search; -1: not legal."""
    seen = jax.tree.map(lambda x: jnp.asarray(x)[None], timestep(game, state))
    _, prediction = model.root(variables, jax.random.key(0), seen)
    logits = jnp.where(seen.legal[0], prediction.logits[0].astype(jnp.float32), -jnp.inf)
    return jnp.where(seen.legal[0], jax.nn.softmax(logits), -1.0)


def _beginning(seat: Seat, query: Query) -> State:
    assert isinstance(seat.game, Go)
    board = np.zeros((query.size, query.size), np.int8)
    for player, action in query.stones:
        board[divmod(action, query.size)] = player + 1
    if not query.stones and query.first == 0:
        return seat.fresh()
    try:
        return seat.game.parse_position(go_text.write_sgf(board, seat.game.komi, query.first))
    except ValueError as error:
        raise Refused(str(error), "initialStones") from error


def _flat(whose: Territory) -> list[float]:
    """By rows, the top one first."""
    return [round(float(x), 4) for x in whose.owners.ravel()]


def _info(size: int, order: int, line: Line, flip: bool, whose: Territory | None) -> dict[str, Any]:
    lcb = 1 - line.lcb if flip else line.lcb
    return {
        "move": go_text.vertex(size, line.moves[0]),
        "visits": line.visits,
        **_values(line.value, flip, whose),
        "prior": line.prior,
        "lcb": lcb,
        "utilityLcb": 2 * lcb - 1,
        "order": order,
        "pv": [go_text.vertex(size, action) for action in line.moves],
    }


def _values(value: float, flip: bool, whose: Territory | None) -> dict[str, float]:
    """A value from -1 to 1 in all the units that are asked for."""
    seen = max(-1.0, min(1.0, -value if flip else value))
    points = POINTS * seen if whose is None else whose.lead
    return {
        "winrate": (1 + seen) / 2, "utility": seen,
        "scoreLead": points, "scoreMean": points, "scoreSelfplay": points,
    }  # fmt: skip
