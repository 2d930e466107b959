"""Animal shogi against a referee in plain Python that shares nothing with it."""

import random
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmove import games
from halfmove.games.animal_shogi import START, AnimalShogi

GAME = AnimalShogi()
one_step = jax.jit(GAME.step)

# (files to the right, ranks forward) for the side that moves up the board
MOVES = {
    "C": [(0, 1)],
    "E": [(1, 1), (1, -1), (-1, 1), (-1, -1)],
    "G": [(0, 1), (0, -1), (1, 0), (-1, 0)],
    "L": [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y],
    "H": [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1)],
}


class Referee:
    """Pieces by square name, moves by trying them: {"a1": ("E", 0), ...}."""

    def __init__(self):
        self.board = {"a1": ("E", 0), "b1": ("L", 0), "c1": ("G", 0), "b2": ("C", 0)}
        self.board |= {"c4": ("E", 1), "b4": ("L", 1), "a4": ("G", 1), "b3": ("C", 1)}
        self.hands, self.turn, self.ply = (Counter(), Counter()), 0, 0
        self.seen = Counter([self.key()])

    def key(self):
        hands = tuple(tuple(sorted(hand.elements())) for hand in self.hands)
        return tuple(sorted(self.board.items())), hands, self.turn

    def targets(self, square):
        kind, side = self.board[square]
        forward = -1 if side else 1
        for x, y in MOVES[kind]:
            file, rank = "abc".index(square[0]) + forward * x, int(square[1]) + forward * y
            if 0 <= file < 3 and 1 <= rank <= 4:
                yield f"{'abc'[file]}{rank}"

    def apply(self, move):
        side = self.turn
        if move[1] == "*":
            self.hands[side][move[0]] -= 1
            self.board[move[2:]] = (move[0], side)
        else:
            kind, _ = self.board.pop(move[:2])
            if move[2:] in self.board:
                self.hands[side][self.board[move[2:]][0].replace("H", "C")] += 1
            far = "14"[side == 0]
            self.board[move[2:]] = ("H" if kind == "C" and move[3] == far else kind, side)
        self.turn = 1 - side

    def legal(self):
        free = [f"{file}{rank}" for file in "abc" for rank in range(1, 5)]
        free = [square for square in free if square not in self.board]
        moves = [f"{kind}*{s}" for kind, n in self.hands[self.turn].items() if n for s in free]
        for square, (_, side) in self.board.items():
            if side == self.turn:
                free_or_theirs = (t for t in self.targets(square) if not self.holds(t, side))
                moves += [square + to for to in free_or_theirs]
        return {move for move in moves if not self.loses_lion(move)}

    def holds(self, square, side):
        return square in self.board and self.board[square][1] == side

    def loses_lion(self, move):
        saved = dict(self.board), tuple(Counter(hand) for hand in self.hands), self.turn
        self.apply(move)
        mine = ("L", 1 - self.turn)
        lost = any(
            self.board.get(to) == mine
            for square, (_, side) in self.board.items()
            if side == self.turn
            for to in self.targets(square)
        )
        self.board, self.hands, self.turn = saved
        return lost

    def push(self, move):
        self.apply(move)
        self.ply += 1
        self.seen[self.key()] += 1

    def result(self):
        """What the last mover earned, or None."""
        mover = 1 - self.turn
        if self.seen[self.key()] >= 3:
            return 0
        home = next(s for s, piece in self.board.items() if piece == ("L", mover))
        if home[1] == "14"[mover == 0] or not self.legal():
            return 1
        return 0 if self.ply >= 256 else None


@jax.jit
def play_out(key, states, taste):
    def ply(states, key):
        legal = jax.vmap(GAME.legal)(states)
        liked = jax.random.uniform(key, legal.shape) + taste
        action = jnp.argmax(jnp.where(legal, liked, -1.0), axis=1)
        new = jax.vmap(GAME.step, (None, 0, 0))(key, states, action)
        return new, (legal, action, new.over, jax.vmap(GAME.reward)(new), new.turn)

    return jax.lax.scan(ply, states, jax.random.split(key, 256))[1]


def names_of(turn):
    """What the referee calls each action of that side."""
    state = GAME.parse_position(START if turn == 0 else START.replace(" b ", " w "))
    return [GAME.move_name(state, action) for action in range(GAME.actions)]


def ends_of_games(count, seed):
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * count), GAME.init(jax.random.key(0)))
    moves_key, taste_key = jax.random.split(jax.random.key(seed))
    # Every second game is played by habit, so that positions recur.
    taste = 2 * jax.random.uniform(taste_key, (count, GAME.actions))
    taste *= jnp.arange(count)[:, None] % 2
    shown = [np.asarray(part) for part in play_out(moves_key, states, taste)]
    names, ends = (names_of(0), names_of(1)), Counter()
    for g in range(count):
        referee = Referee()
        for t in range(256):
            legal, action, over, reward, _ = (part[t, g] for part in shown)
            mine = {names[referee.turn][a] for a in np.nonzero(legal)[0]}
            assert mine == referee.legal(), (g, t)
            mover = referee.turn
            referee.push(names[mover][int(action)])
            result = referee.result()
            assert over == (result is not None), (g, t, result)
            assert reward[mover] == (result or 0)
            assert reward.sum() == 0
            if over:
                assert not shown[0][t + 1 :, g].any()
                assert not shown[3][t + 1 :, g].any()
                ends["limit" if t == 255 else ("draw", "won")[result]] += 1
                break
    return ends


def test_random_games_are_those_of_the_referee():
    ends = ends_of_games(100, seed=1)
    assert ends["won"] > 50, ends
    assert ends["draw"] > 5, ends


@pytest.mark.slow
def test_many_random_games_are_those_of_the_referee():
    assert ends_of_games(2000, seed=2)["won"] > 1000


def play(*moves, start=START, game=GAME):
    state = game.parse_position(start)
    for move in moves:
        state = games.play(game, state, move)
    return state


def names(state):
    return {GAME.move_name(state, int(a)) for a in np.nonzero(GAME.legal(state))[0]}


def test_a_lion_on_the_far_rank_wins_and_a_guarded_rank_is_closed():
    state = play("a3a4", start="3/L2/2l/3 b - 9")
    assert state.over
    assert GAME.reward(state).tolist() == [1, -1]
    assert "a3a4" not in names(play(start="1g1/L2/2l/3 b - 9"))
    state = play("a2a1", start="3/2L/l2/3 w - 4")
    assert state.over
    assert GAME.reward(state).tolist() == [-1, 1]
    assert play(start=GAME.position(state)).over


def test_chicks_become_hens_by_moving_and_chicks_again_in_hand():
    state = play("a3a4", start="2l/C2/3/L2 b - 1")
    assert GAME.position(state) == "H1l/3/3/L2 w - 2"
    assert "C*a4" in names(play(start="2l/3/3/L2 b C 1"))  # it stays a chick, and stuck
    state = play("a4a3", start="l2/H2/3/2L w - 2")
    assert GAME.position(state) == "3/l2/3/2L b c 3"


def test_third_time_is_a_draw_with_captures_before_it():
    round_ = ("c1c2", "a4a3", "c2c1", "a3a4")  # the chicks are gone; giraffes go to and fro
    state = play("b2b3", "b4b3", *round_, *round_[:3])
    assert not state.over
    state = games.play(GAME, state, round_[3])
    assert state.over
    assert GAME.reward(state).tolist() == [0, 0]


def test_limit_is_a_draw():
    game = AnimalShogi(max_moves=2)
    state = play("c1c2", "a4a3", game=game)
    assert state.over
    assert game.reward(state).tolist() == [0, 0]


def test_illegal_actions_change_nothing():
    state = play("b2b3")
    for action in range(GAME.actions):
        if not GAME.legal(state)[action]:
            new = one_step(jax.random.key(0), state, action)
            for old_leaf, leaf in zip(jax.tree.leaves(state), jax.tree.leaves(new), strict=True):
                np.testing.assert_array_equal(leaf, old_leaf)


def test_observation_is_the_movers():
    shown = np.asarray(GAME.observe(play("b2b3")))  # white to move, black has a chick
    assert shown.shape == GAME.observation_shape == (4, 3, 146)
    assert shown[3, 1, 3] == 1
    assert shown[3, 2, 2] == 1
    assert shown[3, 0, 1] == 1
    assert shown[0, 1, 8] == 1
    assert shown[2, 1, 5] == 1
    assert (shown[:, :, 15] == 0.5).all()
    assert not shown[:, :, 12:15].any()
    assert shown[1, 1, 18 + 5] == 1
    assert shown[2, 1, 18] == 1
    assert not shown[:, :, 36:144].any()
    assert (shown[:, :, 144] == 1).all()


def test_action_planes():
    state = play()
    planes = np.asarray(GAME.action_planes(jnp.int32(GAME.parse_move(state, "b2b3"))))
    assert planes[2, 1, 0] == 1
    assert planes[1, 1, 4] == 1
    assert planes[:, :, [0, 4]].sum() == 2
    assert (planes[:, :, 5] == 1).all()
    assert not planes[:, :, 1:4].any()
    planes = np.asarray(GAME.action_planes(jnp.int32(GAME.parse_move(state, "E*a4"))))
    assert planes[0, 0, 4] == 1
    assert (planes[:, :, 2] == 1).all()
    assert not planes[:, :, 0].any()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_round_trips(seed):
    rng, state = random.Random(seed), GAME.init(jax.random.key(0))
    for _ in range(rng.randrange(30)):
        legal = np.nonzero(GAME.legal(state))[0].tolist()
        if not legal:
            break
        for action in legal:
            assert GAME.parse_move(state, GAME.move_name(state, action)) == action
        state = one_step(jax.random.key(0), state, rng.choice(legal))
    text = GAME.position(state)
    again = GAME.parse_position(text)
    assert GAME.position(again) == text
    assert GAME.show(again) == GAME.show(state)
    if int(state.repeats[0]) < 2:
        np.testing.assert_array_equal(GAME.legal(again), GAME.legal(state))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected four ranks"),
        ("gle/1c1/1C1 b - 1", "expected four ranks"),
        ("gle/1c2/1C1/ELG b - 1", r"rank 3 \('1c2'\) is not three squares"),
        ("gle/1c1/1X1/ELG b - 1", r"rank 2 \('1X1'\)"),
        ("gle/1c1/1C1/ELG x - 1", "the side to move is b or w, not 'x'"),
        ("gle/1c1/1C1/ELG b 3C 1", "hands are - or pieces"),
        ("gle/1c1/1C1/ELG b C 1", "there are 3 of C"),
        ("gle/1c1/1C1/ELG b - 0", "the move number counts from 1, not '0'"),
        ("gle/1c1/1C1/ELG b - 300", "beyond the limit of 256"),
        ("g1e/1c1/1C1/ELG b - 1", "each side has one lion"),
        ("gle/1C1/3/ELG b c 1", "the side to move could take the lion"),
    ],
)
def test_bad_positions_say_what_is_wrong(text, says):
    with pytest.raises(ValueError, match=says):
        GAME.parse_position(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("b2", "is not a move of animal shogi: expected b2b3, or C.b2"),
        ("d2d3", "is not a move of animal shogi"),
        ("L*a2", "is not a move of animal shogi"),
        ("b2b4", "pieces go one step, b4 is not beside b2"),
        ("b1b2", "'b1b2' is not legal here; legal: "),
    ],
)
def test_bad_moves_say_what_is_wrong(text, says):
    with pytest.raises(ValueError, match=says):
        games.play(GAME, GAME.init(jax.random.key(0)), text)


def test_state_is_small():
    state = jax.eval_shape(GAME.init, jax.random.key(0))
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) <= 1201
