"""Steps per second of random play: Halfmove's games against pgx's.

    python -m benchmarks.games                      # batches for this machine's device
    python -m benchmarks.games --games go9,hex11 --batch 1024 --json out.json

One jitted loop plays random legal moves in a batch of games; those that are over begin
again, and a warm-up spreads them over all stages of a game. The two programs choose the
moves by the same rule, take turns, and the best run of each counts. What is in a step:

- ours: `step` and `legal`;
- ours, seen: the same and `observe`, which a position of a search tree does not need;
- pgx: its `step`, which always computes the mask and the observation.

The ratio is that of pgx to ours with everything pgx computes, observation included; the
second one is without. All of them contain the choice of the moves and the new
beginnings; `rest` is what that alone takes, in per cent of a step.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from halfmove import games
from halfmove.games.check.play import choose, scramble
from halfmove.games.check.speed import begin, keys_of, random_loop, restarted
from halfmove.games.check.views import state_bytes

# Ours by name and options; pgx's by name, None where it has no such game.
PAIRS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "go9": ("go", {"size": 9}, "go_9x9"),
    "go19": ("go", {"size": 19}, "go_19x19"),
    "hex11": ("hex", {"size": 11, "swap": True}, "hex"),
    "chess": ("chess", {}, "chess"),
    "shogi": ("shogi", {}, "shogi"),
    "othello": ("othello", {}, "othello"),
    "connect_four": ("connect_four", {}, "connect_four"),
    "tic_tac_toe": ("tic_tac_toe", {}, "tic_tac_toe"),
    "gardner_chess": ("gardner_chess", {}, "gardner_chess"),
    "animal_shogi": ("animal_shogi", {}, "animal_shogi"),
    "2048": ("2048", {}, "2048"),
}
DRAWS = {"2048"}  # games of pgx whose step draws from its key


class Theirs:
    """A game of pgx, with the loop it is measured in."""

    def __init__(self, name: str):
        import pgx

        self.env = pgx.make(name)
        self.chance = name in DRAWS

    def begin(self, batch: int) -> Any:
        """First positions and random words."""
        state = jax.jit(jax.vmap(self.env.init))(jax.random.split(jax.random.key(0), batch))
        return state, jnp.arange(batch, dtype=jnp.uint32) * 40503

    def loop(self, steps: int) -> Callable:
        """The same loop as `random_loop`."""
        fresh = jax.jit(self.env.init)(jax.random.key(0))

        def turn(_: jax.Array, carry: Any) -> Any:
            state, word = carry
            word = jax.vmap(scramble)(word)
            action = jax.vmap(choose)(word, state.legal_action_mask)
            if self.chance:
                state = jax.vmap(self.env.step)(state, action, keys_of(True, word))
            else:
                state = jax.vmap(self.env.step)(state, action)
            ended = state.terminated | state.truncated
            return restarted(ended, fresh, state), word

        return jax.jit(lambda carry: jax.lax.fori_loop(0, steps, turn, carry))


def rest_loop(state: Any, legal: jax.Array, steps: int) -> tuple[Callable, Any]:
    """What is not a step: choosing from a mask, and beginning again now and then."""
    words = jnp.arange(legal.shape[0], dtype=jnp.uint32) * 40503
    fresh = jax.tree.map(lambda leaf: leaf[0], state)

    def turn(_: jax.Array, carry: Any) -> Any:
        now, mask, word = carry
        word = jax.vmap(scramble)(word)
        action = jax.vmap(choose)(word, mask)
        now = restarted((action + word.astype(jnp.int32)) % 64 == 0, fresh, now)
        return now, mask ^ (action[:, None] < 0), word

    loop = jax.jit(lambda carry: jax.lax.fori_loop(0, steps, turn, carry))
    return loop, (state, legal, words)


class Timed:
    """A compiled loop that goes on from where it is."""

    def __init__(self, loop: Callable, carry: Any):
        start = time.perf_counter()
        self.run = loop.lower(carry).compile()
        self.compile_s = time.perf_counter() - start
        self.carry = carry
        self.best = float("inf")

    def warm_up(self, runs: int) -> None:
        """Plays on without a clock."""
        for _ in range(runs):
            self.carry = self.run(self.carry)
        jax.block_until_ready(self.carry)

    def time(self) -> float:
        """Seconds of one run."""
        start = time.perf_counter()
        self.carry = jax.block_until_ready(self.run(self.carry))
        seconds = time.perf_counter() - start
        self.best = min(self.best, seconds)
        return seconds


def measure(label: str, batch: int, args: argparse.Namespace) -> dict[str, Any]:
    """One row of the table."""
    name, options, pgx_name = PAIRS[label]
    game = games.make(name, **options)
    first = begin(game, batch)
    runs = {
        "ours": Timed(random_loop(game, args.steps), first),
        "ours_seen": Timed(
            random_loop(game, args.steps, observe=True), begin(game, batch, observe=True)
        ),
        "ours_rest": Timed(*rest_loop(first[0], first[1], args.steps)),
    }
    row: dict[str, Any] = {"game": label, "batch": batch, "ours_bytes": _bytes(first[0], batch)}
    if pgx_name is not None and not args.no_pgx:
        theirs = Theirs(pgx_name)
        start = theirs.begin(batch)
        runs["pgx"] = Timed(theirs.loop(args.steps), start)
        runs["pgx_rest"] = Timed(*rest_loop(start[0], start[0].legal_action_mask, args.steps))
        row["pgx_bytes"] = _bytes(start[0], batch)
    for run in runs.values():
        run.warm_up(max(1, -(-args.warm_up // args.steps)))
    for _ in range(args.repeat):
        for run in runs.values():
            run.time()
    done = batch * args.steps
    row |= {f"{key}_steps_s": done / run.best for key, run in runs.items() if "rest" not in key}
    row |= {f"{key}_compile_s": run.compile_s for key, run in runs.items() if "rest" not in key}
    row["ours_rest"] = runs["ours_rest"].best / runs["ours"].best
    if "pgx" in runs:
        row["pgx_rest"] = runs["pgx_rest"].best / runs["pgx"].best
        row["ratio"] = runs["pgx"].best / runs["ours_seen"].best
        row["ratio_unseen"] = runs["pgx"].best / runs["ours"].best
        row["bytes_ratio"] = row["ours_bytes"] / row["pgx_bytes"]
    return row


def _bytes(states: Any, batch: int) -> int:
    return state_bytes(states) // batch


HEAD = (
    f"{'game':14s} {'batch':>5s} {'ours':>12s} {'ours, seen':>12s} {'pgx':>12s} {'ratio':>7s}"
    f" {'unseen':>7s} {'bytes':>7s} {'pgx':>7s} {'rest':>9s} {'compile s':>11s}"
)


def line(row: dict[str, Any]) -> str:
    """One row of the table, under `HEAD`."""

    def cell(key: str, form: str, width: int) -> str:
        return f"{row[key]:{width}{form}}" if key in row else " " * (width - 1) + "-"

    rest = f"{row['ours_rest']:4.0%}" + (f"/{row['pgx_rest']:.0%}" if "pgx_rest" in row else "")
    seconds = f"{row['ours_compile_s']:.1f}" + (
        f"/{row['pgx_compile_s']:.1f}" if "pgx_compile_s" in row else ""
    )
    return " ".join(
        [
            f"{row['game']:14s} {row['batch']:5d}",
            cell("ours_steps_s", ",.0f", 12),
            cell("ours_seen_steps_s", ",.0f", 12),
            cell("pgx_steps_s", ",.0f", 12),
            cell("ratio", ".2f", 7),
            cell("ratio_unseen", ".2f", 7),
            cell("ours_bytes", ",d", 7),
            cell("pgx_bytes", ",d", 7),
            f"{rest:>9s} {seconds:>11s}",
        ]
    )


def main() -> None:
    """Prints the table and writes the JSON."""
    gpu = jax.default_backend() == "gpu"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", help=f"of {','.join(PAIRS)} (default: all)")
    parser.add_argument("--batch", type=int, action="append", help="may be given several times")
    parser.add_argument("--steps", type=int, default=256 if gpu else 32, help="moves in one run")
    parser.add_argument("--warm-up", type=int, default=512 if gpu else 128, help="moves before")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--no-pgx", action="store_true")
    parser.add_argument("--json", help="write all figures here")
    args = parser.parse_args()
    labels = args.games.split(",") if args.games else list(PAIRS)
    if unknown := [label for label in labels if label not in PAIRS]:
        parser.error(f"unknown games: {', '.join(unknown)}; there are {', '.join(PAIRS)}")

    device = jax.devices()[0].device_kind if gpu else f"{platform.processor() or 'CPU'}"
    print(f"jax {jax.__version__} on {device}; steps per second\n{HEAD}", flush=True)
    rows = []
    for label in labels:
        if PAIRS[label][0] not in games.names():
            print(f"{label:14s} is not there", flush=True)
            continue
        for batch in args.batch or ([1024, 8192] if gpu else [64]):
            rows.append(measure(label, batch, args))
            print(line(rows[-1]), flush=True)
    if args.json:
        out = {"device": device, "jax": jax.__version__, "date": time.strftime("%Y-%m-%d")}
        with open(args.json, "w") as file:
            json.dump(out | {"steps": args.steps, "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
