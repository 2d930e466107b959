"""What stands behind `go` in UCI and USI."""

from collections.abc import Sequence
from dataclasses import dataclass

from halfmove.play.clock import Clock
from halfmove.play.gtp import whole
from halfmove.play.opinion import Opinion

LONG = 10**10  # milliseconds, more than any clock has


@dataclass(frozen=True)
class Asked:
    """What a search is to do; seconds."""

    clocks: tuple[Clock | None, Clock | None] = (None, None)  # of player 0 and 1
    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None
    mate: int | None = None  # moves; 0: any number
    open: bool = False  # infinite or ponder: nothing but another line ends it
    only: tuple[str, ...] = ()  # moves to choose from, by name

    @property
    def plain(self) -> bool:
        """Nothing was said that would end the search."""
        limits = (self.movetime, self.nodes, self.depth, self.mate)
        return not self.open and all(limit is None for limit in limits)

    @property
    def watched(self) -> bool:
        """What it finds decides when it ends."""
        return self.depth is not None or self.mate is not None

    def reached(self, opinion: Opinion) -> bool:
        """Whether what was asked for has been found."""
        found = opinion.lines[0].mate
        if self.mate is not None and found is not None and found > 0:
            return not self.mate or (found + 1) // 2 <= self.mate
        return self.depth is not None and opinion.depth >= self.depth


NUMBERS = ("wtime", "btime", "winc", "binc", "byoyomi", "movestogo", "movetime", "nodes", "depth",
           "mate")  # fmt: skip


def asked(words: Sequence[str], clocks: tuple[str, str]) -> Asked:
    """What the words say; `clocks` names those of player 0 and 1. ValueError if it is unclear."""
    numbers: dict[str, int] = {}
    flags: set[str] = set()
    only: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "searchmoves":
            while rest and rest[0] not in (*NUMBERS, "infinite", "ponder"):
                only.append(rest.pop(0))
        elif word in ("infinite", "ponder"):
            flags.add(word)
        elif word == "mate" and rest[:1] == ["infinite"]:  # shogi
            numbers[word] = 0
            rest.pop(0)
        elif word in NUMBERS:
            if not rest:
                raise ValueError(f"go: {word} needs a number")
            # A flag that has fallen is a clock below zero.
            numbers[word] = whole(rest.pop(0).removeprefix("-"), 0, LONG)
        else:
            raise ValueError(f"go: {word!r:.80} means nothing")
    return Asked(
        clocks=(_clock(numbers, clocks[0]), _clock(numbers, clocks[1])),
        movetime=numbers["movetime"] / 1000 if "movetime" in numbers else None,
        nodes=numbers.get("nodes"),
        depth=numbers.get("depth"),
        mate=numbers.get("mate"),
        open=bool(flags),
        only=tuple(only),
    )


def _clock(numbers: dict[str, int], name: str) -> Clock | None:
    if name not in numbers and "byoyomi" not in numbers:
        return None
    return Clock(
        left=numbers.get(name, 0) / 1000,
        increment=numbers.get(name[0] + "inc", 0) / 1000,
        period=numbers.get("byoyomi", 0) / 1000,
        moves=numbers.get("movestogo") or None,
    )
