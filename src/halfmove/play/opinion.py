"""What a search thinks of a position, for people and programs that ask."""

from collections import defaultdict
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from halfmove.search.anytime import Look


@dataclass(frozen=True)
class Line:
    """A move and what is expected to follow it, seen by the player to move."""

    moves: tuple[int, ...]  # actions, the move itself first
    visits: int
    value: float  # -1 to 1
    prior: float  # 0 to 1
    mate: int | None = None  # plies until the player to move has won for sure; < 0: has lost

    @property
    def winrate(self) -> float:
        """The value on a scale from 0 to 1."""
        return min(1.0, max(0.0, (1.0 + self.value) / 2.0))

    @property
    def lcb(self) -> float:
        """Two standard errors below the win rate, as if every visit were a game."""
        spread = sqrt(max(self.winrate * (1.0 - self.winrate), 1e-4) / max(self.visits, 1))
        return max(0.0, self.winrate - 2.0 * spread)


@dataclass(frozen=True)
class Opinion:
    """All of it."""

    action: int  # the move to play
    value: float  # of the position for the player to move, -1 to 1
    nodes: int  # simulations made
    depth: int  # moves of the first line
    deepest: int  # moves from the root to the deepest node
    lines: tuple[Line, ...]  # every move that was visited, the one to play first; at least one


def opinion_of(look: Look) -> Opinion:
    """The opinion of the first game of a look that is on the host."""
    plan = look.plan
    action = int(plan.action[0])
    visits, q, prior = (x[0] for x in (plan.stats.visits, plan.stats.q, plan.stats.prior))
    tree = _Nodes(look)
    order = sorted(np.flatnonzero(visits), key=lambda a: (a != action, -visits[a], -prior[a]))
    below = tree.below[0]
    lines = [
        Line(
            (int(a), *tree.follow(below[int(a)])),
            int(visits[a]), float(q[a]), float(prior[a]), tree.mate(below[int(a)]),
        )
        for a in order
    ]  # fmt: skip
    if not lines or lines[0].moves[0] != action:
        # Not searched at all: then the network's own choice, or all that there is.
        value = float(plan.value[0])
        lines.insert(0, Line((action,), int(visits[action]), value, float(prior[action])))
    return Opinion(
        action=action,
        value=float(plan.value[0]),
        nodes=int(look.count[0, 0]) - 1,
        depth=len(lines[0].moves),
        deepest=tree.deepest,
        lines=tuple(lines),
    )


class _Nodes:
    """The tree of one game, by its edges."""

    def __init__(self, look: Look) -> None:
        made = np.flatnonzero(look.count[0])
        self._count = look.count[0]
        self._parent, self._action = look.parent[0], look.action[0]
        self._legal = look.legal[0]
        self.below: dict[int, dict[int, int]] = defaultdict(dict)  # node -> action -> node
        depth = {0: 0}
        for node in made[1:].tolist():
            above = int(self._parent[node])
            self.below[above][int(self._action[node])] = node
            depth[node] = depth[above] + 1
        self.deepest = max(depth.values())
        self._wins = self._proven(look, made[1:])

    def follow(self, node: int, longest: int = 24) -> list[int]:
        """The actions from a node on that were visited most."""
        moves: list[int] = []
        while (below := self.below.get(node)) and len(moves) < longest:
            action, node = max(below.items(), key=lambda item: (self._count[item[1]], -item[1]))
            moves.append(action)
        return moves

    def mate(self, node: int) -> int | None:
        """Plies to the end after the root's move to `node`, > 0 if that wins; None: not proven."""
        if node not in self._wins:
            return None
        won, plies = self._wins[node]
        return -(plies + 1) if won else plies + 1

    def _proven(self, look: Look, made: np.ndarray) -> dict[int, tuple[bool, int]]:
        """Nodes whose player to move wins (True) or loses for sure, and in how many plies at most.

        Of a finished game it is known; a move to a lost node wins; who has nothing but moves to
        won nodes loses. Only what is in the tree counts, so a proof is one whatever the network
        thinks. For players who take turns.
        """
        reward, discount = look.reward[0], look.discount[0]
        known: dict[int, tuple[bool, int]] = {}
        ends = made[(discount[made] == 0) & (reward[made] != 0)]
        todo: list[Any] = [(int(node), (bool(reward[node] < 0), 0)) for node in ends]
        while todo:
            following = []
            for node, verdict in todo:
                if node in known:
                    continue
                known[node] = verdict
                above = int(self._parent[node])
                if above > 0 and above not in known:
                    found = self._verdict(above, known)
                    if found is not None:
                        following.append((above, found))
            todo = sorted(following, key=lambda item: item[1][1])
        return known

    def _verdict(self, node: int, known: dict[int, tuple[bool, int]]) -> tuple[bool, int] | None:
        below = self.below[node].values()
        lost = [known[child][1] for child in below if child in known and not known[child][0]]
        if lost:
            return True, 1 + min(lost)
        won = [known[child][1] for child in below if child in known and known[child][0]]
        if len(won) == self._legal[node]:
            return False, 1 + max(won)
        return None
