"""Moves of self-play kept, and sampled for learning."""

from halfmove.replay.budget import bytes_each, bytes_of, fit, shelf
from halfmove.replay.replay import Replay
from halfmove.replay.store import Context, Sample, Store

__all__ = [
    "Context", "Replay", "Sample", "Store", "bytes_each", "bytes_of", "fit", "shelf",
]  # fmt: skip
