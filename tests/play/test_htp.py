"""HTP: Hex with the rules of games/hex.py, and a solver of tiny boards that shares nothing."""

import functools
import re

import pytest

from halfmove.games.hex import Hex
from halfmove.play import htp
from halfmove.play.seat import Limits
from tests.play.minds import spoken


@pytest.fixture(autouse=True)
def one_size_of_tree(monkeypatch):
    """So that one search is compiled for all."""
    monkeypatch.setattr("halfmove.play.thinking.LEAST", 2**14)
    monkeypatch.setattr("halfmove.play.thinking.MOST", 2**14)


def talk(*lines, game=Hex(size=3)):  # noqa: B008
    text = spoken(htp.main, game, "\n".join(lines) + "\n", limits=Limits(simulations=16000))
    return text[:-2].split("\n\n")


def joined(stones, player):
    """Whether black has joined top and bottom of 3x3, or white left and right."""
    side = 1 if player == 0 else 0
    todo = [cell for cell in stones if cell[side] == 0]
    seen = set(todo)
    for column, row in todo:
        if (column, row)[side] == 2:
            return True
        for step in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)):
            near = (column + step[0], row + step[1])
            if near in stones and near not in seen:
                seen.add(near)
                todo.append(near)
    return False


@functools.cache
def wins(mine, theirs, player):
    """Whether the player to move wins, by brute force."""
    free = {(c, r) for c in range(3) for r in range(3)} - mine - theirs
    return any(
        joined(mine | {cell}, player) or not wins(theirs, mine | {cell}, 1 - player)
        for cell in free
    )


def cell(name):
    return "abc".index(name[0]), int(name[1]) - 1


@pytest.mark.parametrize("first", ["a1", "b1", "c1", "a2", "a3"])
def test_it_plays_what_wins(first):
    """After a first move that loses, white's answer must leave black lost."""
    black = frozenset([cell(first)])
    answers = talk(f"play black {first}", "reg_genmove white", "showboard")
    move = re.fullmatch(r"= ([abc][123])", answers[1])[1]
    assert cell(move) not in black
    if wins(frozenset(), black, 1):
        assert not wins(black, frozenset([cell(move)]), 0)
    assert answers[2].count("W") == 0


def test_a_game_and_its_score():
    moves = ["play b b1", "play w a1", "play b b2", "play w a2", "final_score", "play b b3"]
    answers = talk(*moves, "final_score", "play w c3", "genmove w", "undo", "final_score")
    assert answers[:4] == ["="] * 4
    assert answers[4].startswith("? cannot score")
    assert answers[5:7] == ["=", "= B+"]
    assert answers[7].startswith("? illegal move")
    assert answers[8].startswith("? illegal move")
    assert answers[9] == "="
    assert answers[10].startswith("? cannot score")


def test_black_joins_top_and_bottom():
    """Letters are columns: a1, a2, a3 is a line from top to bottom."""
    game = ["play b a1", "play w c1", "play b a2", "play w c2", "play b a3", "final_score"]
    assert talk(*game)[-1] == "= B+"
    swapped = ["play b c1", "play w a1", "play b c3", "play w b1", "play b a3"]
    assert talk(*swapped, "final_score")[-1].startswith("? cannot")


def test_turns_alternate():
    assert talk("play w a1")[0].startswith("? illegal move: it is the turn of black")
    assert talk("play b a1", "play b a2")[1].startswith("? illegal move: it is the turn of white")
    assert talk("play b a1", "play w a1")[1] == "? illegal move"
    assert talk("play b d4")[0].startswith("? syntax error")


def test_swap():
    game = Hex(size=3, swap=True)
    answers = talk("play b a3", "play w swap-pieces", "showboard", game=game)
    assert answers[:2] == ["=", "="]
    rows = answers[2].split("\n")
    assert "W" in rows[2]  # the stone is white's now, on the cell mirrored: c1
    assert talk("play b a3", "play w swap-pieces")[1].startswith("? syntax error")


def test_boards():
    assert talk("boardsize 4 4", "showboard")[1].count("\n") == 7
    assert talk("boardsize 4", "play b d4")[1] == "="
    for bad in ("boardsize 3 4", "boardsize 1 1", "boardsize 20 20", "boardsize", "boardsize x x"):
        assert talk(bad)[0].startswith("?")
