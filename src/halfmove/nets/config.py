"""All that may be chosen about a network."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp

from halfmove.nets.support import HeadConfig

Kind = Literal["tower", "atari", "mlp"]
Block = Literal["dense", "bottleneck"]
Mix = Literal["none", "broadcast", "pool"]
NormKind = Literal["batch", "layer", "none"]
Init = Literal["he", "paper"]
DType = Literal["auto", "float32", "bfloat16"]
Policy = Literal["auto", "dense", "planes"]


@dataclass(frozen=True)
class NetConfig:
    """A network. The defaults are small; the Gumbel paper's for 9x9 Go are `blocks=6,
    planes=256, block="bottleneck", mix="broadcast", init="paper", norm_decay=0.999`."""

    kind: Kind = "tower"  # tower: boards; atari: images, made 16 times smaller; mlp: vectors
    planes: int = 64  # channels, or the width of an mlp
    blocks: int = 4  # of the tower; atari: of the dynamics, the images' tower has always 8
    block: Block = "dense"  # 3x3, 3x3; or 1x1, 3x3, 3x3, 1x1 on fewer planes
    bottleneck: int = 0  # planes inside a bottleneck, broadcast or pooling block; 0: half
    mix: Mix = "none"  # what every `every`-th block is instead, to see the whole board
    every: int = 8
    preactivation: bool = False  # ResNet v2: norm and ReLU before each layer, none after the sum
    norm: NormKind = "batch"  # an offset and no scale
    norm_decay: float = 0.95  # of the running statistics, once 1 / (1 - decay) updates are seen
    norm_epsilon: float = 1e-3
    init: Init = "he"  # by fan-in; paper: truncated normal of 0.01
    dtype: DType = "auto"  # of the arithmetic: bfloat16 on a GPU; parameters are float32
    policy: Policy = "auto"  # planes: a move type per plane; auto: where dense would be huge
    policy_planes: int = 4  # before a dense policy; AlphaZero: 2
    value_planes: int = 4  # before the value's and the reward's hidden layer; AlphaZero: 1
    head_width: int = 64  # of that hidden layer; AlphaZero: 256
    ownership: bool = False  # a head for whose each place will be in the end (KataGo); known rules
    value: HeadConfig = field(default_factory=HeadConfig)
    reward: HeadConfig = field(default_factory=lambda: HeadConfig("linear"))  # learned models

    def __post_init__(self) -> None:
        choices = {
            "kind": Kind, "block": Block, "mix": Mix, "norm": NormKind, "init": Init,
            "dtype": DType, "policy": Policy,
        }  # fmt: skip
        for name, accepted in choices.items():
            if getattr(self, name) not in get_args(accepted):
                known = ", ".join(get_args(accepted))
                raise ValueError(f"{name} must be one of {known}; got {getattr(self, name)!r}")
        least = {
            "planes": 1, "blocks": 0, "bottleneck": 0, "every": 1, "policy_planes": 1,
            "value_planes": 1, "head_width": 1,
        }  # fmt: skip
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise ValueError(f"{name} must be at least {bound}, got {getattr(self, name)}")
        if not 0 <= self.norm_decay < 1:
            raise ValueError(f"norm_decay must be from 0 to below 1, got {self.norm_decay}")
        if not self.norm_epsilon > 0:
            raise ValueError(f"norm_epsilon must be above 0, got {self.norm_epsilon}")

    @property
    def inner(self) -> int:
        """Planes inside a bottleneck, broadcast or pooling block."""
        return self.bottleneck or max(self.planes // 2, 1)

    @property
    def compute(self) -> Any:
        """The dtype of the arithmetic on the default backend."""
        if self.dtype == "auto":
            return jnp.bfloat16 if jax.default_backend() == "gpu" else jnp.float32
        return jnp.dtype(self.dtype)
