"""A game in the terminal, played by a script against a run that was really trained."""

import io

import jax
import pytest

from halfmove import games
from halfmove.cli import main
from halfmove.play import terminal
from halfmove.selfplay.boards import Choice
from tests.arena.engines import fakes
from tests.runs import small


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small(tmp_path_factory.mktemp("runs") / "run")


def said(run, monkeypatch, capsys, text, *options):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    status = main(["play", str(run), "--simulations", "64", *options])
    return status, capsys.readouterr()


def test_a_game_to_its_end(run, monkeypatch, capsys):
    text = "\n".join("012345678" * 2) + "\n"  # what is taken is refused, and the next is tried
    status, out = said(run, monkeypatch, capsys, text)
    assert status == 0
    assert out.out.rstrip().splitlines()[-1] in ("You won.", "You lost.", "A draw.")
    assert "is not legal here" in out.out


def test_the_network_may_begin(run, monkeypatch, capsys):
    status, out = said(run, monkeypatch, capsys, "quit\n", "--second")
    assert status == 0
    assert out.out.count("It plays") == 1


def test_undo_hint_and_nonsense(run, monkeypatch, capsys):
    status, out = said(run, monkeypatch, capsys, "undo\n4\nundo\nhint\nfoo\n")
    assert status == 0  # the input ends: the person has left
    assert "for you); visits: " in out.out
    assert "'foo'" in out.out
    assert "nothing to take back" in out.out
    empty = games.make("tic_tac_toe")
    assert out.out.count(empty.show(empty.init(jax.random.key(0)))) == 2


def test_a_game_stands_for_plain_mcts(monkeypatch, capsys):
    status, out = said("tic_tac_toe", monkeypatch, capsys, "4\nquit\n")
    assert status == 0
    assert "tic_tac_toe against mcts@64: you play first" in out.out
    assert out.out.count("It plays") == 1


def test_an_opponent_with_a_clock_and_a_hint_in_colours(monkeypatch, capsys):
    monkeypatch.setattr("halfmove.arena.timed.MOST", 64)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO("4\nhint\nquit\n"))
    assert main(["play", "mcts@0.05s", "--game", "tic_tac_toe"]) == 0
    out = capsys.readouterr().out
    assert "against mcts@0.05s" in out
    assert "It plays" in out
    assert "\x1b[1;7;36mx" in out  # the person's own move, the last one
    assert out.count("\x1b[1;2;7;32m.") == 1  # where the hint is


def test_an_engine_that_fails_has_lost(monkeypatch, capsys, tmp_path):
    line = fakes.gtp(tmp_path / "log", "exit@genmove").strip()
    status, out = said(line, monkeypatch, capsys, "a1\n", "--game", "go size=3")
    assert status == 0
    assert "It cannot go on (crash" in out.out


def test_who_is_no_opponent(tmp_path, capsys):
    assert main(["play", str(tmp_path)]) == 1
    assert "is not a run" in capsys.readouterr().err
    assert main(["play", "2048"]) == 1
    assert "no game for two" in capsys.readouterr().err
    assert main(["play", "random", "--game", "tic_tac_toe"]) == 1
    assert "no opponent for a person" in capsys.readouterr().err


def test_what_a_planner_carries_is_kept_until_moves_are_taken_back():
    game = games.make("tic_tac_toe")
    carried, found = terminal.Carried(), []

    def search(boards, key):
        (board,) = boards
        found.append(board.memory.get(board.to_play))
        board.memory[board.to_play] = list(board.moves)
        return [Choice(int(board.legal.argmax()))]

    lines = ([4], [4, 0], [4, 0, 8], [4, 0, 8], [4, 0, 8, 1], [4, 0, 2], [4, 0, 2, 5, 6])
    for moves in lines:
        state = game.init(jax.random.key(0))
        for move in moves:
            state = games.play(game, state, move)
        terminal._searched(search, game, carried, state, moves)
    # Who moved second asks first; the other side's searches have their own. A position that is
    # looked at again, as hints do, begins as at first.
    assert found == [None, None, [4], [4], [4, 0], [4], [4, 0, 2]]
