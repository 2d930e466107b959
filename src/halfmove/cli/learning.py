"""`halfmove train`, `resume`, `presets` and `zoo`: a network learns."""

import argparse
import functools
from typing import Any

from halfmove.cli.values import count, fail, seconds, seed

PLACEMENTS = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
# Fields of cluster.config.ClusterConfig: (type or choices, what it says).
CLUSTER: dict[str, tuple[Any, str]] = {
    "workers": (count, "processes that play (1)"),
    "groups": (count, "parts of the lanes, each with one worker at a time (one a worker)"),
    "lag": (seed, "iterations by which the network that plays may be old (1)"),
    "replay-shards": (seed, "processes that hold the replay (0: the learner does)"),
    "reanalysers": (seed, "processes that search old positions again (0: the learner does)"),
    "worker-cpus": (float, "CPUs of a worker (1)"),
    "worker-gpus": (float, "GPUs of a worker (0)"),
    "learner-cpus": (float, "CPUs of the learner (1)"),
    "learner-gpus": (float, "GPUs of the learner, see --devices (0)"),
    "reanalyser-gpus": (float, "GPUs of a reanalyser (0)"),
    "other-cpus": (float, "CPUs of a replay shard, a reanalyser, the rater (1)"),
    "placement": (PLACEMENTS, "of all but the workers, in Ray's words (PACK)"),
    "patience": (seconds, "after which a worker that does not answer is dropped (600)"),
}


def add(commands: Any) -> None:
    """Adds these commands to the parser's."""
    _add_train(commands)
    _add_resume(commands)
    _add_presets(commands)
    _add_zoo(commands)


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
    _add_cluster(train)
    train.add_argument("--help", "-h", action="store_true", help="show what may be changed")
    train.set_defaults(run=_train, rest=True, parser=train)


def _add_resume(commands: Any) -> None:
    resume = commands.add_parser(
        "resume",
        help="go on with a run that was stopped, or longer",
        description="Go on with a run. Most fields may be changed from there on: "
        "`halfmove resume RUN --iterations 400 --learn.optimiser.learning-rate 1e-4`.",
    )
    resume.add_argument("folder", help="the run's folder")
    _add_cluster(resume)
    resume.set_defaults(run=_resume, rest=True)


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "many processes or machines (docs/cluster.md)",
        "With RAY_ADDRESS in the environment in that cluster, else on this machine.",
    )
    group.add_argument("--cluster", action="store_true", help="spread the work, by Ray")
    for name, (kind, text) in CLUSTER.items():
        if isinstance(kind, tuple):
            group.add_argument(f"--{name}", choices=kind, help=text)
        else:
            group.add_argument(f"--{name}", type=kind, metavar="N", help=text)


def _add_presets(commands: Any) -> None:
    presets = commands.add_parser(
        "presets",
        help="list what can be trained, and what it needs",
        description="List the presets of `halfmove train` and what they need.",
    )
    presets.set_defaults(run=_presets)


def _add_zoo(commands: Any) -> None:
    zoo = commands.add_parser(
        "zoo",
        help="list the networks that come with the package",
        description="List the networks that come with the package. Their names may stand wherever "
        "a run's folder may. With --add, put the newest network of a run among them.",
    )
    zoo.add_argument("name", nargs="?", help="only this one, with its whole card")
    zoo.add_argument("--add", metavar="RUN", help="a run's folder, to become NAME")
    zoo.add_argument("--command", default="", help="for its card: what was typed to train it")
    zoo.add_argument("--device", default="", help="for its card: what it was trained on")
    zoo.add_argument("--rating", default="", help="for its card: how strong it is, against whom")
    zoo.set_defaults(run=_zoo)


def _train(options: argparse.Namespace) -> int:
    if options.preset is None:
        options.parser.print_help()
        return 0 if options.help else 2
    from halfmove.train import command

    if options.help:
        options.parser.print_help()
    return _with_cluster(
        options,
        functools.partial(
            command.train, options.preset, options.rest + ["--help"] * options.help, options.folder
        ),
    )


def _resume(options: argparse.Namespace) -> int:
    from halfmove.train import command

    return _with_cluster(options, functools.partial(command.resume, options.folder, options.rest))


def _with_cluster(options: argparse.Namespace, run: Any) -> int:
    """`run`, with what does the work: one process, or a cluster."""
    names = {name: name.replace("-", "_") for name in CLUSTER}
    given = {name: getattr(options, field) for name, field in names.items()}
    given = {name: value for name, value in given.items() if value is not None}
    if not options.cluster:
        if given:
            return fail(f"--{next(iter(given))} is for a cluster: add --cluster", 2)
        return int(run())
    from halfmove.cluster.config import ClusterConfig
    from halfmove.cluster.start import on_cpu, train

    on_cpu()
    try:
        cluster = ClusterConfig(**{names[name]: value for name, value in given.items()})
    except ValueError as error:
        return fail(str(error), 2)
    return int(run(functools.partial(train, cluster=cluster)))


def _presets(options: argparse.Namespace) -> int:
    from halfmove.train import command

    return command.presets()


def _zoo(options: argparse.Namespace) -> int:
    from halfmove.train import zoo
    from halfmove.train.durable import RunError

    try:
        if options.add:
            _shelve(options)
            return 0
        for name in [options.name] if options.name else zoo.names():
            card = zoo.card(name)
            if options.name:
                print(*(f"{field:10} {value}" for field, value in vars(card).items()), sep="\n")
            else:
                print(f"{name:14} {card.game:24} {card.rating}")
    except (RunError, OSError) as error:
        return fail(str(error), 1)
    return 0


def _shelve(options: argparse.Namespace) -> None:
    import re
    import time
    from pathlib import Path

    from halfmove.train import zoo
    from halfmove.train.durable import RunError
    from halfmove.train.trained import trained

    wanted = ("name", "command", "device", "rating")
    if missing := [name for name in wanted if not getattr(options, name)]:
        raise RunError(f"a card says how a network was made: give {', '.join(missing)} too")
    preset = re.search(r"halfmove train (\S+)", options.command)
    if not preset:
        raise RunError(f"--command: expected 'halfmove train PRESET …', got {options.command!r}")
    net = trained(options.add)
    card = zoo.Card(
        game=net.config.game,
        preset=preset[1],
        planner=net.config.search.planner,
        command=options.command,
        seed=net.config.seed,
        positions=net.positions,
        minutes=round(zoo.minutes(Path(options.add)), 1),
        device=options.device,
        rating=options.rating,
        date=time.strftime("%Y-%m-%d"),
    )
    folder = zoo.add(Path(options.add), options.name, card, net.variables, net.number)
    print(f"{options.name} is in {folder}")
