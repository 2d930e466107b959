"""One function of machine code out of many small operations, on a CPU."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

MARK = {"xla_cpu_small_call": "true", "inlineable": "false"}


def native(function: Callable[..., Any], given: Any, *arguments: Any) -> Any:
    """`function(given, *arguments)`, compiled on a CPU as one kernel, its loops and all.

    XLA dispatches every operation of a loop on its own, which costs a small one
    many times its work. A call marked so is emitted as a single function instead,
    which uses one core. It must not scatter, sort, multiply matrices or call out.
    Arrays in `arguments` may be updated in place; those in `given` are only read.
    """

    def whole(given: Any, *arguments: Any) -> Any:
        # XLA fails on a parameter that nothing reads: each is at least given back,
        # as a copy, which costs nothing, but without which JAX would see through it.
        # An array to be updated is read where something of it stays; one number may not.
        lone = [x for x in jax.tree.leaves(arguments) if x.size == 1]
        return jax.tree.map(jnp.copy, (function(given, *arguments), given, lone))

    @jax.custom_batching.sequential_vmap  # type: ignore[untyped-decorator]
    def call(given: Any, *arguments: Any) -> Any:
        # The barriers keep what XLA knows of the caller out, and unused results in.
        given, arguments = jax.lax.optimization_barrier((given, arguments))
        out = jax.jit(whole)(given, *arguments)
        out = jax.tree.map(lambda x: set_xla_metadata(x, **MARK), out)
        return jax.lax.optimization_barrier(out)[0]

    return call(given, *arguments)
