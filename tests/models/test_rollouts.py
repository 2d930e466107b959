"""Random playouts, against every line of play counted in plain Python."""

import functools
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.game import Game, timestep
from halfmove.core.types import Model, pytree
from halfmove.games.connect_four import ConnectFour
from halfmove.games.tic_tac_toe import TicTacToe
from halfmove.models.rollouts import Rollouts, choose
from halfmove.search import planner

LINES = ("012", "345", "678", "036", "147", "258", "048", "246")
GAME = TicTacToe()


def key(seed=7):
    return jax.random.key(seed)


def expected(board: str) -> float:
    """The mean result of random play for the player to move, of a position as `xo.` text."""
    mover = "xo"[9 - board.count(".") & 1]
    last = "ox"["xo".index(mover)]
    if any(all(board[int(i)] == last for i in line) for line in LINES):
        return -1.0
    empty = [i for i, mark in enumerate(board) if mark == "."]
    results = [-expected(board[:i] + mover + board[i + 1 :]) for i in empty]
    return sum(results) / len(results) if results else 0.0


def states(game, positions):
    parsed = [game.parse_position(p) for p in positions]
    return jax.tree.map(lambda *x: jnp.stack(x), *parsed)


def shown(game, positions):
    return jax.jit(jax.vmap(functools.partial(timestep, game)))(states(game, positions))


# Both players to move, good and bad for the mover; the last but one is won, the last full.
POSITIONS = ["xx.oo....", "xx.o.....", ".x.oxo...", "xo.ox.xo.", "xxxoo....", "xoxxoxoxo"]


def test_the_value_is_the_mean_of_all_lines_of_play():
    model = Rollouts(GAME, playouts=4000)
    _, prediction = jax.jit(model.root)(None, key(), shown(GAME, POSITIONS))
    wanted = np.array([expected(p) for p in POSITIONS[:4]] + [0.0, 0.0])
    assert len({np.sign(w) for w in wanted}) == 3  # both perspectives are tried
    # The error of 4000 results in [-1, 1] is at most 1/63.
    np.testing.assert_allclose(prediction.value, wanted, atol=4 / 63)
    np.testing.assert_array_equal(prediction.value[4:], 0)
    legal = [[mark == "." for mark in p] for p in POSITIONS[:4]] + [[False] * 9] * 2
    np.testing.assert_array_equal(prediction.legal, legal)
    assert not np.asarray(prediction.logits).any()


def test_a_step_is_the_games_own_and_its_value_belongs_to_the_next_player():
    model = Rollouts(GAME, playouts=4000)
    step = jax.jit(model.step)
    action = jnp.array([2, 8, 0, 8, 5, 0])
    node, edge, prediction = step(None, key(), states(GAME, POSITIONS), action)
    boards = [GAME.position(jax.tree.map(lambda x, i=i: x[i], node)) for i in range(6)]
    assert boards == ["xxxoo....", "xx.o....o", "xx.oxo...", "xo.ox.xox", "xxxoo....", "xoxxoxoxo"]
    np.testing.assert_array_equal(edge.reward, [1, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(edge.discount, [0, -1, -1, 0, 0, 0])
    wanted = [0.0, expected(boards[1]), expected(boards[2]), 0.0, 0.0, 0.0]
    np.testing.assert_allclose(prediction.value, wanted, atol=4 / 63)
    ended = np.asarray(edge.discount) == 0
    np.testing.assert_array_equal(np.asarray(prediction.value)[ended], 0)
    assert not np.asarray(prediction.legal)[ended].any()
    again = step(None, key(), states(GAME, POSITIONS), action)
    np.testing.assert_array_equal(again[2].value, prediction.value)


def test_every_leaf_has_its_own_chance_and_the_key_decides():
    model = Rollouts(GAME)
    root = jax.jit(model.root)
    many = shown(GAME, ["........."] * 64)
    first, same, other = (root(None, key(s), many)[1].value for s in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert (np.asarray(first) != np.asarray(other)).any()
    assert set(np.asarray(first).tolist()) == {-1.0, 0.0, 1.0}


def test_moves_are_drawn_evenly_from_the_legal_ones():
    legal = np.zeros(30, bool)
    legal[[0, 3, 4, 11, 17, 28, 29]] = True
    words = jax.random.bits(key(), (70_000,), jnp.uint32)
    drawn = jax.jit(jax.vmap(choose, in_axes=(0, None)))(words, jnp.asarray(legal))
    counts = np.bincount(np.asarray(drawn), minlength=30)
    assert not counts[~legal].any()
    chi = ((counts[legal] - 10_000) ** 2 / 10_000).sum()
    assert chi < 22.5  # the 0.999 point of chi-square with 6 degrees of freedom


@pytree
class Walk:
    """How far a `Stair` has gone, and what the last move earned."""

    moves: jax.Array  # [] i32
    earned: jax.Array  # [] f32


@dataclass(frozen=True)
class Stair(Game):
    """Eight moves, one legal each. `order` says who makes move i, move i earns its maker 2^i."""

    name: ClassVar[str] = "stair"
    order: tuple[int, ...] = (0, 0, 1, 1, 1, 0, 1, 0)
    cut: bool = False  # whether the last move cuts the game short, instead of ending it

    actions = property(lambda self: 2)

    def init(self, key):
        return Walk(jnp.int32(0), jnp.float32(0))

    def step(self, key, state, action):
        legal = self.legal(state)[action]
        return Walk(
            state.moves + legal, jnp.where(legal, 2.0**state.moves, 0.0).astype(jnp.float32)
        )

    def legal(self, state):
        return jnp.array([False, True]) & (state.moves < len(self.order))

    def to_play(self, state):
        return jnp.asarray((*self.order, 0), jnp.int32)[state.moves]

    def reward(self, state):
        maker = jnp.asarray((0, *self.order), jnp.int32)[state.moves]
        return jnp.where(jnp.arange(2) == maker, state.earned, -state.earned)

    def terminated(self, state):
        return jnp.bool_(not self.cut) & (state.moves >= len(self.order))

    def truncated(self, state):
        return jnp.bool_(self.cut) & (state.moves >= len(self.order))

    def observe(self, state):
        return jnp.zeros((1, 1, 1)) + state.moves

    show = position = parse_position = None


def along(order, begin, end):
    """What the player to move after `begin` moves earns until `end`."""
    return sum(2.0**i if order[i] == order[begin] else -(2.0**i) for i in range(begin, end))


@pytest.mark.parametrize(("cut", "limit"), [(False, None), (True, None), (False, 3)])
def test_players_may_move_twice_and_games_may_be_cut_short(cut, limit):
    game = Stair(cut=cut)
    begin = np.arange(9)
    state = Walk(jnp.asarray(begin, jnp.int32), jnp.zeros(9))
    given = jax.vmap(functools.partial(timestep, game))(state)
    _, prediction = jax.jit(Rollouts(game, limit=limit).root)(None, key(), given)
    last = 8 if limit is None else limit
    wanted = [along(game.order, b, min(8, b + last)) for b in begin[:8]] + [0.0]
    np.testing.assert_array_equal(prediction.value, wanted)
    assert not np.asarray(prediction.legal)[8].any()


def test_a_search_on_it_finds_the_win_and_the_block():
    search = planner("alphazero", simulations=200, c_puct=2.0, dirichlet_fraction=0.0)
    # x wins with 2; o must block there; x wins with 2 or 8; the rest are over.
    given = shown(GAME, ["xx.oo....", "xx..o....", *POSITIONS[3:]])
    plan = search(key(), Rollouts(GAME), None, given)
    visits = np.asarray(plan.stats.visits)
    assert [visits[0].argmax(), visits[1].argmax()] == [2, 2]
    assert visits[2].argmax() in (2, 8)
    assert not visits[3:].any()
    # x wins with column 3; o must block there.
    four = [
        "......./......./......./o....../o....../xxx.o..",
        "......./......./......./x....../oo...../xxx.o..",
    ]
    plan = search(key(), Rollouts(ConnectFour()), None, shown(ConnectFour(), four))
    np.testing.assert_array_equal(np.argmax(plan.stats.visits, axis=1), [3, 3])


def test_it_is_a_model_that_a_program_can_be_compiled_for():
    model: Model = Rollouts(TicTacToe(), playouts=2)
    assert hash(model) == hash(Rollouts(TicTacToe(), playouts=2))
    assert model == Rollouts(TicTacToe(), playouts=2)
    for wrong in ({"playouts": 0}, {"limit": 0}):
        with pytest.raises(ValueError, match="must be at least 1, got 0"):
            Rollouts(GAME, **wrong)
