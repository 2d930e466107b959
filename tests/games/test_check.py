"""Broken games are caught, each by the property that is named for what is wrong with it."""

import json
import re
from pathlib import Path

import pytest

from halfmove.games import check, make
from halfmove.games.check import report
from halfmove.games.tic_tac_toe import TicTacToe
from tests.games.broken_games import MUTANTS, Drifting, ForgetsTheWinner, MaskTooWide, WrongSign

GAMES = 64


def failures(game, **options) -> dict[str, check.Finding]:
    options = {"games": GAMES, "plies": 40} | options
    return {found.name: found for found in check.check(game, **options) if not found.ok}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_game_is_caught_by_the_property_named_for_it(mutant):
    name, words = MUTANTS[mutant]
    found = failures(mutant(), only=[name])
    assert words in found[name].note
    assert found[name].run


def test_a_sound_game_keeps_every_property():
    found = list(check.check(TicTacToe(), games=GAMES, plies=40))
    assert [finding.name for finding in found] == list(check.PROPERTIES)
    assert [finding.note for finding in found if not finding.ok] == []


def test_a_failure_tells_how_to_see_it_again():
    """The moves told are legal, and the position told is the one they lead to."""
    found = failures(MaskTooWide(), only=["legal"])["legal"]
    moves = found.story[0].removeprefix("after the moves: ").split()
    # Too wide a mask shows as soon as a taken square is taken again.
    assert len(moves) == len(set(moves)) + 1
    board = ["."] * 9
    for turn, move in enumerate(moves[:-1]):
        board[int(move)] = "xo"[turn % 2]
    assert found.story[1] == "position " + "".join(board)


def test_without_types_nothing_else_is_looked_at():
    found = failures(Drifting())
    assert found["types"].run
    assert not any(finding.run for name, finding in found.items() if name != "types")
    assert set(found) == set(check.PROPERTIES)


def test_what_a_line_cannot_hold_is_declared():
    class Declared(ForgetsTheWinner):
        position_forgets = "who won"

    assert failures(Declared(), only=["positions"]) == {}


def test_a_strange_game_skips_a_property():
    assert "results" not in failures(WrongSign(), only=["results"], skip=["results"])


@pytest.mark.parametrize("option", [{"only": ["colour"]}, {"skip": ["colour"]}, {"games": 0}])
def test_bad_options_are_named(option):
    with pytest.raises(ValueError, match=r"unknown property 'colour'; there are|at least 1"):
        list(check.check(TicTacToe(), **option))


def test_the_file_keeps_the_figure_to_compare_with(tmp_path, capsys):
    file = tmp_path / "check.json"
    options = {"games": GAMES, "seed": 3, "only": ["types", "speed"], "file": str(file)}
    assert report.main(TicTacToe(), "tic_tac_toe", **options) == 0
    assert "times the figure of" not in capsys.readouterr().out
    kept = json.loads(file.read_text())
    assert kept["state_bytes"] == 11  # nine squares, a winner, a flag
    assert kept["game"] == "tic_tac_toe"
    assert [finding["ok"] for finding in kept["findings"]] == [True, True]
    kept["steps_per_second"] //= 1000
    file.write_text(json.dumps(kept))
    assert report.main(TicTacToe(), "tic_tac_toe", **options) == 0
    ratio = float(capsys.readouterr().out.partition(" times the figure")[0].split()[-1])
    assert ratio > 50
    assert report.main(TicTacToe(), "another", **options) == 0
    assert "the last figure was of tic_tac_toe" in capsys.readouterr().out
    file.write_text("[1]")
    with pytest.raises(ValueError, match="holds something else"):
        report.main(TicTacToe(), "tic_tac_toe", **options)
    assert file.read_text() == "[1]"


def test_the_game_in_the_documentation_is_sound(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "games.md"
    (code,) = re.findall(r"```python\n(\"\"\"Nim.*?)```", page.read_text(), re.DOTALL)
    (tmp_path / "documented_nim.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    game = make("documented_nim:Nim", size=21)
    # Both players see the same heap: what `side` looks for cannot be there.
    assert set(failures(game)) == {"side"}


def test_checking_a_game_does_not_need_its_registration():
    game = make("tests.games.broken_games:WrongSign")
    assert "results" in failures(game, only=["results"])
