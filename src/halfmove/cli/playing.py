"""`halfmove play`, and the engines for other programs: `gtp`, `uci`, `usi`, `analysis`."""

import argparse
from typing import Any

from halfmove.cli.values import count, fail, seconds, seed


def add(commands: Any) -> None:
    """Adds these commands to the parser's."""
    _add_play(commands)
    _add_engines(commands)


def _add_play(commands: Any) -> None:
    play = commands.add_parser(
        "play",
        help="play against a network, plain MCTS or an engine in the terminal",
        description="Play in the terminal against a run's network (runs/hex5), plain MCTS (a game, "
        "such as 'hex size=7') or any other player of `halfmove arena`.",
    )
    play.add_argument("who", help="a run's folder, a game, or a player such as gtp:gnugo")
    play.add_argument("--game", help='such as "go size=9" (default: what the run learned)')
    play.add_argument(
        "--simulations", type=count, default=64, help="of each of its moves (default: %(default)s)"
    )
    play.add_argument("--second", action="store_true", help="let the network begin")
    play.set_defaults(run=_play)


def _add_engines(commands: Any) -> None:
    for name, spoken, what, do in (
        ("gtp", "GTP", "Go (GTP 2) or Hex (HTP)", "play Go (GTP 2) or Hex (HTP)"),
        ("uci", "UCI", "chess (UCI)", "play chess (UCI)"),
        ("usi", "USI", "shogi (USI)", "play shogi (USI)"),
        ("analysis", "KataGo's JSON analysis", "Go (KataGo's JSON analysis)",
         "review games of Go, such as KaTrain"),
    ):  # fmt: skip
        engine = commands.add_parser(
            name,
            help=f"be an engine for other programs: {what}",
            description=f"Speak {spoken} on standard input and output, for programs that {do}. "
            "Without limits a move gets 800 simulations, or what the clock allows.",
        )
        engine.add_argument(
            "player",
            nargs="?",
            default="mcts",
            help="a run's folder, a network of the package, or such a searcher of `halfmove arena` "
            "as hex7:pgs@400 (default: %(default)s)",
        )
        engine.add_argument("--game", help='such as "go size=9" (default: what the run learned)')
        engine.add_argument("--simulations", type=count, help="of a move, at most")
        engine.add_argument("--seconds", type=seconds, help="for a move, at most")
        engine.add_argument("--seed", type=seed, help="of all chance (default: a new one)")
        engine.set_defaults(run=_engine, protocol=name)


def _play(options: argparse.Namespace) -> int:
    from halfmove.play import terminal
    from halfmove.train.durable import RunError

    try:
        return terminal.main(
            options.who, game=options.game, simulations=options.simulations, second=options.second
        )
    except (RunError, ValueError) as error:
        return fail(str(error), 1)


def _engine(options: argparse.Namespace) -> int:
    from halfmove.games.chess import Chess
    from halfmove.games.go import Go
    from halfmove.games.hex import Hex
    from halfmove.games.shogi import Shogi
    from halfmove.play import gtp_go, htp, katago, minds, uci, usi
    from halfmove.play.seat import Limits
    from halfmove.train.durable import RunError

    kinds: dict[str, Any] = {
        "gtp": (Go, Hex), "uci": (Chess,), "usi": (Shogi,), "analysis": (Go,),
    }  # fmt: skip
    servers: dict[str, Any] = {"gtp": gtp_go, "uci": uci, "usi": usi, "analysis": katago}
    try:
        source, game = minds.named(options.player, options.game, *kinds[options.protocol])
        server = htp if isinstance(game, Hex) else servers[options.protocol]
        limits = Limits(options.simulations, options.seconds).of(options.player)
        return int(server.main(source, game, limits=limits, seed=options.seed))
    except (RunError, ValueError) as error:
        return fail(str(error), 1)
