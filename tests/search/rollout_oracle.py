"""Monte Carlo Search and Policy Gradient Search in plain Python, one simulation after the other.

Written from the paper and sharing no code with the package: a set of tuples says what is new,
the policy is a table of numbers, its gradient is written out by hand. Only the random numbers
are the same, the hash that makes them being repeated here.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

WORD = 2**32


def mixed(x: int) -> int:
    x = (x ^ (x >> 16)) * 0x21F0AAAD % WORD
    x = (x ^ (x >> 15)) * 0x735A2D97 % WORD
    return x ^ (x >> 15)


def drawn(seed: int, node: int, count: int, actions: int) -> np.ndarray:
    where = mixed((seed + node * 0x9E3779B9) % WORD) + count * 0x85EBCA6B
    base = mixed(where % WORD)
    words = [mixed((base + lane * 0xC2B2AE35) % WORD) for lane in range(actions)]
    return np.array([word >> 8 for word in words]) * 2.0**-24


def softmax(logits: np.ndarray, legal: np.ndarray) -> np.ndarray:
    weights = np.where(legal, np.exp(logits - logits[legal].max()), 0.0)
    return weights / weights.sum()


@dataclass
class Search:
    """One game."""

    tables: Any
    seed: int
    simulations: int
    batch: int
    depth: int = 64
    truncate: str = "new"
    horizon: int = 8
    threshold: float = 0.01
    distinct: bool = True
    remember: int = 10**9  # of the first simulations
    c_puct: float = 5.0
    learning_rate: float = 0.0
    baseline: bool = False
    policy: np.ndarray = field(init=False)  # [S, A], what simulations are sampled from
    lines: list[tuple[int, ...]] = field(default_factory=list)  # of all simulations

    def __post_init__(self) -> None:
        self.policy = np.asarray(self.tables.logits, np.float64).copy()

    def run(self, state: int, legal: np.ndarray) -> "Search":
        t = self.tables
        actions = len(legal)
        self.visits, self.total = np.zeros(actions, int), np.zeros(actions)
        self.raw = float(t.value[state])
        if not legal.any():
            return self
        prior = softmax(np.asarray(t.logits[state], np.float64), legal)
        lasting: set[tuple[int, ...]] = set()
        for start in range(0, self.simulations, self.batch):
            pending = np.zeros(actions, int)
            gradient = np.zeros_like(self.policy)
            seen = set(lasting)
            before, results = set(seen), []
            for number in range(start, min(self.simulations, start + self.batch)):
                first = self.first_move(prior, legal, pending)
                pending[first] += 1
                known = seen if self.distinct else before
                line, states, values = self.simulate(state, first, prior, number, known)
                seen.add(line)
                if number < self.remember:
                    lasting.add(line)
                self.lines.append(line)
                results.append((first, values[0]))
                for i in range(1, len(line)):
                    gain = values[i] - (float(t.value[states[i]]) if self.baseline else 0.0)
                    slope = -softmax(self.policy[states[i]], t.legal[states[i]])
                    slope[line[i]] += 1.0
                    gradient[states[i]] += gain * slope
            for first, value in results:
                self.visits[first] += 1
                self.total[first] += value
            self.policy += self.learning_rate * gradient
        return self

    @property
    def value(self) -> float:
        return (self.raw + self.total.sum()) / (1 + self.visits.sum())

    @property
    def q(self) -> np.ndarray:
        return self.total / np.maximum(self.visits, 1)

    def first_move(self, prior: np.ndarray, legal: np.ndarray, pending: np.ndarray) -> int:
        """pUCT; what is under way counts as lost: the worst that is known, at most 0."""
        worst = np.where(self.visits > 0, self.q, min(self.value, 0.0)).min()
        visits = self.visits + pending
        q = (self.total + worst * pending) / np.maximum(visits, 1)
        count = 1 + visits.sum()
        score = q + self.c_puct * prior * np.sqrt(count) / (1 + visits)
        top = legal & (score > score[legal].max() - 1e-6)
        lots = drawn(self.seed, 0, int(count), len(legal))
        return int(np.argmax(np.where(top, lots, -1.0)))

    def simulate(
        self, state: int, first: int, prior: np.ndarray, number: int, seen: set[tuple[int, ...]]
    ) -> tuple[tuple[int, ...], list[int], list[float]]:
        """(actions, states, the return from every action on as its mover sees it)."""
        t = self.tables
        line, states, chance = (first,), [state], float(prior[first])
        rewards = [float(t.reward[state, first])]
        discounts = [float(t.discount[state, first])]
        limit = self.depth
        if self.truncate == "fixed":
            limit = min(limit, self.horizon)
        if self.truncate == "growing":
            most = min(limit, self.horizon)
            limit = 1 + number * (most - 1) // max(self.simulations - 1, 1)
        while True:
            state = int(t.following[states[-1], line[-1]])
            over = discounts[-1] == 0 or not t.legal[state].any() or len(line) >= limit
            new = self.truncate == "new" and line not in seen
            rare = self.truncate == "probability" and chance < self.threshold
            if over or new or rare:
                break
            policy = softmax(self.policy[state], t.legal[state])
            u = np.maximum(drawn(self.seed, 1 + number, len(line), len(policy)), 1e-38)
            with np.errstate(divide="ignore"):
                action = int(np.argmax(np.log(policy) - np.log(-np.log(u))))
            chance *= float(policy[action])
            line, states = (*line, action), [*states, state]
            rewards.append(float(t.reward[state, action]))
            discounts.append(float(t.discount[state, action]))
        values = [float(t.value[state])]
        for reward, discount in zip(reversed(rewards), reversed(discounts), strict=True):
            values.insert(0, reward + discount * values[0])
        return line, states, values[:-1]
