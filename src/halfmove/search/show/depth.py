"""How deep a search looked: MuZero's figure S3, A and B."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmove.core.types import Plan
from halfmove.search.show.view import check_index

PERCENTILES = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class Depths:
    """Distance from the root of the node that each simulation evaluated.

    Sorted, not in the order of the simulations: a tree does not remember which
    of them went to a node that was there already (a finished game, the depth
    limit).
    """

    depth: np.ndarray  # [simulations] i32, ascending

    @property
    def simulations(self) -> int:
        return len(self.depth)

    @property
    def mean(self) -> float:
        return float(self.depth.mean())

    @property
    def max(self) -> int:
        return int(self.depth[-1])

    @property
    def histogram(self) -> np.ndarray:
        """How many simulations ended at depth 0, 1, ..., max. Shape [max + 1]."""
        return np.bincount(self.depth)

    @property
    def percentiles(self) -> dict[int, float]:
        """The median and the edges of the two shaded regions of figure S3."""
        found = np.percentile(self.depth, PERCENTILES)
        return dict(zip(PERCENTILES, map(float, found), strict=True))


def depths(tree: Any, game: int | None = None) -> Depths:
    """The depths of a tree (or of a plan that kept its tree); None: of all games together."""
    if isinstance(tree, Plan):
        tree = tree.tree
    if tree is None:
        raise ValueError("the plan has no tree; make it with tree=True")
    games = tree.count.shape[0]
    if game is not None:
        check_index(game, games)
    rows = slice(None) if game is None else slice(int(game), int(game) + 1)
    parent, count = np.asarray(tree.parent[rows]), np.asarray(tree.count[rows])
    # Evaluations of a node itself: its visits less those that went on below.
    ended = count - np.asarray(tree.visits[rows]).sum(-1)
    ended[:, 0] = 0  # the root was evaluated before the first simulation
    depth = np.zeros_like(parent)
    each = np.arange(len(parent))
    for node in range(1, parent.shape[1]):  # a parent is older than its children
        depth[:, node] = depth[each, np.maximum(parent[:, node], 0)] + 1
    found = np.sort(np.repeat(depth.ravel(), ended.ravel()))
    if not len(found):
        which = "the tree" if game is None else f"game {game}"
        raise ValueError(f"{which} has no simulations: its game was over, or simulations was 0")
    return Depths(found)
