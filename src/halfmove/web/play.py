"""Play: any game with a board, against whoever can play it."""

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from halfmove.core.game import Game
from halfmove.games import records
from halfmove.train import zoo
from halfmove.web import tables
from halfmove.web.answers import member, page, said
from halfmove.web.board_view import board_of, position_of
from halfmove.web.kept import Tables, new_id
from halfmove.web.referee import Referee
from halfmove.web.rules import described, game_of, names, spots
from halfmove.web.settings import Settings
from halfmove.web.tables import PERSON, Table
from halfmove.web.upload import games_in
from halfmove.web.watch_runs import Runs
from halfmove.web.who import offered, seats

TICK = 0.3  # seconds between two words about a search that is under way


def routes(settings: Settings) -> list[BaseRoute]:
    """The page, and what it asks for."""
    runs = Runs(settings.runs)

    def players(request: Request) -> Response:
        game = game_of(request.query_params.get("game", ""))
        return JSONResponse({"players": offered(game, runs, settings)})

    def listed(request: Request) -> Response:
        networks = [{"name": name, "game": zoo.card(name).game} for name in zoo.names()]
        return JSONResponse({"games": list(map(described, names())), "networks": networks})

    changes = {"move": _move, "undo": _undo, "resign": _resign, "pause": _pause, "jump": _jump,
               "seats": _seats, "flag": _flag}  # fmt: skip
    return [
        Route("/", lambda request: page("play.html")),
        Route("/play", lambda request: page("play.html")),
        Route("/play/{id}", lambda request: page("play.html")),
        Route("/api/games", listed),
        Route("/api/players", players),
        Route("/api/tables", _new, methods=["POST"]),
        Route("/api/records", _load, methods=["POST"]),
        Route("/api/tables/{id}", _table),
        Route("/api/tables/{id}/record", _record),
        WebSocketRoute("/api/tables/{id}/live", _live),
        *(
            Route(f"/api/tables/{{id}}/{name}", functools.partial(_changed, how), methods=["POST"])
            for name, how in changes.items()
        ),
    ]


def view(table: Table, ply: int | None = None) -> dict[str, Any]:
    """A table as a page shows it, at the end or after `ply` moves."""
    ply = len(table.moves) if ply is None else ply
    if not 0 <= ply <= len(table.moves):
        raise ValueError(f"ply must be 0 to {len(table.moves)}, got {ply}")
    game, now = table.rules, time.time()
    past = spots(game, table.position, table.moves)
    spot, before = past[ply], past[ply - 1] if ply else None
    values = [
        None if note.value is None else round(note.value * (1 if at.player == 0 else -1), 4)
        for at, note in zip(past, table.notes, strict=False)
    ]
    clock = table.clock and {
        "left": tables.time_left(table, now),
        "runs": table.clock.since is not None and table.seats[past[-1].player] == PERSON,
        "base": table.clock.base,
        "increment": table.clock.increment,
    }
    return {
        "id": table.id,
        "game": table.game,
        "seats": table.seats,
        "board": board_of(game),
        "position": position_of(game, spot, before, table.moves[ply - 1] if ply else None),
        "text": game.position(spot.state),
        "ply": ply,
        "setup": table.position,
        "actions": table.moves,
        "moves": _names(game, table.position, table.moves),
        "movers": [at.player for at in past[:-1]],
        "values": values,
        "toPlay": past[-1].player,
        "over": table.over,
        "result": table.result,
        "outcome": tables.outcome(table),
        "score": tables.score(table, ply) if game.players == 1 else None,
        "clock": clock,
        "paused": table.paused,
        "version": table.version,
        "form": records.suffix(game),
    }


def _names(game: Game, position: str, moves: tuple[int, ...]) -> list[str]:
    return [_name(game, position, moves[:number]) for number in range(1, len(moves) + 1)]


@functools.lru_cache(maxsize=1 << 14)
def _name(game: Game, position: str, moves: tuple[int, ...]) -> str:
    return game.move_name(spots(game, position, moves[:-1])[-1].state, moves[-1])


# -- what the page asks for ----------------------------------------------------


async def _new(request: Request) -> Response:
    asked, state = await said(request), request.app.state

    def made() -> Table:
        game = game_of(member(asked, "game", str))
        clock = member(asked, "clock", dict, None)
        times = clock and (member(clock, "base", float), member(clock, "increment", float, 0.0))
        table = tables.new(
            asked["game"], seats(asked.get("seats"), game, state.settings), id=new_id(),
            now=time.time(), position=member(asked, "position", str, ""), clock=times,
        )  # fmt: skip
        return state.tables.put(table)

    table = await run_in_threadpool(made)
    state.referee.nudge(table.id)
    return JSONResponse(await run_in_threadpool(view, table), 201)


async def _load(request: Request) -> Response:
    data, kept = await request.body(), request.app.state.tables

    def made() -> dict[str, Any]:
        found = games_in(data)
        table = kept.put(tables.of_record(found[0], id=new_id(), now=time.time()))
        return {**view(table), "games": len(found)}

    return JSONResponse(await run_in_threadpool(made), 201)


async def _table(request: Request) -> Response:
    id, state = request.path_params["id"], request.app.state
    text = request.query_params.get("ply")
    if text is not None and not (text.isascii() and text.isdigit() and len(text) < 6):
        raise ValueError(f"ply must be a whole number, got {text!r:.80}")

    def found() -> dict[str, Any]:
        return view(state.tables.get(id), None if text is None else int(text))

    shown = await run_in_threadpool(found)
    state.referee.nudge(id)
    return JSONResponse(shown)


def _record(request: Request) -> Response:
    """The game as a file."""
    table = request.app.state.tables.get(request.path_params["id"])
    if table.rules.chance:
        raise ValueError(f"no record tells what was drawn in {table.rules.name}; copy its position")
    form = request.query_params.get("form", "")
    text = records.write(table.rules, tables.record_of(table), form)
    ending = ".jsonl" if form == "json" else records.suffix(table.rules)
    name = f"{table.rules.name}-{table.id}{ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode(), media_type="text/plain; charset=utf-8", headers=headers)


Change = Callable[[dict[str, Any], Settings, Table], Table]


async def _changed(change: Change, request: Request) -> Response:
    """One of the changes below, and the table after it."""
    asked, state = await said(request), request.app.state

    def how(table: Table) -> Table:
        late = tables.flagged(table, now=time.time())
        return late if late is not table else change(asked, state.settings, table)

    table = await state.referee.change(request.path_params["id"], how)
    return JSONResponse(await run_in_threadpool(view, table))


def _move(asked: dict[str, Any], settings: Settings, table: Table) -> Table:
    ply = member(asked, "ply", int, len(table.moves))
    if ply != len(table.moves):
        table = tables.jumped(table, ply, now=time.time())
    if not table.over and table.mover != PERSON:
        raise ValueError("it is not your turn")
    if "name" in asked:
        action = table.rules.parse_move(table.spot.state, member(asked, "name", str))
    else:
        action = member(asked, "action", int)
    return tables.moved(table, action, now=time.time())


def _undo(asked: dict[str, Any], settings: Settings, table: Table) -> Table:
    return tables.undone(table, now=time.time())


def _jump(asked: dict[str, Any], settings: Settings, table: Table) -> Table:
    return tables.jumped(table, member(asked, "ply", int), now=time.time())


def _resign(asked: dict[str, Any], settings: Settings, table: Table) -> Table:
    if PERSON not in table.seats:
        raise ValueError("nobody here can resign: no person plays")
    side = table.spot.player
    if table.seats[side] != PERSON:
        side = 1 - side
    return tables.resigned(table, side, now=time.time())


def _pause(asked: dict[str, Any], settings: Settings, table: Table) -> Table:
    return tables.paused(table, member(asked, "wait", bool), now=time.time())


def _seats(asked: dict[str, Any], settings: Settings, table: Table) -> Table:
    chosen = seats(asked.get("seats"), table.rules, settings)
    return replace(tables.seated(table, chosen, now=time.time()), paused=False)


def _flag(asked: dict[str, Any], settings: Settings, table: Table) -> Table:
    return table  # whether time is up was asked before


# -- live ------------------------------------------------------------------------


async def _live(socket: WebSocket) -> None:
    """Every change of a table, and what is being done about the next move."""
    state, id = socket.app.state, socket.path_params["id"]
    kept: Tables = state.tables
    referee: Referee = state.referee
    try:
        await run_in_threadpool(kept.get, id)
    except HTTPException:
        await socket.close(1008)
        return
    await socket.accept()
    leaving = (WebSocketDisconnect, RuntimeError, HTTPException)  # the visitor, or the table
    with referee.watching(id) as changed, contextlib.suppress(*leaving):
        referee.nudge(id)
        listening = asyncio.create_task(_gone(socket))
        try:
            await _tell(socket, id, changed, listening)
        finally:
            listening.cancel()


async def _tell(
    socket: WebSocket, id: str, changed: asyncio.Event, gone: "asyncio.Task[None]"
) -> None:
    state, version, before = socket.app.state, None, None
    while not gone.done():
        changed.clear()
        table = await run_in_threadpool(state.tables.get, id)
        if table.version != version:
            version = table.version
            shown = await run_in_threadpool(view, table)
            await socket.send_json({"type": "table", "table": shown})
        thinking = state.referee.thinking(id)
        if thinking != before:
            before = thinking
            await socket.send_json({"type": "thinking", "thinking": thinking})
        waiting = asyncio.create_task(changed.wait())
        await asyncio.wait(
            {waiting, gone}, timeout=TICK if thinking else None, return_when="FIRST_COMPLETED"
        )
        waiting.cancel()


async def _gone(socket: WebSocket) -> None:
    """Ends when the visitor has left; what they send is not read."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()
