"""A tree search in plain Python, written from the papers' formulas.

It shares no code with the package: nodes are objects, children a dictionary,
values a list whose mean is taken when it is read, Sequential Halving a list of
survivors. It works in float64 and remembers how close its closest decision
was, so that a test can leave out what rounding decides.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Node:
    """One position. Every list of returns holds what was backed up, first to last."""

    state: int
    legal: list[int]
    logits: dict[int, float]
    raw: float
    returns: list[float] = field(default_factory=list)
    children: dict[int, "Node"] = field(default_factory=dict)
    reward: dict[int, float] = field(default_factory=dict)
    discount: dict[int, float] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return sum(self.returns) / len(self.returns)

    @property
    def total(self) -> int:
        return sum(self.visits.values())

    def n(self, action: int) -> int:
        return self.visits.get(action, 0)

    def q(self, action: int) -> float:
        return self.reward[action] + self.discount[action] * self.children[action].value

    def prior(self) -> dict[int, float]:
        return softmax(self.logits)


def softmax(logits: dict[int, float]) -> dict[int, float]:
    top = max(logits.values())
    weights = {a: math.exp(x - top) for a, x in logits.items()}
    total = sum(weights.values())
    return {a: w / total for a, w in weights.items()}


@dataclass
class Settings:
    """How the searches differ."""

    below: str = "puct"  # or "track"
    root: str = "puct"  # or "halving"
    normalise: Any = "tree"
    considered: int = 16
    c_visit: float = 50.0
    c_scale: float = 1.0
    completion: str = "mixed"
    c_init: float = 1.25
    c_base: float = 19652.0
    c_puct: float | None = None
    max_depth: int | None = None


class Search:
    """One game. `tables` are the data of tests/search/models.py, as NumPy arrays."""

    def __init__(self, tables: Any, settings: Settings, simulations: int) -> None:
        self.tables, self.settings, self.simulations = tables, settings, simulations
        self.closest = math.inf

    def run(self, state: int, legal: Any, row: Any) -> Node:
        """The root after all simulations. legal, row [A]; row is the root's noise."""
        self.root = self.node(state, legal)
        self.root.returns.append(self.root.raw)
        self.low = self.high = self.root.raw
        self.row = row
        self.candidates = [a for a in self.root.legal if row[a] > -math.inf]
        if self.root.legal:
            self.survivors, self.round = list(self.candidates), []
            schedule = self.halving() if self.settings.root == "halving" else None
            for _ in range(self.simulations):
                self.simulate(schedule)
        return self.root

    def node(self, state: int, legal: Any) -> Node:
        moves = [a for a in range(len(legal)) if legal[a]]
        logits = {a: float(self.tables.logits[state, a]) for a in moves}
        return Node(state, moves, logits, float(self.tables.value[state]))

    def simulate(self, schedule: Any) -> None:
        node, path = self.root, []
        limit = self.settings.max_depth or self.simulations
        while node.legal and len(path) < limit:
            if node is self.root and schedule is not None:
                action = next(schedule)
            else:
                rule = {"puct": self.puct, "track": self.track}[self.settings.below]
                action = self.best(node.legal, rule(node))
            path.append((node, action))
            if action not in node.children:
                node.children[action] = self.expand(node, action)
                node = node.children[action]
                break
            node = node.children[action]
        gain = node.raw
        node.returns.append(gain)
        for parent, action in reversed(path):
            gain = parent.reward[action] + parent.discount[action] * gain
            parent.visits[action] = parent.n(action) + 1
            parent.returns.append(gain)
            q = parent.q(action)
            self.low, self.high = min(self.low, q), max(self.high, q)

    def expand(self, node: Node, action: int) -> Node:
        node.reward[action] = float(self.tables.reward[node.state, action])
        node.discount[action] = float(self.tables.discount[node.state, action])
        state = int(self.tables.following[node.state, action])
        return self.node(state, self.tables.legal[state])

    def best(self, actions: list[int], score: dict[int, float]) -> int:
        ranked = sorted(actions, key=lambda a: -score[a])
        if len(ranked) > 1:
            self.closest = min(self.closest, score[ranked[0]] - score[ranked[1]])
        return ranked[0]

    def scaler(self, values: list[float]) -> Callable[[float], float]:
        """The map to [0, 1], by the values of this node or whatever else is asked for."""
        how = self.settings.normalise
        if how is None:
            return lambda x: x
        if how == "siblings":
            low, high = min(values), max(values)
        else:
            low, high = (self.low, self.high) if how == "tree" else how
        return lambda x: (x - low) / max(high - low, 1e-8)

    def puct(self, node: Node) -> dict[int, float]:
        """Q̄ + P · √N / (1 + N(a)) · c, with N = 1 + ΣN the visits of the node itself."""
        s, count, prior = self.settings, node.total + 1, node.prior()
        c = s.c_puct or s.c_init + math.log((count + s.c_base + 1) / s.c_base)
        scaled = self.scaler([node.q(a) for a in node.children] + [node.value])
        return {
            a: (scaled(node.q(a)) if node.n(a) else 0.0)
            + c * prior[a] * math.sqrt(count) / (1 + node.n(a))
            for a in node.legal
        }

    def completed(self, node: Node) -> dict[int, float]:
        prior, seen = node.prior(), [a for a in node.legal if node.n(a)]
        fill = node.raw
        if self.settings.completion == "mixed" and seen:
            mass = sum(prior[a] for a in seen)
            average = sum(prior[a] * node.q(a) for a in seen) / mass
            fill = (node.raw + node.total * average) / (1 + node.total)
        return {a: node.q(a) if node.n(a) else fill for a in node.legal}

    def sigma(self, node: Node) -> dict[int, float]:
        q = self.completed(node)
        scaled = self.scaler(list(q.values()))
        most = max([0, *node.visits.values()])
        factor = (self.settings.c_visit + most) * self.settings.c_scale
        return {a: factor * scaled(x) for a, x in q.items()}

    def improved(self, node: Node) -> dict[int, float]:
        sigma = self.sigma(node)
        return softmax({a: node.logits[a] + sigma[a] for a in node.legal})

    def track(self, node: Node) -> dict[int, float]:
        policy = self.improved(node)
        return {a: policy[a] - node.n(a) / (1 + node.total) for a in node.legal}

    def root_scores(self) -> dict[int, float]:
        sigma = self.sigma(self.root)
        return {a: float(self.row[a]) + self.root.logits[a] + sigma[a] for a in self.candidates}

    def halving(self) -> Any:
        """Yields the root's actions. Survivors of a phase are named as they are needed.

        The first pass of a phase takes the best of the previous phase's
        actions one by one, each by the scores of that moment; what is not
        taken is out.
        """
        n = self.simulations
        kept = min(self.settings.considered, n, len(self.candidates))
        phases = max(1, math.ceil(math.log2(kept)))
        pool = list(self.candidates)
        while True:
            chosen: list[int] = []
            for turn in range(max(1, n // (phases * kept))):
                waiting = list(pool) if turn == 0 else list(chosen)
                for _ in range(kept):
                    action = self.best(waiting, self.root_scores())
                    waiting.remove(action)
                    if turn == 0:
                        chosen.append(action)
                    yield action
            pool, kept = chosen, max(2, kept // 2) if kept > 1 else 1

    def action(self) -> int:
        """The best g + logits + σ(q) among the most visited candidates."""
        most = max(self.root.n(a) for a in self.candidates)
        return self.best([a for a in self.candidates if self.root.n(a) == most], self.root_scores())


def visits_of(root: Node, actions: int) -> np.ndarray:
    return np.array([root.n(a) for a in range(actions)])


def q_of(root: Node, actions: int) -> np.ndarray:
    return np.array([root.q(a) if root.n(a) else 0.0 for a in range(actions)])
