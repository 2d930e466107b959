"""Chunks are let in once, in order, and only if they are what they should be."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from halfmove.cluster import wire
from halfmove.cluster.door import Chunk, Door, merged, told
from halfmove.cluster.forms import chunk_like, first_games, parts_of_lanes, sent
from tests.cluster.runs import tiny


@pytest.fixture(scope="module")
def parts():
    return parts_of_lanes(tiny(), 4)


@pytest.fixture(scope="module")
def chunks(parts):
    """Two chunks in a row of four games."""
    net_key, *keys = jax.random.split(jax.random.key(1), 4)
    variables = parts.model.init(net_key)
    lanes = parts.selfplay.begin(keys[0], variables)
    play, made = jax.jit(parts.selfplay.play), []
    for key in keys[1:]:
        lanes, steps, report = play(variables, lanes, key)
        made.append(Chunk(*map(wire.packed, (sent(parts, steps), lanes, report))))
    return made


@pytest.fixture
def door(parts):
    door = Door([2, 3], chunk_like(parts), 9)
    door.reset(5, first_games(tiny()))
    return door


def test_a_chunk_is_let_in_once(door, chunks):
    first, second = chunks
    assert door.offer(2, 5, first) == ""
    assert door.offer(2, 5, second) == ""  # another one of that number: not taken
    assert door.offer(3, 5, second) == ""
    assert door.after(2)[0] == 6
    np.testing.assert_array_equal(door.after(2)[1]["moves"], first.lanes["moves"])
    taken, left = door.take(5)
    assert not left.any()
    np.testing.assert_array_equal(taken.steps["action"][:4], first.steps["action"])
    np.testing.assert_array_equal(taken.steps["action"][4:], second.steps["action"])
    np.testing.assert_array_equal(taken.lanes["moves"][4:], second.lanes["moves"])
    with pytest.raises(KeyError):
        door.take(5)


def test_new_episodes_are_told_by_lane(door, chunks):
    door.offer(2, 5, chunks[0])
    door.offer(3, 5, replace(chunks[1], fresh=True))
    assert door.take(5)[1].tolist() == [False] * 4 + [True] * 4


def test_chunks_come_in_their_order(door, chunks):
    assert door.offer(2, 6, chunks[0]) == "chunk 6 of group 2 came before chunk 5"
    assert door.after(2)[0] == 5


def test_the_games_of_a_group_are_its_own_rows(door):
    games = first_games(tiny())
    np.testing.assert_array_equal(door.after(3)[1]["plays_on"], games["plays_on"][4:])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": lambda x: x * np.nan}, "value: 16 of 16 are no finite numbers"),
        ({"action": lambda x: x - 10}, "actions must be from 0 to 8"),
        ({"action": lambda x: x.astype(np.int64)}, "action: int64[4, 4], not int32[4, 4]"),
        ({"policy": lambda x: x[:2]}, "policy: float16[2, 4, 9]"),
        ({"policy": lambda x: -x}, "probabilities are negative"),
        ({"reward": None}, "reward: missing"),
    ],
)
def test_what_is_wrong_is_said_and_not_let_in(door, chunks, changes, said):
    steps = dict(chunks[0].steps)
    for name, change in changes.items():
        old = steps.pop(name)
        if change is not None:
            steps[name] = change(old)
    assert said in door.offer(2, 5, replace(chunks[0], steps=steps))
    assert door.after(2)[0] == 5


def test_what_is_no_chunk_is_said(door, chunks):
    assert door.offer(2, 5, [1, 2]) == "a chunk was expected, not list"
    assert "named arrays" in door.offer(2, 5, replace(chunks[0], lanes=None))
    assert "fresh must be true or false" in door.offer(2, 5, replace(chunks[0], fresh="yes"))


def test_reports_add_up(chunks):
    one, other = (chunk.report for chunk in chunks)
    both = told(merged([one, other]))
    assert both.games == one["games"] + other["games"]
    assert both.games.dtype == one["games"].dtype
    assert both.entropy == pytest.approx((one["entropy"] + other["entropy"]) / 2)
    assert both.lows.shape == (4, 8)


def test_bytes_are_those_of_the_arrays(parts, chunks):
    """Of four moves a lane: nine probabilities of two bytes, five numbers of four, a flag."""
    state = sum(x.nbytes for x in jax.tree.leaves(parts.game.init(None)))
    moves = 4 * (4 * (9 * 2 + 5 * 4 + 1))
    assert wire.size(chunks[0].steps) == moves + 4 * state  # a lane's first position only
    trees = (chunks[0].steps, chunks[0].lanes, chunks[0].report)
    assert chunks[0].bytes == sum(map(wire.size, trees))
