"""What a role answers at once, whatever else it is busy with."""

from typing import Any

import ray

from halfmove.cluster.door import Door
from halfmove.cluster.forms import whereabouts
from halfmove.cluster.wire import Wire


class Answering:
    """A role that says that it lives."""

    @ray.method(concurrency_group="pulse")
    def hello(self) -> str:
        """Says who this is."""
        return whereabouts()


class Doorkeeper(Answering):
    """A role whose door is open while it works."""

    door: Door

    @ray.method(concurrency_group="door")
    def offer(self, group: int, number: int, chunk: Any) -> str:
        """See `Door.offer`."""
        return self.door.offer(group, number, chunk)

    @ray.method(concurrency_group="door")
    def due(self, group: int) -> int:
        """See `Door.due`."""
        return self.door.due(group)

    @ray.method(concurrency_group="door")
    def after(self, group: int) -> tuple[int, Wire]:
        """See `Door.after`."""
        return self.door.after(group)
