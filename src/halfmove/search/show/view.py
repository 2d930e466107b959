"""One game of a plan, fetched to the host for drawing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from halfmove.core.types import Plan
from halfmove.search.improve import completed

Names = Callable[[int], str]


@dataclass(frozen=True)
class View:
    """One game's tree (N node rows, some of them unused) and its root's decision."""

    logits: np.ndarray  # [N, A] f32, and so on as in search.tree.Tree
    prior: np.ndarray  # [N, A] f32
    visits: np.ndarray  # [N, A] i32
    q: np.ndarray  # [N, A] f32
    child: np.ndarray  # [N, A] i32
    count: np.ndarray  # [N] i32
    value: np.ndarray  # [N] f32
    raw_value: np.ndarray  # [N] f32
    reward: np.ndarray  # [N] f32
    discount: np.ndarray  # [N] f32
    parent: np.ndarray  # [N] i32
    action: np.ndarray  # [N] i32
    policy: np.ndarray  # [A] f32, the improved policy
    noise: np.ndarray  # [A] f32, the row of RootNoise
    completed: np.ndarray  # [A] f32, Q with the gaps filled
    chosen: int

    @property
    def legal(self) -> np.ndarray:
        """Legal actions at the root. Shape [A]."""
        return self.logits[0] > -np.inf

    @property
    def simulations(self) -> int:
        return int(self.count[0]) - 1

    def children(self, node: int) -> list[int]:
        """Actions worth showing at a node, most visited first.

        At the root every legal action, elsewhere only visited ones; equal
        visits are ordered by policy (root) or prior.
        """
        shown = self.legal if node == 0 else self.visits[node] > 0
        second = self.policy if node == 0 else self.prior[node]
        order = np.lexsort((-self.prior[node], -second, -self.visits[node]))
        return [int(a) for a in order if shown[a]]

    def at(self, node: int, action: int) -> int | None:
        """The node that an action leads to, None where nobody went."""
        return int(self.child[node, action]) if self.visits[node, action] > 0 else None


FROM_TREE = (
    "logits", "prior", "visits", "q", "child", "count", "value", "raw_value", "reward",
    "discount", "parent", "action",
)  # fmt: skip


def view(plan: Plan, game: int, *, completion: str = "mixed") -> View:
    """The view of one game of a plan that kept its tree."""
    check_game(plan, game)
    if plan.tree is None:
        raise ValueError(
            "the plan has no tree; make it with tree=True: "
            'planner("full_gumbel", simulations=32, tree=True)'
        )
    if completion not in ("mixed", "raw"):
        raise ValueError(f"completion must be 'mixed' or 'raw', got {completion!r}")
    stats = jax.tree.map(lambda x: x[game], plan.stats)
    return View(
        **{name: np.asarray(getattr(plan.tree, name)[game]) for name in FROM_TREE},
        policy=np.asarray(plan.policy[game]),
        noise=np.asarray(plan.noise.row[game]),
        completed=np.asarray(completed(completion)(stats)),
        chosen=int(plan.action[game]),
    )


def check_game(plan: Any, game: Any) -> None:
    """Raises unless `plan` is a plan and `game` one of its games."""
    if not isinstance(plan, Plan):
        raise TypeError(f"plan must be a Plan, as a planner returns it, got {type(plan).__name__}")
    check_index(game, plan.action.shape[0])


def check_index(game: Any, games: int) -> None:
    """Raises unless `game` is a whole number below `games`."""
    whole = isinstance(game, (int, np.integer)) and not isinstance(game, bool)
    if not whole or not 0 <= game < games:
        raise ValueError(f"game must be a whole number from 0 to {games - 1}, got {game!r}")


def check_shape(depth: Any, top: Any) -> None:
    """Raises unless `depth` and `top` are whole numbers of at least 1."""
    for name, value in (("depth", depth), ("top", top)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
