"""mctx's public API (0.0.71) on the engine of Halfmove.

`import halfmove.compat.mctx as mctx` in a program written for mctx: the same
keys give the same actions, visit counts and weights. Only exact ties, which
mctx breaks with noise of 1e-7, may fall differently.

The three Q-transforms, also inside `functools.partial`, run as rules of the
engine. With a Q-transform or selection function of the user's own, with
values or root logits that are not f32, and with a `loop_fn` that is neither
JAX's nor Haiku's, the search keeps mctx's tree layout at every step and
computes as mctx does, in the dtype it was given.
"""

from halfmove.compat.mctx.loop import search
from halfmove.compat.mctx.policies import gumbel_muzero_policy, muzero_policy
from halfmove.compat.mctx.qtransforms import (
    qtransform_by_min_max,
    qtransform_by_parent_and_siblings,
    qtransform_completed_by_mix_value,
)
from halfmove.compat.mctx.selection import (
    gumbel_muzero_interior_action_selection,
    gumbel_muzero_root_action_selection,
    muzero_action_selection,
)
from halfmove.compat.mctx.stochastic import stochastic_muzero_policy
from halfmove.compat.mctx.tree import Tree
from halfmove.compat.mctx.types import (
    ChanceRecurrentFnOutput,
    DecisionRecurrentFnOutput,
    GumbelMuZeroExtraData,
    InteriorActionSelectionFn,
    LoopFn,
    PolicyOutput,
    RecurrentFn,
    RecurrentFnOutput,
    RecurrentState,
    RootActionSelectionFn,
    RootFnOutput,
)

__version__ = "0.0.71"

__all__ = (
    "ChanceRecurrentFnOutput",
    "DecisionRecurrentFnOutput",
    "GumbelMuZeroExtraData",
    "InteriorActionSelectionFn",
    "LoopFn",
    "PolicyOutput",
    "RecurrentFn",
    "RecurrentFnOutput",
    "RecurrentState",
    "RootActionSelectionFn",
    "RootFnOutput",
    "Tree",
    "gumbel_muzero_interior_action_selection",
    "gumbel_muzero_policy",
    "gumbel_muzero_root_action_selection",
    "muzero_action_selection",
    "muzero_policy",
    "qtransform_by_min_max",
    "qtransform_by_parent_and_siblings",
    "qtransform_completed_by_mix_value",
    "search",
    "stochastic_muzero_policy",
)
