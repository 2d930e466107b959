"""The web server: the pages of this folder behind one guard.

A file of this folder adds its pages by a function `routes(settings)`. What the pages share is
in `request.app.state`: `settings`, `tables` (games under way) and `desk` (who searches).
"""

import asyncio
import importlib
import logging
import pkgutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

import halfmove.web
from halfmove.train.durable import RunError
from halfmove.web import answers
from halfmove.web.desk import Desk
from halfmove.web.guard import Guard
from halfmove.web.kept import Tables
from halfmove.web.referee import Referee
from halfmove.web.settings import Settings

FLUSH = 1.0  # seconds between two looks at what is to be written
EXPIRE = 600  # looks between two at what has expired
_log = logging.getLogger(__name__)


def app(settings: Settings) -> Starlette:
    """All pages; `uvicorn.run(app(settings))` serves them."""
    found: list[BaseRoute] = [Mount("/static", StaticFiles(directory=answers.STATIC))]
    for module in pkgutil.iter_modules(halfmove.web.__path__):
        pages = importlib.import_module(f"{halfmove.web.__name__}.{module.name}")
        if hasattr(pages, "routes"):
            found += pages.routes(settings)

    @asynccontextmanager
    async def lifespan(made: Starlette) -> AsyncIterator[None]:
        state = made.state
        state.tables = Tables(settings.kept, idle=settings.idle)
        state.desk = Desk()
        state.referee = Referee(state.tables, state.desk, settings)
        keeping = asyncio.create_task(_keep(state.tables))
        try:
            yield
        finally:
            keeping.cancel()
            state.desk.close()
            state.tables.flush()

    made = Starlette(
        routes=found,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={
            ValueError: answers.refused,
            RunError: answers.refused,
            ClientDisconnect: answers.gone,
            HTTPException: answers.http_error,
            Exception: answers.broken,
        },
        lifespan=lifespan,
    )
    made.state.settings = settings
    return made


async def _keep(tables: Tables) -> None:
    """Writes down what changes, and forgets what nobody looks at any more."""
    turn = 0
    while True:
        try:
            await run_in_threadpool(tables.flush)
            if turn % EXPIRE == 0:
                await run_in_threadpool(tables.expire)
        except OSError as error:  # a full disk: games go on in memory
            _log.warning("games cannot be written to %s: %s", tables.folder, error)
        turn += 1
        await asyncio.sleep(FLUSH)
