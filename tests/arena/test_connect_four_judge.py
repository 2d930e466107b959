"""The judge of connect four (benchmarks/connect_four.c) against a search in plain Python."""

import functools
import random
import shutil

import pytest

from benchmarks.connect_four import columns, judged
from halfmove.games.records import Record

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler, cc")

WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))
CELLS = {(column, row) for column in range(7) for row in range(6)}
FOURS = [
    line
    for column, row in sorted(CELLS)
    for right, up in WAYS
    if (line := frozenset((column + i * right, row + i * up) for i in range(4))) <= CELLS
]


def four(discs):
    return any(line <= discs for line in FOURS)


def cells(mine, theirs):
    """Where a disc would come to lie, for each column that has room."""
    heights = [sum((c, r) in mine or (c, r) in theirs for r in range(6)) for c in range(7)]
    return [(column, height) for column, height in enumerate(heights) if height < 6]


def made(mine, theirs, cell):
    """What a move is worth by best play: 1, 0 or -1."""
    discs = mine | {cell}
    return 1 if four(discs) else -best(theirs, discs)


@functools.cache
def best(mine, theirs):
    return max((made(mine, theirs, cell) for cell in cells(mine, theirs)), default=0)


def letter(mine, theirs, cell):
    if made(mine, theirs, cell) == 1:
        return "w"
    return "x" if best(mine, theirs) == 1 else "-"


def random_game(rng):
    """Its columns, and before every move (mine, theirs, the cell)."""
    mine, theirs, along = frozenset(), frozenset(), []
    while not four(theirs) and len(along) < 42:
        cell = rng.choice(cells(mine, theirs))
        along.append((mine, theirs, cell))
        mine, theirs = theirs, mine | {cell}
    return "".join(str(column + 1) for _, _, (column, _) in along), along


def test_late_moves_are_judged_as_plain_python_does():
    rng, late = random.Random(0), 31
    games = [game for game in (random_game(rng) for _ in range(700)) if len(game[0]) > late + 2]
    assert len(games) > 40
    for side in (0, 1):
        words = judged([(side, columns) for columns, _ in games], skip=late, processes=2, table=16)
        for word, (_, along) in zip(words, games, strict=True):
            for i, position in enumerate(along):
                here = i >= late and i % 2 == side
                assert word[i] == (letter(*position) if here else ".")
        assert set("".join(words)) == set(".wx-")


def test_a_record_is_a_line_of_columns():
    record = Record("connect_four", ("a", "b"), (0, 1, 0, 1, 0, 1, 0), (1.0, -1.0))
    assert columns(record) == "1212121"
    assert judged([(0, columns(record))], skip=6) == ["......w"]


def test_what_is_no_game_is_not_judged():
    bad = ["44444444", "8", "4x", "12121211", "1" * 43]
    assert judged([*((0, moves) for moves in bad), (0, "1212121")], skip=6) == ["?"] * 5 + [
        "......w"
    ]
