"""Strength against simulations: the planners of the Policy Gradient Search paper with one network.

    python -m benchmarks.scaling weights/hex9-gpu/checkpoints/00000200 --folder runs/scaling
    python -m benchmarks.scaling hex7 --folder runs/scaling7 --simulations 16 32 64 --leaves 2 \
        --openings random:2 --games 16                                   (two cores)

Every planner has a tournament of its own: all its numbers of simulations, the raw network, and
tree search with the second of the numbers, which plays in all of them. They run at the same time,
each in a process, for a search without a tree leaves most of a GPU idle (start NVIDIA's MPS first,
`nvidia-cuda-mps-control -d`, so that they need not take turns). Then the games of all are rated
together. What was played is kept: the same command goes on with what is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from halfmove.arena import tournament

HALFMOVE = (sys.executable, "-m", "halfmove.cli")


def player(args: argparse.Namespace, planner: str, simulations: int) -> str:
    """A player's line."""
    own = {
        "mcts": "c_puct=5.0 normalise=None",
        "pgs": f"learning_rate={args.rate}",
        "pgs_unfrozen": f"learning_rate={args.unfrozen_rate}",
    }
    name = "alphazero" if planner == "mcts" else planner
    line = f"{args.network}:{name}@{simulations} leaves={args.leaves} {own.get(planner, '')}"
    return line.strip()


def raw(args: argparse.Namespace) -> str:
    """The network without a search."""
    return f"{args.network}:prior"


def play(args: argparse.Namespace) -> None:
    """All tournaments at the same time, until they are over or their time is."""
    args.folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    shared = [raw(args), player(args, "mcts", sorted(args.simulations)[1])]
    working = []
    for planner in args.planners:
        mine = [player(args, planner, n) for n in args.simulations]
        words = [*HALFMOVE, "arena", *dict.fromkeys([*shared, *mine])]
        words += ["--folder", str(args.folder / planner), "--seed", str(args.seed)]
        words += ["--openings", args.openings]
        words += [] if args.games is None else ["--games", args.games]
        words += ["--at-once", str(args.at_once)]
        with open(args.folder / f"{planner}.log", "w") as log:
            working.append(subprocess.Popen(words, stdout=log, stderr=log, env=environment))
    end = time.monotonic() + args.seconds
    for planner, one in zip(args.planners, working, strict=True):
        try:
            status = one.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
            print(f"{planner}: not over after {args.seconds:g} s; its games so far count")
        else:
            if status:
                print(f"{planner}: ended with status {status}; see {args.folder / planner}.log")


def rows_of(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The rating of every player of whom there are games, the raw network at 0."""
    played = [game for name in args.planners for game in tournament.load(args.folder / name)]
    if not played:
        raise SystemExit(f"no game is over; {args.folder} has the words of every tournament")
    found = tournament.rated(played, {raw(args): 0.0})
    rows = []
    for planner in args.planners:
        for n in args.simulations:
            line = player(args, planner, n)
            if line in found.names:
                low, high = found.interval(line)
                elo = float(found.elo[found.names.index(line)])
                row = {"planner": planner, "simulations": n, "elo": elo, "low": low, "high": high}
                rows.append(row)
    return rows


def picture(rows: list[dict[str, Any]], path: str) -> None:
    """Elo against simulations, a line for every planner."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    panel = figure.subplots()
    for planner in dict.fromkeys(row["planner"] for row in rows):
        mine = [row for row in rows if row["planner"] == planner]
        elo = [row["elo"] for row in mine]
        error = [[abs(row["elo"] - row[end]) for row in mine] for end in ("low", "high")]
        panel.errorbar([row["simulations"] for row in mine], elo, error, marker="o", label=planner)
    panel.set_xscale("log", base=2)
    places = sorted({row["simulations"] for row in rows})
    panel.set_xticks(places, labels=map(str, places))
    panel.set(xlabel="simulations a move", ylabel="Elo, the raw network at 0")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Plays, rates, prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("network", help="a run, a checkpoint, or a network of the package")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--planners", nargs="+", default=["mcts", "mcs", "pgs"])
    parser.add_argument("--simulations", type=int, nargs="+", default=[200, 400, 800, 1600])
    parser.add_argument("--leaves", type=int, default=32)
    parser.add_argument("--rate", default="1e-3", help="inner learning rate of pgs")
    parser.add_argument("--unfrozen-rate", default="3e-4", help="of pgs_unfrozen")
    parser.add_argument("--openings", default="first")
    parser.add_argument("--games", help="of a pair (default: as `halfmove arena` has it)")
    parser.add_argument("--at-once", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=36000.0, help="until all are stopped")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json")
    parser.add_argument("--plot")
    args = parser.parse_args()
    if len(args.simulations) < 2:
        parser.error("--simulations takes two or more numbers")
    play(args)
    rows = rows_of(args)
    for row in rows:
        interval = f"{row['low']:.0f} to {row['high']:.0f}"
        print(f"{row['planner']:14}{row['simulations']:>6}{row['elo']:>7.0f}  {interval}")
    if args.plot:
        picture(rows, args.plot)
    if args.json:
        kept = {name: str(value) for name, value in vars(args).items()}
        text = json.dumps({"arguments": kept, "date": time.strftime("%Y-%m-%d"), "rows": rows})
        Path(args.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
