"""`halfmove web`: play, look inside a search and watch training in the browser."""

import argparse
from typing import Any

from halfmove.cli.values import fail, seed


def add(commands: Any) -> None:
    """Adds this command to the parser's."""
    web = commands.add_parser(
        "web",
        help="play, look inside a search and watch training in the browser",
        description="Serve the page on this machine and open it. Nothing is sent elsewhere.",
    )
    web.add_argument("--port", type=seed, default=8000, help="0: any free (default: %(default)s)")
    web.add_argument(
        "--host",
        default="127.0.0.1",
        help="another address than this machine's own; visitors then need a token",
    )
    web.add_argument("--token", help="what visitors must bring (default with --host: a new one)")
    web.add_argument(
        "--runs", default="runs", metavar="FOLDER", help="of training runs (default: %(default)s)"
    )
    web.add_argument(
        "--engine",
        action="append",
        default=[],
        metavar="PLAYER",
        help="an outside engine that visitors may play, such as 'gtp:gnugo --level 10'",
    )
    web.add_argument("--no-browser", action="store_true", help="do not open the page")
    web.set_defaults(run=_web)


def _web(options: argparse.Namespace) -> int:
    try:
        from halfmove.web import command
    except ModuleNotFoundError as error:
        return fail(f"the page needs {error.name}, which is not here: pip install {error.name}", 1)
    try:
        return command.main(
            runs=options.runs,
            host=options.host,
            port=options.port,
            token=options.token,
            engines=tuple(options.engine),
            browser=not options.no_browser,
        )
    except (ValueError, OSError) as error:
        return fail(str(error), 1)
