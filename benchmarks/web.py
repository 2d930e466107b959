"""The page under load: how fast it starts and answers, whether memory stays flat.

    python -m benchmarks.web
    python -m benchmarks.web --visitors 50 --total 2000 --json out.json

`halfmove web` is a process of its own, the visitors are another (`benchmarks/web_visitors.py`).
First they play the 7x7 Hex network of the package, thinking for a moment before every move; an
action is anything that the page asks for but the search itself. Then, without thinking, they play
many short games against a network for tic-tac-toe that was trained for this, and the server's
memory is read after every part of them; what was compiled before the first part is not counted.

Start: from the command to the first page that is answered, and to the first paint in Chromium, if
Playwright is here. On a machine that does something else too, the times tell of that as well.
"""

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HALFMOVE = (sys.executable, "-m", "halfmove.cli")
PARTS = 10  # moments at which memory is read
PAINT = (
    """() => performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)[0]"""
)


@dataclass(frozen=True)
class Server:
    """`halfmove web` at work."""

    address: str
    process: int
    first_page: float  # seconds from the command to it

    @property
    def megabytes(self) -> float:
        """Its memory."""
        status = Path(f"/proc/{self.process}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found
        return int(found[1]) / 1024


@contextlib.contextmanager
def serving(runs: str | Path, *options: str) -> Iterator[Server]:
    """A server of its own for these runs."""
    command = [*HALFMOVE, "web", "--no-browser", "--port", "0", "--runs", str(runs), *options]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            said = process.stdout.readline()
            found = re.search(r"http://\S+", said)
            if not found:
                raise SystemExit(f"the server did not start: {said}")
            address = found[0].rstrip("/")
            urllib.request.urlopen(f"{address}/play", timeout=60).read()
            yield Server(address, process.pid, time.perf_counter() - began)
        finally:
            process.terminate()
            process.wait(30)


def visited(address: str, **options: Any) -> dict[str, Any]:
    """What visitors found (`web_visitors.py`)."""
    words = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "benchmarks.web_visitors", address, *words]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(found.stdout))


def small_network(runs: str | Path) -> str:
    """Trains a network for tic-tac-toe, a few seconds; gives the name of its run."""
    net = ["--net.planes=8", "--net.blocks=1", "--net.head-width=8", "--rating.every=0"]
    few = ["--iterations=2", "--selfplay.lanes=4", "--selfplay.chunk=4", "--search.simulations=2"]
    folder = os.path.join(runs, "small")
    command = [*HALFMOVE, "train", "tic_tac_toe", "--folder", folder, *net, *few]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return "small"


def paints(address: str) -> dict[str, float]:
    """Milliseconds to the first paint of every page, by the browser's own clock; {} without one."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        return {}
    if program is None:
        return {}
    found = {}
    with sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        for page in ("play", "inside", "watch", "networks", "counterexample"):
            shown = browser.new_context().new_page()  # nothing is cached
            shown.goto(f"{address}/{page}")
            shown.wait_for_function(f"({PAINT})() !== undefined")
            found[page] = round(shown.evaluate(PAINT), 1)
        browser.close()
    return found


def flat(server: Server, args: argparse.Namespace, opponent: str) -> dict[str, Any]:
    """The server's megabytes after each part of `total` games, and what the visitors found."""
    each = max(1, args.total // PARTS // args.visitors)
    options = {"visitors": args.visitors, "game": "tic_tac_toe", "opponent": opponent}
    visited(server.address, **options, games=1, think=0)  # compiles
    memory, lost, games, faults = [round(server.megabytes, 1)], 0, 0, []
    for part in range(PARTS):
        found = visited(server.address, **options, games=each, think=0, seed=part + 1)
        memory.append(round(server.megabytes, 1))
        lost, games = lost + found["lost"], games + found["games"]
        faults += found["faults"]
    return {"megabytes": memory, "games": games, "lost": lost, "faults": faults[:5]}


def table(found: dict[str, Any]) -> str:
    """The figures for people."""
    start = found["start"]
    lines = [f"start to the first page {start['first_page_s']:.1f} s"]
    if start["paint_ms"]:
        shown = ", ".join(f"{page} {x:.0f}" for page, x in start["paint_ms"].items())
        lines.append(f"first paint, ms: {shown}")
    load = found["load"]
    lines.append(
        f"{load['games']} games, {load['moves']} moves in {load['seconds']} s, lost {load['lost']}"
    )
    lines.append(
        f"{'milliseconds':14}" + "".join(f"{x:>9}" for x in ("p50", "p95", "p99", "count"))
    )
    for kind, row in load["milliseconds"].items():
        cells = "".join(f"{row[x]:9}" for x in ("p50", "p95", "p99", "count"))
        lines.append(f"{kind:14}{cells}")
    memory = found["memory"]
    shown = " ".join(f"{x:.0f}" for x in memory["megabytes"])
    lines.append(f"{memory['games']} more games, lost {memory['lost']}; megabytes: {shown}")
    return "\n".join(lines)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What the command was given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--games", type=int, default=1, help="of each visitor, of Hex")
    parser.add_argument("--think", type=float, default=1.0, help="seconds before a move")
    parser.add_argument("--opponent", default="hex7@16", help="in Hex (default: %(default)s)")
    parser.add_argument("--total", type=int, default=2000, help="short games, for memory")
    parser.add_argument("--json", help="write all figures here")
    return parser.parse_args(words)


def main() -> None:
    """Prints the figures and writes the JSON."""
    args = arguments()
    with tempfile.TemporaryDirectory() as runs:
        network = small_network(runs)
        with serving(runs) as server:
            start = {
                "first_page_s": round(server.first_page, 2),
                "paint_ms": paints(server.address),
            }
            load = {"visitors": args.visitors, "opponent": args.opponent}
            # Once before it counts: this compiles.
            visited(server.address, **load, games=1, think=0.1)
            found = visited(server.address, **load, games=args.games, think=args.think, seed=1)
            memory = flat(server, args, f"{network}@4")
    figures = {"start": start, "load": found, "memory": memory}
    print(table(figures))
    if args.json:
        busy = [round(x, 1) for x in os.getloadavg()]  # by whatever else the machine did, too
        out = {"device": platform.processor() or "CPU", "cores": os.cpu_count(), "busy": busy}
        with open(args.json, "w") as file:
            date = {"date": time.strftime("%Y-%m-%d"), "arguments": vars(args)}
            json.dump(out | date | figures, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
