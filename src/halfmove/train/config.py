"""All that may be chosen about a run. A preset states only what differs from these defaults."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from halfmove.learn.loss import LossConfig
from halfmove.learn.optimiser import OptimiserConfig
from halfmove.nets import NetConfig


@dataclass(frozen=True)
class SearchConfig:
    """A planner: `halfmove planners` lists them and their options."""

    planner: str = "full_gumbel"
    simulations: int = 16
    options: tuple[str, ...] = ()  # each name=value, such as considered=8


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played to learn from."""

    lanes: int = 64  # games at once
    chunk: int = 8  # moves in each of them between two rounds of updates
    explore: int = 30  # first moves of a game that are drawn
    explore_by: Literal["visits", "policy"] = "visits"  # in proportion to these
    temperatures: tuple[float, ...] = (1.0,)  # of those moves, over equal parts of the run
    resign: float = 0.0  # share of the games not lost that may be given up, as 0.05; 0: play on
    calibration: float = 0.1  # share of games played on regardless, to measure that


@dataclass(frozen=True)
class ReplayConfig:
    """What is kept to learn from."""

    positions: int = 100_000  # at most
    gigabytes: float = 1.0  # at most
    place: Literal["auto", "device", "host"] = "auto"  # auto: the host if the device is too small
    kind: Literal["uniform", "prioritised"] = "uniform"
    first: int = 0  # 0: all are drawn from; else the newest only: so many at first,
    growth: float = 0.75  # and in time as the positions played so far to this power
    alpha: float = 1.0  # prioritised: by |ν - z|^alpha
    beta: float = 1.0  # and importance weights (1 / (N P))^beta


@dataclass(frozen=True)
class LearnConfig:
    """How the network learns from it."""

    batch: int = 256
    samples: float = 4.0  # how often a position is used, on average, whatever the machine's speed
    begin: int = 2_000  # positions before the first update
    unroll: int = 0  # K, moves a learned model is unrolled; 0 for known rules
    steps: int = 0  # n of n-step returns; 0: how the game came out
    discount: float = 1.0  # γ
    policy: Literal["improved", "simple"] = "improved"  # simple: -log π(A), its own move
    symmetries: bool = True
    loss: LossConfig = field(default_factory=LossConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)


@dataclass(frozen=True)
class ReanalyseConfig:
    """Old positions searched again with what the network knows now."""

    on: bool = False  # 80% of every batch, as MuZero Reanalyze, unless `share` says otherwise
    share: float = 0.0  # of every batch; 0: see `on`
    target_every: int = 100  # updates between copies into the network that n-step returns use

    @property
    def part(self) -> float:
        """Of every batch, what is searched again."""
        return self.share or (0.8 if self.on else 0.0)


@dataclass(frozen=True)
class RatingConfig:
    """How strength is measured while training."""

    every: int = 0  # iterations between matches; 0: never
    games: int = 64
    simulations: int = 16  # of both sides
    opening: int = 2  # random moves that every pair of games begins with
    mcts: int = 0  # simulations of a player without a network, by random games; 0: no such match
    noise: bool = False  # keep Gumbel's: without, one may do the same for ever in an environment


@dataclass(frozen=True)
class TrainConfig:
    """A run: `halfmove train PRESET`, with any of these changed on the command line."""

    game: str = "tic_tac_toe"  # with its options: "hex size=5 swap=false", "gymnasium:CartPole-v1"
    model: Literal["rules", "learned", "q"] = "rules"  # AlphaZero, MuZero, or Q-learning
    seed: int = 0
    start: str = ""  # a run, or `halfmove zoo`'s name, whose network and optimiser this begins with
    iterations: int = 100  # rounds of self-play and updates
    save_every: int = 25  # iterations
    devices: int = 1  # that share the games and the updates
    net: NetConfig = field(default_factory=NetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learn: LearnConfig = field(default_factory=LearnConfig)
    reanalyse: ReanalyseConfig = field(default_factory=ReanalyseConfig)
    rating: RatingConfig = field(default_factory=RatingConfig)

    def __post_init__(self) -> None:
        least: dict[str, tuple[Any, float]] = {
            "iterations": (self.iterations, 1),
            "save_every": (self.save_every, 1),
            "seed": (self.seed, 0),
            "devices": (self.devices, 1),
            "selfplay.lanes": (self.selfplay.lanes, 1),
            "selfplay.chunk": (self.selfplay.chunk, 1),
            "selfplay.explore": (self.selfplay.explore, 0),
            "learn.batch": (self.learn.batch, 1),
            "learn.begin": (self.learn.begin, 0),
            "learn.unroll": (self.learn.unroll, 0),
            "learn.steps": (self.learn.steps, 0),
            "reanalyse.target_every": (self.reanalyse.target_every, 1),
            "rating.every": (self.rating.every, 0),
            "rating.games": (self.rating.games, 2),
            "rating.simulations": (self.rating.simulations, 1),
            "rating.opening": (self.rating.opening, 0),
            "rating.mcts": (self.rating.mcts, 0),
            "replay.positions": (self.replay.positions, 1),
        }
        for name, (value, bound) in least.items():
            if value < bound:
                raise ValueError(f"{name} must be at least {bound}, got {value}")
        if not self.seed < 2**32:
            raise ValueError(f"seed must be below 2^32, got {self.seed}")
        positive = {
            "learn.samples": self.learn.samples,
            "replay.gigabytes": self.replay.gigabytes,
        }
        for name, value in positive.items():
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be above 0 and finite, got {value}")
        if not all(0 <= x < math.inf for x in self.selfplay.temperatures):
            raise ValueError(
                "selfplay.temperatures must be at least 0 and finite, got "
                f"{self.selfplay.temperatures}"
            )
        if not 0 <= self.learn.discount <= 1:
            raise ValueError(f"learn.discount must be from 0 to 1, got {self.learn.discount}")
        if not 0 <= self.reanalyse.share <= 1:
            raise ValueError(f"reanalyse.share must be from 0 to 1, got {self.reanalyse.share}")
        if not 0 <= self.selfplay.resign < 1:
            raise ValueError(
                f"selfplay.resign must be from 0 to below 1, got {self.selfplay.resign}"
            )
        if self.selfplay.resign and not 0 < self.selfplay.calibration <= 1:
            raise ValueError(
                "games played on tell when to resign: selfplay.calibration must be above 0 and at "
                f"most 1, got {self.selfplay.calibration}"
            )
        if not self.selfplay.temperatures:
            raise ValueError("selfplay.temperatures must name at least one")
        if self.model != "learned" and self.learn.unroll:
            raise ValueError(
                f"only a learned model is unrolled: learn.unroll must be 0, got "
                f"{self.learn.unroll}; or choose --model learned"
            )
        if self.model == "q" and self.search.planner != "prior":
            raise ValueError(
                "action values are no model to search in: with --model q choose --search.planner "
                f"prior, got {self.search.planner}"
            )
        if self.learn.discount < 1 and not self.learn.steps:
            raise ValueError(
                "how a game came out is not discounted: with learn.discount "
                f"{self.learn.discount} choose learn.steps of at least 1"
            )
