"""Real programs at the other end of the pipe: python-chess, and GNU Go as a judge."""

import random
import re
import shutil
import subprocess
import sys

import chess
import chess.engine
import pytest

pytestmark = pytest.mark.slow  # each is a process that starts, and compiles, anew

START = """
import sys
from halfmove.play import {module}
from halfmove.play.seat import Limits
from tests.play.minds import even
from halfmove import games
limits = Limits(simulations={simulations})
sys.exit({module}.main(even, games.read({game!r}), limits=limits, seed=1))
"""


def command(module, game, simulations=16):
    text = START.format(module=module, game=game, simulations=simulations)
    return [sys.executable, "-c", text]


class Gtp:
    """A program that speaks GTP, over pipes."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        text = b""
        while not text.endswith(b"\n\n"):
            more = self.process.stdout.readline()
            assert more, f"it ended after {line!r}"
            text += more.replace(b"\r", b"")
        return text.decode().strip()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()


@pytest.fixture
def gnugo():
    path = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
    if path is None:
        pytest.skip("GNU Go is not installed (Debian: apt-get install gnugo)")
    options = "--chinese-rules --positional-superko --capture-all-dead --never-resign --level 0"
    with Gtp([path, "--mode", "gtp", *options.split()]) as program:
        yield program


def stones(program, colour):
    return set(program.ask(f"list_stones {colour}")[2:].split())


def test_games_with_gnugo(gnugo):
    """Two whole games: each accepts all moves of the other, and both count the same."""
    with Gtp(command("gtp_go", "go size=7 komi=3.5", 60)) as ours:
        for seed in (1, 2):
            for program in (ours, gnugo):
                for line in ("boardsize 7", "clear_board", "komi 3.5"):
                    assert program.ask(line).startswith("=")
            gnugo.ask(f"set_random_seed {seed}")
            passes, colour = 0, seed % 2
            for _ in range(90):
                mover, other = (ours, gnugo) if colour else (gnugo, ours)
                name = "bw"[colour]
                move = mover.ask(f"genmove {name}")
                assert move.startswith("= ")
                assert other.ask(f"play {name} {move[2:]}") == "=", move
                passes = passes + 1 if move[2:].lower() == "pass" else 0
                if passes == 2:
                    break
                colour = 1 - colour
            alive = set(re.findall(r"[A-G][1-7]", ours.ask("final_status_list alive")))
            assert alive == stones(gnugo, "black") | stones(gnugo, "white")
    assert ours.process.returncode == 0


def test_random_moves_are_legal_for_both(gnugo):
    """A random game: what one refuses the other refuses, superko and suicide included."""
    rng = random.Random(0)
    points = [f"{column}{row}" for column in "ABCDE" for row in range(1, 6)]
    refused = 0
    with Gtp(command("gtp_go", "go size=5 komi=0.5")) as ours:
        for program in (ours, gnugo):
            for line in ("boardsize 5", "clear_board", "komi 0.5"):
                assert program.ask(line).startswith("=")
        for number in range(160):
            line = f"play {'bw'[number % 2]} {rng.choice(points)}"
            mine, theirs = ours.ask(line), gnugo.ask(line)
            assert mine[0] == theirs[0], (number, line, mine, theirs)
            if mine[0] == "?":
                refused += 1
                line = f"play {'bw'[number % 2]} pass"
                assert ours.ask(line)[0] == gnugo.ask(line)[0] == "="
        alive = set(re.findall(r"[A-E][1-5]", ours.ask("final_status_list alive")))
        assert alive == stones(gnugo, "black") | stones(gnugo, "white")
    assert refused > 10


def test_python_chess_plays_a_game():
    board = chess.Board()
    with chess.engine.SimpleEngine.popen_uci(command("uci", "chess"), timeout=300) as engine:
        assert engine.id["name"].startswith("Halfmove")
        engine.configure({"Simulations": 100, "Hash": 64})
        rng = random.Random(0)
        for _ in range(6):
            found = engine.play(board, chess.engine.Limit(nodes=12), info=chess.engine.INFO_ALL)
            assert found.move in board.legal_moves
            assert found.info["nodes"] == 12
            board.push(found.move)
            board.push(rng.choice(list(board.legal_moves)))
        timed = chess.engine.Limit(white_clock=2, black_clock=2, white_inc=0.1, black_inc=0.1)
        assert engine.play(board, timed).move in board.legal_moves
        assert engine.play(board, chess.engine.Limit(time=0.2)).move in board.legal_moves

        mate = chess.Board("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")
        several = engine.analyse(mate, chess.engine.Limit(nodes=150), multipv=3)
        assert len(several) == 3
        assert several[0]["pv"][0] == chess.Move.from_uci("a1a8")
        assert several[0]["score"].white() == chess.engine.Mate(1)

        with engine.analysis(board) as analysis:  # infinite, until it is told to stop
            for info in analysis:
                if info.get("nodes", 0) > 20:
                    break
        assert analysis.wait().move in board.legal_moves
        # Pondering: a move to think about, hit or missed, and the game goes on.
        found = engine.play(board, chess.engine.Limit(time=0.2), ponder=True)
        board.push(found.move)
        if found.ponder is not None:
            board.push(found.ponder)
            assert engine.play(board, chess.engine.Limit(time=0.2)).move in board.legal_moves
        engine.quit()
        assert engine.protocol.returncode.result() == 0


@pytest.mark.parametrize(
    ("module", "game"), [("gtp_go", "go size=5"), ("htp", "hex size=3"), ("uci", "gardner_chess")]
)
def test_rubbish_and_the_end(module, game):
    rng = random.Random(1)
    text = b"go infinite\nlz-analyze\n" + rng.randbytes(200_000) + b"\n" + b"x" * 3_000_000
    done = subprocess.run(
        command(module, game), input=text, capture_output=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert b"Traceback" not in done.stderr
