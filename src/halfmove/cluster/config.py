"""How a run is spread over machines. None of it changes what is learned from how many positions."""

from dataclasses import dataclass
from typing import Literal

from halfmove.train.config import TrainConfig


@dataclass(frozen=True)
class ClusterConfig:
    """Who does the work of a run, and what each of them is given."""

    workers: int = 1  # that play
    groups: int = 0  # parts of the lanes, each played by one worker at a time; 0: one a worker
    lag: int = 1  # iterations by which the network that plays may be older than the newest
    replay_shards: int = 0  # that hold the replay; 0: the learner does
    reanalysers: int = 0  # that search old positions again; 0: the learner does
    worker_cpus: float = 1.0
    worker_gpus: float = 0.0
    learner_cpus: float = 1.0
    learner_gpus: float = 0.0
    other_cpus: float = 1.0  # of a replay shard, and of whoever measures strength
    reanalyser_gpus: float = 0.0
    placement: Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] = "PACK"  # all but workers
    patience: float = 600.0  # seconds, after which a worker that has not answered is dropped

    def __post_init__(self) -> None:
        least: dict[str, tuple[float, float]] = {
            "workers": (self.workers, 1),
            "groups": (self.groups, 0),
            "lag": (self.lag, 0),
            "replay-shards": (self.replay_shards, 0),
            "reanalysers": (self.reanalysers, 0),
        }
        for name, (value, bound) in least.items():
            if value < bound:
                raise ValueError(f"--{name} must be at least {bound}, got {value}")
        for name in ("worker_cpus", "worker_gpus", "learner_cpus", "learner_gpus", "other_cpus"):
            if getattr(self, name) < 0:
                said = name.replace("_", "-")
                raise ValueError(f"--{said} must be at least 0, got {getattr(self, name)}")
        if self.reanalysers and not self.replay_shards:
            raise ValueError("--reanalysers need a replay outside the learner: --replay-shards 1")
        if not self.patience > 0:
            raise ValueError(f"--patience must be above 0 seconds, got {self.patience}")

    def divided(self, config: TrainConfig) -> int:
        """How many groups there are; ValueError if the lanes cannot be divided so."""
        groups, lanes = self.groups or self.workers, config.selfplay.lanes
        if lanes % groups:
            near = [n for n in range(1, lanes + 1) if lanes % n == 0]
            best = max(n for n in near if n <= max(groups, 1)) if groups <= lanes else lanes
            raise ValueError(
                f"selfplay.lanes ({lanes}) cannot be divided among {groups} groups: choose "
                f"--groups {best}, or --selfplay.lanes {-(-lanes // groups) * groups}"
            )
        if self.replay_shards and groups % self.replay_shards:
            raise ValueError(
                f"{groups} groups of games cannot be divided among {self.replay_shards} replay "
                "shards: choose --groups that is a multiple of --replay-shards"
            )
        return groups
