"""Planners that carry something along a game, and those that do not, called alike.

    memory = new_memory(planner, model, params, games)
    plan = plan_with(memory, planner, key, model, params, timestep)  # then plan.memory, ...

A planner without `begin` carries nothing: its memory is the empty tuple, and it is called as ever.
"""

from typing import Any

from halfmove.core.types import Array, Model, Plan, Planner, Remembering


def new_memory(planner: Planner, model: Model, params: Any, games: int) -> Any:
    """The memory [B, ...] of so many new games."""
    return planner.begin(model, params, games) if isinstance(planner, Remembering) else ()


def plan_with(
    memory: Any, planner: Planner, key: Array, model: Model, params: Any, timestep: Any
) -> Plan:
    """The plan, whose `memory` is for the next move of the same games."""
    if isinstance(planner, Remembering):
        return planner(key, model, params, timestep, memory)
    return planner(key, model, params, timestep)
