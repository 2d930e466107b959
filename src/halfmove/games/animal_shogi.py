"""Animal shogi (dobutsu shogi): chick, elephant, giraffe and lion on three files."""

import functools
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array
from halfmove.games import repetition
from halfmove.games.shogi_moves import other_side, pack
from halfmove.games.shogi_state import (
    State,
    begun,
    cells,
    check_limits,
    gone_on,
    planes,
    rewards,
)

SQUARES, OFF, KINDS, ACTIONS = 12, 12, 3, 132
CHICK, ELEPHANT, GIRAFFE, LION, HEN = range(1, 6)
LETTERS = "CEGLH"
START = "gle/1c1/1C1/ELG b - 1"
SIDES = ("black", "white")
# (files to the left, ranks towards oneself) of pgx's eight directions
DIRECTIONS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
STEPS = {CHICK: (3,), ELEPHANT: (0, 2, 5, 7), GIRAFFE: (1, 3, 4, 6), LION: tuple(range(8))}
STEPS[HEN] = (0, 1, 3, 4, 5, 6)


def _next_to() -> np.ndarray:
    """[12, 8]: the square in each direction, or `OFF`."""
    table = np.full((SQUARES, 8), OFF)
    for square in range(SQUARES):
        for d, (file, rank) in enumerate(DIRECTIONS):
            x, y = square // 4 + file, square % 4 + rank
            if 0 <= x < 3 and 0 <= y < 4:
                table[square, d] = 4 * x + y
    return table


NEXT = _next_to()
FAR, NEAR = np.arange(SQUARES) % 4 == 0, np.arange(SQUARES) % 4 == 3
GOES = np.array([[d in STEPS.get(piece, ()) for d in range(8)] for piece in range(6)])
PIECES = np.array([*range(1, 6), *range(-1, -6, -1)], np.int8)  # in the order of planes
MOST = np.full(KINDS, 2, np.float32)  # of each kind there are
PICTURE = (4 * (2 - np.arange(3))[None, :] + np.arange(4)[:, None]).ravel()


@jax.jit
def _legal(board: Array, hand: Array) -> Array:
    """[5] u32, the legal actions packed: 12 * direction + origin, then 12 * kind + target.

    Every piece goes one step, so nothing pins and nothing can be put between.
    """
    wide = jnp.append(board, jnp.int8(0))
    beside = wide[NEXT]
    hits = jnp.any(beside[:, :, None] == -np.arange(1, 6), axis=2)
    hits &= jnp.asarray(GOES)[jnp.abs(beside), np.arange(8)]
    lion = board == LION
    checkers = jnp.any(lion[:, None] & hits, axis=0)  # by direction from the lion
    checker = jnp.any(
        (NEXT[:, :, None] == np.arange(SQUARES)) & (lion[:, None] & hits)[:, :, None], axis=(0, 1)
    )
    checks = jnp.sum(checkers)
    attacked = jnp.append(jnp.any(hits, axis=1), True)

    answers = jnp.append((checks == 0) | ((checks == 1) & checker), False)
    able = (board > 0)[:, None] & jnp.asarray(GOES)[jnp.maximum(board, 0)] & (beside <= 0)
    able &= jnp.where(lion[:, None], ~attacked[NEXT], answers[NEXT])
    drops = (hand > 0)[:, None] & (board == 0) & (checks == 0)
    return pack(jnp.concatenate([able.T.ravel(), drops.ravel()]), 1)


def _unpack(moves: Array) -> Array:
    bits = (moves[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    return bits.ravel()[:ACTIONS] != 0


def _entered(board: Array) -> Array:
    """Whether the opponent's lion stands on the mover's first rank."""
    return jnp.any((board == -LION) & NEAR)


def _moved(board: Array, hands: Array, action: Array) -> tuple[Array, Array]:
    """The board and hands after a move, still seen by the player who made it."""
    kind, square, at = action // SQUARES, action % SQUARES, jnp.arange(SQUARES)
    drop = kind >= 8
    to = jnp.where(drop, square, jnp.asarray(NEXT)[square, jnp.minimum(kind, 7)])
    piece = jnp.where(drop, kind - 7, board[square])
    piece = jnp.where(~drop & (piece == CHICK) & (to % 4 == 0), HEN, piece)
    taken = -board[jnp.minimum(to, SQUARES - 1)]
    taken = jnp.where(taken == HEN, CHICK, taken)
    kinds = jnp.arange(1, KINDS + 1)
    gained = (taken == kinds).astype(jnp.int8) - (drop & (kind - 7 == kinds)).astype(jnp.int8)
    left = jnp.where(~drop & (at == square), 0, board)
    return jnp.where(at == to, piece, left).astype(jnp.int8), hands.at[0].add(gained)


@functools.partial(jax.jit, static_argnames=("history", "max_moves"))
def _start(
    board: Array, hands: Array, turn: Array, ply: Array, *, history: int, max_moves: int
) -> State:
    moves = _legal(board, hands[0])
    word = repetition.word(cells(board, hands), turn, jnp.zeros((), bool))
    over = ~jnp.any(moves != 0) | (ply >= max_moves) | _entered(board)
    limits = {"history": history, "max_moves": max_moves}
    return begun(board, hands, turn, ply, moves, word, over, **limits)


@dataclass(frozen=True)
class AnimalShogi(Game):
    """Animal shogi. Black (player 0) moves first.

    Actions are pgx's: 12 * direction + origin, then 96 + 12 * kind + target for drops. A lion
    may not be left where it can be taken; who has no legal move has lost, and a lion that
    reaches the far rank has won. A chick that moves there becomes a hen. The third time a
    position stands is a draw, and so is the end of `max_moves`. (pgx hashes captures in a way
    that depends on the path, so it misses repetitions, and its history is scrambled.) The
    first position is not its own mirror image, so there are no symmetries.
    """

    name: ClassVar[str] = "animal_shogi"
    position_forgets: ClassVar[str] = "the positions before"
    history: int = 8
    max_moves: int = 256

    def __post_init__(self) -> None:
        check_limits(self.history, self.max_moves)

    @property
    def actions(self) -> int:
        return ACTIONS

    def init(self, key: Array) -> State:
        return self.parse_position(START)

    def step(self, key: Array, state: State, action: Array) -> State:
        legal = jnp.any(_unpack(state.moves) & (jnp.arange(ACTIONS) == action))
        board, hands = _moved(state.boards[0], state.hands[0], action)
        board, hands = other_side(board), hands[::-1]
        turn, ply = 1 - state.turn, state.ply + 1
        moves = _legal(board, hands[0])
        now = repetition.word(cells(board, hands), turn, jnp.zeros((), bool))
        count = jnp.sum(repetition.earlier(state.words, now, ply), dtype=jnp.int8)
        third = count >= 2
        won = (~jnp.any(moves != 0) | _entered(board)) & ~third
        over = won | third | (ply >= self.max_moves)
        earned = won.astype(jnp.int8)
        return gone_on(state, legal, board, hands, moves, now, count, over, earned)

    def legal(self, state: State) -> Array:
        return _unpack(state.moves)

    def to_play(self, state: State) -> Array:
        return state.turn.astype(jnp.int32)

    def reward(self, state: State) -> Array:
        return rewards(state)

    def terminated(self, state: State) -> Array:
        return state.over

    def observe(self, state: State) -> Array:
        """[4, 3, 18 * history + 2], the mover below.

        For every board, newest first: 5 planes of the mover's pieces, 5 of the opponent's,
        2 for having stood once, twice before, 3 and 3 for the hands (as shares of two). Then
        the colour (1: white) and the share of `max_moves` made.
        """
        return planes(state, PICTURE, PIECES, 2, MOST).reshape(4, 3, -1)

    def passed(self, planes: Array) -> Array:
        """Turned by half a circle."""
        return planes[::-1, ::-1]

    def action_planes(self, action: Array) -> Array:
        """[4, 3, 6]: where from, three drops, where to, to-is-valid; as MuZero's for shogi."""
        kind, square = action // SQUARES, action % SQUARES
        drop = kind >= 8
        to = jnp.where(drop, square, jnp.asarray(NEXT)[square, jnp.minimum(kind, 7)])
        at = jnp.asarray(PICTURE)
        parts = [
            ~drop & (at == square),
            *(kind - 8 == k for k in range(KINDS)),
            at == to,
            to < OFF,
        ]
        spread = [jnp.broadcast_to(plane, SQUARES) for plane in parts]
        return jnp.stack(spread, axis=1).reshape(4, 3, 6).astype(jnp.float32)

    # -- on the host -----------------------------------------------------

    def show(self, state: State) -> str:
        """The board from black's side, capital letters black, with the hands."""
        board, hands = _absolute(state)
        lines = [f"white's hand: {_hand(hands[1]).lower() or '-'}"]
        for rank in range(4):
            cells = [_letter(int(board[4 * file + rank])) for file in (2, 1, 0)]
            lines.append(f"{4 - rank}  {' '.join(cells)}")
        lines += ["   a b c", f"black's hand: {_hand(hands[0]) or '-'}"]
        return "\n".join([*lines, f"move {int(state.ply) + 1}, {SIDES[int(state.turn)]} to play"])

    def move_name(self, state: State, action: int) -> str:
        """Squares as in chess, a1 at black's left hand: b2b3, and C*b2 for a drop."""
        kind, square = divmod(int(action), SQUARES)
        turn = int(state.turn)
        if kind >= 8:
            return f"{LETTERS[kind - 8]}*{_square(square, turn)}"
        to = int(NEXT[square, kind])
        return str(action) if to == OFF else _square(square, turn) + _square(to, turn)

    def parse_move(self, state: State, text: str) -> int:
        turn = int(state.turn)
        if found := re.fullmatch(r"([CEG])\*([abc][1-4])", text):
            return 12 * (8 + LETTERS.index(found[1])) + _read_square(found[2], turn)
        if not (found := re.fullmatch(r"([abc][1-4])([abc][1-4])", text)):
            raise ValueError(
                f"{text!r} is not a move of animal shogi: expected b2b3, or C*b2 to drop C, E or G"
            )
        start, to = (_read_square(square, turn) for square in found.groups())
        if to not in NEXT[start]:
            raise ValueError(f"{text!r}: pieces go one step, {found[2]} is not beside {found[1]}")
        return 12 * int(np.argmax(NEXT[start] == to)) + start

    def position(self, state: State) -> str:
        """As SFEN: ranks from white's side, who moves, hands, move number. See `START`."""
        board, hands = _absolute(state)
        rows = []
        for rank in range(4):
            cells = "".join(_letter(int(board[4 * file + rank])) for file in (2, 1, 0))
            rows.append(re.sub(r"\.+", lambda gap: str(len(gap[0])), cells))
        hand = _hand(hands[0]) + _hand(hands[1]).lower() or "-"
        return f"{'/'.join(rows)} {'bw'[int(state.turn)]} {hand} {int(state.ply) + 1}"

    def parse_position(self, text: str) -> State:
        board, hands, turn, ply = read_position(text)
        if ply > self.max_moves:
            raise ValueError(f"{text!r}: move {ply + 1} is beyond the limit of {self.max_moves}")
        arrays = jnp.asarray(board), jnp.asarray(hands), jnp.int8(turn), jnp.int32(ply)
        return _start(*arrays, history=self.history, max_moves=self.max_moves)


def _absolute(state: State) -> tuple[np.ndarray, np.ndarray]:
    """The board and hands from black's side."""
    board, hands = np.asarray(state.boards[0]), np.asarray(state.hands[0])
    return (-board[::-1], hands[::-1]) if int(state.turn) else (board, hands)


def _letter(piece: int) -> str:
    letter = LETTERS[abs(piece) - 1] if piece else "."
    return letter if piece >= 0 else letter.lower()


def _hand(hand: np.ndarray) -> str:
    return "".join(
        (str(n) if n > 1 else "") + LETTERS[kind] for kind, n in enumerate(hand.tolist()) if n
    )


def _square(square: int, turn: int) -> str:
    square = SQUARES - 1 - square if turn else square
    return f"{'cba'[square // 4]}{4 - square % 4}"


def _read_square(text: str, turn: int) -> int:
    square = 4 * "cba".index(text[0]) + 4 - int(text[1])
    return SQUARES - 1 - square if turn else square


def read_position(text: str) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Board [12] and hands [2, 3] seen by the player to move, turn and ply of a position."""

    def wrong(why: str) -> ValueError:
        return ValueError(f"position {text!r}: {why}; the first one is {START!r}")

    fields = text.split()
    rows = fields[0].split("/") if fields else []
    if len(fields) != 4 or len(rows) != 4:
        raise wrong("expected four ranks between slashes, side, hands and move number")
    board, hands = np.zeros(SQUARES, np.int8), np.zeros((2, KINDS), np.int8)
    for rank, row in enumerate(rows):
        cells = re.sub(r"[123]", lambda gap: "." * int(gap[0]), row)
        if not re.fullmatch(rf"[{LETTERS}{LETTERS.lower()}.]{{3}}", cells) or "." in row:
            raise wrong(f"rank {4 - rank} ({row!r}) is not three squares of {LETTERS} and gaps")
        for file, cell in zip((2, 1, 0), cells, strict=True):
            piece = LETTERS.find(cell.upper()) + 1
            board[4 * file + rank] = piece if cell.isupper() else -piece
    if fields[1] not in ("b", "w"):
        raise wrong(f"the side to move is b or w, not {fields[1]!r}")
    if not re.fullmatch(r"-|(2?[CEGceg])+", fields[2]):
        raise wrong(f"hands are - or pieces such as 2Ce, not {fields[2]!r}")
    for count, letter in re.findall(r"(2?)([CEGceg])", fields[2]):
        hands[int(letter.islower()), LETTERS.index(letter.upper())] += int(count or 1)
    if not re.fullmatch(r"[1-9]\d{0,4}", fields[3], re.ASCII):
        raise wrong(f"the move number counts from 1, not {fields[3]!r}")
    for kind, letter in enumerate(LETTERS[:4]):
        on_board = np.abs(board) == kind + 1
        on_board |= (np.abs(board) == HEN) & (kind == 0)
        total = int(on_board.sum()) + (int(hands[:, kind].sum()) if kind < KINDS else 0)
        if total > 2:
            raise wrong(f"there are {total} of {letter}, at most 2 exist")
    if (board == LION).sum() != 1 or (board == -LION).sum() != 1:
        raise wrong("each side has one lion")
    turn = "bw".index(fields[1])
    if turn:
        board, hands = -board[::-1], hands[::-1]
    for square in np.nonzero(board > 0)[0]:
        reached = NEXT[square, list(STEPS[int(board[square])])]
        if (board[reached[reached < OFF]] == -LION).any():
            raise wrong("the side to move could take the lion")
    return board.copy(), hands.copy(), turn, int(fields[3]) - 1


GAMES: dict[str, Any] = {"animal_shogi": AnimalShogi}
