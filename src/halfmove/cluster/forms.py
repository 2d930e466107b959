"""The parts of a run that one process has: some of its lanes, and the forms of what travels."""

import functools
import os
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from halfmove.cluster import wire
from halfmove.cluster.door import Chunk
from halfmove.cluster.slim import slim, whole
from halfmove.cluster.wire import Wire
from halfmove.core.types import Array, Step
from halfmove.replay import Store
from halfmove.selfplay.host import HostLanes, HostPlay, HostReport
from halfmove.train.config import TrainConfig
from halfmove.train.hands import first_key
from halfmove.train.parts import Parts, parts_of


@dataclass(frozen=True, eq=False)
class Elsewhere(HostPlay):
    """Environments that other processes have; those of this one are closed."""

    def begin(self, key: Array, variables: Any = None) -> HostLanes:
        """Nothing: whoever has them begins."""
        return ()


def elsewhere(parts: Parts) -> Parts:
    """The same pieces for a process that does not play; games are left as they are."""
    play = parts.selfplay
    if not isinstance(play, HostPlay):
        return parts
    play.env.close()
    away = Elsewhere(play.env, play.model, play.planner, play.chunk, play.explore, play.explore_by)
    return replace(parts, selfplay=away)


@functools.cache  # it traces self-play, or starts environments: a second or more
def _parts(config: TrainConfig) -> Parts:
    return elsewhere(parts_of(config))


def whereabouts() -> str:
    """Process, node and device of whoever calls, an actor."""
    import ray  # here: whoever starts a cluster must close it before Ray is imported

    node, device = ray.util.get_node_ip_address(), jax.local_devices()[0].device_kind
    return f"(process {os.getpid()} on {node}, {device})"


def part_of(config: TrainConfig, lanes: int) -> TrainConfig:
    """The part of a run that has so many of its lanes: on one device, unrated."""
    positions = max(1, config.replay.positions * lanes // config.selfplay.lanes)
    return replace(
        config,
        devices=1,
        selfplay=replace(config.selfplay, lanes=lanes),
        replay=replace(config.replay, positions=positions),
        rating=replace(config.rating, every=0),
    )


def parts_of_lanes(config: TrainConfig, lanes: int) -> Parts:
    """The pieces of `part_of`; its environments are elsewhere."""
    part, share = part_of(config, lanes), lanes / config.selfplay.lanes
    if share == 1:
        return _parts(part)
    # As long as the whole replay, to the move, whatever was rounded.
    replay = _parts(config).replay
    replay = replace(replay, lanes=lanes, first=round(replay.first * share))
    return replace(_parts(part), replay=replay)


def sent(parts: Parts, steps: Step) -> Step:
    """Moves as they travel. What an environment showed cannot be made again."""
    kept = parts.replay.kept(steps)
    return kept if parts.game is None else slim(parts.game, kept)


def stored(parts: Parts, store: Store, steps: Step) -> Store:
    """The store with moves that have travelled."""
    return parts.replay.add(store, steps if parts.game is None else whole(parts.game, steps))


def actions_of(parts: Parts) -> int:
    """A, how many there are."""
    play = parts.selfplay
    return play.env.actions if isinstance(play, HostPlay) else play.game.actions


def shapes_of(parts: Parts) -> tuple[Any, Any, Any]:
    """Of the moves as they travel, the games after them, the report."""
    if parts.game is None:
        return jax.eval_shape(parts.replay.kept, parts.example), (), report_like(parts)

    def play() -> Any:
        net_key, game_key, play_key = jax.random.split(jax.random.key(0), 3)
        variables = parts.model.init(net_key)
        lanes: Any = parts.selfplay.begin(game_key, variables)
        lanes, steps, report = parts.selfplay.play(variables, lanes, play_key)
        return sent(parts, steps), lanes, report

    found: tuple[Any, Any, Any] = jax.eval_shape(play)
    return found


def report_like(parts: Parts) -> HostReport:
    """The forms of what environments report."""
    count: Any = np.zeros((), np.int64)
    mean: Any = np.zeros((), np.float32)
    lows: Any = np.zeros((parts.selfplay.chunk, parts.selfplay.lanes), np.float32)
    returns: Any = np.zeros(())
    return HostReport(
        games=count, plies=count, first=count, drawn=count, cut=count, resigned=count,
        entropy=mean, surprise=mean, depth=mean, lows=lows, returns=returns,
    )  # fmt: skip


def chunk_like(parts: Parts) -> Chunk:
    """A chunk of the right forms, with nothing in it."""
    steps, lanes, report = map(wire.empty, shapes_of(parts))
    return Chunk(steps, lanes, report)


def first_games(config: TrainConfig) -> Wire:
    """The games that a run begins with, in all lanes."""
    parts = _parts(config)
    begin = jax.jit(lambda: parts.begin(first_key(config.seed))[2])  # all else is not computed
    return wire.packed(begin())
