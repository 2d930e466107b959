"""Random games in plain Python, and all that may be asked of them, computed slowly."""

from dataclasses import dataclass

import numpy as np

from halfmove.core.types import Step

ACTIONS = 5


@dataclass(frozen=True)
class Move:
    """One move as it was played, and what followed from it in the end."""

    game: int
    number: int  # unique, also the stored state
    action: int
    policy: np.ndarray
    value: float
    reward: float
    discount: float
    last: bool


def stream(rng: np.random.Generator, moves: int, players: int, longest: int) -> list[Move]:
    """`moves` moves of one lane: games of 1 to `longest` moves, a quarter of them cut short."""
    played: list[Move] = []
    game = 0
    while len(played) < moves:
        length, cut = int(rng.integers(1, longest + 1)), rng.random() < 0.25
        for i in range(length):
            last = i == length - 1
            turn = 1.0 if players == 1 or rng.random() < 0.2 else -1.0
            played.append(
                Move(
                    game=game,
                    number=int(rng.integers(1, 2**30)),
                    action=int(rng.integers(ACTIONS)),
                    policy=rng.dirichlet(np.ones(ACTIONS)).astype(np.float32),
                    value=float(np.float32(rng.normal())),
                    reward=float(rng.integers(-3, 4)),
                    discount=0.0 if last and not cut else turn,
                    last=last,
                )
            )
        game += 1
    return played[:moves]


def lanes(seed: int, count: int, moves: int, *, players: int = 2, longest: int = 9):
    """[count] streams."""
    rng = np.random.default_rng(seed)
    return [stream(rng, moves, players, longest) for _ in range(count)]


def steps(streams: list[list[Move]], start: int, stop: int) -> Step:
    """Moves `start` to `stop` - 1 of all lanes as arrays [lanes, T]."""

    def field(name: str, dtype: type) -> np.ndarray:
        rows = [[getattr(move, name) for move in lane[start:stop]] for lane in streams]
        return np.asarray(rows, dtype)

    number = field("number", np.int32)
    return Step(
        state={"id": number, "wide": np.stack([number, -number], axis=-1)},
        action=field("action", np.int32),
        policy=field("policy", np.float32),
        value=field("value", np.float32),
        reward=field("reward", np.float32),
        discount=field("discount", np.float32),
        last=field("last", bool),
        weight=np.ones(number.shape, np.float32),
    )


def end_of(lane: list[Move], time: int) -> int | None:
    """The number of the last move of that move's game, if it was played."""
    return next((t for t in range(time, len(lane)) if lane[t].last), None)


def outcome(lane: list[Move], time: int) -> float | None:
    """G_t by its recursion, None where the game was cut short or goes on."""
    end = end_of(lane, time)
    if end is None or lane[end].discount != 0:
        return None
    total = 0.0
    for t in range(end, time - 1, -1):
        total = lane[t].reward + lane[t].discount * total
    return total


def eligible(
    streams: list[list[Move]], head: int, length: int, window: int, finished: bool, context: int = 0
) -> set[tuple[int, int]]:
    """The (lane, time) that may be sampled after `head` moves, by the definition."""
    found = set()
    for number, lane in enumerate(streams):
        so_far = lane[:head]
        for time in range(max(head - length, 0), head):
            if head > length and time - context < head - length:
                continue
            ended = end_of(so_far, time) is not None
            complete = ended or time + window <= head
            if (outcome(so_far, time) is not None) if finished else complete:
                found.add((number, time))
    return found
