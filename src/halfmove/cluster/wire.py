"""Trees between processes: named numpy arrays, which the receiver can check and put in place.

No class travels, so a receiver needs no trust in what unpacks it, and both ends know the form.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from halfmove.train import trees

Wire = dict[str, np.ndarray]  # by path, such as `state/board`


def packed(tree: Any) -> Wire:
    """The arrays of a tree, in the host's memory."""
    return {name: np.asarray(_plain(leaf)) for name, leaf in trees.names(tree).items()}


def unpacked(like: Any, wire: Mapping[str, np.ndarray]) -> Any:
    """The tree that `packed` was given, with the structure and the devices of `like`."""
    # A copy: what Ray hands out is shared with others, and JAX may use an array as its own.
    return trees.fill(like, {name: np.array(x) for name, x in wire.items()})


def empty(like: Any) -> Wire:
    """Room for what `packed` gives, to be filled; pages that are not touched cost nothing."""
    found = trees.names(like)
    # Only keys need JAX to tell their form; it would narrow what numpy holds in 64 bits.
    forms = {name: jax.eval_shape(_plain, x) if _is_key(x) else x for name, x in found.items()}
    return {name: np.empty(x.shape, x.dtype) for name, x in forms.items()}


def rows(wire: Mapping[str, np.ndarray], first: int, count: int) -> Wire:
    """Those rows of every array; what has none is for all."""
    return {name: x[first : first + count] if x.ndim else x for name, x in wire.items()}


def joined(wires: Sequence[Mapping[str, np.ndarray]]) -> Wire:
    """Rows one after the other; what has none is the same in all, or the greatest."""
    if len(wires) == 1:
        return dict(wires[0])
    return {
        name: np.concatenate([wire[name] for wire in wires])
        if x.ndim
        else np.max([wire[name] for wire in wires]).astype(x.dtype)
        for name, x in wires[0].items()
    }


def size(wire: Mapping[str, np.ndarray]) -> int:
    """Bytes."""
    return sum(x.nbytes for x in wire.values())


def faults(wire: Any, like: Mapping[str, np.ndarray], *, inexact: Sequence[str] = ()) -> list[str]:
    """What is wrong with a wire that should have the form of `like`: none, if nothing is.

    Every number must be finite but those of `inexact`.
    """
    if not isinstance(wire, dict) or not all(isinstance(x, np.ndarray) for x in wire.values()):
        return [f"named arrays were expected, not {type(wire).__name__}"]
    forms, wanted = _forms(wire), _forms(like)
    found = [f"{name}: not known" for name in forms if name not in wanted]
    found += [f"{name}: missing" for name in wanted if name not in forms]
    found += [
        f"{name}: {forms[name]}, not {form}"
        for name, form in wanted.items()
        if forms.get(name, form) != form
    ]
    for name, x in wire.items():
        if x.dtype.kind == "f" and name not in inexact and not np.isfinite(x).all():
            found.append(f"{name}: {np.sum(~np.isfinite(x))} of {x.size} are no finite numbers")
    return found


def _forms(wire: Mapping[str, np.ndarray]) -> dict[str, str]:
    return {str(name): f"{x.dtype}{list(x.shape)}" for name, x in wire.items()}


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
