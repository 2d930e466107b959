"""What an algorithm is: five small pure functions and nothing else."""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise

# Scores [A] of one node's actions; the engine takes the best legal one.
Select = Callable[[NodeStats, RootNoise], Array]
# A policy [A] of one node.
Improve = Callable[[NodeStats, RootNoise], Array]
# (key, prior logits [B, A]) -> (logits to search with [B, A], noise row [B, A]).
Noise = Callable[[Array, Array], tuple[Array, Array]]
# (key, root statistics, root noise), all batched -> action [B].
Act = Callable[[Array, NodeStats, RootNoise], Array]

TREE = "tree"
Untried = float | str | None


class Schedule(Protocol):
    """Which visit count the root rule wants to raise at each turn."""

    def turns(self, candidates: Array) -> Array:
        """`RootNoise.want` of every turn, by the number of candidates [B]. Shape [B, n]."""
        ...

    def rounds(self, candidates: Array, leaves: int) -> Array:
        """How many leaves may be evaluated together, call by call. Shape [B, R]."""
        ...


@dataclass(frozen=True)
class Rule:
    """A search algorithm. Every field may be any function of the same type.

    `untried` is the Q of an action not tried yet, as the selecting rules see it: a number, TREE for
    the least value of the whole tree, None for something that the node itself knows. Leaves under
    way (virtual losses) count as no more than that, and no more than the worst the node knows.
    """

    noise: Noise
    select_root: Select
    select: Select
    improve: Improve
    act: Act
    schedule: Schedule | None = None
    untried: Untried = None


LOWEST = float(jnp.finfo(jnp.float32).min)
TINY = float(jnp.finfo(jnp.float32).tiny)
LANES = 16  # of a row that a CPU has at hand at once
WIDE = 4096  # numbers whose sum XLA gives to a library, which no native function can call


_tracing: contextvars.ContextVar[str] = contextvars.ContextVar("tracing", default="")


@contextlib.contextmanager
def inside(how: str) -> Iterator[None]:
    """While a program is traced, says which: "triton", "interpreter" or "native"."""
    token = _tracing.set(how)
    try:
        yield
    finally:
        _tracing.reset(token)


def greatest(row: Array) -> Array:
    """The greatest along the last axis, which is kept with length 1. No NaN allowed."""
    if _tracing.get() != "native":
        return jnp.max(row, axis=-1, keepdims=True)
    if row.shape[-1] < LANES:
        # XLA's own carries NaN along.
        floor = -jnp.inf if jnp.issubdtype(row.dtype, jnp.floating) else jnp.iinfo(row.dtype).min
        start = jnp.asarray(floor, row.dtype)
        top = jax.lax.reduce(row, start, lambda a, b: jnp.where(a > b, a, b), (row.ndim - 1,))
        return top[..., None]
    if not jnp.issubdtype(row.dtype, jnp.floating):
        return _folded(row, jnp.maximum, None)
    # A CPU compares several whole numbers at once, but floats, for the sake of NaN, one by one.
    top = _folded(_ordered(row.astype(jnp.float32)), jnp.maximum, None)
    return jax.lax.bitcast_convert_type(_flipped(top), jnp.float32).astype(row.dtype)


def least(row: Array) -> Array:
    """The least along the last axis, which is kept with length 1. No NaN allowed."""
    return -greatest(-row)


def total(row: Array) -> Array:
    """The sum along the last axis, which is kept with length 1."""
    if _tracing.get() != "native":
        return jnp.sum(row, axis=-1, keepdims=True)
    return _folded(row, jnp.add, 0)


def _ordered(row: Array) -> Array:
    """Whole numbers in the order of these floats."""
    return _flipped(jax.lax.bitcast_convert_type(row, jnp.int32))


def _flipped(bits: Array) -> Array:
    """The bits of negative floats in their order, and back."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


def _folded(row: Array, both: Callable[[Array, Array], Array], nothing: int | None) -> Array:
    """The last axis as one number, by `both`, to which `nothing` adds nothing (None: a number
    met twice does no harm).

    XLA writes a reduction in native code lane after lane. Adding a slice of the row to the
    next is done several lanes at once, until few are left.
    """
    while (width := row.shape[-1]) >= 2 * LANES:
        part = LANES * -(-width // LANES**2)
        slices = [row[..., at : at + part] for at in range(0, width - part, part)]
        end = row[..., width - part :]
        if nothing is not None:
            # Its first lanes are in the slice before it too.
            end = jnp.where(jnp.arange(part) < -width % part, nothing, end)
        row = functools.reduce(both, [*slices, end])
    reduce = jnp.max if nothing is None else jnp.sum
    return reduce(row, axis=-1, keepdims=True)


def top_logit(logits: Array) -> Array:
    """The greatest logit, finite even when every action is illegal. Shape []."""
    # Finite floor, not -inf: a finished game may have no legal move, and
    # -inf - -inf is NaN.
    return jnp.maximum(greatest(logits), LOWEST)


def softmax(logits: Array) -> Array:
    """Probabilities [A]; all zero where every logit is -inf, all NaN where one is NaN or inf."""
    e = jnp.exp(logits - top_logit(logits))
    mass = total(e)
    return e / jnp.where(mass == 0.0, 1.0, mass)


def best(scores: Array) -> Array:
    """Index of the first greatest score along the last axis."""
    how = _tracing.get()
    if not how and jax.default_backend() != "cpu":
        return jnp.argmax(scores, axis=-1).astype(jnp.int32)
    # On a CPU, and inside a program, two plain reductions cost much less than argmax.
    top = greatest(scores)
    lanes = jax.lax.broadcasted_iota(jnp.int32, scores.shape, scores.ndim - 1)
    last = scores.shape[-1]
    held = jnp.where(scores == top, lanes, 2 * last)
    if how != "triton":
        # XLA may compute the scores anew for the comparison and round otherwise: what is as good
        # as the best comes behind it.
        close = top - 1e-6 * jnp.maximum(jnp.abs(top), 1.0)
        held = jnp.where((held > last) & (scores >= close), last + lanes, held)
    first = least(held)
    first = jnp.where(first < last, first, first - last)
    return jnp.minimum(first, last - 1)[..., 0]


def gumbel_of(uniform: Array) -> Array:
    """Gumbel(0) noise from numbers uniform in [0, 1)."""
    return -jnp.log(-jnp.log(jnp.maximum(uniform, TINY)))


# What XLA cannot emit inside one native function (core/native.py).
FOREIGN = {"sort", "top_k", "dot_general", "conv_general_dilated", "pure_callback", "io_callback",
           "fft", "cholesky", "triangular_solve", "scatter"}  # fmt: skip


def foreign(rule: Rule, actions: int) -> str | None:
    """An operation of the selecting rules that no native function may hold, or None."""
    row, one, whole = jnp.zeros(actions), jnp.float32(0.0), jnp.int32(1)
    stats = NodeStats(row, row, row.astype(jnp.int32), row, whole, one, one, one, one, row)

    def named(jaxpr: Any) -> Iterator[str]:
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            wide = name == "reduce_sum" and equation.invars[0].aval.size >= WIDE
            yield "sum of so many numbers (use rule.total)" if wide else name
            for inner in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda x: hasattr(x, "jaxpr")
            ):
                inner = getattr(inner, "jaxpr", inner)  # noqa: PLW2901
                if hasattr(inner, "eqns"):
                    yield from named(inner)

    with inside("native"):
        traced = [
            jax.make_jaxpr(select)(stats, RootNoise(row, whole)).jaxpr
            for select in (rule.select_root, rule.select)
        ]
    for jaxpr in traced:
        for name in named(jaxpr):
            if name in FOREIGN or name.startswith(("scatter", "sum of")):
                return name
    return None


def local(rule: Rule, actions: int) -> bool:
    """Whether a choice depends on nothing but its own node, and so may be kept.

    Found by watching what the rules read: `q_min` and `q_max` change everywhere
    at once.
    """
    seen = set()

    class Watched(NodeStats):
        def __getattribute__(self, name: str) -> Any:
            seen.add(name)
            return super().__getattribute__(name)

    row, one, whole = jnp.zeros(actions), jnp.float32(0.0), jnp.int32(1)
    stats = Watched(row, row, row.astype(jnp.int32), row, whole, one, one, one, one, row)
    for select in (rule.select_root, rule.select):
        jax.eval_shape(functools.partial(select, stats), RootNoise(row, whole))
    return rule.untried != TREE and not seen & {"q_min", "q_max"}
