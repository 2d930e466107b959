"""The `halfmove` command. Each subcommand imports what it needs, so that help is instant."""

import argparse
import importlib.metadata
import io
import os
import sys
from collections.abc import Sequence

from halfmove.cli import arena, learning, lists, playing, studies, web


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
    for some in (lists, learning, playing, web, arena, studies):
        some.add(commands)
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("halfmove")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
