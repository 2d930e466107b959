"""`halfmove train`, `resume` and `presets`: a network learns."""

import argparse
from typing import Any


def add(commands: Any) -> None:
    """Adds these commands to the parser's."""
    _add_train(commands)
    _add_resume(commands)
    _add_presets(commands)


def _add_train(commands: Any) -> None:
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


def _add_resume(commands: Any) -> None:
    resume = commands.add_parser(
        "resume", help="go on with a run that was stopped", description="Go on with a run."
    )
    resume.add_argument("folder", help="the run's folder")
    resume.set_defaults(run=_resume)


def _add_presets(commands: Any) -> None:
    presets = commands.add_parser(
        "presets",
        help="list what can be trained, and what it needs",
        description="List the presets of `halfmove train` and what they need.",
    )
    presets.set_defaults(run=_presets)


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
