"""Starts the server, says where it is, and opens it."""

import os
import secrets
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path

import uvicorn
import websockets  # noqa: F401  (uvicorn would miss it only when it serves)

from halfmove.web.server import app
from halfmove.web.settings import Settings, loopback


def main(
    *,
    runs: str = "runs",
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    engines: tuple[str, ...] = (),
    browser: bool = True,
) -> int:
    """Serves until Ctrl-C. Without a token an address that others reach gets a new one."""
    if token is None and not loopback(host):
        token = secrets.token_urlsafe(16)
    with listening(host, port) as ear:
        port = ear.getsockname()[1]
        settings = Settings(Path(runs), host, port, token, engines)
        address = where(settings)
        print(f"Halfmove is at {address}\nCtrl-C ends it.", flush=True)
        server = uvicorn.Server(configured(settings))
        if browser:
            threading.Thread(target=_open, args=(server, address), daemon=True).start()
        try:
            server.run(sockets=[ear])
        except KeyboardInterrupt:
            # Python would wait for a search that is under way, and nobody wants its move.
            if any(not thread.daemon for thread in threading.enumerate()[1:]):
                sys.stdout.flush()
                os._exit(130)
            raise
    return 0


def configured(settings: Settings) -> uvicorn.Config:
    """How the pages are served; whoever is still there at the end has a moment to leave."""
    return uvicorn.Config(
        app(settings),
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=1 << 16,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=75,  # longer than a browser waits before it asks on an old connection
        ws_ping_timeout=60,  # a busy machine is no reason to lose a visitor
    )


def listening(host: str, port: int) -> socket.socket:
    """A socket on that address; OSError if somebody has it already."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ear = socket.socket(family, socket.SOCK_STREAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        ear.bind((host.strip("[]"), port))
        ear.listen(128)
    except OSError as error:
        ear.close()
        raise OSError(f"cannot serve on {host} port {port}: {error.strerror or error}") from None
    return ear


def where(settings: Settings) -> str:
    """The address to open, with its token."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{host}:{settings.port}/" + (
        f"?token={settings.token}" if settings.token else ""
    )


def _open(server: uvicorn.Server, address: str) -> None:
    """Opens the browser as soon as the page can be shown."""
    while not server.started and not server.should_exit:
        time.sleep(0.05)
    if server.started:
        webbrowser.open(address)
