"""Who is stuck: every process answers a question that nothing else it does can hold up.

One that is only busy, for however long, answers; one that is stopped, or on a machine that cannot
be reached, does not.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray

SHARE = 0.25  # of the patience: how long after an answer the next question comes


@dataclass
class _Question:
    ref: Any
    asked: float
    answered: bool = False


class Pulse:
    """Asks `actors`, by name, for their hello."""

    def __init__(self, actors: Mapping[str, Any], patience: float) -> None:
        self._actors, self._patience = dict(actors), patience
        self._asked: dict[str, _Question] = {}
        self._there: set[str] = set()  # who has answered: others may wait for room in the cluster

    def stuck(self) -> list[str]:
        """Those who have not answered for as long as one is patient. Who is dead is not stuck."""
        now = time.monotonic()
        found = []
        for name, actor in self._actors.items():
            question = self._asked.get(name)
            if question is not None and not question.answered:
                # First: this process may have been asleep itself.
                question.answered = bool(ray.wait([question.ref], timeout=0)[0])
                self._there |= {name} if question.answered else set()
            if question is None or (
                question.answered and now - question.asked > SHARE * self._patience
            ):
                self._asked[name] = _Question(actor.hello.remote(), now)
            elif (
                name in self._there
                and not question.answered
                and now - question.asked > self._patience
            ):
                found.append(name)
        return found

    def forgive(self, name: str) -> None:
        """Begins anew with one who is started again."""
        del self._asked[name]
        self._there.discard(name)
