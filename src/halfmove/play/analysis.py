"""A search as Go programs show it: the streams of `lz-analyze` and `kata-analyze`.

Leela Zero's form has win rates in ten-thousandths, KataGo's as numbers from 0 to 1, and the score
and the owners of points where the player predicts them (play/territory.py). Documented in
KataGo's docs/GTP_Extensions.md; Sabaki and Lizzie read both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from halfmove.play import gtp
from halfmove.play.opinion import Line, Opinion
from halfmove.play.territory import Territory

# Words that are followed by one value, which changes nothing here.
IGNORED = ("ownershipStdev", "movesOwnership", "pvVisits", "pvEdgeVisits", "rootInfo",
           "noResultValue", "minmoves")  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """What an analysis was asked for."""

    player: int  # for whom
    every: float = 1.0  # seconds between two lines
    most: int | None = None  # moves in a line
    avoid: frozenset[int] = frozenset()  # actions not to think of
    allow: frozenset[int] = frozenset()  # if any: only these
    ownership: bool = False  # whether to say whose the points will be

    def only(self, legal: Sequence[int]) -> list[int]:
        """Which of the legal actions may be chosen; all if there were none left."""
        left = [a for a in legal if a not in self.avoid and (not self.allow or a in self.allow)]
        return left or list(legal)


def wish(arguments: Sequence[str], mover: int, parse: Callable[[str], int]) -> Wish:
    """What the words of a command ask for; whose turn it is, and what reads a vertex, is given."""
    words = list(arguments)
    player, every, most, ownership = mover, 1.0, None, False
    sets: dict[str, set[int]] = {"avoid": set(), "allow": set()}
    if words and words[0].lower() in gtp.COLOURS:
        player = gtp.colour(words.pop(0))
    if words and words[0].isdigit():
        every = _interval(words.pop(0))
    while words:
        word = words.pop(0)
        if word in sets:
            who, vertices, _ = _taken(words, 3, word)
            points = {parse(vertex) for vertex in vertices.split(",")}
            if gtp.colour(who) == player:
                sets[word] |= points
        elif word == "interval":
            every = _interval(_taken(words, 1, word)[0])
        elif word == "maxmoves":
            most = gtp.whole(_taken(words, 1, word)[0], 1)
        elif word == "ownership":
            ownership = _taken(words, 1, word)[0].lower() == "true"
        elif word in IGNORED:
            _taken(words, 1, word)
        else:
            raise ValueError(f"syntax error: {word!r:.80} means nothing in an analysis")
    frozen = {name: frozenset(points) for name, points in sets.items()}
    return Wish(player, every, most, **frozen, ownership=ownership)


def _interval(text: str) -> float:
    return max(gtp.whole(text), 1) / 100  # given in hundredths of a second


def _taken(words: list[str], count: int, name: str) -> list[str]:
    if len(words) < count:
        raise ValueError(f"syntax error: {name} is followed by {count} words, got {len(words)}")
    taken, words[:] = words[:count], words[count:]
    return taken


# Of a position and of those after some moves, as the player to move sees them.
Whose = Callable[[Sequence[int]], Sequence[Territory]]


def info(
    opinion: Opinion, form: str, name: Callable[[int], str], wish: Wish, whose: Whose | None
) -> str:
    """One line of a stream; `form` is "lz" or "kata", `name` writes a vertex."""
    lines = [line for line in opinion.lines if line.visits] or opinion.lines[:1]
    lines = lines[: wish.most]
    known: list[Territory | None] = [None] * (1 + len(lines))
    if whose is not None and form == "kata":
        known = [*whose([line.moves[0] for line in lines])]
    here, *after = known
    parts = []
    for order, (line, then) in enumerate(zip(lines, after, strict=True)):
        said = _lz(line) if form == "lz" else _kata(line, then)
        moves = " ".join(name(action) for action in line.moves)
        parts.append(f"info move {name(line.moves[0])} {said} order {order} pv {moves}")
    if wish.ownership and here is not None:
        parts.append("ownership " + " ".join(f"{x:.4f}" for x in here.owners.ravel()))
    return " ".join(parts)


def _lz(line: Line) -> str:
    rate, prior, low = (round(10000 * x) for x in (line.winrate, line.prior, line.lcb))
    return f"visits {line.visits} winrate {rate} prior {prior} lcb {low}"


def _kata(line: Line, then: Territory | None) -> str:
    score = f"scoreMean {then.lead:.3f} scoreLead {then.lead:.3f} " if then is not None else ""
    return (
        f"visits {line.visits} utility {line.value:.6f} winrate {line.winrate:.6f} {score}"
        f"prior {line.prior:.6f} lcb {line.lcb:.6f} utilityLcb {2 * line.lcb - 1:.6f}"
    )
