"""A run that was really trained, in seconds: it knows nothing, but all of it is there."""

from dataclasses import replace

from halfmove.train.loop import train
from halfmove.train.presets import preset


def small(path, **changes):
    """Two iterations of tic-tac-toe with a tiny network, into the folder `path`."""
    config = preset("tic_tac_toe")
    config = replace(
        config,
        iterations=2,
        net=replace(config.net, planes=4, blocks=1, head_width=4),
        search=replace(config.search, simulations=2),
        selfplay=replace(config.selfplay, lanes=4, chunk=4),
        rating=replace(config.rating, every=0),
    )
    return train(replace(config, **changes), path)
