"""Runs by name. Each states only what differs from the defaults of train/config.py."""

import difflib
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from halfmove.learn.loss import LossConfig
from halfmove.learn.optimiser import OptimiserConfig
from halfmove.nets import HeadConfig, NetConfig
from halfmove.train.config import (
    LearnConfig,
    RatingConfig,
    ReplayConfig,
    SearchConfig,
    SelfPlayConfig,
    TrainConfig,
)
from halfmove.train.host_presets import atari, atari_gpu, cartpole, cartpole_q


@dataclass(frozen=True)
class Preset:
    """A run, what it shows and what it needs."""

    make: Callable[[], TrainConfig]
    text: str
    needs: str = "two cores"


# Q as a game's result, from a loss to a win: where all moves are equal no difference is made up.
RESULTS = "normalise=(-1.0, 1.0)"


def small(game: str, **changes: Any) -> TrainConfig:
    """Gumbel AlphaZero for two cores and minutes."""
    config = TrainConfig(
        game=game,
        iterations=200,
        save_every=50,
        net=NetConfig(planes=32, blocks=3),
        search=SearchConfig(simulations=16, options=(RESULTS,)),
        selfplay=SelfPlayConfig(lanes=64, chunk=16, explore=8),
        replay=ReplayConfig(positions=60_000),
        learn=LearnConfig(batch=256, samples=2.0, begin=4_000),
        rating=RatingConfig(every=50, games=64, mcts=64),
    )
    return replace(config, **changes)


def gpu(game: str, **changes: Any) -> TrainConfig:
    """Gumbel AlphaZero for one large GPU."""
    config = TrainConfig(
        game=game,
        iterations=1_000,
        save_every=100,
        net=NetConfig(planes=128, blocks=6, mix="pool", every=3),
        search=SearchConfig(simulations=32, options=(RESULTS,)),
        selfplay=SelfPlayConfig(lanes=1024, chunk=16, explore=30, resign=0.05),
        replay=ReplayConfig(positions=2_000_000, gigabytes=16.0),
        learn=LearnConfig(
            batch=4096, samples=2.0, begin=100_000, optimiser=OptimiserConfig(warmup=500)
        ),
        rating=RatingConfig(every=100, games=256, simulations=32, opening=4),
    )
    return replace(config, **changes)


def quick_gpu(game: str, iterations: int = 1_300, simulations: int = 8, **net: Any) -> TrainConfig:
    """The recipe that learned most in equal time on 9x9 Go: docs/results.md.

    Few simulations and many games: 8 were better than 16. The rate falls over all iterations.
    """
    config = gpu(game, iterations=iterations, save_every=400)
    play = SelfPlayConfig(lanes=1024, chunk=32, explore=8)
    updates = iterations * play.lanes * play.chunk // 1024
    return replace(
        config,
        net=replace(config.net, policy_planes=16, value_planes=8, head_width=128, **net),
        search=SearchConfig(simulations=simulations, options=(RESULTS,)),
        selfplay=play,
        replay=ReplayConfig(positions=4_000_000, gigabytes=16.0, first=250_000),
        learn=replace(
            config.learn,
            batch=1024,
            samples=1.0,
            optimiser=replace(falling(updates - 100), warmup=500),
        ),
        rating=replace(config.rating, every=0),
    )


def go_gpu(size: int) -> TrainConfig:
    """Go, whose owners are known in the end: games are played out, and the network says whose."""
    return quick_gpu(f"go size={size} komi=7.5", ownership=True)


def tic_tac_toe() -> TrainConfig:
    """Never beaten, after less than a minute."""
    return small(
        "tic_tac_toe",
        iterations=160,
        net=NetConfig(planes=32, blocks=2),
        selfplay=SelfPlayConfig(lanes=64, chunk=8, explore=4),
        replay=ReplayConfig(positions=30_000),
        learn=LearnConfig(batch=256, samples=4.0, begin=2_000, optimiser=falling(1_300)),
        rating=RatingConfig(every=40, games=64, mcts=32),
    )


def tic_tac_toe_muzero() -> TrainConfig:
    """The same without the rules."""
    config = tic_tac_toe()
    return replace(
        config,
        model="learned",
        iterations=1_200,
        net=NetConfig(kind="mlp", planes=128, blocks=2),
        # Where every game goes the same way, a learned model knows nothing of the other ways.
        selfplay=replace(config.selfplay, explore=9, temperatures=(1.0, 0.5, 0.25)),
        replay=ReplayConfig(positions=200_000),
        learn=replace(config.learn, unroll=5, optimiser=falling(9_550)),
    )


def falling(updates: int) -> OptimiserConfig:
    """Adam whose rate falls to almost nothing over so many updates."""
    return OptimiserConfig(learning_rate=2e-3, schedule="cosine", updates=updates, final=0.02)


def hex5() -> TrainConfig:
    """Beats plain MCTS in two minutes."""
    return small(
        "hex size=5",
        iterations=120,
        save_every=20,
        selfplay=SelfPlayConfig(lanes=64, chunk=16, explore=4),
        rating=RatingConfig(every=20, games=64, mcts=100),
    )


def hex7() -> TrainConfig:
    """Beats plain MCTS in minutes."""
    config = small("hex size=7", rating=RatingConfig(every=50, games=64, mcts=100))
    return replace(config, learn=replace(config.learn, optimiser=falling(1_570)))


def connect_four() -> TrainConfig:
    """The same in connect four."""
    config = replace(hex7(), game="connect_four")
    return replace(config, rating=replace(config.rating, opening=4))


def go7() -> TrainConfig:
    """7x7 Go by the best recipe of docs/results.md."""
    config = small("go size=7 komi=8.5", iterations=300, save_every=25)
    return replace(
        config,
        net=replace(config.net, ownership=True),
        search=SearchConfig(simulations=8, options=(RESULTS,)),
        learn=replace(config.learn, batch=128, optimiser=OptimiserConfig(learning_rate=3e-3)),
    )


def minutes(game: str, iterations: int = 150) -> TrainConfig:
    """A few minutes of a game, by a rate that falls over all of them."""
    config = small(game, iterations=iterations, save_every=25)
    learn, play = config.learn, config.selfplay
    positions = iterations * play.lanes * play.chunk - learn.begin
    updates = int(positions * learn.samples / learn.batch)
    return replace(
        config,
        learn=replace(learn, optimiser=falling(updates)),
        rating=RatingConfig(every=50, games=32),
    )


def large_board(game: str, iterations: int, simulations: int = 8) -> TrainConfig:
    """Chess and shogi on two cores: fewer games and simulations, since a move costs more.

    In shogi, where pieces never leave the game, few games of a young network end by chance: it
    needs as many simulations, and moves considered, as find most mates in one.
    """
    config = small(game, iterations=iterations, save_every=25)
    considered = f"considered={max(simulations, 16)}"
    return replace(
        config,
        search=SearchConfig(simulations=simulations, options=(RESULTS, considered)),
        selfplay=SelfPlayConfig(lanes=32, chunk=16, explore=30),
        learn=replace(config.learn, begin=2_000),
        rating=RatingConfig(every=50, games=16, simulations=8),
    )


# The experts of the Policy Gradient Search paper: the planner, and its own options.
EXPERTS = {
    "mcts": ("alphazero", ("c_puct=5.0", "normalise=None", "dirichlet_alpha=0.12")),
    "mcs": ("mcs", ()),
    "pgs": ("pgs", ()),
}


def expert(name: str, size: int) -> TrainConfig:
    """Expert Iteration on Hex as in section 5 of the Policy Gradient Search paper.

    On 5x5 and 7x7 the network, the budget and the buffer are for two cores, the share of the
    moves that explore is that of the paper's 9x9, and so is, nearly, that of the simulations that
    run at once: 32 of 64 would be all but blind.
    """
    large = size >= 9
    planner, options = EXPERTS[name]
    options = (*options, f"leaves={32 if large else 2}")
    if name == "pgs":
        options = (*options, f"learning_rate={2e-5 if size > 9 else 5e-4}")
    rate = OptimiserConfig("sgd", learning_rate=0.01, momentum=0.9)
    base = gpu(f"hex size={size}") if large else small(f"hex size={size}")
    return replace(
        base,
        net=NetConfig(planes=256, blocks=19) if large else base.net,
        search=SearchConfig(planner, 800 if large else 64, options),
        selfplay=SelfPlayConfig(
            lanes=256 if large else 64,
            chunk=4 if large else 16,
            explore=30 if large else 30 * size * size // 81,
            resign=0.05,
        ),
        replay=ReplayConfig(positions=10_000_000, gigabytes=40.0) if large else base.replay,
        learn=replace(base.learn, batch=1024 if large else 256, optimiser=rate),
    )


def points(config: TrainConfig) -> TrainConfig:
    """The same for one player who collects points: long games, values of any size."""
    net = replace(config.net, value=HeadConfig("categorical", size=150))
    return replace(
        config,
        net=net,
        # As in the Gumbel paper's Atari: with 1.0 the best of a few siblings, however little
        # better, gets the whole policy.
        search=replace(config.search, options=("c_scale=0.1",)),
        selfplay=replace(config.selfplay, explore=0, resign=0.0),
        learn=replace(
            config.learn,
            steps=10,
            discount=0.997,
            optimiser=replace(config.learn.optimiser, learning_rate=1e-3, clip=5.0),
        ),
        rating=replace(config.rating, games=16, mcts=0),
    )


def muzero_gpu(game: str) -> TrainConfig:
    """MuZero on a board: the model is learned, five moves unrolled."""
    config = gpu(game, model="learned")
    return replace(
        config,
        learn=replace(config.learn, unroll=5, loss=LossConfig(value_weight=1.0)),
        selfplay=replace(config.selfplay, resign=0.0),
    )


_LARGE = "one GPU"
PRESETS: dict[str, Preset] = {
    "tic_tac_toe": Preset(tic_tac_toe, "Gumbel AlphaZero to perfect play in a minute"),
    "tic_tac_toe-muzero": Preset(tic_tac_toe_muzero, "Gumbel MuZero, rules unknown"),
    "connect_four": Preset(connect_four, "Gumbel AlphaZero"),
    "hex5": Preset(hex5, "Gumbel AlphaZero on 5x5 Hex, two minutes: `make demo`"),
    "hex7": Preset(hex7, "Gumbel AlphaZero on 7x7 Hex"),
    **{
        f"hex{size}-{name}": Preset(
            functools.partial(expert, name, size),
            f"Expert Iteration by {name.upper()} on {size}x{size} Hex",
            _LARGE if size >= 9 else "two cores",
        )
        for size in (5, 7, 9, 13)
        for name in EXPERTS
    },
    "go5": Preset(lambda: small("go size=5 komi=0.5"), "Gumbel AlphaZero, 5x5 Go"),
    "go7": Preset(go7, "Gumbel AlphaZero on 7x7 Go, eight minutes"),
    "othello": Preset(lambda: minutes("othello"), "Gumbel AlphaZero"),
    "animal_shogi": Preset(lambda: minutes("animal_shogi"), "Gumbel AlphaZero"),
    "gardner_chess": Preset(lambda: minutes("gardner_chess"), "Gumbel AlphaZero"),
    "chess": Preset(lambda: large_board("chess", 250), "Gumbel AlphaZero, its first steps"),
    "shogi": Preset(lambda: large_board("shogi", 100, 32), "Gumbel AlphaZero, its first steps"),
    "2048": Preset(lambda: points(minutes("2048")), "Gumbel AlphaZero for one player and chance"),
    "cartpole": Preset(cartpole, "Gumbel MuZero to a return of 500, minutes"),
    "cartpole-q": Preset(cartpole_q, "Q-learning with the same network, for comparison"),
    "atari-road_runner": Preset(
        lambda: atari("road_runner"),
        "Gumbel MuZero with Reanalyze: learns to run, most seeds; needs [atari]",
    ),
    "atari-ms_pacman": Preset(
        lambda: atari("ms_pacman"), "Gumbel MuZero with Reanalyze, to see it run; needs [atari]"
    ),
    "atari-ms_pacman-gpu": Preset(
        lambda: atari_gpu("ms_pacman"), "the same, frames as in the paper", _LARGE
    ),
    "hex9-gpu": Preset(
        lambda: quick_gpu("hex size=9", planes=64),
        "Gumbel AlphaZero on 9x9 Hex: beats MCTS",
        _LARGE,
    ),
    "hex11-gpu": Preset(lambda: gpu("hex size=11 swap=true"), "Gumbel AlphaZero", _LARGE),
    "go9-gpu": Preset(lambda: go_gpu(9), "Gumbel AlphaZero on 9x9 Go: beats GNU Go", _LARGE),
    "go9-muzero-gpu": Preset(
        lambda: muzero_gpu("go size=9 komi=7.5"), "Gumbel MuZero, rules unknown", _LARGE
    ),
    "go19-gpu": Preset(lambda: go_gpu(19), "Gumbel AlphaZero", _LARGE),
    "connect_four-gpu": Preset(
        lambda: quick_gpu("connect_four", 1_100, 16, planes=64), "Gumbel AlphaZero", _LARGE
    ),
    "othello-gpu": Preset(lambda: gpu("othello"), "Gumbel AlphaZero", _LARGE),
    "chess-gpu": Preset(lambda: gpu("chess"), "Gumbel AlphaZero", _LARGE),
    "gardner_chess-gpu": Preset(lambda: gpu("gardner_chess"), "Gumbel AlphaZero", _LARGE),
    "shogi-gpu": Preset(lambda: gpu("shogi"), "Gumbel AlphaZero", _LARGE),
    "2048-gpu": Preset(lambda: points(gpu("2048")), "Gumbel AlphaZero", _LARGE),
    "tic_tac_toe-gpu": Preset(lambda: gpu("tic_tac_toe"), "Gumbel AlphaZero", _LARGE),
    "animal_shogi-gpu": Preset(lambda: gpu("animal_shogi"), "Gumbel AlphaZero", _LARGE),
}


def preset(name: str) -> TrainConfig:
    """The run of that name; ValueError names those that are there."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"unknown preset {name!r}{hint}; there are {', '.join(PRESETS)}")
    return PRESETS[name].make()
