"""Gardner's minichess against a referee in plain Python."""

import random
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.games import make, play
from halfmove.games.gardner_chess import START

KEY = jax.random.key(0)
GAME = make("gardner_chess")
GAMES = 128
LINES = [(1, 0), (0, 1), (-1, 0), (0, -1)]
DIAGONALS = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
HOPS = [(r, f) for r in (-2, -1, 1, 2) for f in (-2, -1, 1, 2) if abs(r) != abs(f)]
SLIDES = {"R": LINES, "B": DIAGONALS, "Q": LINES + DIAGONALS}


class Referee:
    """One game: a dictionary of squares, and everything found by trying."""

    def __init__(self, fen: str = START) -> None:
        pieces, side, _, _, clock, _ = fen.split()
        self.board = {}
        for rank, row in zip(range(5, 0, -1), pieces.split("/"), strict=True):
            file = 0
            for mark in row:
                if mark.isdigit():
                    file += int(mark)
                else:
                    self.board["abcde"[file] + str(rank)] = mark
                    file += 1
        self.white, self.clock, self.plies = side == "w", int(clock), 0
        self.seen = Counter([self.key()])

    def key(self):
        return tuple(sorted(self.board.items())), self.white

    def reach(self, square: str):
        """Where the piece of a square may go, kings' safety aside; and whether it takes."""
        mark = self.board[square]
        white, kind = mark.isupper(), mark.upper()
        rank, file = int(square[1]), "abcde".index(square[0])

        def at(r, f):
            return "abcde"[f] + str(r) if 1 <= r <= 5 and 0 <= f < 5 else None

        if kind == "P":
            up = 1 if white else -1
            if (to := at(rank + up, file)) and to not in self.board:
                yield to
            for side in (-1, 1):
                to = at(rank + up, file + side)
                if to and to in self.board and self.board[to].isupper() != white:
                    yield to
            return
        steps = HOPS if kind == "N" else LINES + DIAGONALS if kind == "K" else SLIDES[kind]
        for r, f in steps:
            for far in range(1, 5 if kind in SLIDES else 2):
                to = at(rank + far * r, file + far * f)
                if to is None:
                    break
                if to not in self.board or self.board[to].isupper() != white:
                    yield to
                if to in self.board:
                    break

    def attacked(self, white: bool) -> bool:
        """Whether the king of a side could be taken."""
        king = next(s for s, mark in self.board.items() if mark == ("K" if white else "k"))
        return any(
            king in self.reach(square)
            for square, mark in self.board.items()
            if mark.isupper() != white
        )

    def moves(self) -> set[str]:
        found = set()
        for square, mark in list(self.board.items()):
            if mark.isupper() != self.white:
                continue
            for to in list(self.reach(square)):
                before = dict(self.board)
                self.board[to] = self.board.pop(square)
                if not self.attacked(self.white):
                    last = mark in "Pp" and to[1] in "15"
                    found |= {square + to + letter for letter in ("qrbn" if last else [""])}
                self.board = before
        return found

    def push(self, name: str) -> None:
        origin, to, letter = name[:2], name[2:4], name[4:]
        mark = self.board.pop(origin)
        self.clock = 0 if to in self.board or mark in "Pp" else self.clock + 1
        self.board[to] = (letter.upper() if mark.isupper() else letter) if letter else mark
        self.white, self.plies = not self.white, self.plies + 1
        self.seen[self.key()] += 1

    def result(self, moves: set[str]) -> str:
        if not moves:
            return "mate" if self.attacked(self.white) else "draw"
        others = [(s, m.upper()) for s, m in self.board.items() if m not in "Kk"]
        kinds = {m for _, m in others}
        shades = {("abcde".index(s[0]) + int(s[1])) % 2 for s, _ in others}
        weak = len(others) <= 1 and kinds <= {"B", "N"}
        weak = weak or (kinds == {"B"} and len(shades) == 1)
        drawn = weak or self.clock >= 100 or self.plies >= 256 or self.seen[self.key()] >= 3
        return "draw" if drawn else ""


def copies(state, count: int):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), state)


fast = {"compiler_options": {"xla_backend_optimization_level": 3}}
steps = jax.jit(jax.vmap(GAME.step, in_axes=(None, 0, 0)), **fast)
shown = jax.jit(jax.vmap(lambda s: (GAME.legal(s), GAME.terminated(s), GAME.reward(s))), **fast)


def assert_random_games(count: int, seed: int) -> Counter:
    rng, endings = random.Random(seed), Counter()
    for _ in range(0, count, GAMES):
        referees = [Referee() for _ in range(GAMES)]
        states, live = copies(GAME.init(KEY), GAMES), list(range(GAMES))
        while live:
            legal, over, earned = jax.device_get(shown(states))
            host, actions, going = jax.device_get(states), np.zeros(GAMES, np.int32), []
            for game in live:
                referee, state = referees[game], jax.tree.map(lambda x, g=game: x[g], host)
                moves = referee.moves()
                result = referee.result(moves)
                names = {GAME.move_name(state, a): a for a in np.flatnonzero(legal[game]).tolist()}
                assert set(names) == (set() if result else moves), GAME.position(state)
                assert over[game] == bool(result), GAME.position(state)
                lost = 0 if referee.white else 1
                assert earned[game, lost] == (-1 if result == "mate" else 0)
                assert earned[game].sum() == 0
                if result:
                    endings[result] += 1
                    continue
                name = rng.choice(sorted(moves))
                assert GAME.parse_move(state, name) == names[name]
                actions[game] = names[name]
                referee.push(name)
                going.append(game)
            states, live = steps(KEY, states, actions), going
    return endings


def test_random_games():
    endings = assert_random_games(GAMES, 1)
    assert endings["mate"]
    assert endings["draw"]


@pytest.mark.slow
def test_many_random_games():
    assert_random_games(1024, 2)


def follow(fen: str, line: str):
    state, referee = GAME.parse_position(fen), Referee(fen)
    for name in ["", *line.split()]:
        if name:
            state = play(GAME, state, name)
            referee.push(name)
        moves = referee.moves()
        result = referee.result(moves)
        assert bool(GAME.terminated(state)) == bool(result)
        host, legal = jax.device_get(state), np.flatnonzero(GAME.legal(state))
        names = {GAME.move_name(host, int(a)) for a in legal}
        assert names == (set() if result else moves)
    return state, result


@pytest.mark.parametrize(
    ("fen", "line", "result"),
    [
        (START, "b1a3 b5a3", ""),
        (START, "b1a3 b5c3 a3b1 c3b5 " * 2, "draw"),
        (START, "b1c3 b5c3 b2c3 b4c3", ""),
        ("4k/5/5/5/K2R1 w - - 0 1", "d1c1 e5e4 c1d1 e4e5 d1c1 e5e4 c1d1", ""),
        ("4k/5/5/5/K2R1 w - - 0 1", "d1c1 e5e4 c1d1 e4e5 d1c1 e5e4 c1d1 e4e5", "draw"),
        ("4k/5/5/5/K2R1 w - - 98 70", "d1c1", ""),
        ("4k/5/5/5/K2R1 w - - 98 70", "d1c1 e5e4", "draw"),
        ("4k/P4/5/5/K4 w - - 0 1", "a4a5n", "draw"),
        ("4k/P4/5/5/K4 w - - 0 1", "a4a5r", ""),
        ("1b2k/P4/5/5/K4 w - - 0 1", "a4b5b", "draw"),
        ("4k/5/5/3K1/R4 w - - 99 70", "a1a5", "draw"),
        ("4k/5/4K/5/R4 w - - 99 70", "a1a5", "mate"),
        ("4k/2Q2/3K1/5/5 b - - 0 1", "", "draw"),
        ("b3k/5/5/5/K3B w - - 0 1", "", "draw"),
        ("b3k/5/5/5/K2B1 w - - 0 1", "", ""),
    ],
)
def test_positions(fen, line, result):
    assert follow(fen, line)[1] == result


def test_action_planes_lie_as_the_observation_does():
    """The square a move of a lone piece leaves and enters is where it was and is seen."""
    before = GAME.parse_position("k4/5/5/5/K2R1 w - - 0 1")
    action = GAME.parse_move(before, "d1d4")
    planes = GAME.action_planes(jnp.int32(action))
    rook = np.asarray(GAME.observe(before))[:, :, 3]
    assert (np.asarray(planes)[:, :, 0] == rook).all()
    after = GAME.step(KEY, before, jnp.int32(action))
    theirs = np.asarray(GAME.observe(after))[::-1, :, 9]  # black sees it from the other side
    assert (np.asarray(planes)[:, :, 1] == theirs).all()
    assert np.asarray(planes)[0, 0, 2:].tolist() == [1, 0, 0, 0, 0, 1]


def test_observation():
    """Against planes written from the referee's boards."""
    referee, rng, state = Referee(), random.Random(11), GAME.init(KEY)
    past, quiet = [], ["b1a3", "b5c3", "a3b1", "c3b5", "b1a3"]  # back to the first position
    for _ in range(60):
        past.insert(0, (dict(referee.board), referee.seen[referee.key()] > 1))
        wanted = np.zeros((5, 5, 115), np.float32)
        for index, (board, again) in enumerate(past[:8]):
            for square, mark in board.items():
                rank, file = int(square[1]) - 1, "abcde".index(square[0])
                plane = "PNBRQK".index(mark.upper()) + 6 * (mark.isupper() != referee.white)
                wanted[rank if referee.white else 4 - rank, file, 14 * index + plane] = 1
            wanted[:, :, 14 * index + 12 + again] = 1
        wanted[:, :, 112:] = [not referee.white, referee.plies / 256, referee.clock / 100]
        np.testing.assert_allclose(GAME.observe(state), wanted, atol=1e-6)
        moves = referee.moves()
        if referee.result(moves):
            break
        name = quiet[len(past) - 1] if len(past) <= len(quiet) else rng.choice(sorted(moves))
        referee.push(name)
        state = play(GAME, state, name)
    assert len(past) > 20


def test_an_illegal_action_and_a_finished_game_change_nothing():
    state = GAME.parse_position("4k/5/4K/5/R4 w - - 0 1")
    for action in (-1, 48, 1224, 1225, GAME.parse_move(state, "a1b2")):
        same = GAME.step(KEY, state, jnp.int32(action))
        pairs = zip(jax.tree.leaves(state), jax.tree.leaves(same), strict=True)
        assert all((a == b).all() for a, b in pairs)
    mate = play(GAME, state, "a1a5")
    assert GAME.reward(mate).tolist() == [1.0, -1.0]
    after = GAME.step(KEY, mate, jnp.int32(0))
    assert GAME.reward(after).tolist() == [0.0, 0.0]
    assert bool(GAME.terminated(after))
    assert GAME.position(after) == GAME.position(mate)


def test_position_round_trip():
    state, rng = GAME.init(KEY), random.Random(3)
    assert GAME.position(state) == START
    for _ in range(30):
        again = GAME.parse_position(GAME.position(state))
        assert GAME.position(again) == GAME.position(state)
        assert (GAME.legal(again) == GAME.legal(state)).all()
        legal = np.flatnonzero(GAME.legal(state))
        if not len(legal):
            break
        state = GAME.step(KEY, state, jnp.int32(rng.choice(legal.tolist())))


@pytest.mark.parametrize(
    ("fen", "says"),
    [
        ("", "0 fields"),
        ("rnbqk/ppppp/5/PPPPP w - - 0 1", "4 ranks"),
        ("rnbqk/ppppp/6/PPPPP/RNBQK w - - 0 1", "'6' in rank 3"),
        ("rnbqk/ppppp/4/PPPPP/RNBQK w - - 0 1", "rank 3, '4', has 4"),
        ("rnbqk/ppppp/5/PPPPP/RNBQQ w - - 0 1", "white has 0 kings"),
        ("rPbqk/ppppp/5/PPPP1/RNBQK w - - 0 1", "last rank"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK x - - 0 1", "side to move"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w KQ - 0 1", "neither"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - - a 1", "progress"),
        ("4k/5/5/5/K3R w - - 0 1", "king of black"),
    ],
)
def test_malformed_fens(fen, says):
    with pytest.raises(ValueError, match=says):
        GAME.parse_position(fen)


@pytest.mark.parametrize(
    ("fen", "text", "says"),
    [
        (START, "f1f2", "two squares from a1 to e5"),
        (START, "", "two squares from a1 to e5"),
        (START, "a1b4", "no piece goes there"),
        (START, "a2a3q", "promotes no pawn"),
        ("4k/P4/5/5/K4 w - - 0 1", "a4a5", "what the pawn becomes"),
        ("4k/P4/5/5/K4 w - - 0 1", "a4d5r", "no p"),
    ],
)
def test_moves_that_are_none(fen, text, says):
    with pytest.raises(ValueError, match=says):
        GAME.parse_move(GAME.parse_position(fen), text)


def test_show():
    lines = GAME.show(play(GAME, GAME.init(KEY), "b1a3")).splitlines()
    assert lines[0] == "5 r n b q k"
    assert lines[2] == "3 N . . . ."
    assert lines[-2:] == ["  a b c d e", "black to move"]
