"""The cost of searching alone: Halfmove against mctx, with a model that costs nothing.

    python -m benchmarks.search                    # shapes for this machine's device
    python -m benchmarks.search --json out.json --repeat 5

Every figure is the best of interleaved runs. The two programs get the same
roots and the same model; Halfmove's planners are set to mctx's constants.
"""

import argparse
import json
import math
import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.models import Free, Tower
from halfmove.search import planner

GPU_SHAPES = [
    (1024, 82, 2), (1024, 82, 32), (256, 82, 200), (1024, 18, 50),
    (128, 362, 400), (1024, 82, 200), (16, 82, 800),
]  # fmt: skip
CPU_SHAPES = [(8, 82, 32), (32, 82, 200), (64, 18, 50), (4, 362, 400)]

# Ours, with mctx's constants, and the policy of mctx it answers to.
PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "full_gumbel": ("gumbel_muzero_policy", {"c_scale": 0.1}),
    "muzero": ("muzero_policy", {"normalise": "siblings"}),
}
# Whose growth is measured: those two, and planners as they are by default.
GROWTH: list[tuple[str, dict[str, Any]]] = [
    *((name, options) for name, (_, options) in PAIRS.items()),
    ("muzero", {}), ("alphazero", {}), ("trpo", {}), ("mpo", {}),
]  # fmt: skip


def ours(name: str, games: int, actions: int, simulations: int, **options: Any) -> Callable:
    """A jitted search of ours: key -> (action, policy)."""
    model = Free(actions)
    roots = model.start(games)
    plan = planner(name, simulations=simulations, **options)

    def run(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        out = plan(key, model, None, roots)
        return out.action, out.policy

    return jax.jit(run)


def theirs(policy: str, games: int, actions: int, simulations: int) -> Callable:
    """The same by mctx."""
    import mctx

    model = Free(actions)
    roots = model.start(games)

    def step(params: Any, key: Any, action: Any, node: Any) -> Any:
        node = model.move(node, action)
        logits, value = model.look(node)
        zero = jnp.zeros_like(value)
        out = mctx.RecurrentFnOutput(
            reward=zero, discount=zero - 1.0, prior_logits=logits, value=value
        )
        return out, node

    def run(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits, value = model.look(roots)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=roots)
        out = getattr(mctx, policy)((), key, root, step, simulations)
        return out.action, out.action_weights

    return jax.jit(run)


def openspiel(games: int, simulations: int) -> Callable | None:
    """As many searches by OpenSpiel's C++ program, of tic-tac-toe.

    From Python it evaluates leaves by random games only, which in Go would be
    all that is measured. Nine actions, rules and nine-move random games flatter
    it; one thread does not.
    """
    try:
        import pyspiel
    except ImportError:
        return None
    game = pyspiel.load_game("tic_tac_toe")
    state = game.new_initial_state()
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=0)
    bots = [
        pyspiel.MCTSBot(game, evaluator, 1.25, simulations, 1000, False, seed, False)
        for seed in range(games)
    ]

    def run(key: jax.Array) -> None:
        for bot in bots:
            bot.mcts_search(state)

    return run


def prepare(run: Callable) -> tuple[Callable, float, float]:
    """The compiled search, seconds it took to compile, MiB of temporary memory."""
    if not hasattr(run, "lower"):
        return run, 0.0, 0.0
    start = time.perf_counter()
    compiled = run.lower(jax.random.key(0)).compile()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    return compiled, seconds, getattr(memory, "temp_size_in_bytes", 0) / 2**20


def interleaved(runs: dict[str, Callable], repeat: int, budget: float) -> dict[str, float]:
    """Best milliseconds of each; a run longer than `budget` seconds is not repeated."""
    best = dict.fromkeys(runs, math.inf)
    keys = jax.block_until_ready([jax.random.key(turn) for turn in range(repeat)])
    for run in runs.values():
        jax.block_until_ready(run(jax.random.key(0)))
    for turn in range(repeat):
        for name, run in runs.items():
            if turn and best[name] > 1e3 * budget:
                continue
            start = time.perf_counter()
            jax.block_until_ready(run(keys[turn]))
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def against_mctx(shapes: list[tuple[int, int, int]], args: argparse.Namespace) -> list[dict]:
    """One row for every planner and shape."""
    rows = []
    for name, (policy, options) in PAIRS.items():
        for shape in shapes:
            runs = {"ours": ours(name, *shape, **options)}
            if not args.no_mctx:
                runs["mctx"] = theirs(policy, *shape)
            spiel = openspiel(shape[0], shape[2]) if jax.default_backend() == "cpu" else None
            if spiel is not None:
                runs["openspiel"] = spiel
            ready = {key: prepare(run) for key, run in runs.items()}
            best = interleaved({key: r[0] for key, r in ready.items()}, args.repeat, args.budget)
            row = {"planner": name, "games": shape[0], "actions": shape[1], "n": shape[2]}
            row |= {f"{key}_ms": ms for key, ms in best.items()}
            row |= {f"{key}_compile_s": r[1] for key, r in ready.items() if r[1]}
            row |= {f"{key}_memory_mib": r[2] for key, r in ready.items() if r[1]}
            if "mctx" in best:
                row["ratio"] = best["mctx"] / best["ours"]
            rows.append(row)
            print(line(row), flush=True)
    return rows


def growth(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """time(n = 800) / time(n = 100) at 64 games of 82 actions, and what of it is the deeper walk.

    A simulation costs as much as its line has moves, and lines grow: so their lengths are told,
    and the same ratio where no line has more than two moves.
    """
    out = {}
    for name, options in GROWTH:
        short = options | {"max_depth": 2}
        runs = {
            f"{kind} {n}": ours(name, 64, 82, n, **chosen)
            for kind, chosen in (("all", options), ("short", short))
            for n in (100, 800)
        }
        best = interleaved(runs, args.repeat, args.budget)
        moves = {n: _moves(name, n, **options) for n in (100, 800)}
        found = {
            "growth": best["all 800"] / best["all 100"],
            "moves_100": moves[100],
            "moves_800": moves[800],
            "growth_of_two_moves": best["short 800"] / best["short 100"],
        }
        label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
        out[label] = found
        print(
            f"{label}: time(n=800) / time(n=100) = {found['growth']:.2f}, a line has "
            f"{moves[100]:.1f} and {moves[800]:.1f} moves, {moves[800] / moves[100]:.2f} times as "
            f"many; with at most two moves {found['growth_of_two_moves']:.2f}",
            flush=True,
        )
    return out


def _moves(name: str, simulations: int, **options: Any) -> float:
    """Mean length of the lines of such a search."""
    model = Free(82)
    plan = planner(name, simulations=simulations, **options)
    return float(jnp.mean(plan(jax.random.key(0), model, None, model.start(64)).depth))


def many_leaves(args: argparse.Namespace) -> dict[str, float]:
    """One tree with a Go-sized network, n = 800: milliseconds by `leaves`."""
    model = Tower()
    params = model.init(jax.random.key(1))
    root = model.start(1)
    runs = {}
    for leaves in (1, 8, 32, 64):
        plan = planner("full_gumbel", simulations=800, leaves=leaves)
        search = jax.jit(lambda key, params, plan=plan: plan(key, model, params, root).action)
        runs[str(leaves)] = lambda key, search=search: search(key, params)
    best = interleaved(runs, args.repeat, args.budget)
    for leaves, ms in best.items():
        print(f"leaves={leaves}: {ms:.1f} ms, {best['1'] / ms:.1f} times leaves=1", flush=True)
    return best


def line(row: dict) -> str:
    """One row of the table."""
    head = f"{row['planner']:12s} {row['games']:5d} {row['actions']:4d} {row['n']:4d}"
    parts = [f"{k[:-3]} {row[k]:10.2f} ms" for k in row if k.endswith("_ms")]
    parts += [f"ratio {row['ratio']:7.1f}"] if "ratio" in row else []
    parts += [
        f"compile {row['ours_compile_s']:.1f} s", f"memory {row['ours_memory_mib']:.0f} MiB"
    ]  # fmt: skip
    return head + "  " + "  ".join(parts)


def main() -> None:
    """Prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds; longer runs run once")
    parser.add_argument("--json", help="write all figures here")
    parser.add_argument("--no-mctx", action="store_true")
    parser.add_argument("--leaves", action="store_true", help="also one tree with a real network")
    args = parser.parse_args()

    gpu = jax.default_backend() == "gpu"
    device = jax.devices()[0].device_kind if gpu else f"{platform.processor() or 'CPU'}"
    print(f"jax {jax.__version__} on {device}; planner, games, actions, simulations")
    rows = against_mctx(GPU_SHAPES if gpu else CPU_SHAPES, args)
    out: dict[str, Any] = {"device": device, "jax": jax.__version__, "rows": rows}
    out["date"] = time.strftime("%Y-%m-%d")
    for name in PAIRS if not args.no_mctx else ():
        ratios = [row["ratio"] for row in rows if row["planner"] == name]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        out[f"{name}_geometric_mean"] = mean
        print(f"{name}: {mean:.1f} times mctx (geometric mean of {len(ratios)} shapes)")
    out["growth"] = growth(args)
    if args.leaves or gpu:
        out["leaves_ms"] = many_leaves(args)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(out, file, indent=1)


if __name__ == "__main__":
    main()
