"""The `halfmove` command. Each subcommand imports what it needs, so that help is instant."""

import argparse
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
    options = _parser().parse_args(arguments)
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

    demo = commands.add_parser(
        "demo",
        help="show policy improvement on bandits and small games",
        description="Show policy improvement on bandits and small games, printed and plotted.",
    )
    demo.add_argument(
        "--folder", default="out/demo", help="where the plots go (default: %(default)s)"
    )
    demo.add_argument("--seed", type=_seed, default=0, help="of all chance (default: %(default)s)")
    demo.set_defaults(run=_demo)
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
        print(textwrap.indent(text if options.name else text.partition("\n")[0], "    "))
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


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {text!r}")
    return int(text)


def _demo(options: argparse.Namespace) -> int:
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
