"""Many visitors of one server, each playing whole games as the page does: HTTP and a socket.

    python -m benchmarks.web_visitors http://127.0.0.1:8000 --visitors 50 --games 2

Needs nothing of Halfmove, so that it takes little of the machine that it measures. Prints JSON:
seconds of every kind of action (percentiles), of the searches, and what was lost.
"""

import argparse
import asyncio
import json
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PATIENCE = 120.0  # seconds for a search, which may have to be compiled
AGAIN = 1.5  # seconds before a socket that was lost is opened again, as the page does
SEARCH = "search"  # the one kind that is not an action of the page


@dataclass
class Told:
    """What the visitors found."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: list[str] = field(default_factory=list)
    games: int = 0
    moves: int = 0
    again: int = 0  # sockets that were opened again

    def summary(self) -> dict[str, Any]:
        """As JSON."""
        actions = [x for kind, some in self.seconds.items() if kind != SEARCH for x in some]
        kinds = {"all actions": actions, **self.seconds}
        return {
            "games": self.games, "moves": self.moves, "faults": self.faults[:10],
            "lost": len(self.faults), "again": self.again,
            "milliseconds": {kind: percentiles(some) for kind, some in kinds.items() if some},
        }  # fmt: skip


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Milliseconds."""
    row = sorted(seconds)
    at = {f"p{p}": round(1000 * row[min(len(row) - 1, len(row) * p // 100)], 1) for p in
          (50, 95, 99)}  # fmt: skip
    return {**at, "count": len(row), "longest": round(1000 * row[-1], 1)}


class Browser:
    """A connection that stays open, as a browser keeps it."""

    def __init__(self, address: str, told: Told) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._told = told
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, kind: str, path: str, body: Any = None) -> Any:
        """The answer to GET, or to POST with a body; `kind` is what its time is kept under."""
        sent = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n"
            f"Host: {self._host}:{self._port}\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        used = self._streams is not None
        began = time.perf_counter()
        try:
            status, headers, data = await self._answer(head.encode() + sent)
        except (ConnectionError, asyncio.IncompleteReadError):
            # A server ends connections at rest. It has not read this; a browser asks again too.
            if not used:
                raise
            self.close()
            status, headers, data = await self._answer(head.encode() + sent)
        self._told.seconds[kind].append(time.perf_counter() - began)
        if status >= 400:
            raise RuntimeError(f"{path}: {status} {data[:200].decode(errors='replace')}")
        kept = headers.get("content-type", "").startswith("application/json")
        return json.loads(data) if kept else data

    async def _answer(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(request)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(lines[0].split()[1]), headers, data

    def close(self) -> None:
        """Ends the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Live:
    """The socket of a table. A browser sends no pings, and waits as long as the server does."""

    def __init__(self, address: str, told: Told) -> None:
        self._address, self._told = address, told
        self._socket: ClientConnection | None = None

    async def hear(self) -> Any:
        """The next message."""
        while True:
            try:
                if self._socket is None:
                    self._socket = await connect(
                        self._address, max_size=None, compression=None, ping_interval=None,
                        open_timeout=PATIENCE,
                    )  # fmt: skip
                return json.loads(await asyncio.wait_for(self._socket.recv(), PATIENCE))
            except ConnectionClosed:
                self._socket = None
                self._told.again += 1
                await asyncio.sleep(AGAIN)

    async def close(self) -> None:
        """Leaves."""
        if self._socket is not None:
            await self._socket.close()


async def game(browser: Browser, address: str, args: argparse.Namespace, side: int,
               draw: random.Random, told: Told) -> None:  # fmt: skip
    """One whole game; RuntimeError if a move is lost."""
    await browser.ask("page", "/play")
    seats = ["person", args.opponent] if side == 0 else [args.opponent, "person"]
    table = await browser.ask("new game", "/api/tables", {"game": args.game, "seats": seats})
    path, socket = f"/api/tables/{table['id']}", address.replace("http", "ws", 1)
    live = Live(f"{socket}{path}/live", told)
    seen: list[str] = []
    try:
        while True:
            table = await _my_turn(live, table, side, seen, told)
            seen = table["moves"]
            if table["over"]:
                break
            await asyncio.sleep(draw.expovariate(1 / args.think) if args.think else 0)
            table = await _act(browser, path, table, draw, told)
            seen = table["moves"]
    finally:
        await live.close()
    kept = await browser.ask("reload", path)
    if kept["moves"] != seen or kept["result"] is None:
        raise RuntimeError(f"{path} has {kept['moves']}, its visitor saw {seen}")
    told.games += 1
    told.moves += len(seen)


async def _my_turn(live: Live, table: Any, side: int, seen: list[str], told: Told) -> Any:
    """The table once it is this side's turn, or the game is over."""
    began = time.perf_counter()
    waited = False
    while not (table["over"] or table["toPlay"] == side):
        waited = True
        message = await live.hear()
        if message["type"] == "thinking" and (message["thinking"] or {}).get("state") == "fault":
            raise RuntimeError(message["thinking"]["fault"])
        if message["type"] == "table" and message["table"]["version"] > table["version"]:
            table = message["table"]
    if table["moves"][: len(seen)] != seen:
        raise RuntimeError(f"{seen} became {table['moves']}")
    if waited:
        told.seconds[SEARCH].append(time.perf_counter() - began)
    return table


async def _act(browser: Browser, path: str, table: Any, draw: random.Random, told: Told) -> Any:
    """A move, and now and then what else people do."""
    moves, chance = table["moves"], draw.random()
    if chance < 0.1:
        earlier = await browser.ask("look back", f"{path}?ply={draw.randrange(len(moves) + 1)}")
        if earlier["moves"] != moves:
            raise RuntimeError(f"looking back, {moves} became {earlier['moves']}")
    elif chance < 0.15:
        await browser.ask("save", f"{path}/record?form=json")
    elif chance < 0.2 and len(moves) >= 2:
        table = await browser.ask("take back", f"{path}/undo", {})
        if table["moves"] != moves[: len(table["moves"])] or len(table["moves"]) >= len(moves):
            raise RuntimeError(f"taken back, {moves} became {table['moves']}")
        moves = table["moves"]
    move = draw.choice(table["position"]["legal"])
    after = await browser.ask("move", f"{path}/move", {"action": move["action"]})
    # The answer may be so fast that it is in already.
    if after["moves"][: len(moves) + 1] != [*moves, move["name"]]:
        raise RuntimeError(f"{moves} and {move['name']} became {after['moves']}")
    return after


async def visitor(address: str, args: argparse.Namespace, number: int, told: Told) -> None:
    """Plays its games one after another."""
    draw = random.Random(args.seed * 1000 + number)
    await asyncio.sleep(draw.uniform(0, 4 * args.think))  # they do not all come at once
    for played in range(args.games):
        browser = Browser(address, told)
        try:
            await game(browser, address, args, (number + played) % 2, draw, told)
        except Exception as error:  # one lost game must not end the others
            told.faults.append(f"{type(error).__name__}: {error}"[:300])
        finally:
            browser.close()


async def visit(address: str, args: argparse.Namespace) -> dict[str, Any]:
    """All visitors at once."""
    told, began = Told(), time.perf_counter()
    await asyncio.gather(*(visitor(address, args, i, told) for i in range(args.visitors)))
    return {**told.summary(), "seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    """Prints what they found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--games", type=int, default=1, help="of each visitor")
    parser.add_argument("--game", default="hex size=7")
    parser.add_argument("--opponent", default="hex7@16")
    parser.add_argument(
        "--think", type=float, default=0.5, help="seconds before a move, on average"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(json.dumps(asyncio.run(visit(args.address.rstrip("/"), args))))


if __name__ == "__main__":
    main()
