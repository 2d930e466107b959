"""Planning by search: rules, two engines, and a recipe for every algorithm."""

from halfmove.search.planners import names, planner
from halfmove.search.rule import Rule
from halfmove.search.search import TreeSearch

__all__ = ["Rule", "TreeSearch", "names", "planner"]
