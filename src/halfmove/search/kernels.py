"""The engine of compiled programs: one call of the program per model call.

On a GPU it is one launch of Pallas programs, one a game. On a CPU it is one native
function, compiled by XLA as a whole: what would be thousands of small operations,
each dispatched on its own, is then a loop in machine code. This is how the program
is built and called, and when it must be refused.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt
from jax.sharding import PartitionSpec as P

from halfmove.core.lowering import lowered_for_gpu
from halfmove.core.native import native
from halfmove.core.types import Array
from halfmove.search.ascend import grow, plant
from halfmove.search.descend import walk
from halfmove.search.program import GAMES, NODES, ROWS, Build, Game
from halfmove.search.rule import LANES, Rule, inside, local
from halfmove.search.tree import UNVISITED, Leaf, Noise, Path, Tree


def prepare(
    rule: Rule,
    games: int,
    actions: int,
    nodes: int,
    leaves: int,
    max_depth: int,
    *,
    how: str | None = None,
) -> Build:
    """The program for these shapes, by default for this machine."""
    how = how or ("triton" if jax.default_backend() == "gpu" else "native")
    native = how == "native"
    # A CPU does a row of at least 24 lanes many at a time, a shorter one lane by lane.
    alone = actions if actions < LANES else max(actions, 24)
    width = alone if native else max(pl.next_power_of_2(actions), LANES)
    few = games <= 256  # measured on an H200: few games leave warps to spare
    # The interpreter gains nothing by many levels; paths are then longer than one climb.
    levels = min(8 if few else 4, 4096 // width) if how == "triton" else 2
    # One core gains nothing by asking a rule ahead of time: it asks as often.
    kept = not native and width <= 2048 and max_depth >= nodes - 1 and local(rule, actions)
    return Build(
        rule=rule,
        width=width,
        nodes=nodes,
        leaves=leaves,
        max_depth=max_depth,
        kept=kept,
        levels=1 if native else max(levels, 2),
        warps=(8 if few else min(8, max(2, levels * width // 256)))
        if kept
        else min(32, max(1, width // 256)),
        how=how,
    )


def refusal(rule: Rule, shape: tuple[int, ...], nodes: int) -> str | None:
    """Why a search of [games, actions] cannot run here, `None` if it can."""
    games, actions = shape
    width = max(pl.next_power_of_2(actions), LANES)
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
        small = prepare(rule, 1, width, 2, 1, 1, how="triton")
        state = empty(small, 1, jnp.zeros(1))
        same = constants(small, noise, zero + 1)
        return turn(small, ("grow", "walk"), state, same, number, Path(zero, zero, zero), leaf)

    try:
        lowered_for_gpu(once, jnp.int32(0))
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
    if build.levels > 1:
        state["up"] = jax.lax.empty((games, build.nodes, build.levels), jnp.int32)
    if build.kept:
        state["end"] = jax.lax.empty((games, build.nodes), jnp.int32)
        if build.leaves > 1:
            state["stamp"] = jax.lax.empty((games, build.nodes), jnp.int32)
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
    fresh = jnp.cumsum(wanted, axis=1, dtype=jnp.int32) - wanted + 1
    seed = jax.lax.bitcast_convert_type(noise.seed, jnp.int32)
    return row, seed, schedule, wanted, fresh


def turn(
    build: Build,
    parts: tuple[str, ...],
    state: dict[str, Array],
    same: tuple[Array, ...],
    number: Array,
    path: Path,
    leaf: Leaf,
) -> tuple[dict[str, Array], Path]:
    """Parts of the program, for all games: writes what `leaf` [K, B] says of the ends of
    `path` [K, B], or walks to those of model call `number`.
    """
    kept = [*(state[name] for name in build.names), path.parent, path.action, path.leaf]
    # One array, so that a cheap model's whole answer is one launch.
    pad = ((0, 0),) * 2 + ((0, build.width - leaf.logits.shape[-1]),)
    logits = jnp.pad(leaf.logits, pad, constant_values=-jnp.inf)
    scalars = jnp.stack([leaf.value, leaf.reward, leaf.discount, leaf.value], axis=-1)
    answer = jnp.concatenate([logits, scalars], axis=-1)
    inputs = [*same, jnp.reshape(number, (1,)).astype(jnp.int32), answer]
    run = _native if build.how == "native" else _programs
    # The program's memory has 32 bits a number, whatever JAX makes of a plain one outside of it.
    with inside(build.how), jax.enable_x64(False):
        out = _spread(functools.partial(run, functools.partial(program, build, parts), build))(
            inputs, kept
        )
    return dict(zip(build.names, out[:-3], strict=True)), Path(*out[-3:])


Run = Callable[[list[Array], list[Array]], list[Array]]


def _spread(run: Run) -> Run:
    """On a mesh, every device runs the programs of its own games: XLA cannot divide them."""
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty:
        return run

    def spread(inputs: list[Array], kept: list[Array]) -> list[Array]:
        # Games that cannot be shared equally are searched by every device.
        axes = mesh.axis_names if kept[0].shape[0] % mesh.size == 0 else None
        games, later = P(axes), P(None, axes)
        given = [*[games] * (len(inputs) - 2), P(), later]
        held = [*[games] * (len(kept) - 3), later, later, later]
        whole = jax.shard_map(run, in_specs=(given, held), out_specs=held, check_vma=False)
        return whole(inputs, kept)

    return spread


Program = Callable[[Array, Any, Any], None]
PARTS = {"plant": plant, "grow": grow, "walk": walk}


def program(build: Build, parts: tuple[str, ...], b: Array, inputs: Any, memory: Any) -> None:
    """What game `b` does between two calls of the model."""
    *state, parent, action, leaf = memory
    tree = dict(zip(build.names, state, strict=True))
    game = Game(build, b, inputs, tree, (parent, action, leaf))
    for part in parts:
        PARTS[part](game)


def _programs(
    program: Program, build: Build, inputs: list[Array], kept: list[Array]
) -> list[Array]:
    """One Pallas program a game."""

    def body(*refs: Any) -> None:
        # Inputs, what is updated in place, and that again as outputs.
        program(pl.program_id(0), refs[: len(inputs)], refs[-len(kept) :])

    return pl.pallas_call(
        body,
        grid=(kept[0].shape[0],),
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in kept],
        input_output_aliases={len(inputs) + i: i for i in range(len(kept))},
        interpret=build.how == "interpreter",
        compiler_params=None
        if build.how == "interpreter"
        else plt.CompilerParams(num_warps=build.warps, num_stages=1),
    )(*inputs, *kept)


def _native(program: Program, build: Build, inputs: list[Array], kept: list[Array]) -> list[Array]:
    """All games in turn, in one function of machine code."""

    def body(inputs: list[Array], kept: list[Array]) -> list[Array]:
        def run(memory: list[Any]) -> None:
            def one(b: Array, carry: Array) -> Array:
                program(b, inputs, memory)
                return carry

            jax.lax.fori_loop(0, kept[0].shape[0], one, jnp.int32(0))

        return pl.run_state(run)(kept)

    return native(body, inputs, kept)


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
