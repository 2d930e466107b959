"""What every page needs: JSON from a visitor, and answers that are pages, JSON or sentences."""

import functools
import json
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

STATIC = Path(__file__).parent / "static"
LARGEST = 1 << 20  # bytes of what a visitor may send
BROKEN = "something went wrong on the server; its log says what"


def page(name: str) -> Response:
    """A page of the folder `static`, which is read once."""
    return HTMLResponse(_text(name), headers={"Cache-Control": "no-cache"})


@functools.cache
def _text(name: str) -> bytes:
    return (STATIC / name).read_bytes()


async def said(request: Request) -> dict[str, Any]:
    """The JSON object that a visitor sent; ValueError if it is none."""
    body = await request.body()
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the request must be JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"the request must be a JSON object, got {type(found).__name__}")
    return found


def member(asked: dict[str, Any], name: str, kind: type, default: Any = ...) -> Any:
    """An entry of a request, of that type; ValueError names it."""
    value = asked.get(name, default)
    if value is ...:
        raise ValueError(f"{name} is missing")
    if value is default:
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 1e15 else float("inf")
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
        raise ValueError(f"{name} must be {wanted.get(kind, kind.__name__)}, got {value!r:.80}")
    return value


def missing(sentence: str) -> HTTPException:
    """To be raised: 404, with a sentence."""
    return HTTPException(404, sentence)


def sentence(status: int, text: str) -> JSONResponse:
    """An error as a person reads it: `{"error": text}`."""
    return JSONResponse({"error": text}, status)


async def refused(request: Request, error: Exception) -> Response:
    """A ValueError or RunError of a handler: what was asked for cannot be done."""
    return sentence(400, str(error))


async def gone(request: Request, error: Exception) -> Response:
    """A visitor who left while they were sending: nobody reads this."""
    return sentence(400, "the request has no end")


async def http_error(request: Request, error: Exception) -> Response:
    """404 and the like."""
    assert isinstance(error, HTTPException)
    return sentence(error.status_code, error.detail)


async def broken(request: Request, error: Exception) -> Response:
    """A fault of ours: the trace is in the server's log, not on the page."""
    return sentence(500, BROKEN)
