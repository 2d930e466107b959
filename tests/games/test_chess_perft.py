"""Chess against the published perft counts, and the hash of its positions."""

import functools

import chess
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.games.chess import Chess

KEY = jax.random.key(0)
START = chess.STARTING_FEN
# Nearly all the time is spent in two functions, which are worth a full compilation.
fast = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 3})


def copies(state, count: int):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), state)


# chessprogramming.org, "Perft Results"
PERFT = {
    "start": (START, [20, 400, 8902, 197281, 4865609]),
    "kiwipete": (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        [48, 2039, 97862, 4085603],
    ),
    "three": ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", [14, 191, 2812, 43238, 674624]),
    "four": (
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        [6, 264, 9467, 422333],
    ),
    "five": (
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        [44, 1486, 62379, 2103487],
    ),
    "six": (
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        [46, 2079, 89890, 3894594],
    ),
}
CHUNK = 1024
SHORT = Chess(history=1)


@fast
def expand(states, parents, actions):
    """The states after some moves, and their masks."""
    chosen = jax.tree.map(lambda x: x[parents], states)
    after = jax.vmap(SHORT.step, in_axes=(None, 0, 0))(KEY, chosen, actions)
    return after, jax.vmap(SHORT.legal)(after)


@fast
def counted(states, parents, actions):
    """[n] i32, the number of moves after some moves."""
    chosen = jax.tree.map(lambda x: x[parents], states)
    after = jax.vmap(SHORT.step, in_axes=(None, 0, 0))(KEY, chosen, actions)
    return jax.lax.population_count(after.mask).sum((1, 2), dtype=jnp.int32)


def chunks(legal):
    """The legal moves of a batch, in pieces of one size: parents, actions, how many count."""
    parents, actions = (found.astype(np.int32) for found in np.nonzero(legal))
    for at in range(0, len(parents), CHUNK):
        who, what = parents[at : at + CHUNK], actions[at : at + CHUNK]
        fill = (0, CHUNK - len(who))
        yield np.pad(who, fill), np.pad(what, fill), len(who)


def perft(states, legal, level: int, totals: np.ndarray) -> None:
    """Adds to `totals[level:]` the moves of the positions 1, 2, ... plies below `states`."""
    for parents, actions, size in chunks(legal):
        if level + 1 == len(totals):
            totals[level] += np.asarray(counted(states, parents, actions))[:size].sum()
        else:
            after, masks = expand(states, parents, actions)
            masks = np.asarray(masks)[:size]
            totals[level] += masks.sum()
            perft(after, masks, level + 1, totals)


def assert_perft(fen: str, wanted: list[int]) -> None:
    state = SHORT.parse_position(fen)
    legal = np.asarray(SHORT.legal(state))[None]
    totals = np.zeros(len(wanted), np.int64)
    totals[0] = legal.sum()
    perft(copies(state, CHUNK), legal, 1, totals)
    assert totals.tolist() == wanted


@pytest.mark.parametrize("name", PERFT)
def test_perft(name):
    assert_perft(*PERFT[name])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moves"), [("four", 15833292), ("five", 89941194)])
def test_perft_deeper(name, moves):
    fen, wanted = PERFT[name]
    assert_perft(fen, [*wanted, moves])


def test_keys_tell_positions_apart():
    """All positions two plies below Kiwipete, some of which come up twice."""
    states = copies(SHORT.parse_position(PERFT["kiwipete"][0]), CHUNK)
    legal = np.asarray(jax.vmap(SHORT.legal)(states))[:1]
    ((parents, actions, size),) = chunks(legal)
    states, legal = expand(states, parents, actions)
    keys, seen = [], []
    for parents, actions, count in chunks(np.asarray(legal)[:size]):
        after = jax.device_get(expand(states, parents, actions)[0])
        for i in range(count):
            one = jax.tree.map(lambda x, i=i: x[i], after)
            keys.append(tuple(one.keys[one.clock].tolist()))
            seen.append(SHORT.position(one))
    boards = [chess.Board(fen)._transposition_key() for fen in seen]
    pairs = set(zip(keys, boards, strict=True))
    assert len(keys) == 2039
    assert len(pairs) == len(set(keys)) == len(set(boards)) < 2039
