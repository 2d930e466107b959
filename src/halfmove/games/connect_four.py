"""Connect four: drop discs into seven columns, four in a line wins."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, pytree
from halfmove.games.board import turned

ROWS, COLUMNS = 6, 7
FULL = 2**ROWS - 1
MARKS = ".xo"


@pytree
class State:
    """The discs of the player to move and of the other, a byte for each column."""

    mine: Array  # [7] u8: bit r is row r, counted from the bottom
    theirs: Array  # [7] u8
    ply: Array  # [] i8, discs so far
    won: Array  # [] bool: whether the player who does not move has won
    earned: Array  # [] bool: whether the last move did it


def four(discs: Any) -> Any:
    """Whether four of `discs` [7] u8 (jax or numpy) are in a line."""
    lines = discs & discs >> 1 & discs >> 2 & discs >> 3
    a, b, c, d = (discs[i : i + 4] for i in range(4))
    across = (a & b & c & d) | (a & b >> 1 & c >> 2 & d >> 3) | (a & b << 1 & c << 2 & d << 3)
    return (lines != 0).any() | (across != 0).any()


@dataclass(frozen=True)
class ConnectFour(Game):
    """Two players, seven columns of six; action c drops a disc into column c."""

    name: ClassVar[str] = "connect_four"

    @property
    def actions(self) -> int:
        return COLUMNS

    def init(self, key: Array) -> State:
        empty, no = jnp.zeros(COLUMNS, jnp.uint8), jnp.zeros((), bool)
        return State(empty, empty, jnp.int8(0), no, no)

    def step(self, key: Array, state: State, action: Array) -> State:
        chosen = self.legal(state) & (jnp.arange(COLUMNS) == action)
        legal = jnp.any(chosen)
        # A column is filled from its lowest bit, so adding one finds the next.
        drop = (state.mine | state.theirs) + jnp.uint8(1)
        mine = jnp.where(chosen, state.mine | drop, state.mine)
        won = legal & four(mine)
        return State(
            mine=jnp.where(legal, state.theirs, mine),
            theirs=jnp.where(legal, mine, state.theirs),
            ply=state.ply + legal.astype(jnp.int8),
            won=state.won | won,
            earned=won,
        )

    def legal(self, state: State) -> Array:
        return ((state.mine | state.theirs) != FULL) & ~state.won

    def to_play(self, state: State) -> Array:
        return state.ply.astype(jnp.int32) & 1

    def reward(self, state: State) -> Array:
        sign = jnp.where(state.ply & 1 == 1, 1.0, -1.0)
        return jnp.where(state.earned, jnp.stack([sign, -sign]), 0.0)

    def terminated(self, state: State) -> Array:
        return state.won | (state.ply == ROWS * COLUMNS)

    def observe(self, state: State) -> Array:
        """[6, 7, 2]: my discs and theirs, the top row first."""
        rows = jnp.arange(ROWS, dtype=jnp.uint8)[::-1, None]
        planes = [(discs >> rows) & 1 for discs in (state.mine, state.theirs)]
        return jnp.stack(planes, axis=-1).astype(jnp.float32)

    def action_planes(self, action: Array) -> Array:
        """[6, 7, 1]: the column."""
        column = (jnp.arange(COLUMNS) == action).astype(jnp.float32)
        return jnp.broadcast_to(column[None, :, None], (ROWS, COLUMNS, 1))

    def action_maps(self) -> np.ndarray:
        """[2, 7]: as it is, and mirrored."""
        return np.stack([np.arange(COLUMNS), np.arange(COLUMNS)[::-1]])

    def turn(self, observation: Array, s: Array) -> Array:
        squares = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
        return turned(observation, np.stack([squares.ravel(), squares[:, ::-1].ravel()]), s)

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        rows = self.position(state).split("/")
        return "\n".join([" ".join(row) for row in rows] + ["1 2 3 4 5 6 7"])

    def move_name(self, state: State, action: int) -> str:
        """The column, 1 to 7."""
        return str(int(action) + 1)

    def parse_move(self, state: State, text: str) -> int:
        """A column, 1 to 7 or a to g."""
        name = text.strip().lower()
        for columns in ("1234567", "abcdefg"):
            if len(name) == 1 and name in columns:
                return columns.index(name)
        raise ValueError(f"{text!r} is not a column of connect four: 1 to 7, or a to g")

    def position(self, state: State) -> str:
        """Six rows of seven from the top, x moved first: `......./......./...`."""
        mine, theirs = (np.asarray(jax.device_get(x)) for x in (state.mine, state.theirs))
        x, o = (theirs, mine) if int(state.ply) % 2 else (mine, theirs)
        board = [(x >> row & 1) + 2 * (o >> row & 1) for row in reversed(range(ROWS))]
        return "/".join("".join(MARKS[mark] for mark in row) for row in board)

    def parse_position(self, text: str) -> State:
        rows = text.strip().split("/")
        if [len(row) for row in rows] != [COLUMNS] * ROWS or set("".join(rows)) - set(MARKS):
            raise ValueError(
                f"a position of connect four is six rows of seven of {MARKS!r}, "
                f"the top row first and '/' between them, not {text!r}"
            )
        board = np.array([[MARKS.index(mark) for mark in row] for row in reversed(rows)])
        weights = 2 ** np.arange(ROWS, dtype=np.uint8)[:, None]
        x, o = ((weights * (board == mark)).sum(0, dtype=np.uint8) for mark in (1, 2))
        if ((x | o) & ((x | o) + np.uint8(1))).any():
            raise ValueError(f"{text!r} has a disc with nothing below it")
        ply, ahead = int((board > 0).sum()), int((board == 1).sum() - (board == 2).sum())
        if ahead not in (0, 1):
            raise ValueError(f"{text!r} has too many of one mark; x moves first")
        mine, theirs = (o, x) if ahead else (x, o)
        if four(mine) or (four(theirs) and not self._last(theirs, mine)):
            raise ValueError(f"{text!r} goes on after four in a line")
        return State(
            jnp.asarray(mine),
            jnp.asarray(theirs),
            jnp.int8(ply),
            jnp.bool_(four(theirs)),
            jnp.zeros((), bool),
        )

    def _last(self, discs: np.ndarray, others: np.ndarray) -> bool:
        """Whether taking one of `discs` off the top of a column leaves no four."""
        for column in range(COLUMNS):
            top = (int(discs[column] | others[column]) + 1) >> 1
            before = discs.copy()
            before[column] &= ~np.uint8(top)
            if discs[column] & top and not four(before):
                return True
        return False


GAMES: dict[str, Any] = {"connect_four": ConnectFour}
