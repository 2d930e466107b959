"""The way into a replay: chunks of moves come from many workers, each is let in exactly once.

The lanes of a run are divided into groups. The chunks of a group have numbers; they come in their
order, and each begins with the games as the one before it left them, which the door keeps: if
a worker is lost, another goes on from there. An iteration has one chunk of every group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmove.cluster import wire
from halfmove.cluster.wire import Wire
from halfmove.selfplay import Report
from halfmove.selfplay.host import HostReport


@dataclass(frozen=True)
class Chunk:
    """A chunk of moves of one group as it travels."""

    steps: Wire  # a `Step` [B, T]; the policy as the replay keeps it
    lanes: Wire  # the games [B] after it
    report: Wire  # what happened
    fresh: bool = False  # whether new episodes begin with it, those before being left

    @property
    def bytes(self) -> int:
        """Of all arrays."""
        return sum(map(wire.size, (self.steps, self.lanes, self.report)))


class Door:
    """Chunks of `groups`, each of as many lanes; `like` is one with the right forms."""

    def __init__(self, groups: Sequence[int], like: Chunk, actions: int) -> None:
        self.groups, self._like, self._actions = tuple(groups), like, actions
        self._lanes = len(like.steps["action"])
        self._after: dict[int, tuple[int, Wire]] = {}
        self._waiting: dict[tuple[int, int], Chunk] = {}

    def reset(self, number: int, lanes: Wire) -> None:
        """The games [all lanes] as chunk `number` is to find them; nothing waits."""
        self._waiting.clear()
        for at, group in enumerate(self.groups):
            self._after[group] = number, wire.rows(lanes, at * self._lanes, self._lanes)

    def offer(self, group: int, number: int, chunk: Any) -> str:
        """Lets a chunk in; gives what is wrong with it, else nothing.

        One that is here already is not taken again, and not wrong.
        """
        due, _ = self._after[group]
        if number < due:
            return ""
        if number > due:
            return f"chunk {number} of group {group} came before chunk {due}"
        wrong = self._faults(chunk)
        if wrong:
            return "; ".join(wrong)
        self._waiting[group, number] = chunk
        self._after[group] = number + 1, chunk.lanes
        return ""

    def _faults(self, chunk: Any) -> list[str]:
        if not isinstance(chunk, Chunk):
            return [f"a chunk was expected, not {type(chunk).__name__}"]
        like = self._like
        found = wire.faults(chunk.steps, like.steps)
        # A value that nobody has had yet is infinite; the games played on are few.
        found += wire.faults(chunk.lanes, like.lanes, inexact=("lowest",))
        found += wire.faults(chunk.report, like.report, inexact=("lows",))
        if found:
            return found
        if chunk.fresh not in (False, True):
            return [f"fresh must be true or false, not {chunk.fresh!r:.80}"]
        action = chunk.steps["action"]
        if action.min() < 0 or action.max() >= self._actions:
            return [f"actions must be from 0 to {self._actions - 1}, not {action.min()} to "
                    f"{action.max()}"]  # fmt: skip
        for name, x in chunk.steps.items():
            if name in ("policy", "policy/share") and (x < 0).any():
                return [f"{name}: {np.sum(x < 0)} probabilities are negative"]
        return []

    def due(self, group: int) -> int:
        """The number of the next chunk of a group."""
        return self._after[group][0]

    def after(self, group: int) -> tuple[int, Wire]:
        """The number of the chunk that is due, and the games as it is to find them."""
        return self._after[group]

    def take(self, number: int) -> tuple[Chunk, np.ndarray]:
        """The chunks of that number, of all groups, as one; KeyError if one is missing.

        And the lanes [all] in which what was played before has no end.
        """
        chunks = [self._waiting.pop((group, number)) for group in self.groups]
        whole = Chunk(
            wire.joined([chunk.steps for chunk in chunks]),
            wire.joined([chunk.lanes for chunk in chunks]),
            merged([chunk.report for chunk in chunks]),
        )
        fresh = np.array([chunk.fresh and number > 0 for chunk in chunks])
        return whole, np.repeat(fresh, self._lanes)


MEANS = ("entropy", "surprise", "depth")


def merged(reports: Sequence[Mapping[str, np.ndarray]]) -> Wire:
    """The report of all lanes, from those of groups of equally many."""
    if len(reports) == 1:
        return dict(reports[0])

    def one(name: str, like: np.ndarray) -> np.ndarray:
        each = [report[name] for report in reports]
        if name == "lows":
            return np.concatenate(each, axis=1)
        combine = np.mean if name in MEANS else np.sum
        return np.asarray(combine(each, axis=0), like.dtype)

    return {name: one(name, x) for name, x in reports[0].items()}


def told(report: Wire) -> Report:
    """The report that such a wire was made from."""
    fields: dict[str, Any] = dict(report)
    return HostReport(**fields) if "returns" in fields else Report(**fields)
