"""What a worker plays in: games, whose state is given to it, or environments, which it has itself.

Games go from worker to worker. Environments cannot be moved or saved: they stay with the worker
that made them, and whoever takes its place begins new episodes. A chunk that begins with new ones
says so, and the moves before it then have no end, as those of a resumed run.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.cluster import wire
from halfmove.cluster.forms import part_of, parts_of_lanes, report_like, sent
from halfmove.cluster.wire import Wire
from halfmove.core.types import Array
from halfmove.selfplay.host import HostPlay
from halfmove.train.config import TrainConfig
from halfmove.train.hands import first_key
from halfmove.train.parts import environment_of, parts_of


class Place(NamedTuple):
    """Where a chunk belongs."""

    group: int
    life: int  # of the group: what was begun in another one is not gone on with


class Moves(NamedTuple):
    """A chunk of moves, as trees."""

    steps: Any
    lanes: Any  # the games after it
    report: Any
    fresh: bool = False  # whether the games before it were left


class Boards:
    """Games in pure JAX: a chunk is one compiled call."""

    def __init__(self, config: TrainConfig, lanes: int) -> None:
        self._parts = parts = parts_of_lanes(config, lanes)
        self.model = parts.model
        begin: Any = parts.selfplay.begin
        like = jax.eval_shape(parts.model.init, jax.random.key(0))
        self._lanes = jax.eval_shape(begin, jax.random.key(0), like)
        number = jax.ShapeDtypeStruct((), jnp.float32)
        key = jax.eval_shape(lambda: jax.random.key(0))
        play = jax.jit(self._moves)
        self._play = play.lower(like, self._lanes, key, number, number).compile()

    def _moves(self, variables: Any, lanes: Any, key: Array, heat: Any, resign: Any) -> Any:
        selfplay: Any = self._parts.selfplay
        lanes, steps, report = selfplay.play(variables, lanes, key, heat, resign)
        return sent(self._parts, steps), lanes, report

    def play(
        self, variables: Any, key: Array, heat: Any, resign: Any, due: tuple[int, Wire], _: Place
    ) -> Moves:
        """The next chunk of the games that are due."""
        games = wire.unpacked(self._lanes, due[1])
        return Moves(*self._play(variables, games, key, heat, resign))


@dataclass
class _Room:
    """The environments of one group."""

    play: HostPlay
    at: tuple[int, int] | None = None  # the life and number of the chunk that would go on


class Hosts:
    """Environments on this host, those of one group or of several."""

    def __init__(self, config: TrainConfig, lanes: int) -> None:
        self._config, self._count = config, lanes
        self._groups = config.selfplay.lanes // lanes
        self._parts = parts = parts_of(part_of(config, lanes))
        self.model = parts.model
        assert isinstance(parts.selfplay, HostPlay)
        self._first: HostPlay | None = parts.selfplay  # for whichever group comes first
        self._rooms: dict[int, _Room] = {}
        self._kept = jax.jit(parts.replay.kept)
        self._report = report_like(parts)
        # A chunk that nobody keeps: it compiles.
        self._first.begin(jax.random.key(0))
        _, steps, _ = self._first.play(parts.model.init(jax.random.key(0)), (), jax.random.key(0))
        jax.block_until_ready(self._kept(steps))

    def play(
        self,
        variables: Any,
        key: Array,
        heat: Any,
        resign: Any,
        due: tuple[int, Wire],
        place: Place,
    ) -> Moves:
        """The next chunk of a group: of its episodes if they are here, else of new ones."""
        room, number = self._room(place.group), due[0]
        going = room.at == (place.life, number)
        room.at = None  # if it fails
        if not going:
            room.play.begin(begin_key(self._config.seed, number, place.group, self._groups))
        lanes, steps, report = room.play.play(variables, (), key, heat, resign)
        report = jax.tree.map(lambda like, x: np.asarray(x, like.dtype), self._report, report)
        room.at = place.life, number + 1
        return Moves(self._kept(steps), lanes, report, fresh=not going)

    def _room(self, group: int) -> _Room:
        if group not in self._rooms:
            play, self._first = self._first, None
            if play is None:
                mine: Any = self._parts.selfplay
                play = replace(mine, env=environment_of(self._config.game, self._count))
            self._rooms[group] = _Room(play)
        return self._rooms[group]


def begin_key(seed: int, number: int, group: int, groups: int) -> Array:
    """Of the episodes that begin with chunk `number`: one group has those of one process."""
    key = first_key(seed)
    key = jax.random.fold_in(key, number) if number else jax.random.split(key)[1]
    return key if groups == 1 else jax.random.fold_in(key, group)
