"""What an expert teaches: how much of its policy lies on moves that win, in Expert Iteration.

    python -m benchmarks.targets RUN/checkpoints/00000100 --judge hex7 --simulations 64 --leaves 2
    python -m benchmarks.targets RUN/checkpoints/00000100 --simulations 800 --leaves 32 --rate 1e-3

Positions after up to `--moves` moves of the network's own policy, in which by the judge, a
stronger network with a search behind every move, some moves win and some lose. The share of the
policy on the winning ones is the network's before any search, then that of each expert's target,
drawn as in self-play: with Dirichlet noise. All experts see the same positions, so that a
difference between two of them is told with its own standard error.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove import games
from halfmove.core.game import timestep
from halfmove.search import planner
from halfmove.train.presets import EXPERTS
from halfmove.train.trained import Trained, trained

BASE = "mcs"  # differences are to this expert


def asker(net: Trained, search: Any) -> Callable:
    """(key, states) -> the plan of a search by this network."""
    see = jax.vmap(functools.partial(timestep, net.game))
    run = jax.jit(lambda key, variables, states: search(key, net.model, variables, see(states)))
    return lambda key, states: run(key, net.variables, states)


def positions(net: Trained, count: int, moves: int, key: jax.Array) -> Any:
    """`count` states, each after as many moves of the raw policy as were drawn for it."""
    game, ask = net.game, asker(net, planner("prior"))
    begin, length, play = jax.random.split(key, 3)
    states = jax.vmap(game.init)(jax.random.split(begin, count))
    wanted = jax.random.randint(length, (count,), 0, moves + 1)

    @jax.jit
    def move(states: Any, actions: jax.Array, number: int) -> Any:
        after = jax.vmap(game.step, (None, 0, 0))(play, states, actions)
        going = (number < wanted) & ~jax.vmap(game.terminated)(after)
        return jax.vmap(lambda go, a, b: jax.tree.map(lambda x, y: jnp.where(go, x, y), a, b))(
            going, after, states
        )

    for number in range(moves):
        states = move(states, ask(jax.random.fold_in(play, number), states).action, number)
    return states


def winning(judge: Trained, states: Any, simulations: int) -> tuple[np.ndarray, np.ndarray]:
    """[P, A]: which moves win, as the judge sees the position after each; which are legal."""
    game = judge.game
    ask = asker(judge, planner("full_gumbel", simulations=simulations, gumbel_scale=0.0))
    legal = np.asarray(jax.vmap(game.legal)(states))
    step = jax.jit(jax.vmap(game.step, (None, 0, None)))
    columns = []
    for action in range(game.actions):
        after = step(jax.random.key(0), states, action)
        # In Hex the move that ends a game wins it.
        over = np.asarray(jax.vmap(game.terminated)(after))
        plan = ask(jax.random.key(1), after)
        # Not the mean over all that was tried: one good answer is enough.
        answer = jnp.take_along_axis(plan.stats.q, jnp.maximum(plan.action, 0)[:, None], axis=1)
        columns.append(over | (np.asarray(answer[:, 0]) < 0))
    return np.stack(columns, axis=1) & legal, legal


def measured(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The share of the raw network and of every expert, with what is told beside it."""
    net, judge = trained(args.network), trained(args.judge)
    if net.game != judge.game:
        raise SystemExit(
            f"{args.network} plays {net.config.game}, and the judge {args.judge} plays "
            f"{judge.config.game}: name another --judge"
        )
    states = positions(net, args.positions, args.moves, jax.random.key(args.seed))
    wins, legal = winning(judge, states, args.judge_simulations)
    some = wins.any(axis=1) & (wins != legal).any(axis=1)
    if not some.any():
        raise SystemExit(
            f"in none of {args.positions} positions some moves win and some lose: more --positions"
        )
    print(
        f"{some.sum()} of {args.positions} positions, in which {_share(legal, wins, some):.0%} of "
        "the moves win"
    )
    policies = {"raw network": (np.asarray(asker(net, planner("prior"))(
        jax.random.key(2), states).policy), 0.0)}  # fmt: skip
    for expert in args.experts:
        name, words = EXPERTS[expert]
        options = dict(games.setting(word) for word in words)
        if name == "pgs":
            options["learning_rate"] = args.rate
        search = planner(name, simulations=args.simulations, leaves=args.leaves, **options)
        plan = asker(net, search)(jax.random.key(3), states)
        policies[expert] = np.asarray(plan.policy), float(jnp.mean(plan.depth))
    rows = {}
    for name, (policy, depth) in policies.items():
        best = np.take_along_axis(wins, policy.argmax(axis=1)[:, None], axis=1)[some]
        rows[name] = {"share": _share(policy, wins, some), "best": best.mean(), "moves": depth}
        if BASE in policies:
            gap = ((policy - policies[BASE][0]) * wins).sum(axis=1)[some]
            rows[name] |= {"gap": gap.mean(), "error": gap.std() / np.sqrt(len(gap))}
    return {name: {k: float(x) for k, x in row.items()} for name, row in rows.items()}


def _share(policy: np.ndarray, wins: np.ndarray, some: np.ndarray) -> float:
    """The mean share of a policy [P, A], or of legal moves, that is on winning ones."""
    return float(((policy * wins).sum(axis=1) / policy.sum(axis=1))[some].mean())


def main() -> None:
    """Prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("network", help="a run of Hex, a stage of it, or one of the package")
    parser.add_argument("--judge", default="hex7", help="a stronger network of the same board")
    parser.add_argument("--judge-simulations", type=int, default=64, help="behind every move")
    parser.add_argument("--experts", nargs="+", choices=EXPERTS, default=["mcs", "pgs", "mcts"])
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--leaves", type=int, default=2)
    parser.add_argument("--rate", type=float, default=5e-4, help="of the policy PGS adapts")
    parser.add_argument("--positions", type=int, default=256)
    parser.add_argument("--moves", type=int, default=24, help="at most, before a position")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = measured(args)
    print(f"{'':14}{'on winning moves':>18}{'best wins':>11}{'moves':>7}  against {BASE}")
    for name, row in rows.items():
        gap = f"{row['gap']:+8.3f} ± {1.96 * row['error']:.3f}" if "gap" in row else ""
        print(f"{name:14}{row['share']:>18.3f}{row['best']:>11.0%}{row['moves']:>7.1f}  {gap}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({**vars(args), "date": time.strftime("%Y-%m-%d"), "rows": rows}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
