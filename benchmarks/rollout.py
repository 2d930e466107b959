"""What adapting a policy costs: Policy Gradient Search against Monte Carlo Search, on Hex.

    python -m benchmarks.rollout                              # a small network, for a CPU
    python -m benchmarks.rollout --paper --games 64 --json out.json    # 19 blocks of 256 planes
    python -m benchmarks.rollout --network hex9 --learning-rate 0      # one that was trained

Milliseconds of one search of all games, the best of interleaved runs, with noise as in
self-play. A new network's policy is nearly uniform, so its simulations are shorter than a
trained one's; with a learning rate of 0 all planners make the same simulations.
"""

import argparse
import functools
import json
import time
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.search import interleaved
from halfmove import games
from halfmove.core.game import timestep
from halfmove.models import Rules
from halfmove.nets import NetConfig
from halfmove.search import planner
from halfmove.train.trained import trained

SMALL = NetConfig(planes=64, blocks=4)
PAPER = NetConfig(planes=256, blocks=19, policy_planes=2, value_planes=1, head_width=256)


def measured(args: argparse.Namespace) -> dict[str, Any]:
    """Figures of every planner asked for."""
    if args.network:
        net = trained(args.network)
        game, model, variables = net.game, net.model, net.variables
    else:
        game = games.make("hex", size=args.size)
        model = Rules(game, PAPER if args.paper else SMALL)
        variables = model.init(jax.random.key(0))
    roots = jax.vmap(game.init)(jax.random.split(jax.random.key(1), args.games))
    seen = jax.vmap(functools.partial(timestep, game))(roots)
    runs, depth = {}, {}
    for name in args.planners:
        options: dict[str, Any] = {"leaves": args.leaves}
        if name in ("mcs", "pgs", "pgs_unfrozen") and not args.distinct:
            options["distinct"] = False
        if name in ("pgs", "pgs_unfrozen") and args.learning_rate is not None:
            options["learning_rate"] = args.learning_rate
        search = planner(name, simulations=args.simulations, **options)
        run = jax.jit(lambda key, v, s, search=search: search(key, model, v, s))
        started = time.perf_counter()
        plan = jax.block_until_ready(run(jax.random.key(2), variables, seen))
        print(f"{name}: first call {time.perf_counter() - started:.1f} s", flush=True)
        depth[name] = float(jnp.mean(plan.depth))
        runs[name] = lambda key, run=run: run(key, variables, seen).action
    best = interleaved(runs, args.repeat, args.budget)
    return {
        name: {"ms": ms, "depth": depth[name], "ratio": ms / best[args.planners[0]]}
        for name, ms in best.items()
    }


def main() -> None:
    """Prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planners", nargs="+", default=["mcs", "pgs", "pgs_unfrozen"])
    parser.add_argument("--paper", action="store_true", help="the paper's 19-block network")
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--games", type=int, default=4)
    parser.add_argument("--simulations", type=int, default=128)
    parser.add_argument("--leaves", type=int, default=32)
    parser.add_argument(
        "--network", help="a run, or a network of the package, instead of a new one"
    )
    parser.add_argument("--learning-rate", type=float, help="of the adapted policy")
    parser.add_argument("--distinct", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=5.0, help="seconds; longer runs run once")
    parser.add_argument("--json", help="write all figures here")
    args = parser.parse_args()
    print(f"jax {jax.__version__} on {jax.devices()[0].device_kind}")
    found = measured(args)
    for name, row in found.items():
        print(
            f"{name:14s} {row['ms']:10.1f} ms  {row['ratio']:6.2f} times {args.planners[0]}  "
            f"{row['depth']:5.2f} moves a simulation"
        )
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"options": vars(args), "jax": jax.__version__, "planners": found}, file)


if __name__ == "__main__":
    main()
