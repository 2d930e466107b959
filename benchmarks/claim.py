"""Fig. 2 of the Gumbel paper on one machine: planners that learn with few simulations a move.

    python -m benchmarks.claim --folder runs/claim                       (7x7 Go; for a GPU)
    python -m benchmarks.claim --folder runs/claim --seconds 0           (rates what is there)
    python -m benchmarks.claim hex5 --folder runs/claim --seconds 30 --simulations 2 4 --seeds 0 \
        --evaluate 32 --games 4 --anchor mcts@100                        (two cores)

Every planner with every number of simulations and every seed is trained at the same time, by the
clock: the runs share the device, so each has had as much of it as any other (`--equal minutes`,
their newest networks). With `--equal positions` the networks are those that had seen as many
positions as the slowest run. Then all of them, each with its own planner, a fixed player and, so
that the weak ones have somebody to beat, some others meet in one tournament. Any field of the
preset may be changed, written --net.planes=32.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HALFMOVE = (sys.executable, "-m", "halfmove.cli")
PRESET = "go9-gpu"
SMALLER = ("--game", "go size=7 komi=8.5", "--net.planes", "64", "--net.blocks", "4",
           "--selfplay.lanes", "256", "--learn.begin", "20000", "--replay.positions", "1000000",
           "--learn.optimiser.schedule", "constant", "--learn.optimiser.learning-rate",
           "1e-3")  # fmt: skip


def name_of(planner: str, simulations: int, seed: int) -> str:
    """The folder of one run."""
    return f"{planner}-{simulations}-{seed}"


def command_of(args: argparse.Namespace, planner: str, simulations: int, seed: int) -> list[str]:
    """One training, until it is stopped."""
    words = [*HALFMOVE, "train", args.preset or PRESET, *([] if args.preset else SMALLER)]
    words += ["--folder", str(args.folder / name_of(planner, simulations, seed))]
    words += ["--seed", str(seed), "--iterations", "1000000", "--save-every", str(args.save_every)]
    words += ["--rating.every", "0", "--search.planner", planner]
    words += ["--search.simulations", str(simulations)]
    # pUCT by MuZero's own rule: the options of the preset are Gumbel's.
    return [*words, *args.rest, *(["--search.options"] if planner == "muzero" else [])]


def train(args: argparse.Namespace, runs: list[tuple[str, int, int]]) -> None:
    """All runs at the same time, stopped by the clock."""
    args.folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    working = []
    for run in runs:
        with open(args.folder / f"{name_of(*run)}.log", "w") as log:
            started = subprocess.Popen(
                command_of(args, *run), stdout=log, stderr=log, env=environment
            )
        working.append(started)
    try:
        time.sleep(args.seconds)
    finally:
        for one in working:
            one.send_signal(signal.SIGINT)  # saves, and stops
        for one in working:
            one.wait()


def chosen(args: argparse.Namespace, runs: list[tuple[str, int, int]]) -> dict[str, dict[str, Any]]:
    """The networks to rate: by the player's line, its run, positions and minutes."""
    from halfmove.train.trained import config_of, saved
    from halfmove.train.zoo import minutes

    folders = {run: args.folder / name_of(*run) for run in runs}
    seen = {}
    for run, folder in folders.items():
        selfplay = config_of(folder).selfplay
        seen[run] = {n: n * selfplay.lanes * selfplay.chunk for n in saved(folder)}
    least = min(max(found.values()) for found in seen.values())
    found = {}
    for run, positions in seen.items():
        if args.equal == "positions":
            number = min(positions, key=lambda n, known=positions: abs(known[n] - least))
        else:
            number = max(positions)
        line = f"{folders[run]}/checkpoints/{number:08d}@{args.evaluate} leaves={args.leaves}"
        planner, simulations, seed = run
        found[line] = {
            "planner": planner, "simulations": simulations, "seed": seed,
            "positions": positions[number], "minutes": minutes(folders[run], number),
        }  # fmt: skip
    return found


def rate(args: argparse.Namespace, found: dict[str, dict[str, Any]]) -> None:
    """The tournament; adds every network's rating and its interval."""
    from halfmove.arena import command, tournament

    folder = args.folder / f"arena-{args.equal}-{args.evaluate}"
    players = [*found, *args.beside, args.anchor]
    command.main(
        players, games=args.games, at_once=args.at_once, folder=str(folder), seed=args.seed,
        anchors={args.anchor: 0.0}, game=args.game,
    )  # fmt: skip
    ratings = tournament.rated(tournament.load(folder), {args.anchor: 0.0})
    for line, row in found.items():
        row["elo"] = float(ratings.elo[ratings.names.index(line)])
        row["low"], row["high"] = ratings.interval(line)


def picture(args: argparse.Namespace, rows: list[dict[str, Any]], path: str) -> None:
    """Elo against simulations: a point for every run, a line through the means."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    panel = figure.subplots()
    for i, planner in enumerate(args.planners):
        mine = [row for row in rows if row["planner"] == planner]
        at = [row["simulations"] for row in mine]
        error = [
            [row["elo"] - row["low"] for row in mine],
            [row["high"] - row["elo"] for row in mine],
        ]
        panel.errorbar(at, [row["elo"] for row in mine], error, fmt="o", color=f"C{i}", alpha=0.5)
        places = sorted(set(at))
        each = [[row["elo"] for row in mine if row["simulations"] == n] for n in places]
        panel.plot(places, [sum(x) / len(x) for x in each], color=f"C{i}", lw=2, label=planner)
    panel.set_xscale("log", base=2)
    panel.set_xticks(args.simulations, labels=map(str, args.simulations))
    panel.set(xlabel="simulations a move while learning", ylabel=f"Elo, {args.anchor} at 0")
    panel.set_title(f"equal {args.equal}, evaluated with {args.evaluate} simulations")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Trains, rates, prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("preset", nargs="?", help=f"default: {PRESET}, smaller and on 7x7")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--planners", nargs="+", default=["full_gumbel", "muzero"])
    parser.add_argument("--simulations", type=int, nargs="+", default=[2, 4, 16, 32])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--seconds", type=float, default=240.0, help="of training; 0: none")
    parser.add_argument("--save-every", type=int, default=25, help="iterations")
    parser.add_argument("--equal", choices=("minutes", "positions"), default="minutes")
    parser.add_argument("--evaluate", type=int, default=800, help="simulations; 0: no tournament")
    parser.add_argument("--leaves", type=int, default=8, help="of a model call in the tournament")
    parser.add_argument("--games", type=int, default=8, help="of each pair")
    parser.add_argument("--at-once", type=int, default=512)
    parser.add_argument("--anchor", default="gtp:gnugo --level 10", help="a player, 0 Elo")
    parser.add_argument("--beside", nargs="*", default=["random", "mcts@100"], help="players too")
    parser.add_argument("--game", help="of the tournament, if not the runs'")
    parser.add_argument("--seed", type=int, default=0, help="of the tournament")
    parser.add_argument("--json")
    parser.add_argument("--plot")
    args, args.rest = parser.parse_known_args()
    runs = [(p, n, s) for p in args.planners for n in args.simulations for s in args.seeds]
    if args.seconds:
        train(args, runs)
    if not args.evaluate:
        return
    found = chosen(args, runs)
    rate(args, found)
    rows = list(found.values())
    print(
        f"{'planner':14}{'n':>4}{'seed':>6}{'positions':>12}{'minutes':>9}{'Elo':>7}  95% interval"
    )
    for row in rows:
        interval = f"{row['low']:.0f} to {row['high']:.0f}"
        print(
            f"{row['planner']:14}{row['simulations']:>4}{row['seed']:>6}{row['positions']:>12,}"
            f"{row['minutes']:>9.1f}{row['elo']:>7.0f}  {interval}"
        )
    if args.plot:
        picture(args, rows, args.plot)
    if args.json:
        with open(args.json, "w") as file:
            kept = {name: str(value) for name, value in vars(args).items()}
            json.dump({"arguments": kept, "date": time.strftime("%Y-%m-%d"), "rows": rows}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
