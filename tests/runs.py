"""A run that was really trained, in seconds: it knows nothing, but all of it is there."""

import functools
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from halfmove.train.loop import train
from halfmove.train.presets import preset


def small(path, **changes):
    """Two iterations of tic-tac-toe with a tiny network, into the folder `path`."""
    if not changes:  # a copy of one that every test of this process shares
        return Path(shutil.copytree(Path(_folder().name) / "run", path))
    return _train(path, **changes)


@functools.cache
def _folder():
    folder = tempfile.TemporaryDirectory(prefix="halfmove-")
    _train(Path(folder.name) / "run")
    return folder


def _train(path, **changes):
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
