"""One process, several devices: each has a part of the games and of the replay.

The arrays say where they are, and XLA divides the work and adds up the gradients; the
programs of the search are divided by hand (search/kernels.py). The same numbers come out
as on one device, up to the order of sums.
"""

import contextlib
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

AXIS = "games"


def mesh_of(count: int, lanes: int, batch: int) -> Mesh | None:
    """The first `count` devices; None: one, and nothing to divide."""
    if count == 1:
        return None
    devices = jax.local_devices()
    if count > len(devices):
        raise ValueError(f"devices must be at most the {len(devices)} that are here, got {count}")
    for name, value in (("selfplay.lanes", lanes), ("learn.batch", batch)):
        if value % count:
            raise ValueError(f"{name} must be a multiple of the {count} devices, got {value}")
    return Mesh(np.array(devices[:count]), (AXIS,))


def divided(mesh: Mesh | None, tree: Any, lanes: int) -> Any:
    """`tree` with what has a row for every lane divided among the devices, the rest on all."""
    if mesh is None:
        return tree

    def put(x: jax.Array) -> jax.Array:
        own = x.ndim > 0 and x.shape[0] == lanes
        return jax.device_put(x, NamedSharding(mesh, P(AXIS) if own else P()))

    return jax.tree.map(put, tree)


def everywhere(mesh: Mesh | None, tree: Any) -> Any:
    """`tree` on all devices, whole."""
    if mesh is None:
        return tree
    return jax.device_put(tree, NamedSharding(mesh, P()))


def using(mesh: Mesh | None) -> Any:
    """A context in which what is traced is for these devices."""
    return contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh)
