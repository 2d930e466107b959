"""2048 against lists of numbers in plain Python, and chance against its distribution."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from halfmove import games
from halfmove.games.twenty_forty_eight import TwentyFortyEight, _slid

GAME = TwentyFortyEight()
one_step = jax.jit(GAME.step)
BOARDS = st.lists(st.sampled_from([0, 0, 0, 2, 2, 4, 8, 8192]), min_size=16, max_size=16)


def referee_line(line):
    """A line of tiles slid towards its start, and the score."""
    left, out, score = [tile for tile in line if tile], [], 0
    while left:
        tile = left.pop(0)
        if left and left[0] == tile:
            tile += left.pop(0)
            score += tile
        out.append(tile)
    return out + [0] * (4 - len(out)), score


def referee_slide(board, name):
    """Rows of tiles after a move, before the new tile, and the score."""
    rows = [list(row) for row in zip(*board, strict=True)] if name in ("up", "down") else board
    rows = [row[::-1] for row in rows] if name in ("right", "down") else rows
    done = [referee_line(row) for row in rows]
    rows = [row[::-1] if name in ("right", "down") else row for row, _ in done]
    rows = [list(row) for row in zip(*rows, strict=True)] if name in ("up", "down") else rows
    return rows, sum(score for _, score in done)


def rows_of(board):
    tiles = [2 ** int(n) if n else 0 for n in np.asarray(board)]
    return [tiles[row : row + 4] for row in (0, 4, 8, 12)]


def test_every_line_slides_as_the_referee_says():
    lines = np.array(list(itertools.product(range(6), repeat=4)), np.int8)
    slid, gained = _slid(jnp.asarray(lines))
    for line, new, score in zip(lines.tolist(), slid.tolist(), gained.tolist(), strict=True):
        want, earned = referee_line([2**n if n else 0 for n in line])
        assert [2**n if n else 0 for n in new] == want
        assert score == earned


@jax.jit
def play_out(key, states):
    def ply(states, key):
        choose, chance = jax.random.split(key)
        legal = jax.vmap(GAME.legal)(states)
        action = jnp.argmax(jnp.where(legal, jax.random.uniform(choose, legal.shape), -1.0), axis=1)
        new = jax.vmap(GAME.step)(jax.random.split(chance, len(action)), states, action)
        return new, (states.board, legal, action, new.board, jax.vmap(GAME.reward)(new))

    return jax.lax.scan(ply, states, jax.random.split(key, 300))[1]


def test_random_games_are_those_of_the_referee():
    states = jax.vmap(GAME.init)(jax.random.split(jax.random.key(1), 100))
    shown = [np.asarray(part) for part in play_out(jax.random.key(2), states)]
    finished = 0
    for g in range(100):
        for t in range(300):
            board, legal, action, after, reward = (part[t, g] for part in shown)
            rows = rows_of(board)
            slides = [referee_slide(rows, name) for name in ("left", "up", "right", "down")]
            assert legal.tolist() == [new != rows for new, _ in slides], (g, t)
            if not legal.any():
                assert (after == board).all()
                assert reward[0] == 0
                finished += 1
                break
            want, score = slides[action]
            changed = np.array(want).ravel() != np.array(rows_of(after)).ravel()
            assert reward[0] == score
            assert changed.sum() == 1
            assert np.array(want).ravel()[changed] == 0
            assert after[changed] in (1, 2)
    assert finished > 80


def test_new_tiles_are_uniform_and_one_in_ten_is_a_four():
    state = GAME.parse_position("2,4,2,4/0,0,0,0/2,0,0,0/0,0,0,8")
    keys = jax.random.split(jax.random.key(3), 20000)
    boards = np.asarray(jax.vmap(GAME.step, (0, None, None))(keys, state, 2).board)
    base = np.array([1, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3])
    new = boards - base
    assert ((new != 0).sum(axis=1) == 1).all()
    assert not new[:, base > 0].any()
    cells, tiles = (new != 0).sum(axis=0)[base == 0], new.max(axis=1)
    assert stats.chisquare(cells).pvalue > 1e-4
    counts = [(tiles == 1).sum(), (tiles == 2).sum()]
    assert stats.chisquare(counts, [18000, 2000]).pvalue > 1e-4
    both = np.array([[(tiles[new[:, c] != 0] == v).sum() for v in (1, 2)] for c in range(16)])
    assert stats.chi2_contingency(both[base == 0]).pvalue > 1e-4


def test_games_begin_with_two_tiles_anywhere():
    boards = np.asarray(jax.vmap(GAME.init)(jax.random.split(jax.random.key(4), 8000)).board)
    assert ((boards > 0).sum(axis=1) == 2).all()
    assert boards.max() == 2
    pairs = np.array([(boards[:, a] > 0) & (boards[:, b] > 0) for a in range(16) for b in range(a)])
    assert stats.chisquare(pairs.sum(axis=1)).pvalue > 1e-4
    counts = [(boards == 1).sum(), (boards == 2).sum()]
    assert stats.chisquare(counts, [14400, 1600]).pvalue > 1e-4


VALUES = np.array([0] + [2**n for n in range(1, 18)])
all_turns = jax.jit(jax.vmap(GAME.turn, (None, 0)))


def turned_rows(rows):
    """Rows of tiles under each of the eight symmetries, by way of the observation."""
    planes = (np.array(rows)[:, :, None] == VALUES).astype(np.float32)
    return [(planes @ VALUES).tolist() for planes in np.asarray(all_turns(planes, jnp.arange(8)))]


@given(BOARDS)
@settings(max_examples=25)
def test_symmetries_commute_with_sliding(tiles):
    rows = [tiles[row : row + 4] for row in (0, 4, 8, 12)]
    maps, names = np.asarray(GAME.action_maps()), ("left", "up", "right", "down")
    for a in range(4):
        slid = turned_rows(referee_slide(rows, names[a])[0])
        for s, turned in enumerate(turned_rows(rows)):
            assert referee_slide(turned, names[maps[s, a]])[0] == slid[s]


def test_there_are_eight_symmetries():
    maps = np.asarray(GAME.action_maps())
    assert len({tuple(row) for row in maps.tolist()}) == 8
    assert maps[0].tolist() == [0, 1, 2, 3]


@given(BOARDS)
def test_round_trips(tiles):
    text = "/".join(",".join(map(str, tiles[row : row + 4])) for row in (0, 4, 8, 12))
    state = GAME.parse_position(text)
    assert GAME.position(state) == text
    assert np.ravel(rows_of(state.board)).tolist() == tiles
    assert GAME.show(state).split() == [str(tile or ".") for tile in tiles]
    for action, name in enumerate(("left", "up", "right", "down")):
        assert GAME.move_name(state, action) == name
        assert GAME.parse_move(state, name) == action
    shown = np.asarray(GAME.observe(state))
    assert shown.shape == GAME.observation_shape == (4, 4, 18)
    assert shown.sum() == 16


def test_illegal_moves_and_finished_games_change_nothing():
    stuck = GAME.parse_position("2,4,2,4/4,2,4,2/2,4,2,4/4,2,4,2")
    packed = GAME.parse_position("2,0,0,0/4,0,0,0/2,0,0,0/4,0,0,0")
    assert GAME.terminated(stuck)
    assert not GAME.legal(stuck).any()
    assert GAME.legal(packed).tolist() == [False, False, True, False]
    for state, action in ((stuck, 0), (stuck, 3), (packed, 0), (packed, 1)):
        new = one_step(jax.random.key(0), state, action)
        assert (new.board == state.board).all()
        assert GAME.reward(new).tolist() == [0]


def test_one_player_and_a_small_state():
    state = GAME.init(jax.random.key(0))
    assert GAME.players == 1
    assert GAME.chance
    assert GAME.to_play(state) == 0
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(state)) == 20


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "four rows of four tiles"),
        ("2,0,0,4/0,0,0,0/0,0,0,0", "four rows of four tiles"),
        ("2,0,0/0,0,0,0/0,0,0,0/0,0,0,0", "four rows of four tiles"),
        ("3,0,0,0/0,0,0,0/0,0,0,0/0,0,0,0", "'3' is no tile: 0 or a power of two from 2 to 131072"),
        ("1,0,0,0/0,0,0,0/0,0,0,0/0,0,0,0", "'1' is no tile"),
        ("262144,0,0,0/0,0,0,0/0,0,0,0/0,0,0,0", "'262144' is no tile"),
        ("x,0,0,0/0,0,0,0/0,0,0,0/0,0,0,0", "'x' is no tile"),
        ("131072,131072,0,0/0,0,0,0/0,0,0,0/0,0,0,0", "no game reaches more than 262140"),
    ],
)
def test_bad_positions_say_what_is_wrong(text, says):
    with pytest.raises(ValueError, match=says):
        GAME.parse_position(text)


def test_bad_moves_say_what_is_wrong():
    with pytest.raises(ValueError, match="'north' is not a move of 2048: left, up, right, down"):
        GAME.parse_move(GAME.init(jax.random.key(0)), "north")
    state = GAME.parse_position("2,0,0,0/4,0,0,0/2,0,0,0/4,0,0,0")
    with pytest.raises(ValueError, match="'left' is not legal here; legal: right"):
        games.play(GAME, state, "left")
