"""Watch: the runs of a folder while they learn, their sample games, the networks of the package."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from halfmove.train import zoo
from halfmove.train.durable import RunError
from halfmove.web.answers import member, page, said
from halfmove.web.settings import Settings
from halfmove.web.watch_curves import Shelf
from halfmove.web.watch_games import Lookers, replayed, samples
from halfmove.web.watch_runs import Runs, inside

COMPARED = 12  # runs at once: more colours are not told apart


def routes(settings: Settings) -> list[Route]:
    """The pages, and what they ask for."""
    folder, runs, shelf, lookers = settings.runs, Runs(settings.runs), Shelf(), Lookers()
    # One network thinks at a time, and nobody else's request waits for a thread because of it.
    thinker = ThreadPoolExecutor(1, "watch")

    def listed(request: Request) -> Response:
        return JSONResponse({"runs": runs.list(), "folder": folder.name})

    async def curves(request: Request) -> Response:
        asked = member(await said(request), "runs", dict)
        if len(asked) > COMPARED:
            raise ValueError(f"at most {COMPARED} runs are compared, got {len(asked)}")

        def found() -> dict[str, Any]:
            return {name: _curves(settings, shelf, name, known) for name, known in asked.items()}

        return JSONResponse({"runs": await run_in_threadpool(found)})

    def games(request: Request) -> Response:
        return JSONResponse(samples(inside(folder, _word(request, "run"))))

    def game(request: Request) -> Response:
        return JSONResponse(replayed(inside(folder, _word(request, "run")), _word(request, "file")))

    async def opinion(request: Request) -> Response:
        run, file = inside(folder, _word(request, "run")), _word(request, "file")
        number, start = _whole(request, "checkpoint"), _whole(request, "from")
        look = partial(lookers.opinions, run, file, number, start)
        return JSONResponse(await asyncio.get_running_loop().run_in_executor(thinker, look))

    return [
        Route("/watch", lambda request: page("watch.html")),
        Route("/networks", lambda request: page("watch_networks.html")),
        Route("/api/watch/runs", listed),
        Route("/api/watch/curves", curves, methods=["POST"]),
        Route("/api/watch/games", games),
        Route("/api/watch/game", game),
        Route("/api/watch/opinion", opinion),
        Route("/api/watch/networks", _networks),
    ]


def _curves(settings: Settings, shelf: Shelf, name: str, known: Any) -> dict[str, Any]:
    """What is new of one run, or a sentence: one that is gone does not hide the others."""
    try:
        held = {}
        for table in ("metrics", "speed"):
            pair = known.get(table, ["0", 0]) if isinstance(known, dict) else None
            if not isinstance(pair, list) or len(pair) != 2:
                raise ValueError(f"{table} must be a generation and a row, got {pair!r:.80}")
            held[table] = int(str(pair[0])[:24]), int(str(pair[1])[:24])
        return shelf.curves(inside(settings.runs, name)).after(held)
    except (ValueError, RunError) as error:
        return {"error": str(error)}


def _networks(request: Request) -> Response:
    return JSONResponse({"networks": [{"name": n, **asdict(zoo.card(n))} for n in zoo.names()]})


def _word(request: Request, name: str) -> str:
    found = request.query_params.get(name)
    if found is None:
        raise ValueError(f"{name} is missing")
    return found


def _whole(request: Request, name: str) -> int:
    text = _word(request, name)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{name} must be a whole number, got {text!r:.80}")
    return int(text)
