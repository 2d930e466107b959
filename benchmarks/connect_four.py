"""Whether a player of connect four gives wins away, by a solver's verdict on each of its moves.

    python -m benchmarks.connect_four runs/connect_four-... --simulations 64 --games 100

The player meets plain MCTS from the start position, half of the games from either side. Every game
is then judged by connect_four.c, which a C compiler (`cc`) builds first: after which moves a win
was still there, and which ones gave it away. To prove the first moves takes minutes (and 2 GB:
`--table 28`); `--skip 6` passes over them and takes one.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import jax

from halfmove.arena.players import player
from halfmove.games import make
from halfmove.games.records import Record
from halfmove.selfplay.match import match, score
from halfmove.selfplay.rating import distinct

SOURCE = Path(__file__).with_suffix(".c")
KEPT, THROWN = "w", "x"  # letters of the solver


def judged(
    games: Iterable[tuple[int, str]],
    skip: int = 0,
    heard: Callable[[str], None] = lambda word: None,
    *,
    processes: int = 1,
    table: int = 22,
) -> list[str]:
    """For (side, columns) of games a letter for every move; connect_four.c says which.

    `heard` is told of each game's as soon as it is known. The table has 2 ** `table` entries of
    eight bytes.
    """
    lines = [f"{side} {skip} {columns}\n" for side, columns in games]
    found = [""] * len(lines)
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "solver")
        subprocess.run(["cc", "-O3", "-o", program, str(SOURCE)], check=True)
        pipe = subprocess.PIPE
        words = [program, str(processes), str(table)]
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as solver:
            assert solver.stdin
            assert solver.stdout
            with solver.stdin as told:
                told.writelines(lines)
            for line in solver.stdout:
                number, word = line.split()
                found[int(number)] = word
                heard(word)
    if solver.returncode:
        raise RuntimeError(f"the solver ended with status {solver.returncode}")
    return found


def columns(record: Record) -> str:
    """A game as the solver reads it."""
    return "".join(str(action + 1) for action in record.moves)


def main() -> None:
    """Plays, judges, prints."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    asked.add_argument("player", help="a run, or a network of the package")
    asked.add_argument("--simulations", type=int, default=64)
    asked.add_argument("--games", type=int, default=100)
    asked.add_argument("--against", default="mcts@1000")
    asked.add_argument("--skip", type=int, default=0, help="first moves that are not judged")
    asked.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="of the solver")
    asked.add_argument("--table", type=int, default=27, help="a power of two, of 8 bytes each")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--json", help="a file for the figures")
    given = asked.parse_args()
    game = make("connect_four")
    one = player(f"{given.player}@{given.simulations}", game)
    other = player(given.against, game)
    key = jax.random.key(given.seed)
    played = distinct(match(key, game, one, other, games=given.games, opening=0))
    sides = [record.players.index(one.name) for record in played]
    games = [(side, columns(record)) for side, record in zip(sides, played, strict=True)]
    print(f"{len(games)} different games; a line for each as it is judged", flush=True)
    verdicts = judged(
        games, given.skip, heard=lambda word: print(word, flush=True),
        processes=given.processes, table=given.table,
    )  # fmt: skip
    figures = {
        "player": one.name,
        "against": other.name,
        "games": len(played),
        "score": score(played, one.name),
        "moves": sum(len(word) - word.count(".") for word in verdicts),
        "wins kept": sum(word.count(KEPT) for word in verdicts),
        "wins given away": sum(word.count(THROWN) for word in verdicts),
        "games with one": sum(THROWN in word for word in verdicts),
    }
    for name, value in figures.items():
        print(f"{name:16} {value}")
    for side, record, word in zip(sides, played, verdicts, strict=True):
        if THROWN in word:
            print("xo"[side], columns(record), word)
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
