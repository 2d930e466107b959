"""`halfmove train --cluster`: on this machine alone, or in the cluster of RAY_ADDRESS."""

import contextlib
import functools
import logging
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from halfmove.cluster.config import ClusterConfig
from halfmove.train import loop
from halfmove.train.config import TrainConfig
from halfmove.train.durable import RunError
from halfmove.train.hands import Hands
from halfmove.train.parts import Parts

_log = logging.getLogger(__name__)


def train(
    config: TrainConfig,
    path: str | Path,
    cluster: ClusterConfig,
    *,
    resume: bool = False,
    console: Console | None = None,
) -> Path:
    """`loop.train`, with the work spread over a cluster."""
    cluster.divided(config)  # before anything is started
    hands = functools.partial(remote, cluster=cluster, path=Path(path))
    with connected(config, cluster):
        return loop.train(config, path, resume=resume, console=console, hands=hands)


@contextlib.contextmanager
def remote(parts: Parts, cluster: ClusterConfig, path: Path) -> Iterator[Hands]:
    """The hands of a cluster, which are given back at the end."""
    from halfmove.cluster.remote import Remote

    with contextlib.closing(Remote(parts, cluster, path)) as hands:
        yield hands


@contextlib.contextmanager
def connected(config: TrainConfig, cluster: ClusterConfig) -> Iterator[None]:
    """Ray: the cluster that this process is in, that of RAY_ADDRESS, or one of this machine."""
    address = os.environ.get("RAY_ADDRESS")
    if not address and "ray" not in sys.modules:  # else it was for that program to close it
        closed()
    try:
        import ray
    except ImportError:
        raise RunError("--cluster needs Ray: pip install 'halfmove[cluster]'") from None
    if ray.is_initialized():
        yield
        return
    # The console is the progress display's; Ray's own logs are in its session folder.
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(num_cpus=_cpus(config, cluster), include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the cluster of RAY_ADDRESS={address}" if address else "Ray on this machine"
        raise RunError(f"{where} cannot be used: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def on_cpu() -> None:
    """The process that gives the orders computes next to nothing, and must not take a GPU for it.

    JAX would reserve three quarters of one. The roles are processes of their own: to them this
    does not apply.
    """
    jax.config.update("jax_platforms", "cpu")


def closed() -> None:
    """Nobody else may use a cluster that this process starts, and it tells nobody of itself.

    Ray listens on every interface and runs what it is sent: whoever has no token is refused. Ray
    reads this when it is imported.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # as urgent as a run in one process
    if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _cpus(config: TrainConfig, cluster: ClusterConfig) -> int:
    """Ray counts CPUs by what it is told: on one machine, as many as there are roles to fill."""
    wanted = cluster.workers * cluster.worker_cpus + cluster.learner_cpus
    wanted += (cluster.replay_shards + bool(config.rating.every)) * cluster.other_cpus
    wanted += cluster.reanalysers
    return max(int(wanted) + 1, os.cpu_count() or 1)
