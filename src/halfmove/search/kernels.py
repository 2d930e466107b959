"""The GPU engine: one launch of Pallas programs per model call, one program a game.

search/program.py is what runs there; this is how it is built, called, and when
it must be refused.
"""

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

from halfmove.core.types import Array
from halfmove.search.program import GAMES, NODES, ROWS, Build, program
from halfmove.search.rule import Rule, local
from halfmove.search.tree import UNVISITED, Leaf, Noise, Path, Tree


def prepare(rule: Rule, games: int, actions: int, nodes: int, leaves: int, max_depth: int) -> Build:
    """The kernel for these shapes."""
    # A choice and the node behind it share one 32-bit word.
    fits = (actions + 1) * (nodes + 1) < 2**31
    width = max(pl.next_power_of_2(actions), 16)
    kept = local(rule, actions) and fits
    many = 8 if games <= 256 else 4  # measured on an H200: few games leave warps to spare
    return Build(
        rule=rule,
        width=width,
        nodes=nodes,
        leaves=leaves,
        max_depth=max_depth,
        kept=kept,
        chunk=max(1, min(many, 4096 // width)),
        warps=many if kept else max(1, min(8, width // 256)),
        interpret=jax.default_backend() != "gpu",
    )


def refusal(rule: Rule, shape: tuple[int, ...], nodes: int) -> str | None:
    """Why a search of [games, actions] cannot run here, `None` if it can."""
    games, actions = shape
    width = max(pl.next_power_of_2(actions), 16)
    if games * nodes * width >= 2**31:
        return f"{games} trees of {nodes} nodes and {width} lanes pass 32-bit addresses"
    functions = (rule.select_root, rule.select)
    if all((f.__module__ or "").startswith("halfmove.") for f in functions):
        return None
    return _unlowerable(rule, width)


@functools.lru_cache(maxsize=64)
def _unlowerable(rule: Rule, width: int) -> str | None:
    """The error of making a tiny kernel of a rule that is not one of ours."""
    zero = jnp.zeros((1, 1), jnp.int32)
    noise = Noise(jnp.zeros((1, width)), jnp.zeros(1, jnp.uint32), None)
    leaf = Leaf(jnp.zeros((1, 1, width)), zero * 0.0, zero * 0.0, zero * 0.0)

    def once(number: Array) -> Any:
        small = replace(prepare(rule, 1, width, 2, 1, 1), interpret=False)
        state = empty(small, 1, jnp.zeros(1))
        same = constants(small, noise, zero + 1)
        return turn(small, state, same, number, Path(zero, zero, zero), leaf)

    try:
        jax.jit(once).trace(jnp.int32(-1)).lower(lowering_platforms=("cuda",))
    except Exception as error:  # whatever tracing or lowering says is the answer
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return None


def empty(build: Build, games: int, value: Array) -> dict[str, Array]:
    """Room for the trees; rows are written when a node is made."""
    dtypes: dict[str, Any] = dict.fromkeys(ROWS + NODES, jnp.float32)
    dtypes |= dict.fromkeys(("visits", "child", "count", "parent", "action"), jnp.int32)
    state = {n: jax.lax.empty((games, build.nodes, build.width), dtypes[n]) for n in ROWS}
    state |= {n: jnp.zeros((games, build.nodes), dtypes[n]) for n in NODES}
    state |= {n: value.astype(jnp.float32) for n in GAMES}
    if build.leaves > 1:
        state["pending"] = jax.lax.empty((games, build.nodes, build.width), jnp.int32)
    if build.kept:
        # One word more than nodes, for the lanes of a chunk beyond the path.
        state["code"] = jnp.zeros((games, build.nodes + 1), jnp.int32)
        state["trail"] = jnp.zeros((games, build.nodes), jnp.int32)
    return state


def constants(build: Build, noise: Noise, rounds: Array) -> tuple[Array, ...]:
    """What stays the same at every turn, made ready once."""
    games, actions = noise.row.shape
    row = jnp.pad(noise.row, ((0, 0), (0, build.width - actions)), constant_values=-jnp.inf)
    schedule = noise.schedule
    if schedule is None:
        schedule = jnp.zeros((games, 1), jnp.int32)
    # One round more in which nothing is wanted: after the last there is no walk.
    wanted = jnp.pad(rounds, ((0, 0), (0, 1)))
    fresh = jnp.cumsum(wanted, axis=1) - wanted + 1
    seed = jax.lax.bitcast_convert_type(noise.seed, jnp.int32)
    return row, seed, schedule, wanted, fresh


def turn(
    build: Build,
    state: dict[str, Array],
    same: tuple[Array, ...],
    number: Array,
    path: Path,
    leaf: Leaf,
) -> tuple[dict[str, Array], Path]:
    """Grows the leaves of `path` ([K, B]) from call `number`, then walks to the next."""
    games = leaf.value.shape[1]
    kept = [*(state[name] for name in build.names), path.parent, path.action, path.leaf]
    # One array, so that a cheap model's whole answer is one launch.
    pad = ((0, 0),) * 2 + ((0, build.width - leaf.logits.shape[-1]),)
    logits = jnp.pad(leaf.logits, pad, constant_values=-jnp.inf)
    scalars = jnp.stack([leaf.value, leaf.reward, leaf.discount, leaf.value], axis=-1)
    answer = jnp.concatenate([logits, scalars], axis=-1)
    inputs = [*same, jnp.reshape(number, (1,)).astype(jnp.int32), answer]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in kept]
    out = pl.pallas_call(
        functools.partial(program, build, len(inputs)),
        grid=(games,),
        out_shape=shapes,
        input_output_aliases={len(inputs) + i: i for i in range(len(kept))},
        interpret=build.interpret,
        compiler_params=None
        if build.interpret
        else plt.CompilerParams(num_warps=build.warps, num_stages=1),
    )(*inputs, *kept)
    return dict(zip(build.names, out[:-3], strict=True)), Path(*out[-3:])


def finished(build: Build, state: dict[str, Array], actions: int, node: Any) -> Tree:
    """The trees as the XLA engine would have left them."""
    made = state["count"] > 0
    blank = {"logits": -jnp.inf, "child": UNVISITED, "parent": UNVISITED, "action": UNVISITED}

    def clean(name: str) -> Array:
        x = state[name]
        mask = made
        if x.ndim == 3:
            x, mask = x[..., :actions], made[..., None]
        return jnp.where(mask, x, jnp.asarray(blank.get(name, 0), x.dtype))

    parts = {name: clean(name) for name in ROWS + NODES}
    for name in ("parent", "action"):
        parts[name] = parts[name].at[:, 0].set(UNVISITED)
    pending = clean("pending") if build.leaves > 1 else None
    games = {name: state[name] for name in GAMES}

    def known(x: Array) -> Array:
        return jnp.where(made.reshape(made.shape + (1,) * (x.ndim - 2)), x, jnp.zeros_like(x))

    return Tree(**parts, **games, node=jax.tree.map(known, node), pending=pending)
