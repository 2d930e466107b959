"""Self-play against its floor, and mctx with pgx against theirs, in one run.

    python -m benchmarks.selfplay                         (9x9 Go and Hex; for a GPU)
    python -m benchmarks.selfplay --size 5 --games 16 --planes 16 --blocks 1 --simulations 4

The floor is the same network on the same batch as often as a move asks for it (simulations + 1
times; for a learned model once the root's and then the step's) and nothing else. mctx and pgx
play the same game with a network of the same shape by mctx's Gumbel search, and have a floor of
their own, since their observations differ. Everything is the best of `--repeat` runs.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import pgx
from pgx.go import Go
from pgx.hex import Hex

from benchmarks.train import best
from halfmove import games
from halfmove.core.game import timestep
from halfmove.models import Learned, Rules, Spec
from halfmove.nets import NetConfig
from halfmove.nets.networks import Network
from halfmove.nets.start import start
from halfmove.search import planner
from halfmove.selfplay import SelfPlay

OPTIONS = {"normalise": (-1.0, 1.0)}


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    game: str  # go or hex
    size: int
    model: str  # rules or learned
    simulations: int


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    lanes: int
    moves: int  # in one call
    repeat: int
    net: NetConfig


def repeated(times: int, answer: Callable[[Any], Any]) -> Any:
    """A number that takes `times` answers, each of which must be known for the next question."""
    return jax.lax.fori_loop(0, times, lambda _, x: answer(0 * x), jnp.float32(0))


def summed(prediction: Any) -> Any:
    """Something that needs all of a prediction."""
    return jnp.sum(prediction.value) + jnp.sum(prediction.logits)


def ours(case: Case, scale: Scale) -> tuple[float, float]:
    """Seconds of a call of self-play, and of its floor."""
    game = games.make(case.game, size=case.size)
    key = jax.random.key(0)
    states = jax.vmap(game.init)(jax.random.split(key, scale.lanes))
    seen = jax.jit(jax.vmap(functools.partial(timestep, game)))(states)
    model: Any = Rules(game, scale.net)
    if case.model == "learned":
        model = Learned(Spec.of_game(game), scale.net)
    variables = model.init(key)
    search = planner("full_gumbel", simulations=case.simulations, **OPTIONS)
    play = SelfPlay(game, model, search, scale.lanes, scale.moves)
    run = jax.jit(play.play, donate_argnums=1)
    keys = iter(jax.random.split(jax.random.key(1), 1000))
    lanes = play.begin(next(keys), variables)

    def once() -> Any:
        nonlocal lanes
        lanes, steps, report = run(variables, lanes, next(keys))
        return steps, report

    @jax.jit
    def floor(variables: Any) -> Any:
        def root(zero: Any) -> Any:
            shown = type(seen)(**{**vars(seen), "observation": seen.observation + zero})
            return model.root(variables, key, shown)

        calls = case.simulations
        if case.model == "rules":
            return repeated(scale.moves * (calls + 1), lambda zero: summed(root(zero)[1]))
        action = jnp.zeros(scale.lanes, jnp.int32)
        node, _ = root(jnp.float32(0))

        def step(zero: Any) -> Any:
            moved = jax.tree.map(lambda x: x + zero.astype(x.dtype), node)
            _, edge, prediction = model.step(variables, key, moved, action)
            return summed(prediction) + jnp.sum(edge.reward)

        roots = repeated(scale.moves, lambda zero: summed(root(zero)[1]))
        return roots + repeated(scale.moves * calls, step)

    return best(once, scale.repeat), best(lambda: floor(variables), scale.repeat)


def theirs(case: Case, scale: Scale) -> tuple[float, float]:
    """The same of mctx and pgx, with known rules."""
    env: pgx.Env = Go(size=case.size) if case.game == "go" else Hex()
    network: Any = Network(scale.net, env.num_actions, None)
    key = jax.random.key(0)
    variables = start(key, network, jnp.zeros((1, *env.observation_shape)), False)
    begin, step = jax.vmap(env.init), jax.vmap(env.step)
    rows = jnp.arange(scale.lanes)

    def look(variables: Any, observation: Any) -> Any:
        logits, raw = network.apply(variables, observation.astype(jnp.float32), False)
        return logits, scale.net.value.decode(raw)

    def masked(state: Any, logits: Any) -> Any:
        return jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min)

    def follow(variables: Any, key: Any, action: Any, state: Any) -> Any:
        mover = state.current_player
        after = step(state, action)
        logits, value = look(variables, after.observation)
        over = after.terminated
        output = mctx.RecurrentFnOutput(
            reward=after.rewards[rows, mover],
            discount=jnp.where(over, 0.0, -1.0),
            prior_logits=masked(after, logits),
            value=jnp.where(over, 0.0, value),
        )
        return output, after

    def move(variables: Any, state: Any, key: Any) -> Any:
        search_key, new_key = jax.random.split(key)
        logits, value = look(variables, state.observation)
        plan = mctx.gumbel_muzero_policy(
            params=variables,
            rng_key=search_key,
            root=mctx.RootFnOutput(
                prior_logits=masked(state, logits), value=value, embedding=state
            ),
            recurrent_fn=follow,
            num_simulations=case.simulations,
            invalid_actions=~state.legal_action_mask,
            qtransform=mctx.qtransform_completed_by_mix_value,
        )
        after = step(state, plan.action)
        new = begin(jax.random.split(new_key, scale.lanes))
        over = after.terminated | after.truncated

        def where(a: Any, b: Any) -> Any:
            return jnp.where(over.reshape(-1, *[1] * (a.ndim - 1)), a, b)

        return jax.tree.map(where, new, after), (plan.action_weights, value, over)

    @functools.partial(jax.jit, donate_argnums=1)
    def run(variables: Any, state: Any, key: Any) -> Any:
        keys = jax.random.split(key, scale.moves)
        return jax.lax.scan(functools.partial(move, variables), state, keys)

    keys = iter(jax.random.split(jax.random.key(1), 1000))
    state = jax.jit(begin)(jax.random.split(next(keys), scale.lanes))

    def once() -> Any:
        nonlocal state
        state, told = run(variables, state, next(keys))
        return told

    shown = jnp.copy(state.observation.astype(jnp.float32))  # the state itself is given away

    @jax.jit
    def floor(variables: Any, shown: Any) -> Any:
        def answer(zero: Any) -> Any:
            logits, value = look(variables, shown + zero)
            return jnp.sum(logits) + jnp.sum(value)

        return repeated(scale.moves * (case.simulations + 1), answer)

    return best(once, scale.repeat), best(lambda: floor(variables, shown), scale.repeat)


def measured(case: Case, scale: Scale) -> dict[str, Any]:
    """One line of the table."""
    positions = scale.lanes * scale.moves
    own, floor = ours(case, scale)
    line: dict[str, Any] = {
        **vars(case),
        "positions/s": positions / own,
        "floor positions/s": positions / floor,
        "of the floor": floor / own,
    }
    if case.model == "rules" and (case.game == "go" or case.size == 11):  # pgx's Hex is 11x11
        other, lowest = theirs(case, scale)
        line |= {
            "mctx+pgx positions/s": positions / other,
            "mctx+pgx of its floor": lowest / other,
            "times mctx+pgx": other / own,
        }
    return line


def main() -> None:
    """Prints the table, and writes JSON where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--games", type=int, default=1024, help="at once")
    parser.add_argument("--moves", type=int, default=8, help="of every game in one call")
    parser.add_argument("--planes", type=int, default=128)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--simulations", type=int, nargs="+", default=[32, 200])
    parser.add_argument("--kinds", nargs="+", default=["go", "hex", "go-learned"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    net = NetConfig(planes=options.planes, blocks=options.blocks, dtype=options.dtype)
    scale = Scale(options.games, options.moves, options.repeat, net)
    found = {
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "options": {name: x for name, x in vars(options).items() if name != "json"},
        "lines": [],
    }
    lines: list[dict[str, Any]] = found["lines"]  # type: ignore[assignment]
    print(f"jax {found['jax']} on {found['device']}, {options.games} games, "
          f"{options.planes}x{options.blocks} {options.dtype}")  # fmt: skip
    print(f"{'':22}{'n':>4}{'positions/s':>13}{'of floor':>10}{'mctx+pgx':>11}{'of floor':>10}")
    for kind in options.kinds:
        game, _, learned = kind.partition("-")
        for n in options.simulations if not learned else options.simulations[:1]:
            line = measured(Case(game, options.size, learned or "rules", n), scale)
            lines.append(line)
            text = f"{game} {options.size}x{options.size} {learned or 'rules':14}{n:4}"
            text += f"{line['positions/s']:13,.0f}{line['of the floor']:10.0%}"
            if "times mctx+pgx" in line:
                text += f"{line['mctx+pgx positions/s']:11,.0f}"
                text += f"{line['mctx+pgx of its floor']:10.0%}"
            print(text, flush=True)
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
