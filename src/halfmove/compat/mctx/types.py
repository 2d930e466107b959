"""The values that travel between a program written for mctx and the search.

Shapes: `B` games, `A` actions, `C` chance outcomes, `N` nodes of a tree.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar, dataclass_transform

import jax

from halfmove.core.types import Array

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """A frozen dataclass that is a pytree; its leaves come by the names of the fields.

    mctx's records have that order too, so that lists of leaves agree. They are made as `dict` is,
    from a mapping or pairs as well, which libraries that go through mappings count on.
    """
    made = dataclasses.dataclass(frozen=True)(cls)
    by_name = made.__init__

    @functools.wraps(by_name)
    def init(self: Any, *pairs: Any, **fields: Any) -> None:
        if len(pairs) + bool(fields) > 1:
            raise TypeError(
                f"{cls.__name__} takes its fields by name, or one mapping of them; "
                f"got {len(pairs)} without a name and {len(fields)} by name"
            )
        by_name(self, **dict(*pairs, **fields))

    made.__init__ = init  # type: ignore[method-assign]
    names = sorted(field.name for field in dataclasses.fields(made))  # type: ignore[arg-type]
    return jax.tree_util.register_dataclass(made, data_fields=names, meta_fields=[])


class Record(Mapping[str, Any]):
    """A frozen pytree with chex's methods, which may also be read as a mapping of its fields."""

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def to_tuple(self) -> tuple[Any, ...]:
        """The fields in the order of their definition."""
        return tuple(self[field.name] for field in dataclasses.fields(self))  # type: ignore[arg-type]

    @classmethod
    def from_tuple(cls, values: Iterable[Any]) -> Self:
        """The record with these fields, as `to_tuple` gives them."""
        names = (field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]
        return cls(**dict(zip(names, values, strict=True)))

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dict__:
            raise KeyError(name)
        return self.__dict__[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)


@record
class RootFnOutput(Record):
    """What the model says of the position to search from."""

    prior_logits: Array  # [B, A]
    value: Array  # [B]
    embedding: Any  # [B, ...], what `recurrent_fn` is given


@record
class RecurrentFnOutput(Record):
    """What the model says of one move and of the position after it."""

    reward: Array  # [B]
    discount: Array  # [B], between the reward and the value
    prior_logits: Array  # [B, A]
    value: Array  # [B]


@record
class DecisionRecurrentFnOutput(Record):
    """What the model says of an afterstate: the move is made, chance is not yet."""

    chance_logits: Array  # [B, C]
    afterstate_value: Array  # [B]


@record
class ChanceRecurrentFnOutput(Record):
    """What the model says of the position after a chance outcome."""

    action_logits: Array  # [B, A]
    value: Array  # [B]
    reward: Array  # [B]
    discount: Array  # [B]


@record
class StochasticRecurrentState(Record):
    """The embedding of a node that is either a decision or a chance node."""

    state_embedding: Any  # [B, ...], meaningful at decision nodes
    afterstate_embedding: Any  # [B, ...], meaningful at chance nodes
    is_decision_node: Array  # [B] bool


@record
class GumbelMuZeroExtraData(Record):
    """What the Gumbel root rule reads from `tree.extra_data`."""

    root_gumbel: Array  # [B, A]


@record
class PolicyOutput(Record, Generic[T]):
    """What a policy decided."""

    action: Array  # [B] i32
    action_weights: Array  # [B, A], sums to one; the target for a policy network
    search_tree: Any  # Tree[T]


Params = Any
RecurrentState = Any
# (params, key, action [B], embedding [B, ...]) -> (output, next embedding)
RecurrentFn = Callable[
    [Params, Array, Array, RecurrentState], tuple[RecurrentFnOutput, RecurrentState]
]
DecisionRecurrentFn = Callable[
    [Params, Array, Array, RecurrentState], tuple[DecisionRecurrentFnOutput, RecurrentState]
]
ChanceRecurrentFn = Callable[
    [Params, Array, Array, RecurrentState], tuple[ChanceRecurrentFnOutput, RecurrentState]
]
# (key, unbatched tree, node index []) -> action []
RootActionSelectionFn = Callable[[Array, Any, Array], Array]
# (key, unbatched tree, node index [], depth []) -> action []
InteriorActionSelectionFn = Callable[[Array, Any, Array, Array], Array]
# (unbatched tree, node index []) -> transformed Q-values [A]
QTransform = Callable[[Any, Any], Array]
# As jax.lax.fori_loop, over (key, tree).
LoopFn = Callable[[int, int, Callable[[Any, Any], Any], tuple[Array, Any]], tuple[Array, Any]]
