"""A search as indented text and as JSON."""

import json
import math
from typing import Any

import numpy as np

from halfmove.core.types import Plan
from halfmove.search.show.view import Names, View, check_shape, view

INDENT = "  "


def text(plan: Plan, game: int = 0, depth: int = 2, top: int = 5, names: Names = str) -> str:
    """The `top` most visited actions of every node down to `depth`, one line each.

    Columns: action, visits, prior, Q, the improved policy (root only), and the
    value of the node it leads to.
    """
    check_shape(depth, top)
    tree = view(plan, game)
    if not tree.legal.any():
        return f"game {game}: no legal action, value {tree.value[0]:+.3f}"
    rows = _rows(tree, 0, depth, top, names, 0)
    width = max([len("action"), *(len(row[0]) for row in rows)])
    head = (
        f"game {game}: {tree.simulations} simulations, plays {names(tree.chosen)}, "
        f"value {tree.value[0]:+.3f}, raw value {tree.raw_value[0]:+.3f}, "
        f"{int(tree.legal.sum())} legal actions"
    )
    titles = ("action", "visits", "prior", f"{'Q':>7}", "policy", f"{'value':>7}")
    lines = [f"{name:{width}}  {'  '.join(cells)}".rstrip() for name, *cells in [titles, *rows]]
    return "\n".join([head, *lines])


def _rows(
    tree: View, node: int, depth: int, top: int, names: Names, level: int
) -> list[tuple[str, ...]]:
    """(name, cell, ...) a line; a name alone where actions were left out."""
    found: list[tuple[str, ...]] = []
    children = tree.children(node)
    for action in children[:top]:
        below = tree.at(node, action)
        q = f"{tree.q[node, action]:+7.3f}" if below is not None else f"{'-':>7}"
        policy = f"{tree.policy[action]:6.3f}" if node == 0 else f"{'':6}"
        value = f"{tree.value[below]:+7.3f}" if below is not None else f"{'-':>7}"
        visits, prior = tree.visits[node, action], tree.prior[node, action]
        cells = (f"{visits:6d}", f"{prior:5.3f}", q, policy, value)
        found.append((INDENT * level + names(action), *cells))
        if below is not None and level + 1 < depth:
            found += _rows(tree, below, depth, top, names, level + 1)
    if len(children) > top:
        found.append((f"{INDENT * level}... {len(children) - top} more",))
    return found


def to_dict(
    plan: Plan, game: int = 0, *, completion: str = "mixed", names: Names | None = None
) -> dict[str, Any]:
    """The root's table and every node, as plain numbers; None stands for none.

    `actions` has one row for each legal action of the root: `prior` and `logit`
    (as searched, root noise included), `visits`, `q` (None if unvisited),
    `completed_q` (`completion` as the planner's option), `policy` (improved),
    `noise` (Gumbel planners: what was drawn), and `score` = noise + log policy,
    by which Gumbel planners rank actions, up to one constant. `nodes` lists the
    tree, parents first; `reward` and `discount` are of the edge into the node.
    """
    tree = view(plan, game, completion=completion)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = tree.noise + np.log(tree.policy)
    actions = [
        {
            "action": a,
            **({} if names is None else {"name": names(a)}),
            "prior": _number(tree.prior[0, a]),
            "logit": _number(tree.logits[0, a]),
            "visits": int(tree.visits[0, a]),
            "q": _number(tree.q[0, a]) if tree.visits[0, a] > 0 else None,
            "completed_q": _number(tree.completed[a]),
            "policy": _number(tree.policy[a]),
            "noise": _number(tree.noise[a]),
            "score": _number(score[a]),
        }
        for a in np.flatnonzero(tree.legal).tolist()
    ]
    return {
        "game": int(game),
        "action": tree.chosen,
        "value": _number(tree.value[0]),
        "raw_value": _number(tree.raw_value[0]),
        "simulations": tree.simulations,
        "actions": actions,
        "nodes": [_node(tree, i) for i in np.flatnonzero(tree.count).tolist()],
    }


def to_json(
    plan: Plan,
    game: int = 0,
    *,
    completion: str = "mixed",
    names: Names | None = None,
    indent: int | None = None,
) -> str:
    """`to_dict` as a JSON text (RFC 8259: no NaN, no Infinity)."""
    found = to_dict(plan, game, completion=completion, names=names)
    return json.dumps(found, allow_nan=False, indent=indent)


def _node(tree: View, i: int) -> dict[str, Any]:
    root = i == 0
    return {
        "node": i,
        "parent": None if root else int(tree.parent[i]),
        "action": None if root else int(tree.action[i]),
        "visits": int(tree.count[i]),
        "value": _number(tree.value[i]),
        "raw_value": _number(tree.raw_value[i]),
        "reward": None if root else _number(tree.reward[i]),
        "discount": None if root else _number(tree.discount[i]),
    }


def _number(x: Any) -> float | None:
    return float(x) if math.isfinite(x) else None
