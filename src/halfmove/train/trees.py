"""Pytrees as named arrays, and back into the place and form they had."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.train.tensors import Tensor, supported

Form = dict[str, Any]  # {"dtype": str, "shape": [int, ...]}; a random key's dtype is "key<...>"
_SHOWN = 8  # differences that one message lists
_IMPLEMENTATIONS = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}


def names(tree: Any) -> dict[str, Any]:
    """The leaves by path, such as `params/tower/kernel`. ValueError if two paths read the same."""
    found: dict[str, Any] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        name = jax.tree_util.keystr(path, simple=True, separator="/") or "value"
        if name in found:
            raise ValueError(f"two leaves of the tree are both called {name!r}")
        found[name] = leaf
    return found


def form(name: str, leaf: Any) -> Form:
    """What must agree between a stored array and the one it is restored into."""
    if not hasattr(leaf, "dtype"):
        leaf = np.asarray(leaf)
    if not _is_key(leaf) and not supported(np.dtype(leaf.dtype)):
        raise ValueError(f"{name} cannot be stored: no array of a known type, but {leaf!r:.80}")
    return {"dtype": str(leaf.dtype), "shape": list(leaf.shape)}


def tensor(leaf: Any, *, now: bool) -> Tensor:
    """The bytes of a leaf, copied at once or only when they are written."""
    if _is_key(leaf):
        leaf = jax.random.key_data(leaf)
    elif not hasattr(leaf, "dtype"):
        leaf = np.asarray(leaf)
    if now:
        copied = _host(leaf)
        return Tensor(copied.dtype, copied.shape, lambda: copied)
    return Tensor(np.dtype(leaf.dtype), tuple(leaf.shape), lambda: _host(leaf))


def _host(leaf: Any) -> np.ndarray:
    """A copy in host memory that nobody else writes to."""
    if isinstance(leaf, jax.Array) and all(d.platform == "cpu" for d in leaf.devices()):
        # numpy would share the memory of an array on the CPU and keep it from being donated
        # to the next update, which then has to copy it as well.
        return np.asarray(jax.device_put(leaf, may_alias=False))
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else np.array(leaf)


def differences(stored: Mapping[str, Form], wanted: Mapping[str, Form]) -> list[str]:
    """Lines that say how two sets of arrays differ; none: they do not."""
    lines = [f"{name}: only in the checkpoint" for name in stored if name not in wanted]
    lines += [f"{name}: not in the checkpoint" for name in wanted if name not in stored]
    for name in wanted:
        if name in stored and stored[name] != wanted[name]:
            lines.append(
                f"{name}: {_say(stored[name])} in the checkpoint, {_say(wanted[name])} now"
            )
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
    return lines


def _say(one: Form) -> str:
    return f"{one['dtype']}[{', '.join(map(str, one['shape']))}]"


def fill(like: Any, arrays: dict[str, np.ndarray]) -> Any:
    """`like` with the arrays in place of its leaves, on the devices of those leaves."""
    filled = [_place(arrays.pop(name), leaf) for name, leaf in names(like).items()]
    return jax.tree.unflatten(jax.tree.structure(like), filled)


def _place(array: np.ndarray, like: Any) -> Any:
    if isinstance(like, bool | int | float):
        return type(like)(array[()])
    if isinstance(like, np.ndarray | np.generic):
        return array if isinstance(like, np.ndarray) else array[()]
    placed = jnp.asarray(array)
    if _is_key(like):
        placed = jax.random.wrap_key_data(placed, impl=_implementation(like))
    elif like.weak_type:
        # A strong type in its place would promote others, and give other numbers.
        zero = np.zeros((), like.dtype).item()
        placed = jnp.full(like.shape, zero).at[...].set(placed)
    # Only what was bound to devices is bound again: bound arrays of different devices do not mix.
    bound = like.committed if isinstance(like, jax.Array) else like.sharding is not None
    return jax.device_put(placed, like.sharding) if bound else placed


def _is_key(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _implementation(like: Any) -> Any:
    if isinstance(like, jax.Array):
        return jax.random.key_impl(like)
    return _IMPLEMENTATIONS[str(like.dtype)]
