"""Go: area scoring, positional superko as a rule of legality, 2x2 to 19x19.

go_bits.py has sets of points, go_rules.py and go_superko.py the rules on them,
go_state.py what is kept of a game, go_kernel.py a move as one program on a GPU,
go_text.py vertices and SGF.
"""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array
from halfmove.games import go_kernel, go_state, go_text
from halfmove.games.board import symmetries, turned
from halfmove.games.go_bits import Grid
from halfmove.games.go_rules import Rules
from halfmove.games.go_state import State

ENGINES = ("auto", "xla", "kernel")


@dataclass(frozen=True)
class Go(Game):
    """Tromp-Taylor scoring; a repeated position is illegal, and so is suicide by default.

    Action `row * size + column` is a stone, row 0 at the top; the last one is a pass. Two
    passes end the game, and so does move number `max_moves`; then it is scored as it lies.
    Black is player 0 and moves first, but with a handicap player 1 does.
    """

    name: ClassVar[str] = "go"
    position_forgets: ClassVar[str] = "the positions, moves and passes before"

    size: int = 9
    komi: float = 7.5  # a whole number makes draws possible
    handicap: int = 0  # black stones on the usual points
    suicide: bool = False  # whether a chain may be played without liberties, and is removed
    history: int = 8  # boards in the observation
    max_moves: int | None = None  # 2 * size * size
    engine: str = "auto"  # "kernel" on a GPU, else "xla"; both give the same

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 19:
            raise ValueError(f"size must be 2 to 19, got {self.size}")
        if not np.isfinite(self.komi):
            raise ValueError(f"komi must be a finite number, got {self.komi}")
        if self.history < 1:
            raise ValueError(f"history must be at least 1 board, got {self.history}")
        if self.max_moves is not None and self.max_moves < 1:
            raise ValueError(f"max_moves must be at least 1, got {self.max_moves}")
        if self.engine not in ENGINES:
            raise ValueError(f"engine must be one of {', '.join(ENGINES)}; got {self.engine!r}")
        go_text.handicap_points(self.size, self.handicap)

    @property
    def rules(self) -> Rules:
        """What the rules need to know."""
        limit = 2 * self.size**2 if self.max_moves is None else self.max_moves
        return Rules(self.size, float(self.komi), self.suicide, limit)

    @property
    def actions(self) -> int:
        return self.size**2 + 1

    def init(self, key: Array) -> State:
        return jax.tree.map(jnp.asarray, _opening(self))

    def step(self, key: Array, state: State, action: Array) -> State:
        action = jnp.asarray(action, jnp.int32)
        on_gpu = jax.default_backend() == "gpu"
        if self.engine == "kernel" or (self.engine == "auto" and on_gpu):
            return go_kernel.step(self.rules, state, action, interpret=not on_gpu)
        return go_state.step(self.rules, state, action)

    def legal(self, state: State) -> Array:
        points = Grid(self.size).unpack(state.legal).reshape(-1) > 0
        return jnp.append(points, ~self.terminated(state))

    def to_play(self, state: State) -> Array:
        return state.known.turn

    def reward(self, state: State) -> Array:
        earned = state.known.earned.astype(jnp.float32)
        return jnp.stack([earned, -earned])

    def terminated(self, state: State) -> Array:
        return state.known.over > 0

    def observe(self, state: State) -> Array:
        """[size, size, 2 * history + 1]: own and enemy stones, newest first; 1 if black moves.

        The planes of AlphaGo Zero, in its order: X_t, Y_t, X_t-1, Y_t-1, ..., C.
        """
        white = self.to_play(state) == 1
        boards = jnp.where(white, state.boards[:, ::-1], state.boards)
        planes = Grid(self.size).unpack(boards).reshape(-1, self.size, self.size)
        black = jnp.where(white, 0, 1) * jnp.ones((1, self.size, self.size), jnp.int32)
        return jnp.concatenate([planes, black]).transpose(1, 2, 0).astype(jnp.float32)

    def ownership(self, state: State) -> Array:
        """[size, size] f32: the areas."""
        return go_state.ownership(self.size, state).astype(jnp.float32)

    def action_planes(self, action: Array) -> Array:
        """[size, size, 1]: the stone; nothing for a pass."""
        stone = jnp.arange(self.size**2) == action
        return stone.reshape(self.size, self.size, 1).astype(jnp.float32)

    def action_maps(self) -> np.ndarray:
        maps = symmetries(self.size)
        return np.concatenate([maps, np.full((len(maps), 1), self.size**2)], axis=1)

    def turn(self, observation: Array, s: Array) -> Array:
        return turned(observation, symmetries(self.size), s)

    def score(self, state: State) -> Array:
        """[] f32, black's area less white's and komi, as if the game ended here."""
        return go_state.lead(self.size, state).astype(jnp.float32) - self.komi

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        known = jax.device_get(state.known)
        lead = float(self.score(state))
        result = ""
        if known.over:
            winner = "black (X)" if lead > 0 else "white (O)"
            result = f"{winner} won by {abs(lead):g}" if lead else "a draw"
        lost = (int(known.black_lost), int(known.white_lost))
        return go_text.draw(self.board(state), int(known.last), int(known.turn), lost, result)

    def move_name(self, state: State, action: int) -> str:
        return go_text.vertex(self.size, int(action))

    def parse_move(self, state: State, text: str) -> int:
        return go_text.parse_vertex(self.size, text)

    def position(self, state: State) -> str:
        """The root of an SGF file: stones, komi, who moves.

        Lost are the past (older boards and what superko forbids), the number of moves and
        passes, and that a game is over.
        """
        return go_text.write_sgf(self.board(state), self.komi, int(self.to_play(state)))

    def parse_position(self, text: str) -> State:
        board, turn = go_text.read_sgf(text, self.size, self.komi)
        return jax.tree.map(jnp.asarray, _begin(self, board, turn))

    def board(self, state: State) -> np.ndarray:
        """[size, size] i8: 0 empty, 1 black, 2 white."""
        black, white = np.asarray(Grid(self.size).unpack(state.boards[0]), np.int8)
        return black + 2 * white


@functools.lru_cache(maxsize=64)
def _opening(game: Go) -> State:
    """The first state in numpy; made while tracing, so that it is a constant there."""
    board = np.zeros((game.size, game.size), np.int8)
    for place in go_text.handicap_points(game.size, game.handicap):
        board[place] = 1
    return _begin(game, board, turn=1 if game.handicap else 0)


def _begin(game: Go, board: np.ndarray, turn: int) -> State:
    atari = np.zeros(board.shape, bool)
    for stones, liberties in go_text.chains(board):
        for place in stones:
            atari[place] = len(liberties) == 1
    return go_state.begin(game.rules, game.history, board == 1, board == 2, atari, turn)


GAMES: dict[str, Any] = {"go": Go}
