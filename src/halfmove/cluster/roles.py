"""The actors of a run: which class, with what resources, where."""

import os
from typing import Any, NamedTuple

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from halfmove.cluster.actors import Learner, Rater, Reanalyser, Worker
from halfmove.cluster.config import ClusterConfig
from halfmove.cluster.shards import Shard
from halfmove.train.config import TrainConfig


class Core(NamedTuple):
    """All actors of a run but its workers."""

    learner: Any
    shards: list[Any]
    reanalysers: list[Any]
    rater: Any  # None: no one measures strength


class Roles:
    """Makes actors: the core in one placement group, workers wherever there is room."""

    def __init__(self, config: TrainConfig, cluster: ClusterConfig, groups: int) -> None:
        self._config, self._cluster, self._groups = config, cluster, groups
        self._placed: Any = None
        self._core: list[Any] = []
        self._keepless: list[Any] = []  # of those

    def worker(self, name: str) -> Any:
        """A worker, which is there once the cluster has room for it."""
        cluster = self._cluster
        lanes = self._config.selfplay.lanes // self._groups
        made = _with(Worker, "pulse").options(
            num_cpus=cluster.worker_cpus,
            num_gpus=cluster.worker_gpus,
            scheduling_strategy="SPREAD",
            runtime_env=_environment(cluster.worker_gpus),
        )
        return made.remote(self._config, lanes)

    def core(self) -> Core:
        """All but the workers, placed together; those before them are gone."""
        cluster, rated = self._cluster, bool(self._config.rating.every)
        other = {"CPU": cluster.other_cpus}
        bundles = [{"CPU": cluster.learner_cpus, "GPU": cluster.learner_gpus}]
        bundles += [other] * (cluster.replay_shards + rated)
        bundles += [{**other, "GPU": cluster.reanalyser_gpus}] * cluster.reanalysers
        # A bundle of nothing is refused.
        some = [{name: x for name, x in each.items() if x} or {"CPU": 0.001} for each in bundles]
        self._placed = placement_group(some, strategy=cluster.placement)
        places = iter(range(len(bundles)))
        learner = next(places)
        shards = [self._shard(next(places), i) for i in range(cluster.replay_shards)]
        rater = self._stateless(Rater, next(places), 0.0) if rated else None
        reanalysers = [
            self._stateless(Reanalyser, next(places), cluster.reanalyser_gpus)
            for _ in range(cluster.reanalysers)
        ]
        made = _with(Learner, "door", "pulse").options(
            **self._place(learner, cluster.learner_cpus, cluster.learner_gpus)
        )
        actor = made.remote(self._config, self._groups, shards, reanalysers)
        core = Core(actor, shards, reanalysers, rater)
        self._keepless = [*reanalysers, *([rater] if rated else [])]
        self._core = [actor, *shards, *self._keepless]
        return core

    def _shard(self, place: int, index: int) -> Any:
        each = self._groups // self._cluster.replay_shards
        made = _with(Shard, "door", "pulse").options(
            **self._place(place, self._cluster.other_cpus, 0.0)
        )
        return made.remote(self._config, self._groups, range(index * each, (index + 1) * each))

    def _stateless(self, kind: Any, place: int, gpus: float) -> Any:
        """Who keeps nothing may be started again by Ray itself, and asked again."""
        made = _with(kind, "pulse").options(
            **self._place(place, self._cluster.other_cpus, gpus),
            max_restarts=-1,
            max_task_retries=-1,
        )
        return made.remote(self._config)

    def _place(self, bundle: int, cpus: float, gpus: float) -> dict[str, Any]:
        return {
            "num_cpus": cpus,
            "num_gpus": gpus,
            "runtime_env": _environment(gpus),
            "scheduling_strategy": PlacementGroupSchedulingStrategy(
                self._placed, placement_group_bundle_index=bundle
            ),
        }

    def again(self, actor: Any) -> bool:
        """Has Ray start one anew that keeps nothing, and ask it again; False: it has more."""
        if actor not in self._keepless:
            return False
        ray.kill(actor, no_restart=False)
        return True

    def dismiss(self) -> None:
        """Ends all but the workers."""
        for actor in self._core:
            ray.kill(actor, no_restart=True)
        self._core = []
        if self._placed is not None:
            remove_placement_group(self._placed)
            self._placed = None


def _with(kind: Any, *threads: str) -> Any:
    """An actor class that takes chunks, or says hello, while it does something else."""
    remote: Any = ray.remote  # its types do not know of concurrency groups
    return remote(concurrency_groups=dict.fromkeys(threads, 1))(kind)


def _environment(gpus: float) -> dict[str, Any]:
    """Who has no GPU must not take one that it sees; who shares one must not take all of it."""
    if gpus >= 1:
        return {}
    variables = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    asked = os.environ.get("JAX_PLATFORMS", "")  # another kind of device, a TPU, may be meant
    if not gpus and (not asked or any(name in asked for name in ("cuda", "gpu", "rocm"))):
        variables["JAX_PLATFORMS"] = "cpu"
    return {"env_vars": variables}
