"""What experts teach: the judge against a solver in plain Python, and the whole table."""

import functools
import json
import sys

import jax
import numpy as np
import pytest

from benchmarks import targets
from halfmove.train.config import SearchConfig
from halfmove.train.trained import trained
from tests.runs import small

SIZE = 3
CELLS = range(SIZE * SIZE)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small(
        tmp_path_factory.mktemp("runs") / "hex",
        game=f"hex size={SIZE}", search=SearchConfig("full_gumbel", 4),
    )  # fmt: skip


def joined(mine, down):
    """Whether these cells join top and bottom, or left and right."""
    at = {(c // SIZE, c % SIZE) if down else (c % SIZE, c // SIZE) for c in mine}
    reached = {x for x in at if x[0] == 0}
    while True:
        steps = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))
        more = {(r + i, c + j) for r, c in reached for i, j in steps} & at
        if more <= reached:
            return any(r == SIZE - 1 for r, _ in reached)
        reached |= more


@functools.cache
def won(black, white, turn):
    """Whether who is to move, black (0) or white (1), wins."""
    for cell in set(CELLS) - black - white:
        sides = [black, white]
        sides[turn] = sides[turn] | {cell}
        if joined(sides[turn], turn == 0) or not won(*sides, 1 - turn):
            return True
    return False


def test_the_judge_knows_which_moves_win(run):
    judge = trained(run)
    game, draw = judge.game, np.random.default_rng(0)
    states, expected = [], []
    while len(states) < 16:
        state, sides = game.init(jax.random.key(0)), [frozenset(), frozenset()]
        for number, cell in enumerate(draw.permutation(len(CELLS))[:5]):
            turn = number % 2
            state = game.step(jax.random.key(0), state, game.parse_move(state, name(cell)))
            sides[turn] = sides[turn] | {int(cell)}
        if joined(sides[0], True) or joined(sides[1], False):
            continue
        row = np.zeros(len(CELLS), bool)
        for cell in set(CELLS) - sides[0] - sides[1]:
            mine = sides[1] | {cell}
            action = game.parse_move(state, name(cell))
            row[action] = joined(mine, False) or not won(sides[0], mine, 0)
        states.append(state)
        expected.append(row)
    stacked = jax.tree.map(lambda *x: np.stack(x), *states)
    found, legal = targets.winning(judge, stacked, simulations=64)
    np.testing.assert_array_equal(found, expected)
    assert (legal.sum(axis=1) == 4).all()
    assert 0 < found.sum() < legal.sum()


def name(cell):
    """A cell of the real board, rows from the top, as people write it."""
    return f"{'abc'[cell % SIZE]}{cell // SIZE + 1}"


def test_a_judge_of_another_board_is_named(run, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["targets", str(run)])
    with pytest.raises(SystemExit, match="plays hex size=3, and the judge hex7 plays hex size=7"):
        targets.main()


def test_the_table_tells_every_expert(run, monkeypatch, capsys, tmp_path):
    words = f"targets {run} --judge {run} --judge-simulations 16 --simulations 8 --positions 24"
    kept = tmp_path / "found.json"
    monkeypatch.setattr(sys, "argv", [*words.split(), "--moves", "4", "--json", str(kept)])
    targets.main()
    assert "of 24 positions, in which" in capsys.readouterr().out
    rows = json.loads(kept.read_text())["rows"]
    assert set(rows) == {"raw network", "mcs", "pgs", "mcts"}
    assert rows["mcs"]["gap"] == 0
    for row in rows.values():
        assert 0 < row["share"] < 1
        assert row["gap"] == pytest.approx(row["share"] - rows["mcs"]["share"], abs=1e-5)
