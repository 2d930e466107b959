"""Runs in environments that live on the host; `presets.py` gives them their names."""

from dataclasses import replace

from halfmove.learn.loss import LossConfig
from halfmove.learn.optimiser import OptimiserConfig
from halfmove.nets import HeadConfig, NetConfig
from halfmove.train.config import (
    LearnConfig,
    RatingConfig,
    ReanalyseConfig,
    ReplayConfig,
    SearchConfig,
    SelfPlayConfig,
    TrainConfig,
)


def cartpole() -> TrainConfig:
    """Gumbel MuZero on the host's environments, to the time limit."""
    return TrainConfig(
        game="gymnasium:CartPole-v1",
        model="learned",
        iterations=400,
        save_every=50,
        net=NetConfig(
            kind="mlp",
            planes=64,
            blocks=1,
            norm="none",
            value=HeadConfig("categorical", size=20),
            reward=HeadConfig("categorical", size=2),
        ),
        # Returns are from 0 to 1 / (1 - γ). Scaled by the two siblings alone, the better of two
        # actions always gets the whole policy, however little better it is.
        search=SearchConfig(simulations=16, options=("normalise=(0.0,100.0)",)),
        selfplay=SelfPlayConfig(lanes=32, chunk=16, explore=0),
        replay=ReplayConfig(positions=16_000),  # returns bootstrap from values as old as this
        learn=LearnConfig(
            batch=256,
            samples=8.0,
            begin=2_000,
            unroll=5,
            steps=50,  # with 10, runs were stuck in a drift that leaves the track after 200 moves
            discount=0.99,
            loss=LossConfig(l2=1e-5),
            optimiser=OptimiserConfig(schedule="cosine", updates=6_300, final=0.02, clip=5.0),
        ),
    )


def cartpole_q() -> TrainConfig:
    """Q-learning instead: one head, no search, returns of five moves and a target network."""
    config = cartpole()
    return replace(
        config,
        model="q",
        net=replace(config.net, value=HeadConfig("categorical", size=20)),
        search=SearchConfig("prior", 0, ("temperature=0.5",)),
        learn=replace(config.learn, unroll=0, steps=5, optimiser=OptimiserConfig(clip=5.0)),
        reanalyse=ReanalyseConfig(share=1.0, target_every=200),
    )


def atari(rom: str) -> TrainConfig:
    """Gumbel MuZero with Reanalyze on two cores: few planes of small grey frames."""
    return TrainConfig(
        game=f"atari:{rom} grey=true history=4 full_actions=false size=48",
        model="learned",
        iterations=200,
        save_every=50,
        net=NetConfig(
            kind="atari",
            planes=16,
            blocks=1,
            value=HeadConfig("categorical"),
            reward=HeadConfig("categorical"),
        ),
        search=SearchConfig(simulations=8, options=("c_scale=0.1",)),
        selfplay=SelfPlayConfig(lanes=8, chunk=16, explore=0),
        replay=ReplayConfig(positions=50_000, kind="prioritised"),
        learn=LearnConfig(
            batch=32,
            samples=2.0,
            begin=1_000,
            unroll=5,
            steps=5,
            discount=0.997,
            loss=LossConfig(value_weight=0.25),
            optimiser=OptimiserConfig(clip=5.0),
        ),
        reanalyse=ReanalyseConfig(on=True),
        rating=RatingConfig(every=50, games=16, simulations=8, noise=True),
    )


def atari_gpu(rom: str) -> TrainConfig:
    """The same with the frames of the MuZero paper, and the Gumbel paper's 16 simulations."""
    config = atari(rom)
    return replace(
        config,
        game=f"atari:{rom}",
        iterations=1_000,
        save_every=100,
        net=replace(config.net, planes=128, blocks=8),
        search=SearchConfig(simulations=16, options=("c_scale=0.1", "considered=18")),
        selfplay=SelfPlayConfig(lanes=128, chunk=16, explore=0),
        replay=ReplayConfig(positions=500_000, gigabytes=20.0, kind="prioritised"),
        learn=replace(config.learn, batch=512, begin=20_000),
        rating=RatingConfig(every=100, games=32, simulations=16, noise=True),
    )
