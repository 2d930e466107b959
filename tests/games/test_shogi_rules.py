"""The rules of shogi in positions set up by hand, and what the game shows of itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shogi as python_shogi

from halfmove import games
from halfmove.games.shogi import START, Shogi

GAME = Shogi()
PERPETUAL = "8k/9/9/9/9/9/9/7R1/K8 b - 1"
CHECKS = ("2h1h", "1a2a", "1h2h", "2a1a")  # there and back again, each of black's moves a check


def after(*moves, start=START, game=GAME):
    state = game.parse_position(start)
    for move in moves:
        state = games.play(game, state, move)
    return state


def usis(state, game=GAME):
    return {game.move_name(state, int(a)) for a in np.nonzero(game.legal(state))[0]}


def starting(state, square):
    return {name for name in usis(state) if name.startswith(square)}


def test_no_second_pawn_on_a_file():
    drops = starting(after(start="4k4/9/9/9/9/9/P8/9/4K4 b P 1"), "P*")
    assert not {name for name in drops if name[2] == "9"}
    assert len(drops) == 8 * 8 - 1  # ranks b to i of eight files, less the king's own square
    assert "P*9b" in usis(after(start="4k4/9/9/9/9/9/+P8/9/4K4 b P 1"))


@pytest.mark.parametrize(
    ("sfen", "legal"),
    [
        ("7nk/7l1/8G/9/9/9/9/9/4K4 b P 1", False),
        ("8k/9/8G/9/9/9/9/9/4K4 b P 1", True),  # the king runs to 2a
        ("8k/9/6N1G/9/9/9/9/9/4K4 b P 1", False),  # the knight guards 2a, the gold 2b
        ("7nk/7g1/8G/9/9/9/9/9/4K4 b P 1", True),  # the gold takes the pawn
        ("7nk/7g1/6B1G/9/9/9/9/9/4K4 b P 1", False),  # but not when it is pinned
        ("7nk/5r1l1/8G/9/9/9/9/9/4K4 b P 1", False),  # its own lance is in the rook's way
        ("7nk/7l1/9/9/9/9/9/9/4K4 b P 1", True),  # the king takes it
        ("7nk/7l1/9/9/9/4B4/9/9/4K4 b P 1", False),  # unless a bishop guards it
        ("7nk/7l1/8S/9/9/9/9/9/4K4 b P 1", False),
        ("7nk/7l1/9/7N1/9/9/9/9/4K4 b P 1", False),  # or a knight
    ],
)
def test_a_pawn_may_not_be_dropped_for_mate(cshogi, sfen, legal):
    theirs = {cshogi.move_to_usi(move) for move in cshogi.Board(sfen).legal_moves}
    assert ("P*1b" in theirs) == legal
    assert ("P*1b" in usis(after(start=sfen))) == legal


def test_other_drops_and_moved_pawns_may_mate():
    state = after("G*1b", start="7nk/7l1/8G/9/9/9/9/9/4K4 b G 1")
    assert state.over
    assert GAME.reward(state).tolist() == [1, -1]
    state = after("1c1b", start="7nk/7l1/8P/9/9/9/9/9/4K3L b - 1")
    assert state.over
    assert GAME.reward(state).tolist() == [1, -1]


def test_no_move_at_all_loses_without_a_check(cshogi):
    state = after("7c7b", start="k8/9/P1G6/9/9/9/9/9/4K4 b - 1")
    board = cshogi.Board(GAME.position(state))
    assert not board.is_check()
    assert not list(board.legal_moves)
    assert state.over
    assert GAME.reward(state).tolist() == [1, -1]


def test_pieces_that_could_not_move_again_must_promote():
    state = after(start="7k1/P8/1N6L/4N4/9/9/9/9/4K4 b - 1")
    assert starting(state, "9b") == {"9b9a+"}
    assert starting(state, "8c") == {"8c9a+", "8c7a+"}
    assert starting(state, "5d") == {"5d6b+", "5d4b+"}
    assert starting(state, "1c") == {"1c1b", "1c1b+", "1c1a+"}


def test_promotion_is_open_going_in_along_and_out():
    state = after(start="k8/9/4S4/7S1/9/9/9/9/4K4 b - 1")
    assert {"5c4d", "5c4d+", "5c5b", "5c5b+", "2d2c", "2d2c+", "2d3e"} <= usis(state)
    assert "2d3e+" not in usis(state)


def test_fourth_time_is_a_draw():
    there_and_back = ("4i4h", "6a6b", "4h4i", "6b6a")
    state = after(*(there_and_back * 3)[:-1])
    assert not state.over
    assert state.repeats[0] == 2
    state = games.play(GAME, state, "6b6a")
    assert state.over
    assert GAME.reward(state).tolist() == [0, 0]
    assert not GAME.legal(state).any()


def test_hands_and_mover_make_a_position_another():
    lost_a_move = ("2h3h", "1a1b", "3h2h", "1b1a")
    assert int(after(*lost_a_move, start=PERPETUAL).repeats[0]) == 1
    spent = after("P*9d", "9a9b", start="k8/9/9/9/9/9/9/9/K8 b 2P 1")
    assert int(spent.repeats[0]) == 0


def test_perpetual_check_loses():
    state = after(*(CHECKS * 3)[:-1], start=PERPETUAL)
    assert not state.over
    state = games.play(GAME, state, CHECKS[-1])
    assert state.over
    assert GAME.reward(state).tolist() == [-1, 1]


def test_perpetual_check_loses_for_white_and_by_its_own_move():
    rounds = ("2b1b", "1i2i", "1b2b", "2i1i") * 3
    state = after("8b2b", "2i1i", *rounds[:10], start="k8/1r7/9/9/9/9/9/9/7K1 w - 1")
    assert not state.over
    state = games.play(GAME, state, "1b2b")
    assert state.over
    assert GAME.reward(state).tolist() == [1, -1]


def test_one_quiet_move_makes_it_a_draw():
    quiet = ("2h3h", "1a1b", "3h2h", "1b1a")
    state = after(*CHECKS, *quiet, *CHECKS, start=PERPETUAL)
    assert state.over
    assert GAME.reward(state).tolist() == [0, 0]


def test_the_limit_is_a_draw_and_kings_that_entered_play_on():
    """pgx has no impasse but the limit."""
    game = Shogi(max_moves=12)
    state = game.parse_position("4K4/4G4/9/9/9/9/9/4g4/4k4 b 10P8p 1")
    moves = ["5b4b", "5h4h", "4b5b", "4h5h", "5b6b", "5h6h", "6b5b", "6h5h"]
    for move in [*moves, "5b4b", "5h4h", "4b3b"]:
        state = games.play(game, state, move)
    assert not state.over
    state = games.play(game, state, "4h3h")
    assert state.over
    assert game.reward(state).tolist() == [0, 0]
    assert int(state.ply) == 12


def test_mate_on_the_last_move_counts():
    game = Shogi(max_moves=1)
    state = after("G*1b", start="7nk/7l1/8G/9/9/9/9/9/4K4 b G 1", game=game)
    assert game.reward(state).tolist() == [1, -1]


def test_illegal_actions_and_finished_games_change_nothing():
    state = after("G*1b", start="7nk/7l1/8G/9/9/9/9/9/4K4 b G 1")
    for before, action in ((state, 0), (after(), 0), (after(), 2186)):
        new = GAME.step(jax.random.key(0), before, jnp.int32(action))
        assert GAME.reward(new).tolist() == [0, 0]
        for name in ("boards", "hands", "moves", "words", "ply", "turn", "over"):
            np.testing.assert_array_equal(getattr(new, name), getattr(before, name))


# -- what it shows -------------------------------------------------------


def plane_by_hand(board, row, column, white):
    """The piece of a square of the picture, from the mover's side: (letter, promoted, mine)."""
    if white:
        row, column = 8 - row, 8 - column
    piece = board.piece_at(9 * row + column)
    if piece is None:
        return None
    return piece.symbol().upper(), piece.color == (python_shogi.WHITE if white else 0)


def test_observation_against_python_shogi():
    game = Shogi(history=3)
    names = ["P", "L", "N", "S", "B", "R", "G", "K", "+P", "+L", "+N", "+S", "+B", "+R"]
    moves = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e", "2b3c", "5e3c+", "2a3c", "S*4b"]
    board, boards = python_shogi.Board(), []
    state = game.init(jax.random.key(0))
    for move in moves:
        boards = [board.sfen(), *boards][:3]
        board.push_usi(move)
        state = games.play(game, state, move)
    white = board.turn == python_shogi.WHITE
    shown = np.asarray(game.observe(state))
    assert shown.shape == game.observation_shape == (9, 9, 3 * 45 + 2)
    hand_kinds = (python_shogi.PAWN, python_shogi.LANCE, python_shogi.KNIGHT, python_shogi.SILVER)
    hand_kinds += (python_shogi.BISHOP, python_shogi.ROOK, python_shogi.GOLD)
    for age, sfen in enumerate([board.sfen(), *boards][:3]):
        then = python_shogi.Board(sfen)
        want = np.zeros((9, 9, 45), np.float32)
        for row in range(9):
            for column in range(9):
                if found := plane_by_hand(then, row, column, white):
                    want[row, column, names.index(found[0]) + 14 * (not found[1])] = 1
        for side in range(2):
            hand = then.pieces_in_hand[side ^ int(white)]
            for k, (kind, most) in enumerate(zip(hand_kinds, (18, 4, 4, 4, 2, 2, 4), strict=True)):
                want[:, :, 31 + 7 * side + k] = np.float32(hand[kind]) / np.float32(most)
        np.testing.assert_allclose(shown[:, :, 45 * age : 45 * age + 45], want)
    assert (shown[:, :, -2] == white).all()
    assert np.allclose(shown[:, :, -1], len(moves) / 512)


def test_observation_tells_of_repetition_and_has_no_boards_before_the_first():
    shown = np.asarray(GAME.observe(after("4i4h", "6a6b", "4h4i", "6b6a")))
    assert (shown[:, :, 28] == 1).all()
    assert not shown[:, :, 29:31].any()
    assert not shown[:, :, 45 + 28 : 45 + 31].any()
    assert not shown[:, :, 5 * 45 : 8 * 45].any()


def test_action_planes():
    state = after()
    for name in ("7g7f", "2h5h"):
        planes = np.asarray(GAME.action_planes(jnp.int32(GAME.parse_move(state, name))))
        row, column = "abcdefghi".index(name[3]), 9 - int(name[2])
        assert planes[:, :, 8].sum() == 1
        assert planes[row, column, 8] == 1
        assert planes["abcdefghi".index(name[1]), 9 - int(name[0]), 0] == 1
        assert (planes[:, :, 9] == 1).all()
        assert not planes[:, :, [*range(1, 8), 10]].any()
    drop = np.asarray(GAME.action_planes(jnp.int32(20 * 81 + 40)))
    assert (drop[:, :, 1] == 1).all()
    assert drop[4, 4, 8] == 1
    assert not drop[:, :, [0, 2, 10]].any()
    promoted = np.asarray(GAME.action_planes(jnp.int32(10 * 81)))
    assert (promoted[:, :, 10] == 1).all()
    nowhere = np.asarray(GAME.action_planes(jnp.int32(8)))  # upwards to the nearest rank
    assert not nowhere[:, :, 9].any()
    assert not nowhere[:, :, 0].any()


def test_state_is_small():
    state = jax.eval_shape(GAME.init, jax.random.key(0))
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) < 3200
