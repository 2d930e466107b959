"""Shogi against cshogi (written in C++) and a plain referee for repetition."""

import functools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.games.shogi import START, Shogi
from halfmove.games.shogi_moves import unpack

cshogi = pytest.importorskip("cshogi", reason="no cshogi for NumPy 2 and this Python")
make_move_label = pytest.importorskip("cshogi.dlshogi").make_move_label

GAME = Shogi()
SMALL = Shogi(history=1)
BATCH = 256
# A middle game with drops and promotions, and the position with the most moves known.
MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
OTHERS = (
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 2",
    "4k4/9/4P4/9/9/9/9/9/4K4 b 2G2S2N2L2Prb2g2s2n2l14p 1",
    "2l3s2/2k4n1/5G3/7b1/3PP4/GP3plPL/2KSL4/+p4S2+b/5P3 w RS2N11Pr2gn 140",
    "4n3p/l1pkg4/ls3ps1+L/9/5S3/9/1SBPG1P2/2R1PK1R1/3+l4P w B6P2g3n5p 154",
    "sn5+L1/1sg3g2/1pp1kg1p1/9/l4sbg1/1PP1K4/+l6P1/N3S4/9 b N3P2rbnl9p 133",
    "pl3k2G/1rgs1Bs2/1p3p3/2ppp3p/G5S2/8P/4+n1Pp1/1P1KG1R1L/1NS4N1 b BNLl7p 89",
)

# Here it pays to compile well: the games are long.
fast = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 3})
advance = fast(jax.vmap(SMALL.step))
unpacked = fast(jax.vmap(SMALL.legal))
unpacked_words = fast(jax.vmap(unpack))
one_step = jax.jit(GAME.step)


def key_rows(n=BATCH):
    return jax.random.split(jax.random.key(0), n)


# -- perft ---------------------------------------------------------------


def rows(states, index):
    return jax.tree.map(lambda leaf: leaf[index], states)


def children(states):
    """(parent, action) of every legal move in every state."""
    size, parts = len(states.ply), []
    for low in range(0, size, BATCH):
        index = np.minimum(np.arange(low, low + BATCH), size - 1)
        chunk = rows(states, index)
        masks = np.array(unpacked(chunk))
        masks[size - low :] = False
        parent, action = np.nonzero(masks)
        parts.append((low + parent, action))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def descend(states, parent, action):
    new = []
    for low in range(0, len(parent), BATCH):
        index = np.minimum(np.arange(low, low + BATCH), len(parent) - 1)
        states_after = advance(key_rows(), rows(states, parent[index]), action[index])
        new.append(rows(jax.device_get(states_after), slice(0, len(parent) - low)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *new)


def perft(sfen, depth):
    states = jax.tree.map(lambda leaf: np.asarray(leaf)[None], SMALL.parse_position(sfen))
    counts = []
    for level in range(depth):
        parent, action = children(states)
        counts.append(len(parent))
        if level + 1 < depth:
            states = descend(states, parent, action)
    return counts


def oracle_perft(board, depth):
    if depth == 1:
        return len(list(board.legal_moves))
    total = 0
    for move in list(board.legal_moves):
        board.push(move)
        total += oracle_perft(board, depth - 1)
        board.pop()
    return total


def test_perft_from_the_start():
    assert perft(START, 4) == [30, 900, 25470, 719731]


@pytest.mark.slow
def test_perft_from_the_start_deeper():
    assert perft(START, 5)[-1] == 19861490


def test_perft_of_known_positions():
    assert perft(MATSURI, 2) == [207, 28684]
    assert perft(MOST_MOVES, 2) == [593, 105677]


@pytest.mark.parametrize("sfen", OTHERS)
def test_perft_of_positions_as_cshogi_counts(sfen):
    assert perft(sfen, 2) == [oracle_perft(cshogi.Board(sfen), depth) for depth in (1, 2)]


# -- whole games ---------------------------------------------------------


class Referee:
    """The end of a game by its rules, in plain Python: texts of positions, and who gave check."""

    def __init__(self, sfen, limit=512):
        self.board, self.limit = cshogi.Board(sfen), limit
        self.seen, self.checks = [], []
        self.look()

    def look(self):
        turn = self.board.turn
        self.legal = {make_move_label(move, turn): move for move in self.board.legal_moves}
        self.seen.append(self.board.sfen().rsplit(" ", 1)[0])
        self.checks.append(self.board.is_check())

    def push(self, label):
        self.board.push(self.legal[label])
        self.look()

    def result(self):
        """What the last mover earned and by what, or None while the game goes on."""
        if not self.legal:
            return 1, "mate"
        now = len(self.seen) - 1
        if self.seen.count(self.seen[now]) >= 4:
            first = self.seen.index(self.seen[now])
            mine = all(self.checks[now:first:-2])
            theirs = all(self.checks[now - 1 : first : -2])
            earned = int(theirs) - int(mine)
            return earned, ("repetition", "was checked", "checked")[earned]
        return (0, "limit") if self.board.move_number > self.limit else None


@fast
def play_out(states, keys, taste):
    """Games on the device: packed masks, actions, ends and rewards of every ply.

    Players prefer what they have a `taste` [B, A] for, which repeats positions.
    """

    def ply(states, key):
        legal = jax.vmap(SMALL.legal)(states)
        liked = jnp.where(legal, jax.random.uniform(key, legal.shape) + taste, -jnp.inf)
        action = jnp.argmax(liked, axis=1)
        new = jax.vmap(SMALL.step, (None, 0, 0))(key, states, action)
        return new, (states.moves, action, new.over, jax.vmap(SMALL.reward)(new))

    return jax.lax.scan(ply, states, keys)[1]


def follow(sfen, words, actions, overs, rewards):
    """Follows one game with cshogi, move by move. How it ended."""
    referee = Referee(sfen)
    masks = np.asarray(unpacked_words(words))
    for t, action in enumerate(actions):
        text = referee.board.sfen()
        assert np.nonzero(masks[t])[0].tolist() == sorted(referee.legal), (t, text)
        mover = referee.board.turn
        referee.push(int(action))
        result = referee.result()
        assert overs[t] == (result is not None), (t, text, result)
        earned = result[0] if result else 0
        assert rewards[t].tolist() == ([earned, -earned] if mover == 0 else [-earned, earned])
        if result is not None:
            assert not masks[t + 1 :].any()
            assert overs[t:].all()
            assert not rewards[t + 1 :].any()
            return result[1]
    return "unfinished"


def ends_of_games(sfens, seed, plies, bias=0.0):
    """How games from these positions end, each checked by `follow`."""
    starts = [SMALL.parse_position(sfen) for sfen in sfens]
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    moves_key, taste_key = jax.random.split(jax.random.key(seed))
    taste = bias * jax.random.uniform(taste_key, (len(sfens), SMALL.actions))
    shown = play_out(states, jax.random.split(moves_key, plies), taste)
    columns = [np.moveaxis(np.asarray(part), 1, 0) for part in shown]
    return Counter(follow(sfen, *game) for sfen, *game in zip(sfens, *columns, strict=True))


def test_random_games_are_those_of_cshogi():
    ends = ends_of_games([START] * 100, seed=1, plies=512)
    assert ends["mate"] > 50, ends
    assert set(ends) == {"mate", "limit"}, ends


@pytest.mark.slow
def test_many_random_games_are_those_of_cshogi():
    for seed in range(2, 12):
        assert "unfinished" not in ends_of_games([START] * 200, seed=seed, plies=512)


def test_repetition_in_games_with_little_left():
    """Players of habit, with few pieces: positions recur, with captures and drops between."""
    few = ["4k4/9/9/9/9/9/9/9/4K4 b - 1", "4k4/9/9/9/9/9/9/9/4K4 b R2p 1"]
    few += ["k8/9/9/9/9/9/9/8+R/8K w - 1", "7k1/9/9/9/9/9/1b7/9/K8 b Gs 17"]
    ends = ends_of_games([sfen for sfen in few for _ in range(50)], seed=3, plies=512, bias=2.0)
    assert ends["repetition"] > 50, ends


@pytest.mark.slow
def test_perpetual_checks_in_hunts():
    """One side checks where it can, the other runs: cshogi's positions and the rule decide."""
    rng, ends = np.random.default_rng(5), Counter()
    starts = ["8k/9/9/9/4K4/9/9/9/9 b R 1", "k8/9/9/9/4K4/9/9/9/9 w 2B 1"]
    starts += ["k8/1r7/9/9/9/9/9/9/7K1 w - 1"]
    for game in range(24):
        state, referee = GAME.parse_position(starts[game % 3]), Referee(starts[game % 3])
        while (result := referee.result()) is None:
            checks = [a for a, m in referee.legal.items() if gives_check(referee.board, m)]
            choices = checks[:2] if checks and rng.random() < 0.97 else sorted(referee.legal)
            action = int(rng.choice(choices))
            mover = referee.board.turn
            referee.push(action)
            state = one_step(jax.random.key(0), state, action)
            assert bool(state.over) == (referee.result() is not None)
        earned, how = result
        assert GAME.reward(state)[mover] == earned
        assert GAME.reward(state).sum() == 0
        ends[how] += 1
    assert ends["checked"] > 3, ends


def gives_check(board, move):
    board.push(move)
    check = board.is_check()
    board.pop()
    return check
