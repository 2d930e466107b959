"""Where the time of training goes, against the network alone.

    python -m benchmarks.train hex5
    python -m benchmarks.train go9-gpu --json out.json --net.planes 128

The floor of self-play is the network on the same batch as often as a move asks for it
(simulations + 1 times) and nothing else. The parts are measured apart, each in a loop of its
own: the rules (step, legal moves, observation), the search with a model that costs nothing,
the replay, one update. They need not add up to the whole: a compiler joins some of them.
"""

import argparse
import functools
import json
import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import tyro

from benchmarks.models import Free
from halfmove.core.game import timestep
from halfmove.train.config import TrainConfig
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


def measure(parts: Parts, repeat: int) -> dict[str, float]:
    """Seconds of one iteration's parts, and figures from them."""
    config, game, model = parts.config, parts.game, parts.model
    assert game is not None, "environments on the host are measured by benchmarks.envs"
    calls = config.search.simulations + 1
    moves = config.selfplay.chunk
    variables, opt_state, lanes, store = parts.begin(jax.random.key(0))
    keys = iter(jax.random.split(jax.random.key(1), 100_000))
    seen = jax.jit(jax.vmap(functools.partial(timestep, game)))(lanes.state)

    play = jax.jit(lambda lanes, key: parts.selfplay.play(variables, lanes, key))
    t: dict[str, float] = {}
    t["selfplay"] = best(lambda: play(lanes, next(keys)), repeat)

    @jax.jit
    def network(variables: Any, seen: Any) -> Any:
        def again(i: Any, x: Any) -> Any:
            # The answer goes into the next question, so that none is left out.
            observation = seen.observation + 0 * x
            _, prediction = model.root(variables, jax.random.key(0), _with(seen, observation))
            return jnp.sum(prediction.value) + jnp.sum(prediction.logits)

        return jax.lax.fori_loop(0, calls * moves, again, jnp.float32(0))

    t["network"] = best(lambda: network(variables, seen), repeat)

    @jax.jit
    def rules(state: Any, key: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            state, total = carry
            legal = jax.vmap(game.legal)(state)
            action = jnp.argmax(legal, axis=-1)
            after = jax.vmap(game.step, in_axes=(None, 0, 0))(key, state, action)
            shown = jax.vmap(game.observe)(after)
            return after, total + jnp.sum(shown)

        return jax.lax.fori_loop(0, calls * moves, step, (state, jnp.float32(0)))[1]

    t["rules"] = best(lambda: rules(lanes.state, next(keys)), repeat)

    free = Free(game.actions)
    roots = free.start(config.selfplay.lanes)

    @jax.jit
    def search(key: Any) -> Any:
        def one(i: Any, total: Any) -> Any:
            plan = parts.planner(jax.random.fold_in(key, i), free, None, roots)
            return total + jnp.sum(plan.policy)

        return jax.lax.fori_loop(0, moves, one, jnp.float32(0))

    t["search"] = best(lambda: search(next(keys)), repeat)

    while int(store.head) < parts.replay.length:
        lanes, store, steps, report = parts.play(
            variables, lanes, store, next(keys), jnp.float32(1), jnp.float32(-2)
        )
    # Not donated here: the same store is used again and again, which is what `add` copies.
    add = jax.jit(parts.replay.add)
    t["replay add"] = best(lambda: add(store, steps), repeat)
    draw = jax.jit(lambda store, key: parts.replay.sample(store, key, config.learn.batch))
    t["replay sample"] = best(lambda: draw(store, next(keys)), repeat)
    jax.block_until_ready((report, steps))
    t["transfer"] = best(lambda: jax.device_get((report, steps.action[0])), repeat)

    learn = jax.jit(parts._learn)
    target = variables if config.reanalyse.share else {}
    t["update"] = best(lambda: learn(variables, opt_state, target, store, next(keys)), repeat)
    return t


def _with(seen: Any, observation: Any) -> Any:
    return type(seen)(**{**seen.__dict__, "observation": observation})


def report(parts: Parts, t: dict[str, float]) -> dict[str, Any]:
    """The figures that people ask for."""
    config = parts.config
    positions = parts.chunk_positions
    updates = positions * config.learn.samples / config.learn.batch
    learning = updates * t["update"]
    whole = t["selfplay"] + learning + t["replay add"] + t["transfer"]
    return {
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "jax": jax.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "game": config.game,
        "lanes": config.selfplay.lanes,
        "simulations": config.search.simulations,
        "seconds": t,
        "selfplay positions/s": positions / t["selfplay"],
        "learning positions/s": config.learn.batch / t["update"],
        "positions/s": positions / whole,
        "selfplay against the floor": t["network"] / t["selfplay"],
        "network and updates": (t["network"] + learning) / whole,
        "share": {name: t[name] / t["selfplay"] for name in ("network", "rules", "search")}
        | {"updates of the whole": learning / whole},
    }


def main() -> None:
    """Prints a table, and writes JSON where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json")
    options, rest = parser.parse_known_args()
    config = tyro.cli(TrainConfig, default=preset(options.preset), args=rest)
    parts = parts_of(config)
    found = report(parts, measure(parts, options.repeat))
    print(
        f"jax {found['jax']} on {found['device']}: {found['game']}, {found['lanes']} games, ",
        end="",
    )
    print(f"{found['simulations']} simulations")
    for name, seconds in found["seconds"].items():
        what = "one update" if name in ("update", "replay sample") else "an iteration's"
        print(f"{name:16}{seconds * 1e3:10.2f} ms  {what}")
    for name in ("selfplay positions/s", "learning positions/s", "positions/s"):
        print(f"{name:28}{found[name]:12,.0f}")
    for name in ("selfplay against the floor", "network and updates"):
        print(f"{name:28}{found[name]:12.0%}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
