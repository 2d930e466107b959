"""`halfmove planners`, `games` and `check`: what there is, and whether it is sound."""

import argparse
import dataclasses
import inspect
import os
import shutil
import sys
import textwrap
from typing import Any

from halfmove.cli.values import count, fail, seed


def add(commands: Any) -> None:
    """Adds these commands to the parser's."""
    _add_planners(commands)
    _add_games(commands)
    _add_check(commands)


def _add_planners(commands: Any) -> None:
    planners = commands.add_parser(
        "planners",
        help="list the planners, their options and defaults",
        description="List the planners, their options and defaults.",
    )
    planners.add_argument("name", nargs="?", help="only this planner, with its whole description")
    planners.set_defaults(run=_planners)


def _add_games(commands: Any) -> None:
    games = commands.add_parser(
        "games",
        help="list the games, their options and defaults",
        description="List the games, their options and defaults.",
    )
    games.add_argument("name", nargs="?", help="only this game, with its numbers and description")
    games.set_defaults(run=_games)


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check",
        help="examine a game: does it keep what every game owes?",
        description="Examine a game by playing it at random: one line for every property that "
        "all games share, and for a failure how to see it again. Exit status 0: all hold; 1: not.",
    )
    check.add_argument("game", help="a name (see `halfmove games`) or package.module:Class")
    check.add_argument("option", nargs="*", help="options of the game, such as size=9")
    check.add_argument(
        "--games", type=count, default=1000, help="random games (default: %(default)s)"
    )
    check.add_argument(
        "--plies", type=count, default=2000, help="moves of one at most (default: %(default)s)"
    )
    check.add_argument("--seed", type=seed, default=0, help="of all chance (default: %(default)s)")
    check.add_argument("--only", metavar="PROPERTY", action="append", help="look at this alone")
    check.add_argument("--skip", metavar="PROPERTY", action="append", help="leave this out")
    check.add_argument(
        "--json", metavar="FILE", help="write the findings; speed is compared with the file's last"
    )
    check.set_defaults(run=_check)


def _planners(options: argparse.Namespace) -> int:
    from halfmove.search import planners
    from halfmove.search.rollout import LONGEST

    names = planners.names()
    if options.name is not None:
        try:
            planners.options_of(options.name)
        except ValueError as error:
            return fail(str(error), 2)
        names = [options.name]
    width = min(shutil.get_terminal_size((88, 24)).columns, 100)
    shared = {}
    for name in names:
        text = inspect.getdoc(planners.PLANNERS[name]) or ""
        print(name)
        first = textwrap.fill(" ".join(text.partition("\n\n")[0].split()), width - 4)
        print(textwrap.indent(text if options.name else first, "    "))
        own = planners.options_of(name)
        tree = name not in planners.TREELESS
        shared[tree] = {option: own.pop(option) for option in planners.SHARED}
        print(_settings(own, width) + "\n")
    if True in shared:
        print("every planner with a tree\n" + _settings(shared[True], width))
    if False in shared:
        # None there means this, not that a simulation may be as long as it likes.
        treeless = shared[False] | {"max_depth": LONGEST}
        print("every planner without a tree\n" + _settings(treeless, width))
    return 0


def _games(options: argparse.Namespace) -> int:
    from halfmove import games
    from halfmove.games.check import report

    width = min(shutil.get_terminal_size((88, 24)).columns, 100)
    try:
        names = [options.name] if options.name is not None else games.names()
        found: dict[str, Any] = {name: games.make(name) for name in names}
    except (ValueError, TypeError) as error:
        return fail(str(error), 2)
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
        return fail(str(error), 2)
    except OSError as error:
        return fail(f"--json {options.json}: {error}", 1)


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
