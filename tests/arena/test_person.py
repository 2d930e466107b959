"""A person in a tournament, played by lines of text and by a real terminal."""

import io
import os
import pty
import subprocess
import sys

import pytest

from halfmove import games
from halfmove.arena import tournament
from halfmove.arena.players import Person, player
from halfmove.cli import main
from halfmove.games import records
from tests.arena.engines import fakes

WORDS = ["arena", "human", "random", "--game", "tic_tac_toe", "--games", "2"]
ALL = "".join(f"{square}\n{square}\n" for square in range(9)) * 4  # the second is refused


@pytest.fixture
def played(tmp_path, monkeypatch, capsys):
    def play(text, *options):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        status = main([*WORDS, "--folder", str(tmp_path / "t"), *options])
        file = tmp_path / "t" / "games.jsonl"
        kept = records.read(file.read_text()) if file.exists() and file.stat().st_size else []
        return status, kept, capsys.readouterr().out

    return play


def test_whole_games_with_moves_that_are_refused(played):
    status, kept, out = played(ALL)
    assert status == 0
    assert [record.players for record in kept] == [("human", "random"), ("random", "human")]
    assert all(not record.reason for record in kept)
    for record, side in zip(kept, (0, 1), strict=True):
        mine = list(record.moves[2:][side::2])
        assert mine == sorted(mine)  # squares are tried in order, so what is made is in order
    assert "is not legal here; legal: " in out
    assert "human (first, against random), your move: " in out
    assert "1  " in out
    ends = ("human won.", "human lost.", "human drew.")
    assert sum(out.count(end) for end in ends) == 2


def test_who_resigns_has_lost_and_who_leaves_goes_on_later(played):
    status, kept, out = played("nonsense\nresign\n")
    assert status == 0
    assert "'nonsense' is not a move" in out
    assert "1 games are left: the same command with --folder" in out
    assert [(record.result, record.reason) for record in kept] == [((-1.0, 1.0), "resignation")]
    status, kept, _ = played("RESIGN\n")
    assert [record.result for record in kept] == [(-1.0, 1.0), (1.0, -1.0)]


def test_who_leaves_before_the_first_end_has_no_table(played):
    status, kept, out = played("")
    assert (status, kept) == (0, [])
    assert "No game was finished" in out


def test_one_table_at_a_time():
    names = ("person", "random", "perfect")
    game = games.make("tic_tac_toe")
    plan = tournament.Plan("tic_tac_toe", names, 4, ((0,), (1,)))
    seats = [player(name, game) for name in names]
    assert isinstance(seats[0], Person)
    sizes = [len(part) for part in tournament._parts(plan.fixtures(), seats, 64)]
    assert sizes == [1] * 8 + [4]


def test_games_at_once_by_the_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(tournament, "_cores", lambda: 3)
    game = games.make("go", size=3)
    names = (fakes.gtp(tmp_path / "log").strip(), "random", "mcts@2")
    plan = tournament.Plan("go size=3", names, 70, ((0,), (1,)))
    seats = [player(name, game) for name in names]

    def sizes(most):
        return [len(part) for part in tournament._parts(plan.fixtures(), seats, most)]

    with_engine = [12] * 11 + [8]  # four for each of three cores, whoever it meets
    assert sizes(None) == [*with_engine, 64, 6]
    assert sizes(35) == [34, 34, 34, 34, 4, 34, 34, 2]
    assert sizes(1) == [2] * 105


def test_nobody_to_ask(monkeypatch, capsys):
    with open(os.devnull) as nothing:
        for source, said in ((nothing, "neither a terminal nor a pipe"), (None, "no standard")):
            monkeypatch.setattr("sys.stdin", source)
            assert main(WORDS) == 1
            assert said in capsys.readouterr().err


def test_a_real_terminal_has_colours_and_ctrl_d(tmp_path):
    master, end = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "halfmove.cli", *WORDS, "--folder", str(tmp_path / "t")],
        stdin=end, stdout=end, stderr=end,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": ""},
    )  # fmt: skip
    os.close(end)
    seen = b""
    while b"your move" not in seen:
        seen += os.read(master, 4096)
    os.write(master, b"\x04")
    try:
        while block := os.read(master, 4096):
            seen += block
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert child.wait(20) == 0
    assert b"\x1b[1;36mx" in seen
    assert b"No game was finished" in seen
