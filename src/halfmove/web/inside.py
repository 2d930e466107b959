"""Look inside: a search of any position while it runs, and its tree node by node.

A socket is one search at a time. The page says `begin`, `stop` or `node`; it hears `state` (what
is compiled takes its time), `frame` (all figures so far), `done`, `node` and `error`.
"""

import asyncio
import contextlib
import json
import logging
import secrets
import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from halfmove.search.anytime import Look
from halfmove.train.durable import RunError
from halfmove.web.answers import BROKEN, member, page, said
from halfmove.web.board_view import board_of, position_of
from halfmove.web.desk import Ask, Desk
from halfmove.web.frames import children, frame
from halfmove.web.looking import Looking, looked
from halfmove.web.rules import game_of, spots
from halfmove.web.settings import Settings
from halfmove.web.tables import LONGEST
from halfmove.web.who import line_of, wanted

_log = logging.getLogger(__name__)

SLICE = 0.05  # seconds of search between two moments at which it can be stopped
EVERY = 0.2  # seconds between two frames
SEARCHES = 12  # at once, of all visitors: each has a tree
MOST = 300_000  # simulations for the value along a game
IDLE = 900.0  # seconds after which a socket on which nothing is said is closed


def routes(settings: Settings) -> list[BaseRoute]:
    """The page, and what it asks for."""
    return [
        Route("/inside", lambda request: page("inside.html")),
        Route("/inside/{id}", lambda request: page("inside.html")),
        Route("/api/position", _position, methods=["POST"]),
        Route("/api/values", _values, methods=["POST"]),
        WebSocketRoute("/api/inside", Sockets(settings).serve),
    ]


def _where(asked: dict[str, Any]) -> tuple[Any, str, tuple[int, ...]]:
    """The game, position and moves of a request."""
    game = game_of(member(asked, "game", str))
    moves = member(asked, "moves", list, [])
    if len(moves) > LONGEST or not all(type(move) is int for move in moves):
        raise ValueError(f"moves must be at most {LONGEST} actions, whole numbers")
    position = member(asked, "position", str, "")
    if len(position) > 10_000:
        raise ValueError("a position is one line (FEN, SFEN, …); that is too long")
    return game, position, tuple(moves)


async def _position(request: Request) -> Response:
    """The position after some moves, which need not be those of a table."""
    asked = await said(request)

    def found() -> dict[str, Any]:
        game, position, moves = _where(asked)
        past = spots(game, position, moves)
        names = [game.move_name(at.state, a) for at, a in zip(past, moves, strict=False)]
        before = past[-2] if moves else None
        return {
            "board": board_of(game),
            "position": position_of(game, past[-1], before, moves[-1] if moves else None),
            "text": game.position(past[-1].state),
            "moves": names,
        }

    return JSONResponse(await run_in_threadpool(found))


async def _values(request: Request) -> Response:
    """What a player thinks of every position of a game: all of them are one batch."""
    asked, state = await said(request), request.app.state
    game, position, moves = await run_in_threadpool(_where, asked)
    text = member(asked, "line", str)
    line = await run_in_threadpool(line_of, text, game, state.settings)
    budget = (await run_in_threadpool(wanted, text, state.settings)).budget
    if not isinstance(budget, int) or budget * len(moves) > MOST:
        raise ValueError(f"all positions together get at most {MOST} simulations; give it fewer")
    past = await run_in_threadpool(spots, game, position, moves)
    asks = [Ask(game, line, position, moves[:i]) for i, at in enumerate(past) if not at.over]
    found = await asyncio.gather(*(asyncio.wrap_future(state.desk.ask(ask)) for ask in asks))
    values: list[float | None] = []
    for at, choice in zip(past, found, strict=False):
        value = choice.note.value
        values.append(None if value is None else round(value * (1 if at.player == 0 else -1), 4))
    if past[-1].over:
        values.append(float(past[-1].reward[0]) if game.players == 2 else 0.0)
    return JSONResponse({"values": values})


class Sockets:
    """All searches that are looked at."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: list[Conversation] = []  # the oldest first

    async def serve(self, socket: WebSocket) -> None:
        """One visitor's socket; of too many, the oldest whose search is over is let go."""
        await socket.accept()
        if len(self._open) >= SEARCHES:
            idle = next((one for one in self._open if not one.busy), None)
            if idle is None:
                await _send(socket, "error", error="too many searches are looked at now; try later")
                await socket.close(1013)
                return
            self._open.remove(idle)
            await idle.leave()
        mine = Conversation(socket, self._settings)
        self._open.append(mine)
        try:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
                await mine.serve()
        finally:
            with contextlib.suppress(ValueError):  # it was let go before
                self._open.remove(mine)


class Conversation:
    """What one socket looks at."""

    def __init__(self, socket: WebSocket, settings: Settings) -> None:
        self._socket, self._settings = socket, settings
        self._desk: Desk = socket.app.state.desk
        self._looking: Looking | None = None
        self._look: Look | None = None
        self._place: tuple[str, tuple[int, ...]] = ("", ())
        self._running: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether it searches now."""
        return self._running is not None and not self._running.done()

    async def leave(self) -> None:
        """Ends it; the page still has its last frame."""
        self._looking = self._look = None
        with contextlib.suppress(RuntimeError):
            await self._socket.close(1013)

    async def serve(self) -> None:
        """Until the visitor leaves, or says nothing for long."""
        try:
            while True:
                text = await asyncio.wait_for(self._socket.receive_text(), IDLE)
                try:
                    await self._do(json.loads(text))
                except (ValueError, RunError, RecursionError) as error:
                    await _send(self._socket, "error", error=str(error))
        finally:
            await self._stop()

    async def _do(self, asked: Any) -> None:
        if not isinstance(asked, dict):
            raise ValueError("the request must be a JSON object")
        what = asked.get("type")
        if what == "begin":
            await self._stop()
            self._running = asyncio.create_task(self._run(asked))
        elif what == "stop":
            await self._stop()
            await self._tell(done=True)
        elif what == "node":
            await self._node(member(asked, "node", int))
        else:
            raise ValueError(f"type must be begin, stop or node, got {what!r:.80}")

    async def _stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running
            self._running = None

    async def _run(self, asked: dict[str, Any]) -> None:
        try:
            await self._search(asked)
        except (ValueError, RunError) as error:
            await _send(self._socket, "error", error=str(error))
        except WebSocketDisconnect:
            raise
        except Exception:
            _log.exception("a search that is looked at has failed")
            await _send(self._socket, "error", error=BROKEN)

    async def _search(self, asked: dict[str, Any]) -> None:
        noise, seed = member(asked, "noise", bool, False), member(asked, "seed", int, None)
        line = member(asked, "line", str)
        if seed is not None and not 0 <= seed < 2**31:
            raise ValueError(f"seed must be 0 to {2**31 - 1}, got {seed}")
        pace = member(asked, "pace", float, 0.0)
        if not 0 <= pace <= 100:
            raise ValueError(f"pace must be 0 (fast) to 100 model calls a second, got {pace}")

        def begin() -> Looking:
            game, position, moves = _where(asked)
            spot = spots(game, position, moves)[-1]
            what = looked(line, game, self._settings, noise=noise)
            made = Looking(what, spot, secrets.randbits(31) if seed is None else seed)
            made.go_on(0.0)  # compiles
            frame(made, made.look())
            self._place = (position, moves)
            return made

        self._looking = self._look = None
        starting = asyncio.ensure_future(self._desk.aside(begin))
        began = time.monotonic()
        while not starting.done():
            seconds = round(time.monotonic() - began, 1)
            await _send(self._socket, "state", state="compiling", seconds=seconds)
            await asyncio.wait({starting}, timeout=0.3)
        looking = self._looking = await starting
        said_at = 0.0
        while not looking.done:
            if time.monotonic() - said_at >= EVERY or pace:
                await self._tell()
                said_at = time.monotonic()
            await self._desk.run(lambda: looking.go_on(0.0 if pace else SLICE))
            if pace:
                await asyncio.sleep(1 / pace)
        await self._tell(done=True)

    async def _tell(self, *, done: bool = False) -> None:
        """Sends a frame."""
        looking = self._looking
        if looking is None:
            await _send(self._socket, "stopped")
            return

        def look() -> dict[str, Any]:
            self._look = looking.look()
            return frame(looking, self._look)

        found = await self._desk.run(look)
        await _send(self._socket, "done" if done else "frame", frame=found)

    async def _node(self, number: int) -> None:
        looking, look = self._looking, self._look
        if looking is None or look is None:
            raise ValueError("there is no search to look into: begin one")
        if self.busy:
            raise ValueError("the tree can be opened when the search is over: wait, or stop it")
        place = self._place
        found = await self._desk.aside(lambda: children(looking, look, number, *place))
        await _send(self._socket, "node", tree=found)


async def _send(socket: WebSocket, kind: str, **content: Any) -> None:
    try:
        await socket.send_json({"type": kind, **content})
    except RuntimeError:  # it was closed in the meantime
        raise WebSocketDisconnect(1006) from None
