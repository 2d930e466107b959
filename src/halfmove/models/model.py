"""What learning asks of a model, beyond what a search asks."""

from typing import Any, Protocol

from halfmove.core.types import Array, Model, pytree
from halfmove.nets import HeadConfig, NetConfig

# {"params": ..., "stats": ...}, nested dicts of arrays: what is learned, and the running
# statistics of batch norm. A model's `root` and `step` take it as their `params`.
Variables = dict[str, Any]


@pytree
class Outputs:
    """What a network says along K moves; index 0 is the position they begin in."""

    policy: Array  # [B, K + 1, A] f32 logits
    value: Array  # [B, K + 1, V] f32, for `value_head.decode`; of all actions, [B, 1, A, V]
    reward: Array | None  # [B, K + 1, V'] f32, of the move INTO k; None: the rules know it
    owners: Array | None = None  # [B, H, W] f32 logits, of the position they begin in


class Trainable(Model, Protocol):
    """A model with a network that can be trained."""

    @property
    def config(self) -> NetConfig:
        """The network."""
        ...

    @property
    def value_head(self) -> HeadConfig:
        """How raw values are read and what they lose."""
        ...

    @property
    def reward_head(self) -> HeadConfig | None:
        """How raw rewards are read; None: the rules know them."""
        ...

    def init(self, key: Array) -> Variables:
        """New variables."""
        ...

    def observe(self, state: Any) -> Any:
        """Observations [B, ...] of stored states [B, ...]."""
        ...

    def unroll(
        self, variables: Variables, observation: Any, action: Array, *, train: bool
    ) -> tuple[Outputs, Any]:
        """What the network says along `action` [B, K], and the new `stats`.

        In training, batch norm uses the batch's statistics and the running ones move.
        """
        ...

    def head_of(self, variables: Variables) -> Variables:
        """The policy head's part of `variables`."""
        ...

    def policy(self, head: Variables, features: Array) -> Array:
        """Logits [B, A] of that head alone, of a `Prediction`'s features."""
        ...
