"""Hex against a union-find referee in plain Python, and against pgx with the swap rule."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmove.games import play
from halfmove.games.hex import Hex
from tests.games.board_play import (
    assert_illegal_changes_nothing,
    assert_positions_go_on,
    assert_symmetric,
    pick,
    random_games,
    shown,
)
from tests.games.board_referees import HexReferee

SWAP_5 = Hex(size=5, swap=True)
LENGTH = 26


def real(action, player, size):
    """Row and column on the real board: white sees it transposed."""
    row, column = divmod(int(action), size)
    return (column, row) if player else (row, column)


def refereed(game, actions, said, b):
    """Follows one game; gives the winner and whether it was swapped."""
    size, swapped = game.size, False
    referee = HexReferee(size)
    seen = np.ones((2, size, size), bool)  # the empty cells, as each player sees them
    for t in range(len(actions)):
        player = t % 2
        assert not said["over"][t, b]
        assert said["to_play"][t, b] == player
        legal = said["legal"][t, b]
        assert (legal[: size * size] == seen[player].ravel()).all()
        assert not game.swap or legal[-1] == (t == 1)
        if actions[t, b] == size * size:
            swapped, ((row, column), _) = True, *referee.owner.items()
            referee = HexReferee(size)
            referee.place(column, row, 1)
            seen[:, :, :] = True
            seen[0, column, row] = seen[1, row, column] = False
        else:
            row, column = real(actions[t, b], player, size)
            referee.place(row, column, player)
            seen[0, row, column] = seen[1, column, row] = False
        if referee.winner is not None:
            assert referee.winner == player
            assert said["over"][t + 1 :, b].all()
            assert not said["legal"][t + 1 :, b].any()
            assert tuple(said["reward"][t + 1, b]) == ((1, -1), (-1, 1))[player]
            assert not said["reward"][t + 2 :, b].any()
            return player, swapped
        assert not said["reward"][t + 1, b].any()
    raise AssertionError("a full board without a winner")


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("size", range(2, 20))
def test_random_games_as_the_referee_says(size, swap):
    """2,304 games in all: the winner is found with the move that makes it."""
    game, games = Hex(size=size, swap=swap), 64
    states, actions = random_games(game, size, games, size * size + swap)
    said = shown(game, states)
    ends = [refereed(game, actions, said, b) for b in range(games)]
    assert {winner for winner, _ in ends} == {0, 1}
    if swap and size < 5:  # one of size² + 1 answers
        assert {swapped for _, swapped in ends} == {False, True}


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 9, 11, 13, 19])
def test_thousands_of_random_games(size):
    game, games = Hex(size=size, swap=True), 2000
    states, actions = random_games(game, 1, games, size * size + 1)
    said = shown(game, states)
    for b in range(games):
        refereed(game, actions, said, b)


@functools.partial(jax.jit, static_argnums=0)
def winners_of(game, orders):
    """Who wins when cells are taken in these orders [N, cells] to the last, and how often."""

    def move(states, action):
        after = jax.vmap(functools.partial(game.step, jax.random.key(0)))(states, action)
        return after, jax.vmap(game.reward)(after)

    start = jax.vmap(lambda _: game.init(jax.random.key(0)))(orders)
    return jax.lax.scan(move, start, orders.T)[1]


@pytest.mark.parametrize("size", [2, 5, 8])
def test_every_filled_board_has_one_winner(size):
    """Filled boards, half black: a referee finds one winner, the game the same one."""
    rng, cells, boards = np.random.default_rng(size), size * size, 200
    fills = np.array([rng.permutation(cells) for _ in range(boards)])
    # White names the cells it sees, so that both walk through the same real ones.
    seen = np.where(np.arange(cells) % 2, fills % size * size + fills // size, fills)
    rewards = np.asarray(winners_of(Hex(size=size), jnp.asarray(seen, jnp.int32)))
    assert (np.abs(rewards).sum(axis=(0, 2)) == 2).all()
    for b, fill in enumerate(fills):
        full = {player: HexReferee(size) for player in (0, 1)}
        for t, cell in enumerate(fill):
            full[t % 2].place(*divmod(int(cell), size), t % 2)
        found = [player for player in (0, 1) if full[player].winner == player]
        assert len(found) == 1
        assert rewards[:, b, found[0]].sum() == 1


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2 ** (n * n)))))
def test_any_colouring_joins_exactly_one_pair_of_sides(case):
    """Not only half and half: the labels that positions are read with agree with the referee."""
    size, bits = case
    game, referees = Hex(size=size), [HexReferee(size), HexReferee(size)]
    stones = [set(), set()]
    for cell in range(size * size):
        player, (row, column) = bits >> cell & 1, divmod(cell, size)
        referees[player].place(row, column, player)
        stones[player].add(column * size + row if player else cell)
    through = [game._label(own)[1] for own in stones]
    assert through == [referee.winner is not None for referee in referees]
    assert sum(through) == 1


def test_random_games_as_pgx_plays_them():
    """pgx has the swap rule, size 11, and the real board for both players."""
    game, games, length = Hex(swap=True), 128, 122
    actions = random_games(game, 5, games, length)[1].copy()
    actions[1, ::2] = 121  # half of them swapped
    states, actions = _corrected(game, actions)
    said = shown(game, states)
    env = pgx.make("hex")
    start = jax.vmap(env.init)(jax.random.split(jax.random.key(1), games))

    def move(state, action):
        after = jax.vmap(env.step)(state, action)
        return after, (after.legal_action_mask, after.terminated, after.rewards)

    white = (np.arange(length) % 2 == 1)[:, None] & (actions < 121)
    moves = np.where(white, actions % 11 * 11 + actions // 11, actions)
    run = jax.jit(functools.partial(jax.lax.scan, move))
    _, (legal, over, rewards) = run(start, jnp.asarray(moves))
    np.testing.assert_array_equal(said["over"][1:], over)
    ours = said["legal"][1:].copy()
    cells = ours[..., :121].reshape(length, games, 11, 11)
    cells[::2] = cells[::2].swapaxes(2, 3)  # after even moves white is to move
    ours[..., :121] = cells.reshape(length, games, 121)
    going = ~np.asarray(over)
    np.testing.assert_array_equal(ours[going], np.asarray(legal)[going])
    first = np.asarray(start.current_player)
    theirs = np.asarray(rewards)[:, np.arange(games), first]
    np.testing.assert_array_equal(said["reward"][1:, :, 0], theirs)


def _corrected(game, actions):
    """The same games, with the next empty cell wherever an action is not legal."""

    def move(states, action):
        legal = jax.vmap(game.legal)(states)
        ahead = (jnp.arange(game.actions) - action[:, None]) % game.actions
        action = jnp.argmin(jnp.where(legal, ahead, game.actions), axis=1).astype(jnp.int32)
        step = functools.partial(game.step, jax.random.key(0))
        return jax.vmap(step)(states, action), (states, action)

    start = jax.vmap(lambda _: game.init(jax.random.key(0)))(actions[0])
    last, (states, played) = jax.jit(functools.partial(jax.lax.scan, move))(start, actions)
    ends = jax.tree.map(lambda xs, x: jnp.concatenate([xs, x[None]]), states, last)
    return ends, np.asarray(played)


@pytest.fixture(scope="module")
def played():
    return random_games(SWAP_5, 7, 300, LENGTH)


@pytest.mark.parametrize("at", [0, 1, 2, 15, LENGTH])
def test_illegal_actions_change_nothing(played, at):
    assert_illegal_changes_nothing(SWAP_5, pick(played[0], at, slice(100)))


def test_symmetries(played):
    assert assert_symmetric(SWAP_5, *played) == 2


@pytest.mark.parametrize("at", [0, 1, 2, 9, 17, LENGTH])
def test_positions_go_on(played, at):
    states, actions = played
    some = slice(100, 150)
    assert_positions_go_on(SWAP_5, pick(states, slice(None), some), actions[:, some], at)


@pytest.mark.parametrize("size", [16, 19])
def test_positions_of_large_boards_go_on(size):
    game = Hex(size=size)
    assert_positions_go_on(game, *random_games(game, 3, 20, size * size), size * size // 2)


def test_swap_mirrors_the_stone():
    game = Hex(size=5, swap=True)
    state = play(game, play(game, game.init(jax.random.key(0)), "b4"), "swap-pieces")
    assert game.position(state) == "(;FF[4]GM[11]SZ[5]AW[d2]PL[B])"
    assert game.to_play(state) == 0
    assert not game.legal(state)[25]
    assert int(game.legal(state).sum()) == 24
    with pytest.raises(ValueError, match="swap-pieces' is not legal here"):
        play(game, state, "swap-pieces")


def test_swap_is_the_second_move_or_never():
    game = Hex(size=3, swap=True)
    state = game.init(jax.random.key(0))
    assert not game.legal(state)[9]
    state = play(game, state, "a1")
    assert game.legal(state)[9]
    assert not game.legal(play(game, state, "b2"))[9]
    without = Hex(size=3)
    assert without.actions == 9
    with pytest.raises(ValueError, match="without the swap rule"):
        without.parse_move(without.init(jax.random.key(0)), "swap-pieces")


def test_whoever_moves_sees_one_task():
    """White's first stone on a2 is as black's on b1: seen by the other, the same picture."""
    game = Hex(size=4)
    start = game.init(jax.random.key(0))
    black = play(game, start, "b1")
    both = play(game, play(game, start, "d4"), "a2")
    np.testing.assert_array_equal(np.argwhere(game.observe(black)[..., 1]), [[1, 0]])
    np.testing.assert_array_equal(np.argwhere(game.observe(both)[..., 1]), [[1, 0]])
    # b1 touches black's first side, a2 white's.
    np.testing.assert_array_equal(np.argwhere(game.observe(black)[..., 4]), [[1, 0]])
    np.testing.assert_array_equal(np.argwhere(game.observe(both)[..., 4]), [[1, 0]])
    np.testing.assert_array_equal(np.argwhere(game.observe(both)[..., 3]), [[3, 3]])


def test_planes_of_joined_stones_as_the_referee_says(played):
    """Planes 2 to 5: my stones in a chain with my top and bottom, theirs with left and right."""
    states, actions = played
    seen = np.asarray(jax.vmap(jax.vmap(SWAP_5.observe))(states))
    over = np.asarray(states.won)
    for b in range(60):
        for t in (4, 9, 14):
            if over[t, b] or (actions[:t, b] == 25).any():
                continue
            referee = HexReferee(5)
            for k in range(t):
                referee.place(*real(actions[k, b], k % 2, 5), k % 2)
            expected = np.zeros((5, 5, 4))
            for (row, column), owner in referee.owner.items():
                for end, name in enumerate(("start", "end")):
                    joined = referee.root((row, column)) == referee.root(f"{name} of {owner}")
                    cell = (column, row) if t % 2 else (row, column)
                    expected[(*cell, 2 * (owner != t % 2) + end)] = joined
            np.testing.assert_array_equal(seen[t, b, :, :, 2:6], expected)
            assert not seen[t, b, :, :, 6].any()
    assert (seen[1, :, :, :, 6] == 1).all()


@pytest.mark.parametrize("game", [Hex(size=2), Hex(size=19), SWAP_5])
def test_move_names(game):
    start = game.init(jax.random.key(0))
    for state in (start, play(game, start, "b1")):
        names = [game.move_name(state, action) for action in range(game.actions)]
        assert [game.parse_move(state, name.upper()) for name in names] == [*range(game.actions)]
        assert len(set(names)) == game.actions
    assert game.move_name(start, 1) == "b1"
    assert game.move_name(play(game, start, "b1"), 1) == "a2"


@given(st.one_of(st.text(max_size=4), st.from_regex(r"[a-z][0-9]{1,2}", fullmatch=True)))
def test_other_names_are_refused(text):
    game = Hex(size=6)
    state = game.init(jax.random.key(0))
    name = text.strip().lower()
    if len(name) == 2 and name[0] in "abcdef" and name[1] in "123456":
        assert game.move_name(state, game.parse_move(state, text)) == name
    else:
        with pytest.raises(ValueError, match=r"a1 to f6|without the swap"):
            game.parse_move(state, text)


@given(t=st.integers(0, LENGTH), b=st.integers(0, 299))
def test_positions_round_trip(played, t, b):
    state = pick(played[0], t, b)
    read = SWAP_5.parse_position(SWAP_5.position(state))
    assert SWAP_5.position(read) == SWAP_5.position(state)
    assert (read.ply, read.won) == (state.ply, state.won)
    np.testing.assert_array_equal(SWAP_5.observe(read), SWAP_5.observe(state))


def sgf(rest, size=3):
    return f"(;FF[4]GM[11]SZ[{size}]{rest})"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a position of Hex"),
        ("a1 b2", "is not a position of Hex"),
        (sgf("PL[B]")[:-1], "is not a position of Hex"),
        (sgf("AB[a1PL[W]"), "is not a position of Hex"),
        ("(;GM[1]SZ[3]PL[B])", r"needs GM\[11\]"),
        (sgf("PL[B]", 4), r"needs SZ\[3\]"),
        (sgf(""), r"needs PL\[B\] or PL\[W\]"),
        (sgf("PL[X]"), r"needs PL\[B\] or PL\[W\]"),
        (sgf("PL[B]B[a1]"), "B has no meaning"),
        (sgf("AB[d1]PL[W]"), "a1 to c3"),
        (sgf("AB[a4]PL[W]"), "a1 to c3"),
        (sgf("AB[]PL[W]"), "a1 to c3"),
        (sgf("AB[a1]AW[a1]PL[B]"), "twice"),
        (sgf("AB[a1][a1]AW[b1]PL[W]"), "twice"),
        (sgf("AB[a1]PL[B]"), "1 black and 0 white stones with black to move"),
        (sgf("AB[a1]AW[b1]PL[W]"), "1 black and 1 white stones with white to move"),
        (sgf("AB[a1][a2]PL[W]"), "2 black and 0 white"),
        (sgf("AB[a1][a2][a3]AW[b1][b2][b3]PL[B]"), "black is to move but has joined"),
        (sgf("AB[a1][a2][a3][c1][c2][c3]AW[b1][b2]PL[W]"), "6 black and 2 white"),
    ],
)
def test_malformed_positions(text, message):
    with pytest.raises(ValueError, match=message):
        Hex(size=3).parse_position(text)


def test_a_position_won_twice():
    stones = [f"[{c}{r}]" for c in "ac" for r in range(1, 5)]
    others = "[b1][b2][b3][b4][d1][d2][d3]"
    text = sgf(f"AB{''.join(stones)}AW{others}PL[W]", 4)
    with pytest.raises(ValueError, match="black has joined both sides twice"):
        Hex(size=4).parse_position(text)
    fine = text.replace("[c4]", "[d4]")  # d4 does not join: one chain wins
    assert Hex(size=4).parse_position(fine).won


def test_positions_with_the_swap_rule():
    game, without = Hex(size=3, swap=True), Hex(size=3)
    for text, ply in (("AW[b1]PL[B]", 2), ("AB[a1]AW[b1]PL[W]", 3), ("AB[a1]PL[W]", 1)):
        assert game.parse_position(sgf(text)).ply == ply
    assert game.legal(game.parse_position(sgf("AB[a1]PL[W]")))[9]
    assert not game.legal(game.parse_position(sgf("AW[a1]PL[B]")))[9]
    with pytest.raises(ValueError, match="0 black and 1 white"):
        without.parse_position(sgf("AW[b1]PL[B]"))
    with pytest.raises(ValueError, match="0 black and 0 white"):
        game.parse_position(sgf("PL[W]"))


@pytest.mark.parametrize("size", [-1, 0, 1, 20])
def test_sizes(size):
    with pytest.raises(ValueError, match=f"sizes 2 to 19, not {size}"):
        Hex(size=size)


def test_state_is_small():
    for size, item in ((11, 1), (15, 1), (19, 2)):
        state = Hex(size=size).init(jax.random.key(0))
        assert sum(leaf.nbytes for leaf in jax.tree.leaves(state)) == size * size * item + 4


def test_show():
    game = Hex(size=3)
    state = play(game, play(game, game.init(jax.random.key(0)), "b1"), "c3")
    assert game.show(state).splitlines() == [
        "   a b c",
        " 1 . B . 1",
        "  2 . . . 2",
        "   3 . . W 3",
        "      a b c",
        "black to move",
    ]


def test_action_planes():
    planes = jax.vmap(SWAP_5.action_planes)(jnp.arange(26))
    np.testing.assert_array_equal(planes.reshape(26, 25), np.eye(26, 25))
