"""Programs made for a GPU, on any machine."""

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

COMMON = "NVIDIA H200"


def lowered_for_gpu(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function, traced and lowered for this machine's GPU, or a common one if it has none.

    From 0.12 on JAX asks which one it is.
    """
    device = jax.devices()[0]
    kind = device.device_kind if device.platform == "gpu" else COMMON
    mesh = AbstractMesh((), (), abstract_device=AbstractDevice(kind, None, "gpu"))
    with use_abstract_mesh(mesh):
        return jax.jit(function).trace(*arguments).lower(lowering_platforms=("cuda",))
