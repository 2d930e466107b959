"""The `halfmove` command. Each subcommand imports what it needs, so that help is instant."""

import argparse
import dataclasses
import importlib.metadata
import inspect
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand and gives the exit status: 0, 1 (it failed) or 2 (bad usage)."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without Greek letters gets question marks, not a traceback.
        sys.stdout.reconfigure(errors="replace")
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and not hasattr(options, "rest"):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has gone. The interpreter flushes once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="halfmove", description="Planning by search: one engine, every planner of the papers."
    )
    parser.add_argument("--version", action="version", version=f"halfmove {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    planners = commands.add_parser(
        "planners",
        help="list the planners, their options and defaults",
        description="List the planners, their options and defaults.",
    )
    planners.add_argument("name", nargs="?", help="only this planner, with its whole description")
    planners.set_defaults(run=_planners)

    games = commands.add_parser(
        "games",
        help="list the games, their options and defaults",
        description="List the games, their options and defaults.",
    )
    games.add_argument("name", nargs="?", help="only this game, with its numbers and description")
    games.set_defaults(run=_games)

    check = commands.add_parser(
        "check",
        help="examine a game: does it keep what every game owes?",
        description="Examine a game by playing it at random: one line for every property that "
        "all games share, and for a failure how to see it again. Exit status 0: all hold; 1: not.",
    )
    check.add_argument("game", help="a name (see `halfmove games`) or package.module:Class")
    check.add_argument("option", nargs="*", help="options of the game, such as size=9")
    check.add_argument(
        "--games", type=_count, default=1000, help="random games (default: %(default)s)"
    )
    check.add_argument(
        "--plies", type=_count, default=2000, help="moves of one at most (default: %(default)s)"
    )
    check.add_argument("--seed", type=_seed, default=0, help="of all chance (default: %(default)s)")
    check.add_argument("--only", metavar="PROPERTY", action="append", help="look at this alone")
    check.add_argument("--skip", metavar="PROPERTY", action="append", help="leave this out")
    check.add_argument(
        "--json", metavar="FILE", help="write the findings; speed is compared with the file's last"
    )
    check.set_defaults(run=_check)

    train = commands.add_parser(
        "train",
        help="train a network by self-play, from a preset",
        description="Train a network by self-play. Any field of the preset may be changed: "
        "`halfmove train hex5 --net.planes 64 --search.simulations 32`; "
        "`halfmove train hex5 --help` lists them.",
        add_help=False,
    )
    train.add_argument("preset", nargs="?", help="a name (see `halfmove presets`)")
    train.add_argument("--folder", metavar="RUN", help="where it is kept (default: a new one)")
    train.add_argument("--help", "-h", action="store_true", help="show what may be changed")
    train.set_defaults(run=_train, rest=True, parser=train)

    resume = commands.add_parser(
        "resume", help="go on with a run that was stopped", description="Go on with a run."
    )
    resume.add_argument("folder", help="the run's folder")
    resume.set_defaults(run=_resume)

    presets = commands.add_parser(
        "presets",
        help="list what can be trained, and what it needs",
        description="List the presets of `halfmove train` and what they need.",
    )
    presets.set_defaults(run=_presets)

    play = commands.add_parser(
        "play",
        help="play against a network, plain MCTS or an engine in the terminal",
        description="Play in the terminal against a run's network (runs/hex5), plain MCTS (a game, "
        "such as 'hex size=7') or any other player of `halfmove arena`.",
    )
    play.add_argument("who", help="a run's folder, a game, or a player such as gtp:gnugo")
    play.add_argument("--game", help='such as "go size=9" (default: what the run learned)')
    play.add_argument(
        "--simulations", type=_count, default=64, help="of each of its moves (default: %(default)s)"
    )
    play.add_argument("--second", action="store_true", help="let the network begin")
    play.set_defaults(run=_play)

    for name, what in (
        ("gtp", "Go (GTP 2) or Hex (HTP)"),
        ("uci", "chess (UCI)"),
        ("usi", "shogi (USI)"),
    ):
        engine = commands.add_parser(
            name,
            help=f"be an engine for other programs: {what}",
            description=f"Speak {name.upper()} on standard input and output, for programs that "
            f"play {what}. Without limits a move gets 800 simulations, or what the clock allows.",
        )
        engine.add_argument(
            "player", nargs="?", default="mcts", help="a run's folder (default: %(default)s)"
        )
        engine.add_argument("--game", help='such as "go size=9" (default: what the run learned)')
        engine.add_argument("--simulations", type=_count, help="of a move, at most")
        engine.add_argument("--seconds", type=_seconds, help="for a move, at most")
        engine.add_argument("--seed", type=_seed, help="of all chance (default: a new one)")
        engine.set_defaults(run=_engine, protocol=name)

    arena = commands.add_parser(
        "arena",
        help="let players meet: networks, plain MCTS, outside engines",
        description="Let players meet and rate them. A player is a run's folder "
        "(runs/hex5, runs/hex5:muzero@64, runs/hex5/checkpoints/00000040), mcts@1000, random, "
        "perfect, or an engine: 'gtp:gnugo --level 10', 'uci:stockfish nodes=1000'. What was "
        "played is kept; the same command goes on with a tournament that was stopped.",
    )
    arena.add_argument("players", metavar="PLAYER", nargs="+", help="who plays, two or more")
    arena.add_argument(
        "--games", type=_count, default=64, help="of each pair, even (default: %(default)s)"
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
        type=_two,
        help="for two: stop as soon as it is known which of the differences is the better guess",
    )
    arena.add_argument(
        "--anchor",
        metavar="NAME=ELO",
        type=_anchor,
        action="append",
        default=[],
        help="a player whose rating is known (default: the mean of all is 0)",
    )
    arena.add_argument(
        "--at-once", type=_count, default=64, help="games under way (default: %(default)s)"
    )
    arena.add_argument(
        "--limit", type=_count, default=1000, help="moves; then a draw (default: %(default)s)"
    )
    arena.add_argument("--seed", type=_seed, default=0, help="of all chance (default: %(default)s)")
    arena.set_defaults(run=_arena)

    rate = commands.add_parser(
        "rate",
        help="rate the players of game records: SGF, PGN, CSA, JSON lines",
        description="Rate the players of game records by a Bayesian logistic model: strength, the "
        "advantage of the first mover, draws; with 95%% intervals.",
    )
    rate.add_argument("files", metavar="FILE", nargs="+", help="records of games")
    rate.add_argument(
        "--anchor",
        metavar="NAME=ELO",
        type=_anchor,
        action="append",
        default=[],
        help="a player whose rating is known (default: the mean of all is 0)",
    )
    rate.set_defaults(run=_rate)

    demo = commands.add_parser(
        "demo",
        help="watch a network learn 5x5 Hex, a few minutes",
        description="Train a network on 5x5 Hex and say how strong it became.",
    )
    demo.add_argument(
        "--folder", default="out/demo", help="where the run goes (default: %(default)s)"
    )
    demo.set_defaults(run=_demo)

    curves = commands.add_parser(
        "curves",
        help="how strong runs were along the way, against plain MCTS",
        description="Let the checkpoints of some runs play against plain MCTS; print the scores "
        "and draw them. Runs that differ only in their seed get one colour.",
    )
    curves.add_argument("folders", metavar="RUN", nargs="+", help="a run's folder")
    curves.add_argument(
        "--mcts", type=_count, default=100, help="simulations of plain MCTS (default: %(default)s)"
    )
    curves.add_argument(
        "--simulations", type=_count, default=32, help="of the networks (default: %(default)s)"
    )
    curves.add_argument(
        "--games", type=_count, default=64, help="of a match, even (default: %(default)s)"
    )
    curves.add_argument(
        "--opening", type=_seed, default=2, help="random moves before (default: %(default)s)"
    )
    curves.add_argument(
        "--every", type=_count, default=1, help="leave checkpoints out (default: %(default)s)"
    )
    curves.add_argument("--seed", type=_seed, default=0, help="of all chance")
    curves.add_argument(
        "--points", default="curves.jsonl", help="what was played (default: %(default)s)"
    )
    curves.add_argument("--plot", metavar="FILE", help="a picture, such as curves.png")
    curves.set_defaults(run=_curves)

    improvement = commands.add_parser(
        "improvement",
        help="show policy improvement on bandits and small games",
        description="Show policy improvement on bandits and small games, printed and plotted.",
    )
    improvement.add_argument(
        "--folder", default="out/improvement", help="where the plots go (default: %(default)s)"
    )
    improvement.add_argument(
        "--seed", type=_seed, default=0, help="of all chance (default: %(default)s)"
    )
    improvement.set_defaults(run=_improvement)
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("halfmove")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def _planners(options: argparse.Namespace) -> int:
    from halfmove.search import planners

    names = planners.names()
    if options.name is not None:
        try:
            planners.options_of(options.name)
        except ValueError as error:
            return _fail(str(error), 2)
        names = [options.name]
    width = min(shutil.get_terminal_size((88, 24)).columns, 100)
    for name in names:
        text = inspect.getdoc(planners.PLANNERS[name]) or ""
        print(name)
        first = textwrap.fill(" ".join(text.partition("\n\n")[0].split()), width - 4)
        print(textwrap.indent(text if options.name else first, "    "))
        own = planners.options_of(name)
        shared = {option: own.pop(option) for option in planners.SHARED}
        print(_settings(own, width) + "\n")
    print("every planner\n" + _settings(shared, width))
    return 0


def _settings(options: dict[str, Any], width: int) -> str:
    """`option=default` for each, wrapped and indented; no default where one must be given."""
    # Non-breaking spaces hold a pair such as (-1.0, 1.0) together while wrapping.
    words = (
        option if default is ... else f"{option}={default!r}".replace(" ", "\N{NO-BREAK SPACE}")
        for option, default in options.items()
    )
    text = textwrap.fill(
        "  ".join(words),
        width,
        initial_indent=" " * 6,
        subsequent_indent=" " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return text.replace("\N{NO-BREAK SPACE}", " ")


def _games(options: argparse.Namespace) -> int:
    from halfmove import games
    from halfmove.games.check import report

    width = min(shutil.get_terminal_size((88, 24)).columns, 100)
    try:
        names = [options.name] if options.name is not None else games.names()
        found: dict[str, Any] = {name: games.make(name) for name in names}
    except (ValueError, TypeError) as error:
        return _fail(str(error), 2)
    for number, (name, game) in enumerate(found.items()):
        text = inspect.getdoc(type(game)) or ""
        print(("\n" if number else "") + name)
        first = textwrap.fill(" ".join(text.partition("\n\n")[0].split()), width - 4)
        print(textwrap.indent(text if options.name else first, "    "))
        if dataclasses.is_dataclass(game) and (fields := dataclasses.fields(game)):
            print(_settings({field.name: getattr(game, field.name) for field in fields}, width))
        if options.name:
            print(textwrap.indent("\n".join(report.numbers(game)), " " * 6))
    return 0


def _check(options: argparse.Namespace) -> int:
    from halfmove import games
    from halfmove.games.check import report

    sys.path.insert(0, os.getcwd())  # a person's own game is a module where they stand
    try:
        settings = dict(games.setting(text) for text in options.option)
        game = games.make(options.game, **settings)
        return report.main(
            game,
            " ".join([options.game, *options.option]),
            file=options.json,
            games=options.games,
            plies=options.plies,
            seed=options.seed,
            only=options.only,
            skip=options.skip or (),
        )
    except (ValueError, TypeError) as error:
        return _fail(str(error), 2)
    except OSError as error:
        return _fail(f"--json {options.json}: {error}", 1)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {text!r}")
    return int(text)


def _train(options: argparse.Namespace) -> int:
    if options.preset is None:
        options.parser.print_help()
        return 0 if options.help else 2
    from halfmove.train import command

    return command.train(options.preset, options.rest + ["--help"] * options.help, options.folder)


def _resume(options: argparse.Namespace) -> int:
    from halfmove.train import command

    return command.resume(options.folder)


def _presets(options: argparse.Namespace) -> int:
    from halfmove.train import command

    return command.presets()


def _play(options: argparse.Namespace) -> int:
    from halfmove.play import terminal
    from halfmove.train.durable import RunError

    try:
        return terminal.main(
            options.who, game=options.game, simulations=options.simulations, second=options.second
        )
    except (RunError, ValueError) as error:
        return _fail(str(error), 1)


def _anchor(text: str) -> tuple[str, float]:
    name, found, number = text.rpartition("=")
    try:
        if found:
            return name, float(number)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"must be a player and a number, NAME=ELO, got {text!r}")


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return number


def _engine(options: argparse.Namespace) -> int:
    from halfmove.games.chess import Chess
    from halfmove.games.go import Go
    from halfmove.games.hex import Hex
    from halfmove.games.shogi import Shogi
    from halfmove.play import gtp_go, htp, minds, uci, usi
    from halfmove.play.seat import Limits
    from halfmove.train.durable import RunError

    kinds: dict[str, Any] = {"gtp": (Go, Hex), "uci": (Chess,), "usi": (Shogi,)}
    servers: dict[str, Any] = {"gtp": gtp_go, "uci": uci, "usi": usi}
    try:
        source, game = minds.named(options.player, options.game, *kinds[options.protocol])
        server = htp if isinstance(game, Hex) else servers[options.protocol]
        limits = Limits(options.simulations, options.seconds)
        return int(server.main(source, game, limits=limits, seed=options.seed))
    except (RunError, ValueError) as error:
        return _fail(str(error), 1)


def _two(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two numbers, ELO0,ELO1, got {text!r}") from None
    return low, high


def _arena(options: argparse.Namespace) -> int:
    from halfmove.arena import command
    from halfmove.train.durable import RunError

    given = {name: x for name, x in vars(options).items() if name not in ("run", "rest")}
    try:
        return command.main(anchors=dict(given.pop("anchor")), **given)
    except (RunError, ValueError, OSError) as error:
        return _fail(str(error), 1)


def _rate(options: argparse.Namespace) -> int:
    from halfmove.arena import rating
    from halfmove.games import records

    played = []
    for file in options.files:
        try:
            with open(file, encoding="utf-8") as text:
                played += records.read(text.read(), moves=False)
        except (OSError, ValueError) as error:
            return _fail(f"{file}: {error}", 1)
    try:
        found = rating.rate(rating.results_of(played), anchors=dict(options.anchor) or None)
    except ValueError as error:
        return _fail(str(error), 1)
    print(rating.table(found))
    return 0


def _demo(options: argparse.Namespace) -> int:
    from halfmove.experiments import learning
    from halfmove.train.durable import RunError

    try:
        return learning.main(folder=options.folder)
    except RunError as error:
        return _fail(str(error), 1)


def _curves(options: argparse.Namespace) -> int:
    from halfmove.experiments import curves
    from halfmove.train.durable import RunError

    names = [field.name for field in dataclasses.fields(curves.Test)]
    try:
        test = curves.Test(**{name: getattr(options, name) for name in names})
        return curves.main(
            options.folders, test, points=options.points, plot=options.plot, every=options.every
        )
    except (RunError, ValueError, OSError) as error:
        return _fail(str(error), 1)


def _improvement(options: argparse.Namespace) -> int:
    from halfmove.experiments import improvement

    if os.path.exists(options.folder) and not os.path.isdir(options.folder):
        return _fail(f"--folder must be a directory or a new path, got file {options.folder}", 2)
    try:
        return improvement.main(folder=options.folder, seed=options.seed)
    except OSError as error:
        return _fail(f"cannot write to --folder {options.folder}: {error}", 1)


def _fail(message: str, status: int) -> int:
    print(f"halfmove: error: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
