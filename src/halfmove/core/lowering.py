"""Programs made for a GPU, on any machine."""

from typing import Any

import jax
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

COMMON = "NVIDIA H200"


def lowered_for_gpu(traced: Any) -> Any:
    """What `jax.jit(...).trace(...)` gave, lowered for this machine's GPU, or a common one.

    From 0.12 on JAX asks which one it is.
    """
    device = jax.devices()[0]
    kind = device.device_kind if device.platform == "gpu" else COMMON
    mesh = AbstractMesh((), (), abstract_device=AbstractDevice(kind, None, "gpu"))
    with use_abstract_mesh(mesh):
        return traced.lower(lowering_platforms=("cuda",))
