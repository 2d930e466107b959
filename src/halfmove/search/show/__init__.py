"""Seeing a search: as text, JSON, SVG and Graphviz, with its phases and depths.

    plan = planner("full_gumbel", simulations=32, tree=True)(key, model, params, timestep)
    print(show.text(plan))
    pathlib.Path("tree.svg").write_text(show.to_svg(plan))

Everything takes a concrete plan (not one inside `jit`) and the index of a game
of its batch. An action's Q belongs to the player who takes it; a node's value
to the player to move there. Prior means the policy that was searched with,
root noise included.
"""

from halfmove.search.show.depth import Depths, depths
from halfmove.search.show.graph import to_dot, to_svg
from halfmove.search.show.halving import Phase, halving_phases, halving_schedule, halving_svg
from halfmove.search.show.text import text, to_dict, to_json

__all__ = [
    "Depths", "Phase", "depths", "halving_phases", "halving_schedule", "halving_svg",
    "text", "to_dict", "to_dot", "to_json", "to_svg",
]  # fmt: skip
