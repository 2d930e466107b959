"""Who may ask, and how much: in front of every page and socket.

Unless a token is set, only names of this machine are answered, so that a page elsewhere whose
name was pointed at 127.0.0.1 gets nothing (DNS rebinding). Whatever changes something must come
from our own pages (Origin). A token comes once in the address, and is then kept in a cookie.
"""

import hmac
import http.cookies
import urllib.parse
from collections.abc import Iterable, MutableMapping
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from halfmove.web.answers import LARGEST, sentence
from halfmove.web.settings import Settings, loopback

COOKIE = "halfmove_token"
HEADERS = (
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; "
     b"style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)  # fmt: skip


class TooLarge(Exception):  # noqa: N818
    """A visitor sends more than is read."""


class Guard:
    """Refuses strangers and what is too large; adds the headers that browsers obey."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or socket."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        refusal = self._refusal(scope)
        if refusal is not None:
            if scope["type"] == "websocket":
                return await send({"type": "websocket.close", "code": 1008})
            return await refusal(scope, receive, send)
        if scope["type"] == "websocket":
            return await self._app(scope, receive, send)
        started = False

        async def headed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        try:
            await self._app(scope, _limited(receive), headed)
        except TooLarge:
            if not started:
                await _too_large()(scope, receive, send)
        return None

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in
                   scope["headers"]}  # fmt: skip
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length[:19]) > LARGEST:
            return _too_large()
        host = _name(headers.get("host", ""))
        if self._settings.token is None and not loopback(host):
            return sentence(403, f"this page is for its own machine; it has no name {host!r:.80}")
        origin = headers.get("origin")
        changes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if changes and origin is not None and _netloc(origin) != headers.get("host"):
            return sentence(403, f"only our own pages may ask for that, not {origin!r:.80}")
        return self._stranger(scope, headers)

    def _stranger(self, scope: Scope, headers: MutableMapping[str, str]) -> Response | None:
        """None for who has brought the token, and a page to come back to for who just did."""
        token = self._settings.token
        if token is None:
            return None
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if _same(token, [bearer, *_cookies(headers.get("cookie", ""))]):
            return None
        query = urllib.parse.parse_qsl(scope.get("query_string", b"").decode("latin-1"))
        if not _same(token, [value for name, value in query if name == "token"]):
            return sentence(401, "a token is needed: open the address that the server printed")
        if scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD"):
            return None
        rest = urllib.parse.urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + scope["path"].lstrip("/")  # never another host's address: //elsewhere
        answer = RedirectResponse(urllib.parse.quote(path) + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return answer


def _limited(receive: Receive) -> Receive:
    """The same messages; TooLarge once they are more than a visitor may send."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > LARGEST:
            raise TooLarge
        return message

    return counted


def _too_large() -> Response:
    return sentence(413, f"that is too large: at most {LARGEST >> 10} kB are read")


def _same(token: str, offered: Iterable[str]) -> bool:
    return any(hmac.compare_digest(token.encode(), given.encode()) for given in offered)


def _cookies(header: str) -> list[str]:
    try:
        found: Any = http.cookies.SimpleCookie(header)
    except http.cookies.CookieError:
        return []
    return [found[COOKIE].value] if COOKIE in found else []


def _netloc(origin: str) -> str:
    try:
        return urllib.parse.urlsplit(origin).netloc
    except ValueError:
        return ""


def _name(host: str) -> str:
    """A host without its port: `127.0.0.1:8000`, `[::1]:8000`."""
    if host.startswith("["):
        return host.partition("]")[0].removeprefix("[")
    return host.partition(":")[0]
