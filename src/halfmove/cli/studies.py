"""`halfmove demo`, `curves`, `tune`, `chance`, `improvement`: what learning and search come to."""

import argparse
import dataclasses
import os
from typing import Any

from halfmove.cli.values import count, fail, seed


def add(commands: Any) -> None:
    """Adds these commands to the parser's."""
    _add_demo(commands)
    _add_curves(commands)
    _add_tune(commands)
    _add_chance(commands)
    _add_improvement(commands)


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="watch a network learn 5x5 Hex, a few minutes",
        description="Train a network on 5x5 Hex and say how strong it became.",
    )
    demo.add_argument(
        "--folder", default="out/demo", help="where the run goes (default: %(default)s)"
    )
    demo.set_defaults(run=_demo)


def _add_curves(commands: Any) -> None:
    curves = commands.add_parser(
        "curves",
        help="how strong runs were along the way, against any player",
        description="Let the checkpoints of some runs play against one player; print the scores "
        "and draw them. Runs that differ only in their seed get one colour.",
    )
    curves.add_argument("folders", metavar="RUN", nargs="+", help="a run's folder")
    curves.add_argument(
        "--against",
        metavar="PLAYER",
        default="mcts@100",
        help="as `halfmove arena` has them: mcts@1000, 'gtp:gnugo --level 10' (default: "
        "%(default)s)",
    )
    curves.add_argument(
        "--simulations", type=count, default=32, help="of the networks (default: %(default)s)"
    )
    curves.add_argument(
        "--games", type=count, default=64, help="of a match, even (default: %(default)s)"
    )
    curves.add_argument(
        "--opening", type=seed, default=2, help="random moves before (default: %(default)s)"
    )
    curves.add_argument(
        "--every", type=count, default=1, help="leave checkpoints out (default: %(default)s)"
    )
    curves.add_argument("--seed", type=seed, default=0, help="of all chance")
    curves.add_argument(
        "--points", default="curves.jsonl", help="what was played (default: %(default)s)"
    )
    curves.add_argument("--plot", metavar="FILE", help="a picture, such as curves.png")
    curves.add_argument(
        "--by", choices=("positions", "minutes"), default="positions", help="of the picture"
    )
    curves.set_defaults(run=_curves)


def _add_tune(commands: Any) -> None:
    tune = commands.add_parser(
        "tune",
        help="find the learning rate that Policy Gradient Search wants with a network",
        description="Let Policy Gradient Search with several learning rates play against Monte "
        "Carlo Search, all with one network, and write the best rate into its checkpoint.",
    )
    tune.add_argument("planner", choices=("pgs", "pgs_unfrozen"))
    tune.add_argument("folder", metavar="RUN", help="a run's folder")
    tune.add_argument("--checkpoint", type=count, help="its number (default: the newest)")
    tune.add_argument(
        "--simulations", type=count, default=64, help="of both sides (default: %(default)s)"
    )
    tune.add_argument("--games", type=count, default=2000, help="in all (default: %(default)s)")
    tune.add_argument(
        "--rates",
        type=float,
        nargs="+",
        help="to try (default: 2e-5 to 0.1, of pgs_unfrozen 1e-6 to 0.01)",
    )
    tune.add_argument(
        "--options", nargs="+", default=(), metavar="NAME=VALUE", help="of both, such as leaves=4"
    )
    tune.add_argument("--seed", type=seed, default=0, help="of all chance")
    tune.set_defaults(run=_tune)


def _add_chance(commands: Any) -> None:
    chance = commands.add_parser(
        "chance",
        help="compare search with a tree and without one in a game of chance",
        description="Let the network of a run play 2048 alone, with MCTS, with Monte Carlo Search "
        "and with Policy Gradient Search, all with the same number of model calls a move.",
    )
    chance.add_argument("folder", metavar="RUN", help="a run's folder")
    chance.add_argument(
        "--calls", type=count, default=128, help="of the model, a move (default: %(default)s)"
    )
    chance.add_argument(
        "--horizon", type=count, default=4,
        help="moves of a simulation without a tree (default: %(default)s)",
    )  # fmt: skip
    chance.add_argument(
        "--leaves", type=count, default=4,
        help="simulations without a tree that run at once (default: %(default)s)",
    )  # fmt: skip
    chance.add_argument(
        "--rate", type=float, default=1e-3, help="of Policy Gradient Search (default: %(default)s)"
    )
    chance.add_argument(
        "--games", type=count, default=64, help="of every planner (default: %(default)s)"
    )
    chance.add_argument(
        "--limit", type=count, default=2000, help="moves of a game (default: %(default)s)"
    )
    chance.add_argument("--seed", type=seed, default=0, help="of all chance")
    chance.set_defaults(run=_chance)


def _add_improvement(commands: Any) -> None:
    improvement = commands.add_parser(
        "improvement",
        help="show policy improvement on bandits and small games",
        description="Show policy improvement on bandits and small games, printed and plotted.",
    )
    improvement.add_argument(
        "--folder", default="out/improvement", help="where the plots go (default: %(default)s)"
    )
    improvement.add_argument(
        "--seed", type=seed, default=0, help="of all chance (default: %(default)s)"
    )
    improvement.set_defaults(run=_improvement)


def _demo(options: argparse.Namespace) -> int:
    from halfmove.experiments import learning
    from halfmove.train.durable import RunError

    try:
        return learning.main(folder=options.folder)
    except RunError as error:
        return fail(str(error), 1)


def _curves(options: argparse.Namespace) -> int:
    from halfmove.experiments import curves
    from halfmove.train.durable import RunError

    names = [field.name for field in dataclasses.fields(curves.Test)]
    try:
        test = curves.Test(**{name: getattr(options, name) for name in names})
        return curves.main(
            options.folders,
            test,
            points=options.points,
            plot=options.plot,
            every=options.every,
            by=options.by,
        )
    except (RunError, ValueError, OSError) as error:
        return fail(str(error), 1)


def _tune(options: argparse.Namespace) -> int:
    from halfmove.experiments import tune
    from halfmove.train.durable import RunError

    try:
        return tune.main(
            options.planner,
            options.folder,
            number=options.checkpoint,
            simulations=options.simulations,
            games=options.games,
            rates=options.rates or (),
            options=tuple(options.options),
            seed=options.seed,
        )
    except (RunError, ValueError) as error:
        return fail(str(error), 1)


def _chance(options: argparse.Namespace) -> int:
    from halfmove.experiments import chance
    from halfmove.train.durable import RunError

    names = [field.name for field in dataclasses.fields(chance.Test)]
    try:
        test = chance.Test(**{name: getattr(options, name) for name in names})
        return chance.main(options.folder, test)
    except (RunError, ValueError) as error:
        return fail(str(error), 1)


def _improvement(options: argparse.Namespace) -> int:
    from halfmove.experiments import improvement

    if os.path.exists(options.folder) and not os.path.isdir(options.folder):
        return fail(f"--folder must be a directory or a new path, got file {options.folder}", 2)
    try:
        return improvement.main(folder=options.folder, seed=options.seed)
    except OSError as error:
        return fail(f"cannot write to --folder {options.folder}: {error}", 1)
