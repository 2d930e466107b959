"""`halfmove arena` and `rate`: who is stronger."""

import argparse
from typing import Any

from halfmove.cli.values import anchor, count, fail, seed, two


def add(commands: Any) -> None:
    """Adds these commands to the parser's."""
    _add_arena(commands)
    _add_rate(commands)


def _add_arena(commands: Any) -> None:
    arena = commands.add_parser(
        "arena",
        help="let players meet: networks, plain MCTS, outside engines",
        description="Let players meet and rate them. A player is a run's folder "
        "(runs/hex5, runs/hex5:muzero@64, runs/hex5/checkpoints/00000040), mcts@1000, either for "
        "so many seconds a move (mcts@0.5s), random, perfect, person (you, here), "
        "or an engine: 'gtp:gnugo --level 10', 'uci:stockfish nodes=1000'. What was "
        "played is kept; the same command goes on with a tournament that was stopped.",
    )
    arena.add_argument("players", metavar="PLAYER", nargs="+", help="who plays, two or more")
    arena.add_argument(
        "--games",
        type=count,
        help="of each pair, even (default: 64; from every first move, once from both sides)",
    )
    arena.add_argument("--game", help='such as "go size=9" (default: what the first run learned)')
    arena.add_argument(
        "--openings",
        default="random:2",
        help="random:MOVES, first (every legal first move) or a file of records; each is played "
        "from both sides (default: %(default)s)",
    )
    arena.add_argument("--folder", metavar="FOLDER", help="where it is kept (default: a new one)")
    arena.add_argument(
        "--gauntlet", action="store_true", help="the first player against each of the others"
    )
    arena.add_argument(
        "--sprt",
        metavar="ELO0,ELO1",
        type=two,
        help="for two: stop as soon as it is known which of the differences is the better guess",
    )
    arena.add_argument(
        "--anchor",
        metavar="NAME=ELO",
        type=anchor,
        action="append",
        default=[],
        help="a player whose rating is known (default: the mean of all is 0)",
    )
    arena.add_argument(
        "--at-once",
        type=count,
        help="games under way (default: 64; with an engine, which has a process for each, 4 for "
        "every core)",
    )
    arena.add_argument(
        "--limit", type=count, default=1000, help="moves; then a draw (default: %(default)s)"
    )
    arena.add_argument("--seed", type=seed, default=0, help="of all chance (default: %(default)s)")
    arena.set_defaults(run=_arena)


def _add_rate(commands: Any) -> None:
    rate = commands.add_parser(
        "rate",
        help="rate the players of game records: SGF, PGN, CSA, KIF, JSON lines",
        description="Rate the players of game records by a Bayesian logistic model: strength, the "
        "advantage of the first mover, draws; with 95%% intervals.",
    )
    rate.add_argument("files", metavar="FILE", nargs="+", help="records of games")
    rate.add_argument(
        "--anchor",
        metavar="NAME=ELO",
        type=anchor,
        action="append",
        default=[],
        help="a player whose rating is known (default: the mean of all is 0)",
    )
    rate.set_defaults(run=_rate)


def _arena(options: argparse.Namespace) -> int:
    from halfmove.arena import command
    from halfmove.train.durable import RunError

    given = {name: x for name, x in vars(options).items() if name not in ("run", "rest")}
    try:
        return command.main(anchors=dict(given.pop("anchor")), **given)
    except (RunError, ValueError, OSError) as error:
        return fail(str(error), 1)


def _rate(options: argparse.Namespace) -> int:
    from halfmove.games import records
    from halfmove.selfplay import rating

    played = []
    for file in options.files:
        try:
            with open(file, "rb") as data:
                played += records.read(records.decoded(data.read()), moves=False)
        except (OSError, ValueError) as error:
            return fail(f"{file}: {error}", 1)
    try:
        found = rating.rate(rating.results_of(played), anchors=dict(options.anchor) or None)
    except ValueError as error:
        return fail(str(error), 1)
    print(rating.table(found))
    return 0
