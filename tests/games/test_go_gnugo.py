"""Go beside GNU Go over GTP: legal moves, captures, handicaps, and scores it is sure of."""

import shutil
import subprocess

import jax
import numpy as np
import pytest

from halfmove.games import make
from tests.games import go_playouts
from tests.games.go_positions import MARKS, sgf

# Debian puts games where not every PATH looks.
GNUGO = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")

pytestmark = pytest.mark.skipif(
    GNUGO is None, reason="gnugo is not installed (Debian package gnugo): Go is not compared to it"
)


class GnuGo:
    """A GNU Go process; calling it sends a command and gives the answer."""

    def __init__(self, size, komi):
        rules = ["--chinese-rules", "--forbid-suicide", "--positional-superko"]
        self.process = subprocess.Popen(
            [GNUGO, "--mode", "gtp", *rules],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self(f"boardsize {size}")
        self.clear(komi)

    def clear(self, komi):
        self("clear_board")
        self(f"komi {komi}")

    def __call__(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = []
        while line := self.process.stdout.readline().strip():
            lines.append(line)
        assert lines, f"gnugo ended at {command!r}"
        assert lines[0].startswith("="), f"{command}: {lines}"
        return " ".join(lines)[1:].split()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


@pytest.fixture
def gnugo():
    started = []

    def start(*arguments):
        started.append(GnuGo(*arguments))
        return started[-1]

    yield start
    for process in started:
        process.close()


def vertices(game, points):
    return {game.move_name(None, int(point)) for point in points}


def stones(game, engine):
    board = np.zeros(game.size**2, int)
    for colour, name in ((1, "black"), (2, "white")):
        for vertex in engine(f"list_stones {name}"):
            board[game.parse_move(None, vertex)] = colour
    return board


def same_game(game, engine, record, b):
    """Plays game `b` on both sides; returns how many moves and captures it had."""
    engine.clear(game.komi)
    captures = 0
    for t in range(record.action.shape[1]):
        colour = ("black", "white")[t % 2]
        legal = np.flatnonzero(record.legal[b, t][:-1])
        assert vertices(game, legal) == set(engine(f"all_legal {colour}")), (b, t)
        action = int(record.action[b, t])
        engine(f"play {colour} {game.move_name(None, action)}")
        if action < game.size**2:
            np.testing.assert_array_equal(stones(game, engine), record.board[b, t])
        for lost, name in zip(record.lost[b, t], ("white", "black"), strict=True):
            assert engine(f"captures {name}") == [str(lost)]
        captures = record.lost[b, t].sum()
        if record.over[b, t]:
            break
    return t + 1, captures


@pytest.mark.parametrize(("size", "games"), [(5, 30), (9, 12), (19, 1)])
def test_legal_moves_and_captures(size, games, gnugo):
    game = make("go", size=size, engine="xla")
    record = go_playouts.play(game, games, 21)
    engine = gnugo(size, game.komi)
    played = [same_game(game, engine, record, b) for b in range(games)]
    moves, captures = np.sum(played, axis=0)
    assert moves > 30 * games
    assert captures > 5 * games


def test_scores_of_settled_boards(gnugo):
    """Played out until only eyes are left; where GNU Go holds every stone alive, it must agree.

    Elsewhere it would take stones off that stand there when Tromp and Taylor count.
    """
    game = make("go", size=9, komi=0.5, engine="xla")
    record = go_playouts.play(game, 40, 22, sensible=True)
    engine, compared = gnugo(9, 0.5), 0
    for b in range(40):
        end = int(np.argmax(record.over[b]))
        if (record.action[b, end - 1 : end + 1] != 81).any():
            continue  # cut at max_moves: nothing is settled
        engine.clear(0.5)
        for point in np.flatnonzero(record.board[b, end]):
            colour = ("black", "white")[record.board[b, end, point] - 1]
            engine(f"play {colour} {game.move_name(None, int(point))}")
        if engine("final_status_list dead") or engine("final_status_list seki"):
            continue
        (score,) = engine("final_score")
        result = record.reward[b, end, 0]
        assert score.startswith("B+" if result > 0 else "W+"), (b, score)
        rows = ["".join(row) for row in MARKS[record.board[b, end].reshape(9, 9)]]
        ours = float(game.score(game.parse_position(sgf("\n".join(rows)))))
        assert ours == (1 if score[0] == "B" else -1) * float(score[2:]), b
        compared += 1
    assert compared >= 10


@pytest.mark.parametrize("size", [7, 8, 9, 13, 14, 19])
def test_handicap_stones(size, gnugo):
    engine = gnugo(size, 0.5)
    for count in range(2, 5 if size in (7, 8, 14) else 10):
        engine("clear_board")
        given = set(engine(f"fixed_handicap {count}"))
        game = make("go", size=size, handicap=count)
        board = game.board(game.init(jax.random.key(0))).ravel()
        assert vertices(game, np.flatnonzero(board)) == given
        assert set(board) == {0, 1}
