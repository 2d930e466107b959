"""The parts of a run that one process has: some of its lanes, and the forms of what travels."""

import functools
import os
from dataclasses import replace
from typing import Any

import jax

from halfmove.cluster import wire
from halfmove.cluster.door import Chunk
from halfmove.cluster.slim import slim, whole
from halfmove.cluster.wire import Wire
from halfmove.core.game import Game
from halfmove.core.types import Step
from halfmove.replay import Store
from halfmove.train.config import TrainConfig
from halfmove.train.hands import first_key
from halfmove.train.parts import Parts, parts_of

_parts = functools.cache(parts_of)  # it traces self-play, which takes a second or more


def whereabouts() -> str:
    """Process, node and device of whoever calls, an actor."""
    import ray  # here: whoever starts a cluster must close it before Ray is imported

    node, device = ray.util.get_node_ip_address(), jax.local_devices()[0].device_kind
    return f"(process {os.getpid()} on {node}, {device})"


def parts_of_lanes(config: TrainConfig, lanes: int) -> Parts:
    """The pieces of the part of a run that has so many of its lanes: on one device, unrated."""
    share = lanes / config.selfplay.lanes
    part = replace(
        config,
        devices=1,
        selfplay=replace(config.selfplay, lanes=lanes),
        replay=replace(config.replay, positions=max(1, int(config.replay.positions * share))),
        rating=replace(config.rating, every=0),
    )
    if share == 1:
        return _parts(part)
    # As long as the whole replay, to the move, whatever was rounded.
    replay = _parts(config).replay
    replay = replace(replay, lanes=lanes, first=round(replay.first * share))
    return replace(_parts(part), replay=replay)


def sent(parts: Parts, steps: Step) -> Step:
    """Moves as they travel."""
    return slim(game_of(parts), parts.replay.kept(steps))


def stored(parts: Parts, store: Store, steps: Step) -> Store:
    """The store with moves that have travelled."""
    return parts.replay.add(store, whole(game_of(parts), steps))


def game_of(parts: Parts) -> Game:
    """The game; ValueError if it is an environment."""
    if parts.game is None:
        raise ValueError(f"{parts.config.game} is an environment, which has no state to share")
    return parts.game


def shapes_of(parts: Parts) -> tuple[Any, Any, Any]:
    """Of the moves as they travel, the games after them, the report."""

    def play() -> Any:
        net_key, game_key, play_key = jax.random.split(jax.random.key(0), 3)
        variables = parts.model.init(net_key)
        lanes: Any = parts.selfplay.begin(game_key, variables)
        lanes, steps, report = parts.selfplay.play(variables, lanes, play_key)
        return sent(parts, steps), lanes, report

    found: tuple[Any, Any, Any] = jax.eval_shape(play)
    return found


def chunk_like(parts: Parts) -> Chunk:
    """A chunk of the right forms, with nothing in it."""
    return Chunk(*map(wire.empty, shapes_of(parts)))


def first_games(config: TrainConfig) -> Wire:
    """The games that a run begins with, in all lanes."""
    parts = _parts(config)
    begin = jax.jit(lambda: parts.begin(first_key(config.seed))[2])  # all else is not computed
    return wire.packed(begin())
