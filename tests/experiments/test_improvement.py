"""The demonstration measures what it says, and says what it measured."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.types import Edge, Prediction
from halfmove.experiments import bandits, improvement, tictactoe
from halfmove.experiments.bandits import Gain
from halfmove.search import planner


class Bandit:
    """The same bandits for a tree search: one move, then nothing."""

    def root(self, params, key, timestep):
        logits, q = params
        value = jnp.sum(jax.nn.softmax(logits) * q, axis=-1)
        return jnp.arange(logits.shape[0]), Prediction(logits, value)

    def step(self, params, key, node, action):
        logits, q = params
        over = jnp.zeros(node.shape)
        return node, Edge(q[node, action], over), Prediction(logits, over)


def test_the_bandit_loop_is_the_tree_search_of_one_level():
    """The same visits and the same arm, given the same Gumbel noise."""
    logits, q = bandits.random_bandits(jax.random.key(0), 64)
    arm, visits = bandits.play(jax.random.key(5), "full_gumbel", logits, q, 32)
    again = jax.random.split(jax.random.key(5))[0]
    row = bandits.rule_of("full_gumbel", 32).noise(again, logits)[1]
    search = planner("full_gumbel", simulations=32, max_depth=1)
    search = replace(search, rule=replace(search.rule, noise=lambda _, given: (given, row)))
    plan = search(jax.random.key(1), Bandit(), (logits, q), None)
    np.testing.assert_array_equal(visits, plan.stats.visits)
    np.testing.assert_array_equal(arm, plan.action)


def test_the_papers_counterexample_by_its_exact_numbers():
    logits, q = bandits.counterexample(2048)
    found = bandits.measure(jax.random.key(2), logits, q, (2,), draws=4)
    # Arm 2 is missed only if both top places go to arms 0 and 1 (Plackett-Luce).
    caught = 1 - 0.5 * 0.3 / 0.5 - 0.3 * 0.5 / 0.7
    gumbel = bandits.gain(found["full_gumbel"][2])
    assert gumbel.mean == pytest.approx(caught - 0.2, abs=4 * gumbel.error)
    # Two draws with replacement miss it with probability 0.8 each.
    again = bandits.gain(found["gumbel_replacement"][2])
    assert again.mean == pytest.approx((1 - 0.8**2) - 0.2, abs=4 * again.error)
    assert bandits.gain(found["muzero, no noise"][2]).mean == pytest.approx(-0.2)
    assert bandits.gain(found["muzero, no noise"][2]).below


def test_a_gain_is_below_only_beyond_its_error():
    assert Gain(-0.2, 0.01).below
    assert not Gain(-0.02, 0.01).below
    assert not Gain(0.0, 0.0).below


def test_the_solver_knows_tic_tac_toe():
    assert tictactoe.solve((0,) * 9)[0] == 0
    assert len(tictactoe._reachable()) == 5478 - 958  # all positions less the finished ones
    assert tictactoe.solve((1, 1, 0, -1, -1, 0, 0, 0, 0))[1][2] == 1


def test_puzzles_have_one_right_move():
    boards, right = tictactoe.puzzles(np.random.default_rng(1), 40)
    twos = [[board[list(line)].sum() for line in tictactoe.LINES] for board in boards]
    through = [[move in line for line in tictactoe.LINES] for move in right]
    assert (boards[np.arange(80), right] == 0).all()
    for line, at in zip(twos[:40], through[:40], strict=True):
        assert any(x == 2 for x, on in zip(line, at, strict=True) if on), "no win there"
    for line in twos[40:]:
        assert 2 not in line, "a block where a win was to be had"


def test_the_model_plays_by_the_rules():
    """Random games: the model's boards, ends and results against the solver's."""
    model, rng = tictactoe.TicTacToe(), np.random.default_rng(2)
    step = jax.jit(lambda node, action: model.step(None, None, node, action))
    for _ in range(20):
        board = (0,) * 9
        while max(tictactoe.solve(board)[1]) > -2:
            move = int(rng.choice([a for a in range(9) if board[a] == 0]))
            node, edge, prediction = step(jnp.asarray([board], jnp.int8), jnp.asarray([move]))
            board = tictactoe.after(board, move)
            result, results = tictactoe.solve(board)
            over = max(results) == -2
            assert tuple(np.asarray(node[0])) == board
            assert prediction.legal[0].tolist() == [r > -2 for r in results]
            assert float(edge.discount[0]) == (0 if over else -1)
            assert float(edge.reward[0]) == (1 if over and result == -1 else 0)


def gains(**means):
    return {
        label: {n: Gain(means.get(label.split(",")[0], 0.1), 0.01) for n in bandits.BUDGETS}
        for label in bandits.SEARCHES
    }


def test_the_reading_follows_the_numbers():
    solved = {
        "full_gumbel": {2: (0.95, 0.2), 8: (1.0, 0.3)},
        "muzero": {2: (0.1, 0.1), 8: (1.0, 0.9)},
    }
    good = improvement.reading(gains(muzero=-0.2), gains(muzero=-0.2), solved)
    assert "full_gumbel is never measurably worse than its prior, as inequality 6 says" in good
    assert "muzero is worse than not searching at n = 1, 2, 4" in good
    assert "full_gumbel gains more than muzero at 7 of 7 budgets" in good
    assert "full_gumbel solves 9 of 10 wins from n = 2 and 9 of 10 blocks at no n" in good
    assert "muzero solves 9 of 10 wins from n = 8 and 9 of 10 blocks from n = 8" in good
    bad = improvement.reading(gains(full_gumbel=-0.2), gains(), solved)
    assert "contradicts inequality 6" in bad
    assert "full_gumbel gains more than muzero at 0 of 7 budgets" in bad
    assert "muzero is never measurably worse than its prior; the paper's complaint" in bad


def test_main_prints_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(improvement, "BANDITS", 64)
    monkeypatch.setattr(improvement, "PUZZLES", 24)
    monkeypatch.setattr(improvement, "SEARCHES", (2, 8))
    monkeypatch.setattr(improvement, "SHOWN", 8)
    monkeypatch.setattr(bandits, "BUDGETS", (2, 8))
    assert improvement.main(str(tmp_path / "new" / "demo"), seed=1) == 0
    printed = capsys.readouterr().out
    assert "counterexample" in printed
    assert "Reading: full_gumbel" in printed
    for name in improvement.FILES:
        assert (tmp_path / "new" / "demo" / name).stat().st_size > 500
    assert (tmp_path / "new" / "demo" / "bandits.png").read_bytes()[:4] == b"\x89PNG"


def test_bad_input_is_named(tmp_path):
    with pytest.raises(ValueError, match="seed must be"):
        improvement.main(str(tmp_path), seed=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="folder must be a directory"):
        improvement.main(str(tmp_path / "file"))
