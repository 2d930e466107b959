"""Go against a referee in plain Python, known positions by hand, the contract of a game."""

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pytest

from halfmove.games import make, play
from tests.games import go_playouts
from tests.games.go_positions import MARKS, at, moves, rows_of, set_up
from tests.games.go_referee import Referee

KEY = jax.random.key(0)


def referee_of(game):
    rules = game.rules
    return Referee(game.size, rules.komi, rules.suicide, rules.max_moves)


def follow(game, record, b):
    """Game `b` of a record, move by move beside the referee; returns the referee."""
    referee = referee_of(game)
    for t in range(record.action.shape[1]):
        assert set(np.flatnonzero(record.legal[b, t])) == referee.legal(), (b, t, referee.board)
        if referee.over:
            break
        referee.play(int(record.action[b, t]))
        assert "".join(MARKS[record.board[b, t]]) == referee.board, (b, t)
        assert record.over[b, t] == referee.over
        result = referee.result()
        assert tuple(record.reward[b, t]) == (result, -result), (b, t, referee.board)
        assert tuple(record.lost[b, t]) == tuple(referee.captured.values())
    assert record.over[b, -1]
    return referee


def against_referee(count, seed=0, **options):
    game = make("go", engine="xla", **options)
    referees = []
    for chunk in range(0, count, 250):
        record = go_playouts.play(game, min(250, count), seed + chunk)
        referees += [follow(game, record, b) for b in range(min(count - chunk, 250))]
    return referees


SMALL = {"size": 5, "komi": 1.0}  # whole: draws happen


def test_random_games_on_5x5():
    referees = against_referee(500, **SMALL)
    assert len(referees) == 500
    assert sum(r.kos for r in referees) > 75
    assert sum(r.superkos for r in referees) > 5
    assert {r.result() for r in referees} == {-1, 0, 1}


@pytest.mark.parametrize("options", [
    {"size": 9, "count": 60},
    pytest.param({"size": 9, "count": 40, "suicide": True}, marks=pytest.mark.slow),
    {"size": 5, "count": 500, "suicide": True, "komi": 0.5},
    {"size": 2, "count": 250, "suicide": True, "komi": 0.0},
    pytest.param({"size": 7, "count": 30, "max_moves": 300, "history": 1}, marks=pytest.mark.slow),
    pytest.param({"size": 19, "count": 16}, marks=pytest.mark.slow),
], ids=str)  # fmt: skip
def test_random_games(options):
    against_referee(seed=1, **options)


@pytest.mark.slow
@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize("size", [5, 9, 19])
def test_two_thousand_random_games(size, suicide):
    referees = against_referee(2000, seed=2, size=size, suicide=suicide)
    assert sum(r.superkos for r in referees) > 0  # rare on big boards


# -- known positions ---------------------------------------------------------


KO = """
.XO..
XO.O.
.XO..
.....
....."""


def test_a_ko_is_not_retaken_at_once():
    game, state = set_up(KO)
    state = moves(game, state, (1, 2))
    assert rows_of(game, state)[1] == "X.XO."
    assert not game.legal(state)[at(game, 1, 1)]
    with pytest.raises(ValueError, match="not legal here; legal: D5"):
        moves(game, state, (1, 1))
    state = moves(game, state, (4, 4), (4, 0))
    assert game.legal(state)[at(game, 1, 1)]
    assert rows_of(game, moves(game, state, (1, 1)))[1] == "XO.O."


def test_a_pass_does_not_lift_a_ko():
    game, state = set_up(KO)
    state = moves(game, state, (1, 2), "pass", "pass")
    assert game.terminated(state)
    state = moves(game, set_up(KO)[1], (1, 2), "pass", (4, 4))
    assert game.legal(state)[at(game, 1, 1)]  # the board is another one now


def test_sending_two_returning_one_is_a_repeat():
    game, state = set_up("""
.X.X.
OOX..
.OX..
.OX..
.OX..""")
    state = moves(game, state, (0, 0), (0, 2))
    assert rows_of(game, state)[0] == "..OX."
    assert not game.legal(state)[at(game, 0, 1)]
    state = moves(game, state, (4, 4), (4, 0))
    assert game.legal(state)[at(game, 0, 1)]


def test_the_sixth_move_of_a_triple_ko_is_a_repeat():
    game, state = set_up("""
.XO......
XO.O.....
.XO......
.XO......
X.XO.....
.XO......
.XO......
XO.O.....
.XO......""")
    cycle = (1, 2), (4, 1), (7, 2), (1, 1), (4, 2)
    state = moves(game, state, *cycle)
    assert not game.legal(state)[at(game, 7, 1)]
    elsewhere = moves(game, state, (0, 8), (8, 8))
    assert game.legal(elsewhere)[at(game, 7, 1)]


def test_a_quiet_move_that_repeats_is_illegal():
    """The last move of a cycle takes nothing: a stone is captured, retaken and put back."""
    found = 0
    game = make("go", engine="xla", size=3, komi=0.5)
    record = go_playouts.play(game, 250, 5)
    for b in range(250):
        referee = referee_of(game)
        for t in range(record.action.shape[1]):
            if referee.over:
                break
            quiet = {
                p
                for p in range(9)
                if referee.board[p] == "."
                and any(referee.board[n] == "." for n in referee.near[p])
                and referee.board[:p] + referee.turn + referee.board[p + 1 :] in referee.seen
            }
            found += len(quiet)
            assert not record.legal[b, t, list(quiet)].any()
            referee.play(int(record.action[b, t]))
    assert found > 10


def test_snapback():
    game, state = set_up("""
..OX.
OOOX.
XXX..
.....
.....""")
    state = moves(game, state, (0, 1), (0, 0))
    assert rows_of(game, state)[:2] == ["O.OX.", "OOOX."]
    state = moves(game, state, (0, 1))
    assert rows_of(game, state)[:2] == [".X.X.", "...X."]
    assert (int(state.known.black_lost), int(state.known.white_lost)) == (1, 5)


SEKI = """
XX.OO
XXXOO
XXOOO
XXXOO
XX.OO"""


@pytest.mark.parametrize(("komi", "reward"), [(0.5, 1.0), (1.0, 0.0), (1.5, -1.0), (-3, 1.0)])
def test_shared_liberties_of_a_seki_belong_to_nobody(komi, reward):
    game, state = set_up(SEKI, komi=komi)
    assert game.score(state) == 1 - komi
    state = moves(game, state, "pass", "pass")
    assert game.terminated(state)
    np.testing.assert_array_equal(game.reward(state), [reward, -reward])
    assert not game.legal(state).any()
    word = {1.0: "black (X) won by 0.5", 0.0: "a draw", -1.0: "white (O) won by 0.5"}[reward]
    assert komi < 0 or word in game.show(state)


SUICIDE = """
.XO..
OO...
.....
....O
...O."""


def test_suicide_of_several_stones():
    game, state = set_up(SUICIDE)
    assert not game.legal(state)[0]
    game, state = set_up(SUICIDE, suicide=True)
    assert game.legal(state)[0]
    assert not game.legal(state)[24]  # of one stone: the board would be the same
    state = moves(game, state, (0, 0))
    assert rows_of(game, state) == ["..O..", "OO...", ".....", "....O", "...O."]
    assert int(state.known.black_lost) == 2


def test_suicide_may_not_repeat():
    game, state = set_up(SUICIDE.replace("X", "."), suicide=True)
    state = moves(game, state, (0, 1), "pass")
    assert not game.legal(state)[0]


def test_the_first_move_after_a_handicap_is_whites():
    game = make("go", handicap=3)
    state = game.init(KEY)
    assert game.to_play(state) == 1
    assert game.observe(state)[:, :, 1].sum() == 3
    assert game.observe(state)[:, :, 16].sum() == 0
    state = play(game, state, "e5")
    assert game.to_play(state) == 0
    assert "(O)" in game.show(state).splitlines()[5]


# -- the contract ------------------------------------------------------------


def test_illegal_actions_change_nothing():
    game = make("go", size=5, engine="xla")
    state = moves(game, game.init(KEY), (0, 0), (1, 1))
    for action in (0, 6, -1, 26, 1000, -25):
        after = game.step(KEY, state, jnp.int32(action))
        jax.tree.map(np.testing.assert_array_equal, state, after)


def test_a_finished_game_stays_and_earns_once():
    game = make("go", size=5, engine="xla")
    ended = moves(game, game.init(KEY), "pass", "pass")
    np.testing.assert_array_equal(game.reward(ended), [-1, 1])
    for action in (0, 25):
        later = game.step(KEY, ended, jnp.int32(action))
        np.testing.assert_array_equal(game.reward(later), [0, 0])
        assert game.terminated(later)
        assert not game.legal(later).any()
        np.testing.assert_array_equal(later.sets, ended.sets)


def test_the_observation_holds_the_last_boards():
    game = make("go", size=5, history=3, engine="xla")
    record = go_playouts.play(game, 4, 3)
    for b in range(4):
        state = game.init(KEY)
        boards = [np.zeros(25)] * 3
        for t in range(20):
            state = game.step(KEY, state, jnp.int32(record.action[b, t]))
            boards = [record.board[b, t], *boards]
            me = 1 + (t + 1) % 2
            planes = [boards[i] == colour for i in range(3) for colour in (me, 3 - me)]
            expected = np.stack([*planes, np.full(25, me == 1)], axis=-1).reshape(5, 5, 7)
            np.testing.assert_array_equal(game.observe(state), expected)
            if record.over[b, t]:
                break


def test_symmetries_commute():
    game = make("go", size=6, engine="xla")
    maps = jnp.asarray(game.action_maps())
    np.testing.assert_array_equal(maps[0], np.arange(37))
    assert len({tuple(row.tolist()) for row in np.asarray(maps)}) == 8
    actions = go_playouts.play(game, 1, 4).action[0]

    def run(s):
        def move(state, action):
            after = game.step(KEY, state, maps[s, action])
            return after, (game.observe(after), game.legal(after), game.reward(after))

        return jax.lax.scan(move, game.init(KEY), actions)[1]

    observations, legal, reward = jax.jit(jax.vmap(run))(jnp.arange(8))
    for s in range(8):
        turned = jax.vmap(game.turn, (0, None))(observations[0], jnp.int32(s))
        np.testing.assert_array_equal(turned, observations[s])
        np.testing.assert_array_equal(legal[0], legal[s][:, maps[s]])
        np.testing.assert_array_equal(reward[0], reward[s])


def test_action_planes():
    game = make("go", size=5)
    plane = game.action_planes(jnp.int32(7))
    assert plane.shape == (5, 5, 1)
    assert plane[1, 2, 0] == plane.sum() == 1
    assert game.action_planes(jnp.int32(25)).sum() == 0


@pytest.mark.parametrize("size", [9, 19])
def test_a_state_is_a_quarter_of_pgx(size):
    ours = jax.eval_shape(make("go", size=size).init, KEY)
    theirs = jax.eval_shape(pgx.make(f"go_{size}x{size}").init, KEY)
    ours, theirs = (
        sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(s)) for s in (ours, theirs)
    )
    assert 4 * ours <= theirs
