"""A search on a model of your own: the game of Nim, four heaps at once.

Players take one, two or three stones in turn; who takes the last one wins.
Leave a multiple of four and you cannot lose. The search is not told.
"""

import jax
import jax.numpy as jnp

from halfmove.core.types import Edge, Prediction
from halfmove.search import planner, show


class Nim:
    """A model is `root` and `step`, on a whole batch. Here a node is the heap, [B]."""

    def root(self, params, key, timestep):
        return timestep, self.predict(timestep)

    def step(self, params, key, node, action):
        heap = node - (action + 1)
        over = heap == 0
        # To the player who moved: a win is worth 1, and -1 turns the table.
        edge = Edge(reward=over.astype(jnp.float32), discount=jnp.where(over, 0.0, -1.0))
        return heap, edge, self.predict(heap)

    def predict(self, heap):
        """A network would go here; this one has no opinion."""
        legal = heap[:, None] > jnp.arange(3)
        return Prediction(logits=jnp.zeros(legal.shape), value=jnp.zeros(heap.shape), legal=legal)


heaps = jnp.asarray([2, 5, 6, 7])
search = planner("full_gumbel", simulations=64, tree=True)
plan = search(jax.random.key(0), Nim(), None, heaps)

for game, heap in enumerate(heaps.tolist()):
    visits = plan.stats.visits[game].tolist()
    policy = ", ".join(f"{p:.2f}" for p in plan.policy[game].tolist())
    print(f"{heap} stones: take {plan.action[game] + 1}   policy {policy}   visits {visits}")

print()
print(show.text(plan, game=2, depth=2, top=3, names=lambda action: f"take {action + 1}"))
