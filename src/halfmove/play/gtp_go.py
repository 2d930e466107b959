"""The commands of GTP for Go: a board, moves, handicap, clocks, scores, analysis.

Area scoring, all stones alive where they stand, positional superko: the rules of games/go.py.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import jax
import numpy as np

from halfmove import games
from halfmove.core.game import State, over
from halfmove.games import go_text, records
from halfmove.games.go import Go
from halfmove.play import analysis, gtp, gtp_seat, territory
from halfmove.play.gtp import colour, exactly, nothing, whole
from halfmove.play.gtp_clock import Clocks
from halfmove.play.minds import Source
from halfmove.play.opinion import Opinion
from halfmove.play.seat import Limits, Seat
from halfmove.play.server import Lines, Stream, opened
from halfmove.play.territory import territories
from halfmove.play.thinking import Thinking, opinions


def main(
    source: Source,
    game: Go,
    *,
    limits: Limits | None = None,
    seed: int | None = None,
    given: Stream | None = None,
    said: BinaryIO | None = None,
) -> int:
    """Speaks GTP on the standard streams, or on those given; the exit status."""
    lines, say = opened(given, said)
    seat = Seat(source, replace(game, handicap=0), limits or Limits(), seed=seed)
    return gtp.serve(lines, say, GoCommands(seat, lines).table())


class GoCommands:
    """What a controller may ask. A command that is refused has changed nothing."""

    def __init__(self, seat: Seat, lines: Lines) -> None:
        self._seat, self._lines = seat, lines
        self._clocks = Clocks()

    @property
    def _game(self) -> Go:
        game = self._seat.game
        assert isinstance(game, Go)
        return game

    def table(self) -> dict[str, gtp.Handler]:
        """Every command by its name."""
        return {
            **gtp_seat.commands(self._seat, self._clocks),
            "boardsize": self._boardsize,
            "komi": self._komi,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "loadsgf": self._loadsgf,
            "final_score": self._final_score,
            "final_status_list": self._final_status_list,
            "lz-analyze": self._analyze("lz"),
            "kata-analyze": self._analyze("kata"),
            "lz-genmove_analyze": self._genmove_analyze("lz"),
            "kata-genmove_analyze": self._genmove_analyze("kata"),
        }

    # -- the board -------------------------------------------------------

    def _boardsize(self, arguments: Sequence[str]) -> str:
        size = whole(exactly(arguments, "a size")[0])
        try:
            self._seat.change(replace(self._game, size=size))
        except ValueError as error:
            raise ValueError(f"unacceptable size: {error}") from error
        self._seat.begin_again()
        return ""

    def _komi(self, arguments: Sequence[str]) -> str:
        self._seat.change(replace(self._game, komi=gtp.real(exactly(arguments, "komi")[0])))
        return ""

    def _loadsgf(self, arguments: Sequence[str]) -> str:
        if len(arguments) not in (1, 2):
            raise ValueError("syntax error: expected a file and perhaps a move's number")
        last = whole(arguments[1], 1) if len(arguments) == 2 else None
        try:
            text = Path(arguments[0]).read_text(encoding="utf-8", errors="replace")
            record = records.read(text)[0]
            theirs = games.read(record.game)
            if not isinstance(theirs, Go):
                raise ValueError(f"a game of {theirs.name}")
            ours = replace(self._game, size=theirs.size, komi=theirs.komi)
            if theirs.handicap:
                first = theirs.position(theirs.init(jax.random.key(0)))
                record = replace(record, position=first)
            turns = list(records.replay(ours, record))
            self._seat.change(ours)
        except (OSError, ValueError) as error:
            raise ValueError(f"cannot load file: {error}") from error
        states = [turn.state for turn in turns]
        self._seat.past = states if last is None else states[:last]
        return ""

    # -- moves -----------------------------------------------------------

    def _play(self, arguments: Sequence[str]) -> str:
        who, vertex = exactly(arguments, "a colour", "a vertex")
        player = colour(who)
        try:
            action = self._game.parse_move(self._seat.state, vertex)
        except ValueError as error:
            raise ValueError(f"syntax error: {error}") from error
        with self._seat.unless_refused():
            try:
                turn_to(self._seat, player)
                self._seat.play(action)
            except ValueError as error:
                raise ValueError("illegal move") from error
        return ""

    def _think(
        self, player: int, every: float, only: Collection[int] | None = None
    ) -> Iterator[Opinion]:
        # About two thirds of the points are played on, by two players.
        size = self._game.size
        moves = max(size * size // 3 - len(self._seat.past) // 2, size)
        return self._seat.think(self._clocks.of(player), moves=moves, only=only, every=every)

    def _genmove(self, arguments: Sequence[str]) -> str:
        player = colour(exactly(arguments, "a colour")[0])
        with self._seat.unless_refused():
            turn_to(self._seat, player)
            *_, opinion = self._think(player, np.inf)
            self._seat.play(opinion.action)
        return self._name(opinion.action)

    def _reg_genmove(self, arguments: Sequence[str]) -> str:
        before = self._seat.past
        try:
            return self._genmove(arguments)
        finally:
            self._seat.past = before

    def _name(self, action: int) -> str:
        return go_text.vertex(self._game.size, action)

    # -- handicap --------------------------------------------------------

    def _fixed_handicap(self, arguments: Sequence[str]) -> str:
        stones = whole(exactly(arguments, "a number of stones")[0])
        self._must_be_empty()
        if stones < 2:
            raise ValueError("invalid number of stones")
        try:
            points = go_text.handicap_points(self._game.size, stones)
        except ValueError as error:
            raise ValueError(f"invalid number of stones: {error}") from error
        return self._place(points)

    def _place_free_handicap(self, arguments: Sequence[str]) -> str:
        stones, size = whole(exactly(arguments, "a number of stones")[0]), self._game.size
        self._must_be_empty()
        if not 2 <= stones < size * size:
            raise ValueError("invalid number of stones")
        return self._place(_spread(size, stones))

    def _set_free_handicap(self, arguments: Sequence[str]) -> str:
        self._must_be_empty()
        size = self._game.size
        try:
            actions = [go_text.parse_vertex(size, vertex) for vertex in arguments]
        except ValueError as error:
            raise ValueError(f"bad vertex list: {error}") from error
        if len(set(actions)) < len(actions) or len(actions) < 2 or size * size in actions:
            raise ValueError("bad vertex list: two or more points, each once")
        if len(actions) >= size * size:
            raise ValueError("bad vertex list: no point would be left")
        self._place([divmod(action, size) for action in actions])
        return ""

    def _must_be_empty(self) -> None:
        if self._game.board(self._seat.state).any():
            raise ValueError("board not empty")

    def _place(self, points: Sequence[tuple[int, int]]) -> str:
        """Black stones, then it is white's turn."""
        size = self._game.size
        board = np.zeros((size, size), np.int8)
        for point in points:
            board[point] = 1
        text = go_text.write_sgf(board, self._game.komi, 1)
        self._seat.past = [self._seat.fresh(), self._game.parse_position(text)]
        return " ".join(self._name(row * size + column) for row, column in points)

    # -- scores ----------------------------------------------------------

    def _final_score(self, arguments: Sequence[str]) -> str:
        nothing(arguments)
        lead = float(self._game.score(self._seat.state))
        return f"{'B' if lead > 0 else 'W'}+{abs(lead):g}" if lead else "0"

    def _final_status_list(self, arguments: Sequence[str]) -> str:
        (status,) = exactly(arguments, "alive, dead or seki")
        if status not in ("alive", "dead", "seki"):
            raise ValueError(f"syntax error: {status!r:.80} is none of alive, dead, seki")
        size, lines = self._game.size, []
        if status == "alive":
            for stones, _ in go_text.chains(self._game.board(self._seat.state)):
                lines.append(" ".join(self._name(int(r) * size + int(c)) for r, c in stones))
        return "\n".join(lines)

    # -- analysis --------------------------------------------------------

    def _analyze(self, form: str) -> gtp.Handler:
        def handler(arguments: Sequence[str]) -> Iterator[str]:
            before = self._seat.past
            try:
                wish, only = self._asked(arguments)
                thinking, state = self._seat.begin(only=only), self._seat.state
            finally:
                self._seat.past = before
            return self._stream(form, wish, thinking, state)

        return handler

    def _asked(self, arguments: Sequence[str]) -> tuple[analysis.Wish, list[int]]:
        """What the words ask for, and the moves to think of, once it is that player's turn."""
        seat, size = self._seat, self._game.size
        wish = analysis.wish(arguments, seat.to_play, partial(go_text.parse_vertex, size))
        turn_to(seat, wish.player)
        return wish, wish.only(seat.legal())

    def _stream(
        self, form: str, wish: analysis.Wish, thinking: Thinking, state: State
    ) -> Iterator[str]:
        """Lines until another line has come in."""
        waiting, whose = self._lines.waiting, self._whose(state)
        for opinion in opinions(thinking, stopped=waiting, every=wish.every):
            yield analysis.info(opinion, form, self._name, wish, whose)
        self._lines.wait()

    def _whose(self, state: State) -> analysis.Whose | None:
        """Who owns what, if the player can tell."""
        mind = self._seat.mind
        if not territory.says(mind):
            return None
        white = bool(mind.game.to_play(state) == 1)
        return lambda moves: [t.seen_by(white) for t in territories(mind, state, moves)]

    def _genmove_analyze(self, form: str) -> gtp.Handler:
        def handler(arguments: Sequence[str]) -> Iterator[str]:
            before = self._seat.past
            try:
                wish, only = self._asked(arguments)
                found = self._think(wish.player, wish.every, only)
                turned = self._seat.past
            finally:
                self._seat.past = before
            return self._chosen(form, wish, found, turned)

        return handler

    def _chosen(
        self, form: str, wish: analysis.Wish, found: Iterator[Opinion], turned: list[State]
    ) -> Iterator[str]:
        """Lines while it thinks, then the move, which is played."""
        whose = self._whose(turned[-1])
        for opinion in found:
            yield analysis.info(opinion, form, self._name, wish, whose)
        with self._seat.unless_refused():
            self._seat.past = turned
            self._seat.play(opinion.action)
        yield f"play {self._name(opinion.action)}"


def turn_to(seat: Seat, player: int) -> None:
    """Makes it that player's turn.

    Programs set up positions by many moves of one colour, and play on after two passes; our
    rules know neither. Where the other player may pass nothing is forgotten; else what was on
    the board before is.
    """
    if seat.to_play == player and not seat.over:
        return
    game = seat.game
    assert isinstance(game, Go)
    *past, last = seat.past
    if not seat.over:
        last = games.play(game, last, game.size**2)
    if over(game, last):
        last = game.parse_position(go_text.write_sgf(game.board(last), game.komi, player))
    seat.past = [*past, last]


def _spread(size: int, stones: int) -> list[tuple[int, int]]:
    """Points for free handicap stones: the usual ones, or as far apart as may be."""
    try:
        return go_text.handicap_points(size, stones)
    except ValueError:
        points = [(row, column) for row in range(size) for column in range(size)]
    low = min(2, (size - 1) // 2)
    inner = [p for p in points if all(low <= x < size - low for x in p)]
    found = [inner[0]]
    for some in (inner, points):
        while len(found) < min(stones, len(some)):
            found.append(
                max(
                    (p for p in some if p not in found),
                    key=lambda p: min((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 for q in found),
                )
            )
    return found
