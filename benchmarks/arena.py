"""Games per hour of network against network, and how long `halfmove gtp` takes over a move.

    python -m benchmarks.arena
    python -m benchmarks.arena --game "go size=9" --games 256 --planes 128 --blocks 6

Games: two networks that were never trained, drawn from two seeds, play by the loop of tournaments
(`arena/round.py`), all games at once and then some of them one by one, with the same planner. A
first round of each compiles and is not counted.

A move: a real process, `halfmove gtp RUN --simulations N` on 9x9 Go, spoken to through pipes;
the time is from the `genmove` that is sent to the answer that is read. RUN is made for this by
`halfmove train` with no update, so its network is not trained either, which does not matter
here. It comes first, and in other processes: a GPU's memory is not shared well.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

HALFMOVE = (sys.executable, "-m", "halfmove.cli")


def latency(simulations: int, moves: int, planes: int, blocks: int) -> dict[str, Any]:
    """Seconds of a move of `halfmove gtp` on 9x9 Go, with a network and without."""
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        net = [f"--net.planes={planes}", f"--net.blocks={blocks}", "--net.mix=none"]
        few = ["--iterations=1", "--selfplay.lanes=2", "--selfplay.chunk=1", "--learn.batch=2"]
        few += ["--search.simulations=1", "--learn.begin=1000000", "--rating.every=0"]
        command = [*HALFMOVE, "train", "go9-gpu", "--folder", run, *net, *few]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return {
            f"network {planes}x{blocks}": _moves([run], simulations, moves),
            "plain MCTS": _moves(["mcts", "--game", "go size=9"], simulations, moves),
        }


def _moves(player: list[str], simulations: int, moves: int) -> dict[str, float]:
    command = [*HALFMOVE, "gtp", *player, "--simulations", str(simulations), "--seed", "0"]
    with _engine(command) as engine:
        began = time.perf_counter()
        _ask(engine, "clear_board")
        _ask(engine, "genmove black")
        first = time.perf_counter() - began
        times = []
        for i in range(moves):
            began = time.perf_counter()
            _ask(engine, f"genmove {('white', 'black')[i % 2]}")
            times.append(time.perf_counter() - began)
    return {"first_s": first, "median_s": statistics.median(times), "longest_s": max(times)}


@contextlib.contextmanager
def _engine(command: list[str]) -> Any:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as engine:
        try:
            yield engine
            _ask(engine, "quit")
        finally:
            engine.kill()


def _ask(engine: Any, command: str) -> str:
    engine.stdin.write(command + "\n")
    engine.stdin.flush()
    answer = engine.stdout.readline()
    if not answer.startswith("="):
        raise SystemExit(f"{command}: {answer!r}")
    engine.stdout.readline()
    return str(answer)


def games_per_hour(args: argparse.Namespace) -> dict[str, float]:
    """How many games end in an hour, all at once and one by one."""
    import jax

    from halfmove import games
    from halfmove.arena.openings import openings
    from halfmove.arena.round import play_round
    from halfmove.models import Rules
    from halfmove.nets import NetConfig
    from halfmove.search.planners import planner
    from halfmove.selfplay.boards import Fixture, Searcher

    game = games.read(args.game)
    model = Rules(game, NetConfig(planes=args.planes, blocks=args.blocks))
    search = planner("full_gumbel", simulations=args.simulations, gumbel_scale=0.0)
    players = [
        Searcher(f"network {seed}", search, model, model.init(jax.random.key(seed)))
        for seed in (args.seed, args.seed + 1)
    ]
    lines = openings("random:2", game, count=args.games // 2, seed=args.seed)
    fixtures = [
        Fixture(i, (0, 1) if i % 2 == 0 else (1, 0), lines[i // 2 % len(lines)])
        for i in range(args.games)
    ]

    def timed(rounds: Sequence[Sequence[Fixture]]) -> tuple[float, float]:
        """(games an hour, moves of a game)."""
        began = time.perf_counter()
        played = [record for part in rounds for record in play_round(game, players, part, seed=0)]
        hours = (time.perf_counter() - began) / 3600
        return len(played) / hours, statistics.mean(len(record.moves) for record in played)

    alone = [[fixture] for fixture in fixtures[: args.alone]]
    timed([fixtures]), timed(alone[:1])
    (together, moves), (single, _) = timed([fixtures]), timed(alone)
    return {
        "together_per_hour": together, "one_by_one_per_hour": single,
        "ratio": together / single, "moves": moves,
    }  # fmt: skip


def main() -> None:
    """Prints the figures and writes the JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--game", default="hex size=7")
    parser.add_argument("--games", type=int, default=64, help="at once (default: %(default)s)")
    parser.add_argument("--alone", type=int, default=4, help="one by one (default: %(default)s)")
    parser.add_argument("--simulations", type=int, default=32, help="in games")
    parser.add_argument("--planes", type=int, default=32)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--gtp-simulations", type=int, default=800)
    parser.add_argument("--moves", type=int, default=10, help="of `halfmove gtp`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="write all figures here")
    args = parser.parse_args()
    moves = latency(args.gtp_simulations, args.moves, args.planes, args.blocks)
    print(f"a move of `halfmove gtp`, 9x9 Go, {args.gtp_simulations} simulations:", flush=True)
    for name, row in moves.items():
        print(
            f"  {name:16} {row['median_s'] * 1000:8.0f} ms (longest "
            f"{row['longest_s'] * 1000:.0f}); start and first move {row['first_s']:.1f} s",
            flush=True,
        )
    found = games_per_hour(args)
    print(
        f"{args.game}, {args.simulations} simulations, {args.planes}x{args.blocks} networks: "
        f"{found['together_per_hour']:,.0f} games an hour {args.games} at once, "
        f"{found['one_by_one_per_hour']:,.0f} one by one, ratio {found['ratio']:.1f}; "
        f"{found['moves']:.1f} moves a game"
    )
    if args.json:
        import jax

        gpu = jax.default_backend() == "gpu"
        device = jax.devices()[0].device_kind if gpu else f"{platform.processor() or 'CPU'}"
        out = {"device": device, "jax": jax.__version__, "date": time.strftime("%Y-%m-%d")}
        with open(args.json, "w") as file:
            json.dump(out | {"arguments": vars(args), "gtp": moves, "games": found}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
