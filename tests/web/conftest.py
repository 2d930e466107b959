"""A live server on a free loopback port, and pages of it in a real browser."""

import contextlib
import shutil
import threading
import time
from pathlib import Path

import pytest
import uvicorn

from halfmove.web.command import listening
from halfmove.web.server import app
from halfmove.web.settings import Settings

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Inside a container there is neither a sandbox nor much shared memory.
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def program():
    """The browser's program; None: there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextlib.contextmanager
def serving(runs: Path, **settings):
    """The address of a server that shows `runs`, in a thread of this process."""
    with listening("127.0.0.1", 0) as ear:
        port = ear.getsockname()[1]
        made = app(Settings(runs=Path(runs), port=port, **settings))
        config = uvicorn.Config(made, log_level="warning", ws="websockets-sansio")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [ear]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.started, "the server did not start"
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(20)
            # A page that still holds a socket must not hold the tests.
            server.force_exit = True
            thread.join(5)


@pytest.fixture(scope="module")
def serve():
    """`serve(runs, **settings)` gives the address of a server, which ends with the test file."""
    with contextlib.ExitStack() as servers:
        yield lambda runs, **settings: servers.enter_context(serving(runs, **settings))


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window; skips where it is not installed."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="browser tests need Playwright: pip install playwright"
    )
    if program() is None:
        pytest.skip("browser tests need Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=program(), args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture
def visit(browser):
    """`visit(address, width=1280)` gives a page; an error of its scripts fails the test."""
    faults, contexts = [], []

    def opened(address, *, width=1280, height=900, dark=False, touch=False):
        scheme = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            has_touch=touch,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults, faults
