"""Planning by search: rules, two engines, and a recipe for every algorithm."""

from halfmove.search.planners import names, planner
from halfmove.search.rollout import RolloutSearch
from halfmove.search.rule import Rule
from halfmove.search.search import TreeSearch

__all__ = ["RolloutSearch", "Rule", "TreeSearch", "names", "planner"]
