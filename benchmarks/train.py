"""Where the time of training goes, against the network alone.

    python -m benchmarks.train
    python -m benchmarks.train go9-gpu --json out.json --net.planes 128

The floor of self-play is the network on the same batch as often as a move asks for it
(simulations + 1 times) and nothing else. An iteration is what a run does: a chunk of self-play
and its updates. The parts are measured apart, each in a loop of its own: the rules (step, legal
moves, observation), the search with a model that costs nothing, the replay, an iteration's
updates. Their shares are of the whole iteration and need not add up to it: a compiler joins
some of them. With known rules, where pgx has the game (Go of any size, Hex
11x11), mctx and pgx play as much of it with a network of the same shape, against a floor of
their own (benchmarks/selfplay.py).
"""

import argparse
import functools
import json
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import tyro

from benchmarks.models import Free
from halfmove.core.game import Game, timestep
from halfmove.games.go import Go
from halfmove.games.hex import Hex
from halfmove.train.config import TrainConfig
from halfmove.train.hands import Local, Order
from halfmove.train.parts import Parts, parts_of
from halfmove.train.presets import PRESETS, preset


def best(run: Callable[[], Any], repeat: int) -> float:
    """Seconds of the fastest of some runs, the first (which compiles) left out."""
    jax.block_until_ready(run())
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - began)
    return min(times)


def measure(parts: Parts, game: Game, repeat: int) -> dict[str, float]:
    """Seconds of one iteration's parts; `update` and `replay sample` are of one update."""
    variables, _, lanes, _ = parts.begin(jax.random.key(0))
    keys = iter(jax.random.split(jax.random.key(1), 100_000))
    play = jax.jit(lambda lanes, key: parts.selfplay.play(variables, lanes, key))
    network, rules, search = _network(parts, game), _rules(parts, game), _search(parts, game)
    t = {
        "selfplay": best(lambda: play(lanes, next(keys)), repeat),
        "network": best(lambda: network(variables, lanes.state), repeat),
        "rules": best(lambda: rules(lanes.state, next(keys)), repeat),
        "search": best(lambda: search(next(keys)), repeat),
    }
    return t | learning(parts, keys, repeat)


def _network(parts: Parts, game: Game) -> Callable[..., Any]:
    """Every call that the network gets in one iteration of self-play, and nothing else."""
    model, config = parts.model, parts.config
    simulations, moves = config.search.simulations, config.selfplay.chunk

    def first(variables: Any, seen: Any, x: Any) -> tuple[Any, Any]:
        # The answer goes into the next question, so that none is left out.
        asked = replace(seen, observation=seen.observation + 0 * x)
        node, prediction = model.root(variables, jax.random.key(0), asked)
        return node, jnp.sum(prediction.value) + jnp.sum(prediction.logits)

    def imagined(variables: Any, i: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        node, total = carry
        action = jnp.full(config.selfplay.lanes, i % game.actions)
        node, edge, prediction = model.step(variables, jax.random.key(0), node, action)
        return node, total + jnp.sum(edge.reward) + jnp.sum(prediction.logits)

    @jax.jit
    def run(variables: Any, state: Any) -> Any:
        seen = jax.vmap(functools.partial(timestep, game))(state)
        if config.model != "learned":  # a step is the rules', and the network as at a root
            calls = (simulations + 1) * moves
            again = lambda i, x: first(variables, seen, x)[1]  # noqa: E731
            return jax.lax.fori_loop(0, calls, again, jnp.float32(0))

        def move(i: Any, x: Any) -> Any:
            step = functools.partial(imagined, variables)
            return jax.lax.fori_loop(0, simulations, step, first(variables, seen, x))[1]

        return jax.lax.fori_loop(0, moves, move, jnp.float32(0))

    return run


def _rules(parts: Parts, game: Game) -> Callable[..., Any]:
    """As many steps of the games as one iteration of self-play makes."""
    config = parts.config
    searched = 0 if config.model == "learned" else config.search.simulations
    steps = (searched + 1) * config.selfplay.chunk

    @jax.jit
    def run(state: Any, key: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            state, total = carry
            legal = jax.vmap(game.legal)(state)
            action = jnp.argmax(legal, axis=-1)
            after = jax.vmap(game.step, in_axes=(None, 0, 0))(key, state, action)
            shown = jax.vmap(game.observe)(after)
            return after, total + jnp.sum(shown)

        return jax.lax.fori_loop(0, steps, step, (state, jnp.float32(0)))[1]

    return run


def _search(parts: Parts, game: Game) -> Callable[..., Any]:
    """The searches of one iteration, with a model that costs nothing."""
    free = Free(game.actions)
    roots = free.start(parts.config.selfplay.lanes)

    @jax.jit
    def run(key: Any) -> Any:
        def one(i: Any, total: Any) -> Any:
            plan = parts.planner(jax.random.fold_in(key, i), free, None, roots)
            return total + jnp.sum(plan.policy)

        return jax.lax.fori_loop(0, parts.config.selfplay.chunk, one, jnp.float32(0))

    return run


def beside(parts: Parts, game: Game, repeat: int) -> dict[str, float]:
    """Seconds of the same self-play by mctx and pgx, and of their network alone, if pgx has it."""
    from benchmarks.selfplay import Case, Scale, theirs

    known = isinstance(game, Go) or (isinstance(game, Hex) and game.size == 11)
    if not known or parts.config.model != "rules":
        return {}
    play, net = parts.config.selfplay, replace(parts.config.net, ownership=False)
    case = Case(game.name, game.size, "rules", parts.config.search.simulations)
    seconds, floor = theirs(case, Scale(play.lanes, play.chunk, repeat, net))
    return {"mctx+pgx selfplay": seconds, "mctx+pgx network": floor}


def learning(parts: Parts, keys: Iterator[Any], repeat: int) -> dict[str, float]:
    """The replay, updates, what goes to the host, and a whole iteration, as a run makes them.

    On a full replay. Updates are queued one after the other, so that the host is not waited for.
    """
    hands = Local(parts)
    hands.begin()

    def played() -> Any:
        hands.order(Order(0, next(keys), 1.0, -2.0))
        return hands.play()

    while int(hands.store.head) < parts.replay.length:
        played()
    learn = parts.config.learn
    due = max(1, round(parts.chunk_positions * learn.samples / learn.batch))

    def updated() -> Any:
        return hands.learn(jax.random.split(next(keys), due), 0)

    seconds = {
        "iteration": best(lambda: (played(), updated()), repeat),
        "update": best(updated, repeat) / due,
    }
    add = jax.jit(parts.replay.add, donate_argnums=0)
    draw = jax.jit(parts.draw)
    hands.lanes, hands.store, steps, told = parts.play(
        hands.variables, hands.lanes, hands.store, next(keys), jnp.float32(1), jnp.float32(-2)
    )
    jax.block_until_ready((steps, told))

    def added() -> Any:
        hands.store = add(hands.store, steps)
        return hands.store.head

    # An array that was fetched keeps its copy: every fetch here needs a new one.
    fresh = iter([jax.tree.map(jnp.copy, (told, steps.action[0])) for _ in range(repeat + 1)])
    return seconds | {
        "transfer": best(lambda: jax.device_get(next(fresh)), repeat),
        "replay add": best(added, repeat),
        "replay sample": best(lambda: draw(hands.store, next(keys)), repeat),
    }


def report(parts: Parts, t: dict[str, float]) -> dict[str, Any]:
    """The figures that people ask for."""
    config = parts.config
    positions = parts.chunk_positions
    updates = positions * config.learn.samples / config.learn.batch
    learning = updates * t["update"]
    whole = t["iteration"]
    drawn = updates * t["replay sample"]
    seconds = {
        "network in self-play": t["network"],
        "network in updates": learning - drawn,
        "rules": t["rules"],
        "search": t["search"],
        "replay": t["replay add"] + drawn,
        "transfer": t["transfer"],
    }
    theirs = {}
    if "mctx+pgx selfplay" in t:
        theirs = {
            "mctx+pgx selfplay positions/s": positions / t["mctx+pgx selfplay"],
            "mctx+pgx against its floor": t["mctx+pgx network"] / t["mctx+pgx selfplay"],
        }
    return theirs | {
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "jax": jax.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "game": config.game,
        "lanes": config.selfplay.lanes,
        "simulations": config.search.simulations,
        "positions": positions,
        "updates": updates,
        "seconds": t,
        "selfplay positions/s": positions / t["selfplay"],
        "learning positions/s": config.learn.batch / t["update"],
        "positions/s": positions / whole,
        "selfplay against the floor": t["network"] / t["selfplay"],
        "network and updates": (t["network"] + learning) / whole,
        "share": {name: x / whole for name, x in seconds.items()},
    }


def show(found: dict[str, Any]) -> None:
    """Prints the figures as tables."""
    print(
        f"jax {found['jax']} on {found['device']}: {found['game']}, {found['lanes']} games, "
        f"{found['simulations']} simulations; an iteration is {found['positions']:,} positions "
        f"and {found['updates']:g} updates"
    )
    for name, seconds in found["seconds"].items():
        what = "one update" if name in ("update", "replay sample") else "an iteration's"
        print(f"{name:22}{seconds * 1e3:10.2f} ms  {what}")
    print("share of an iteration, each measured alone:")
    for name, share in found["share"].items():
        print(f"{name:22}{share:10.1%}")
    speeds = ("selfplay positions/s", "learning positions/s", "positions/s",
              "mctx+pgx selfplay positions/s")  # fmt: skip
    shares = ("selfplay against the floor", "network and updates", "mctx+pgx against its floor")
    for name in speeds + shares:
        if name in found:
            text = f"{found[name]:12,.0f}" if name in speeds else f"{found[name]:12.0%}"
            print(f"{name:30}{text}")


def main() -> None:
    """Prints tables, and writes JSON where asked."""
    parser = argparse.ArgumentParser(
        usage="python -m benchmarks.train [PRESET] [--repeat N] [--json FILE] [--any.field value]",
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json")
    options, rest = parser.parse_known_args()
    # Not an argument of the parser, which would take a field's value for it.
    name = rest.pop(0) if rest and not rest[0].startswith("-") else "hex5"
    if name not in PRESETS:
        parser.error(f"unknown preset {name!r}; `halfmove presets` lists them")
    config = tyro.cli(TrainConfig, default=preset(name), args=rest)
    parts = parts_of(config)
    if parts.game is None:
        parts.close()
        parser.error("environments on the host are measured by `python -m benchmarks.envs`")
    seconds = measure(parts, parts.game, options.repeat)
    found = report(parts, seconds | beside(parts, parts.game, options.repeat))
    show(found)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
