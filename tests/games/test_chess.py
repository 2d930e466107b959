"""Chess against python-chess: legal moves, results, draws, inputs."""

import functools
import random

import chess
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.game import edge
from halfmove.games import make, play
from halfmove.games.chess import Chess

KEY = jax.random.key(0)
GAME = Chess()
START = chess.STARTING_FEN
ROSE = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]
HOPS = [(2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1)]


@functools.cache
def action_of(origin: int, target: int, promotion: int | None, turn: bool) -> int:
    """The action of a move of python-chess, from the definition of the 73 planes."""
    if not turn:
        origin, target = chess.square_mirror(origin), chess.square_mirror(target)
    ranks = chess.square_rank(target) - chess.square_rank(origin)
    files = chess.square_file(target) - chess.square_file(origin)
    if promotion not in (None, chess.QUEEN):
        plane = 64 + 3 * [chess.KNIGHT, chess.BISHOP, chess.ROOK].index(promotion) + files + 1
    elif (ranks, files) in HOPS:
        plane = 56 + HOPS.index((ranks, files))
    else:
        far = max(abs(ranks), abs(files))
        plane = 7 * ROSE.index((ranks // far, files // far)) + far - 1
    return 73 * origin + plane


def to_action(board: chess.Board, move: chess.Move) -> int:
    return action_of(move.from_square, move.to_square, move.promotion, board.turn)


def legal_actions(board: chess.Board) -> dict[int, chess.Move]:
    return {to_action(board, move): move for move in board.legal_moves}


def outcome(board: chess.Board, moves: int, plies: int = 0) -> str:
    """How a game stands; `moves`: how many are legal."""
    if not moves:
        return "mate" if board.is_check() else "draw"
    drawn = board.halfmove_clock >= 100 or board.is_insufficient_material()
    drawn = drawn or plies >= 512 or board.is_repetition(3)
    return "draw" if drawn else ""


STATUS = {0: "", 1: "draw", 2: "mate"}
# Nearly all the time is spent in a few functions, which are worth a full compilation.
fast = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 3})
steps = fast(jax.vmap(GAME.step, in_axes=(None, 0, 0)))
legals = fast(jax.vmap(GAME.legal))
rewards = jax.jit(jax.vmap(GAME.reward))


def copies(state, count: int):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), state)


GAMES = 120  # one number, so that the step is compiled once

# -- games ---------------------------------------------------------------


def choose(board: chess.Board, moves: dict[int, chess.Move], rng: random.Random, back: float):
    """A random move; with probability `back` the one that takes the last own move back."""
    if back and len(board.move_stack) > 1 and rng.random() < back:
        last = board.move_stack[-2]
        for action, move in moves.items():
            if (move.from_square, move.to_square) == (last.to_square, last.from_square):
                return action
    return rng.choice(list(moves))


def assert_random_games(count: int, back: float, seed: int) -> dict[str, int]:
    """Plays games move by move beside python-chess; returns how often each ending came."""
    rng = random.Random(seed)
    boards = [chess.Board() for _ in range(count)]
    states = copies(GAME.init(KEY), count)
    live, endings = (
        list(range(count)),
        dict.fromkeys(["mate", "stalemate", "repetition", "fifty", "material", "length"], 0),
    )
    while live:
        masks, status = np.asarray(legals(states)), np.asarray(states.status)
        earned = np.asarray(rewards(states))
        actions, going = np.zeros(count, np.int32), []
        for game in live:
            board = boards[game]
            moves = legal_actions(board)
            result = outcome(board, len(moves), len(board.move_stack))
            assert STATUS[int(status[game])] == result, board.fen()
            found = set(np.flatnonzero(masks[game]).tolist())
            assert found == (set() if result else set(moves)), board.fen()
            lost = int(board.turn == chess.BLACK)
            assert earned[game, lost] == (-1 if result == "mate" else 0), board.fen()
            assert earned[game].sum() == 0
            if result:
                endings[kind(board, moves, result)] += 1
                continue
            actions[game] = choose(board, moves, rng, back)
            board.push(moves[actions[game]])
            going.append(game)
        states, live = steps(KEY, states, actions), going
    return endings


def kind(board: chess.Board, moves: dict, result: str) -> str:
    if not moves:
        return "mate" if result == "mate" else "stalemate"
    if board.is_repetition(3):
        return "repetition"
    if board.is_insufficient_material():
        return "material"
    return "fifty" if board.halfmove_clock >= 100 else "length"


def test_random_games():
    endings = assert_random_games(GAMES, 0.0, 1)
    for name in ("mate", "material", "fifty", "repetition"):
        assert endings[name], endings


def test_random_games_that_go_back():
    assert assert_random_games(GAMES, 0.5, 2)["repetition"] > GAMES / 2


@pytest.mark.slow
def test_two_thousand_random_games():
    assert_random_games(1700, 0.0, 3)
    assert_random_games(300, 0.3, 4)


# -- single positions ----------------------------------------------------


def follow(fen: str, line: str):
    """The state after some moves in UCI, compared with python-chess after each."""
    state, board = GAME.parse_position(fen), chess.Board(fen)
    for name in ["", *line.split()]:
        if name:
            state = play(GAME, state, name)
            board.push_uci(name)
        moves = legal_actions(board)
        result = outcome(board, len(moves))
        assert STATUS[int(state.status)] == result, board.fen()
        found = set(np.flatnonzero(GAME.legal(state)).tolist())
        assert found == (set() if result else set(moves)), board.fen()
        assert GAME.position(state) == board.fen(en_passant="fen")
    return state


def ended(state) -> str:
    return STATUS[int(state.status)]


@pytest.mark.parametrize(
    ("fen", "line", "result"),
    [
        # The third time is a draw, the second is not.
        (START, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1", ""),
        (START, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8", "draw"),
        # Lost castling rights make another position of the same board.
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1b1 a8b8 b1a1 b8a8 a1b1 a8b8 b1a1 b8a8", ""),
        (
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            "a1b1 a8b8 b1a1 b8a8 a1b1 a8b8 b1a1 b8a8 a1b1 a8b8",
            "draw",
        ),
        # A pawn that nobody can take en passant changes nothing ...
        (START, "e2e4 g8f6 g1f3 f6g8 f3g1 g8f6 g1f3 f6g8 f3g1", "draw"),
        # ... one that can be taken does ...
        (
            "4k1n1/8/8/8/3p4/8/4P3/4K1N1 w - - 0 1",
            "e2e4 g8f6 g1f3 f6g8 f3g1 g8f6 g1f3 f6g8 f3g1",
            "",
        ),
        # ... but not if the pawn that would take it is pinned.
        (
            "3k2n1/8/8/8/3p4/8/4P3/3RK1N1 w - - 0 1",
            "e2e4 g8f6 g1f3 f6g8 f3g1 g8f6 g1f3 f6g8 f3g1",
            "draw",
        ),
        # The same board with the other side to move is another position.
        ("8/8/4k3/8/8/4K3/8/7R w - - 0 1", "h1h2 e6e5 h2h1 e5e6 h1h3 e6e5 h3h1 e5e6", "draw"),
    ],
)
def test_repetition(fen, line, result):
    assert ended(follow(fen, line)) == result


@pytest.mark.parametrize(
    ("fen", "line", "result"),
    [
        ("8/8/4k3/8/8/4K3/8/7R w - - 98 80", "h1h2", ""),
        ("8/8/4k3/8/8/4K3/8/7R w - - 98 80", "h1h2 e6e5", "draw"),
        ("8/8/4k3/7p/8/4K3/8/7R w - - 99 80", "h1h5", ""),
        ("8/8/4k3/8/8/4K3/P7/7R w - - 99 80", "a2a3", ""),
        # Mate with the hundredth ply is mate.
        ("7k/R7/6K1/8/8/8/8/8 w - - 99 80", "a7a8", "mate"),
        ("8/8/4k3/8/8/4K3/8/7R w - - 100 80", "", "draw"),
    ],
)
def test_fifty_moves(fen, line, result):
    assert ended(follow(fen, line)) == result


@pytest.mark.parametrize(
    ("pieces", "result"),
    [
        ("8/8/4k3/8/8/4K3/8/8", "draw"),
        ("8/8/4k3/8/8/4K3/8/6N1", "draw"),
        ("8/8/4k3/8/8/4K3/8/b7", "draw"),
        ("8/8/4k3/8/8/4K3/8/5NN1", ""),
        ("8/8/4k3/8/8/4K3/8/5bN1", ""),
        ("5b2/8/4k3/8/8/4K3/8/6B1", "draw"),
        ("5b2/8/4k3/8/8/4K3/8/5B2", ""),
        ("5b1b/8/4k3/8/8/4K3/4B3/6B1", ""),
        ("5b2/8/4k3/8/8/4K3/8/B1B3B1", "draw"),
        ("8/8/4k3/8/8/4K3/8/5R2", ""),
        ("8/8/4k3/8/8/4K3/5P2/8", ""),
    ],
)
def test_material(pieces, result):
    for side in "wb":
        assert ended(follow(f"{pieces} {side} - - 0 1", "")) == result


@pytest.mark.parametrize(
    ("fen", "line"),
    [
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", ""),  # stalemate
        ("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", ""),  # 218 moves
        # Castling: free, through check, out of check, into check, past an attacked b1.
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1 e8c8"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8g8 e1c1"),
        ("4k3/8/8/8/8/5r2/8/R3K2R w KQ - 0 1", ""),
        ("4k3/8/8/8/8/4r3/8/R3K2R w KQ - 0 1", ""),
        ("4k3/8/8/8/8/6r1/8/R3K2R w KQ - 0 1", ""),
        ("4k3/8/8/8/8/1r6/8/R3K2R w KQ - 0 1", "e1c1"),
        ("4k3/8/8/8/8/7n/8/R3K2R w KQ - 0 1", ""),
        ("4k3/8/8/8/8/8/6p1/R3K2R w KQ - 0 1", ""),
        ("4k3/8/8/8/8/8/8/RN2K2R w KQ - 0 1", ""),
        # The right goes with the rook, also when it is captured.
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "h1h8 e8d7 e1c1"),
        # En passant: plain, for black, and the pawn in the same rank as king and rook.
        ("4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "d7d5 e5d6"),
        ("4k3/8/8/8/4p3/8/3P4/4K3 w - - 0 1", "d2d4 e4d3"),
        ("8/3p4/8/K3P2r/8/8/8/7k b - - 0 1", "d7d5"),
        ("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1", ""),
        # Pinned on a file, on the diagonal of the capture, and on the other one.
        ("4r2k/8/8/3pP3/8/8/8/4K3 w - d6 0 1", ""),
        ("8/2b4k/8/3pP3/5K2/8/8/8 w - d6 0 1", "e5d6"),
        ("7k/6b1/8/3pP3/3K4/8/8/8 w - d6 0 1", ""),
        # It takes the pawn that gives check; it does not answer another check.
        ("7k/8/8/3pP3/4K3/8/8/8 w - d6 0 1", "e5d6"),
        ("7k/8/8/3pP3/8/5n2/8/4K3 w - d6 0 1", ""),
        # It blocks a check, or opens a diagonal that the taken pawn closed.
        ("5b1k/8/8/3pP3/8/K7/8/8 w - d6 0 1", "e5d6"),
        ("6bk/8/8/3pP3/8/1K6/8/8 w - d6 0 1", ""),
        # Two capturers, of which one is pinned.
        ("2r4k/8/8/2PpP3/8/8/8/2K5 w - d6 0 1", "e5d6"),
        # Promotions, by capture and straight on, to every piece.
        ("1n5k/P7/8/8/8/8/8/K7 w - - 0 1", "a7b8n"),
        ("1n5k/P7/8/8/8/8/8/K7 w - - 0 1", "a7a8r"),
        ("k7/8/8/8/8/8/p6p/1N4RK b - - 0 1", "a2b1b"),
        # Double check.
        ("4k3/8/5N2/8/8/8/8/4RK2 b - - 0 1", ""),
    ],
)
def test_positions(fen, line):
    follow(fen, line)


def test_an_illegal_action_changes_nothing():
    state = follow(START, "e2e4 e7e5")
    illegal = np.flatnonzero(~np.asarray(GAME.legal(state)))
    actions = np.concatenate([[-1, 4672, 10**6], illegal[::35]]).astype(np.int32)[:GAMES]
    after = steps(KEY, copies(state, GAMES), actions)
    for new, old in zip(jax.tree.leaves(after), jax.tree.leaves(state), strict=True):
        assert (np.asarray(new) == np.asarray(old)).all()


def test_a_finished_game_stays():
    before = follow(START, "f2f3 e7e5 g2g4")
    state = play(GAME, before, "d8h4")
    assert GAME.reward(state).tolist() == [-1.0, 1.0]
    assert (edge(GAME, before, state).reward, edge(GAME, before, state).discount) == (1.0, 0.0)
    after = GAME.step(KEY, state, jnp.int32(to_action(chess.Board(), chess.Move.from_uci("e2e4"))))
    assert GAME.reward(after).tolist() == [0.0, 0.0]
    assert GAME.position(after) == GAME.position(state)
    assert bool(GAME.terminated(after))
    with pytest.raises(ValueError, match="the game is over"):
        play(GAME, state, "e2e4")


@pytest.mark.slow
def test_the_longest_game_is_a_draw():
    game = make("chess", max_plies=3)
    state = game.init(KEY)
    for ply, name in enumerate(["e2e4", "e7e5", "g1f3"]):
        assert not bool(game.terminated(state)), ply
        state = play(game, state, name)
    assert ended(state) == "draw"
    # A set-up position with many moves behind it has as many before it.
    assert ended(game.parse_position("4k3/8/8/8/8/8/8/R3K3 w Q - 0 400")) == ""


@pytest.mark.parametrize("options", [{"history": 0}, {"history": 101}, {"max_plies": 0}])
def test_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        make("chess", **options)


# -- inputs --------------------------------------------------------------


def planes(board: chess.Board, history: int) -> np.ndarray:
    """The observation, from python-chess."""
    seen = np.zeros((8, 8, 14 * history + 7), np.float32)
    me, stack = board.turn, board.copy()
    for index in range(history):
        for square, piece in stack.piece_map().items():
            at = square if me else chess.square_mirror(square)
            plane = piece.piece_type - 1 + 6 * (piece.color != me)
            seen[at // 8, at % 8, 14 * index + plane] = 1
        seen[:, :, 14 * index + 12 + stack.is_repetition(2)] = 1
        if not stack.move_stack:
            break
        stack.pop()
    rights = [
        has(side)
        for side in (me, not me)
        for has in (board.has_kingside_castling_rights, board.has_queenside_castling_rights)
    ]
    seen[:, :, 14 * history :] = [not me, board.ply() / 512, *rights, board.halfmove_clock / 100]
    return seen


@pytest.mark.parametrize("history", [1, 8, 100])
def test_observation(history):
    game = Chess(history=history)
    step, observe = jax.jit(game.step), jax.jit(game.observe)
    state, board, rng = game.init(KEY), chess.Board(), random.Random(7)
    assert game.observation_shape == (8, 8, 14 * history + 7)
    again = 0
    for ply in range(130):
        if ply % 5 == 0 or board.is_repetition(2):
            np.testing.assert_allclose(observe(state), planes(board, history), atol=1e-6)
            again += board.is_repetition(2)
        moves = legal_actions(board)
        if outcome(board, len(moves)):
            break
        action = choose(board, moves, rng, 0.2)
        state = step(KEY, state, jnp.int32(action))
        board.push(moves[action])
    assert ply > 20
    assert again


def test_action_planes():
    found = np.asarray(jax.vmap(GAME.action_planes)(jnp.arange(4672)))
    for origin in range(64):
        for plane in range(73):
            if plane < 56:
                ranks, files = (d * (plane % 7 + 1) for d in ROSE[plane // 7])
            else:
                ranks, files = HOPS[plane - 56] if plane < 64 else (1, (plane - 64) % 3 - 1)
            rank, file = origin // 8 + ranks, origin % 8 + files
            valid = 0 <= rank < 8 and 0 <= file < 8
            wanted = np.zeros((8, 8, 8))
            wanted[origin // 8, origin % 8, 0] = 1
            if valid:
                wanted[rank, file, 1] = 1
                wanted[:, :, 2] = 1
            if plane >= 64:
                promotion = 4 + (plane - 64) // 3
            else:
                promotion = 3 if origin // 8 == 6 and rank == 7 and plane < 56 else 7
            wanted[:, :, promotion] = 1
            assert (found[73 * origin + plane] == wanted).all(), (origin, plane)
