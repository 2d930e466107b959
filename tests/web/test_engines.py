"""GNU Go and Stockfish on the page: whole games, what happens when they are killed, and after."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import chess
import chess.engine
import pytest

from tests.web.asking import ask, until
from tests.web.networks import untrained
from tests.web.test_play_page import first_legal, first_piece, moves, press, seated, to_the_end

sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need Playwright")
expect = sync_api.expect
PATH = f"{os.environ.get('PATH', '')}:/usr/games"
NAMES = [name for name in ("gnugo", "stockfish") if shutil.which(name, path=PATH)]
GNUGO, STOCKFISH = "gtp:gnugo --level 1", "uci:stockfish nodes=200"
LINES = tuple(line for line in (GNUGO, STOCKFISH) if any(name in line for name in NAMES))

needs_gnugo = pytest.mark.skipif("gnugo" not in NAMES, reason="needs gnugo: apt-get install gnugo")
needs_stockfish = pytest.mark.skipif(
    "stockfish" not in NAMES, reason="needs stockfish: apt-get install stockfish"
)


def running(name, master):
    """The processes of that name that came of `master`, by /proc."""
    parents, found = {}, []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            number = int(entry.name)
            text = (entry / "stat").read_text()
            called, rest = text.rpartition(")")[0].partition("(")[2], text.rpartition(")")[2]
            parents[number] = int(rest.split()[1])
            if called == name and rest.split()[0] != "Z":
                found.append(number)

    def ancestors(number):
        while number in parents:
            yield number
            number = parents[number]

    return [number for number in found if master in ancestors(number)]


def gone(name, master, *, seconds=10.0, known=()):
    """Whether no process of that name is left; `known` are those of a master that has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        left = running(name, master) + [n for n in known if Path(f"/proc/{n}").exists()]
        if not left:
            return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="module")
def home(serve, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    untrained(runs / "go5", "go size=5 max_moves=12")
    return serve(runs, engines=LINES)


@needs_gnugo
def test_a_whole_game_of_go_against_gnugo(home, visit):
    page = seated(home, visit, "go size=5 max_moves=12 komi=0.5", ["person", GNUGO])
    outcome = to_the_end(page, first_legal)
    assert re.search(r"(Black|White) won", outcome)
    assert moves(page).count() >= 4
    page.click("#undo")
    expect(page.locator("#status")).to_contain_text("Your move")


@pytest.mark.slow  # two moves a second, so that they can be followed
@needs_gnugo
def test_gnugo_against_itself_a_network_and_with_a_handicap(home, visit):
    page = seated(home, visit, "go size=9 max_moves=6 handicap=3 komi=0.5", [GNUGO, GNUGO])
    expect(page.locator("#status")).to_contain_text(re.compile("won"))
    assert moves(page).count() == 6
    expect(page.locator("#moves button").first).to_have_class("side1")  # White moves first
    table = ask(home, "/api/tables", {"game": "go size=5 max_moves=12", "seats": [GNUGO, "go5@2"]})[
        1
    ]
    page = visit(f"{home}/play/{table['id']}")
    assert until(home, table["id"], lambda t: t["over"])["outcome"]
    expect(page.locator("#status")).to_contain_text("won")


@pytest.mark.slow  # compiles chess
@needs_stockfish
def test_chess_against_stockfish_and_two_of_them(home, visit):
    page = seated(home, visit, "chess max_plies=8", ["person", STOCKFISH])
    assert re.search("draw|won", to_the_end(page, first_piece))
    page = seated(home, visit, "chess max_plies=8", [STOCKFISH, STOCKFISH],
                  position="6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")  # fmt: skip
    expect(page.locator("#status")).to_contain_text("White won")
    assert moves(page).all_inner_texts() == ["d1d8"]


@needs_gnugo
def test_an_engine_that_is_killed_is_told_and_started_again(home, visit):
    page = seated(home, visit, "go size=5", ["person", GNUGO])
    press(page, 12)
    expect(moves(page)).to_have_count(2)
    for engine in running("gnugo", os.getpid()):  # while it waits
        os.kill(engine, signal.SIGKILL)
    first_legal(page)
    expect(page.locator("#status")).to_contain_text("White cannot move: gnugo was ended by SIGKILL")
    expect(page.locator("#pause")).to_have_text("Try again")
    page.click("#pause")
    expect(moves(page)).to_have_count(4)
    for engine in running("gnugo", os.getpid()):  # while it thinks, for ever
        os.kill(engine, signal.SIGSTOP)
    first_legal(page)
    expect(page.locator("#status")).to_contain_text("White thinks")
    for engine in running("gnugo", os.getpid()):
        os.kill(engine, signal.SIGKILL)
    expect(page.locator("#status")).to_contain_text("White cannot move: gnugo")
    page.click("#undo")
    expect(page.locator("#status")).to_contain_text("Your move")
    first_legal(page)
    expect(moves(page)).to_have_count(6)


@needs_gnugo
@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_no_engine_outlives_the_server(tmp_path, how):
    command = [sys.executable, "-m", "halfmove.cli", "web", "--no-browser", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--runs", str(tmp_path), "--engine", GNUGO], stdout=subprocess.PIPE, text=True
    )
    try:
        address = server.stdout.readline().split()[-1].rstrip("/")
        for _ in range(300):
            with contextlib.suppress(OSError):
                ask(address, "/")
                break
            time.sleep(0.1)
        table = ask(address, "/api/tables", {"game": "go size=5", "seats": ["person", GNUGO]})[1]
        ask(address, f"/api/tables/{table['id']}/move", {"name": "C3"})
        until(address, table["id"], lambda t: len(t["moves"]) == 2)
        engines = running("gnugo", server.pid)
        assert engines
        os.kill(engines[0], signal.SIGSTOP)  # it thinks for ever
        ask(address, f"/api/tables/{table['id']}/move", {"name": "C2"})
        time.sleep(0.5)
        server.send_signal(how)
        server.wait(15)
        assert gone("gnugo", server.pid, known=engines)
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
@needs_stockfish
def test_a_person_clicks_a_game_of_chess_to_mate_against_a_network(serve, visit, tmp_path):
    """From the first move to the last; the person asks Stockfish what to click."""
    untrained(tmp_path / "runs" / "chess", "chess")
    page = seated(serve(tmp_path / "runs"), visit, "chess", ["person", "chess@2"])
    path = shutil.which("stockfish", path=PATH)

    def click(page):
        board = chess.Board()
        for name in moves(page).all_inner_texts():
            board.push_uci(re.search(r"[a-h][1-8][a-h][1-8][qrbn]?", name)[0])
        move = adviser.play(board, chess.engine.Limit(nodes=20_000)).move
        for square in (move.from_square, move.to_square):
            press(page, square ^ 56)  # places are counted from the top
        if move.promotion:
            page.get_by_role("button", name=chess.piece_name(move.promotion).title()).click()

    with chess.engine.SimpleEngine.popen_uci(path) as adviser:
        outcome = to_the_end(page, click)
    assert "White won" in outcome
    assert moves(page).count() > 8
