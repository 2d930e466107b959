"""What is shown of a search: the table of moves, phases, lines, depths, one node of the tree."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Plan
from halfmove.games.follow import Spot, moved
from halfmove.play.opinion import opinion_of
from halfmove.search import show
from halfmove.search.anytime import Look
from halfmove.search.halving import phases
from halfmove.web.board_view import move_of
from halfmove.web.looking import Looking, below, path
from halfmove.web.rules import spot_after

LINES = 5  # principal lines
LONGEST = 12  # moves of one
CHILDREN = 60  # of a node


def frame(looking: Looking, look: Look) -> dict[str, Any]:
    """All figures of the root, and the shape of the tree."""
    game, spot = looking.game, looking.spot
    moves = {int(a): move_of(game, spot, int(a)) for a in np.flatnonzero(spot.legal)}
    rows = show.to_dict(with_root(look.plan))
    halving, budget = looking.considered, looking.what.budget
    for row in rows["actions"]:
        row["name"], row["to"] = moves[row["action"]]["name"], moves[row["action"]]["to"]
        if halving is None:  # drawn for Gumbel planners alone
            row["noise"] = row["score"] = None
        elif row["noise"] is None:  # left out by the noise: not sampled
            row["score"] = None
    opinion = opinion_of(look)
    return {
        "planner": looking.what.name,
        "simulations": opinion.nodes,
        "budget": budget,
        "seconds": round(looking.seconds, 2),
        "action": rows["action"],
        "chosen": moves[rows["action"]]["name"],
        "value": rows["value"],
        "rawValue": rows["raw_value"],
        "actions": rows["actions"],
        "phases": None if halving is None else so_far(rows["actions"], halving, budget),
        "lines": [
            {
                "moves": line_names(game, spot, line.moves),
                "visits": line.visits,
                "value": _number(line.value),
                "mate": line.mate,
            }
            for line in opinion.lines[:LINES]
        ],
        "depths": histogram(look),
    }


def with_root(plan: Plan) -> Plan:
    """The plan with a tree of nothing but its root, which is enough for `show.to_dict`."""
    stats = plan.stats
    names = ("logits", "prior", "visits", "q", "count", "value", "raw_value")
    rows = {name: np.asarray(getattr(stats, name))[:, None] for name in names}
    none = np.full_like(rows["count"], -1)
    tree = SimpleNamespace(
        **rows, child=np.full_like(rows["visits"], -1), parent=none, action=none,
        reward=np.zeros_like(rows["value"]), discount=np.zeros_like(rows["value"]),
    )  # fmt: skip
    return replace(plan, tree=tree)


def so_far(actions: list[dict[str, Any]], considered: int, budget: int) -> list[dict[str, Any]]:
    """The phases of Sequential Halving up to now: who was considered, visits given, who fell out.

    Every action of a phase gets as many visits as the others, so the counts tell the phases
    (search/show/halving.py); here a search may be under way, and its last phase unfinished.
    """
    found: list[dict[str, Any]] = []
    start = 0
    ranked = sorted(actions, key=lambda row: (-row["visits"], -(row["policy"] or 0.0)))
    for kept, spent in phases(considered, budget):
        end = start - (-spent // kept)
        given = {
            row["action"]: min(row["visits"], end) - start
            for row in ranked
            if row["visits"] > start
        }
        if not given:
            break
        if found:
            found[-1]["out"] = [a for a in found[-1]["visits"] if a not in given]
        done = sum(given.values())
        found.append({"considered": kept, "planned": spent, "simulations": done,
                      "visits": given, "out": []})  # fmt: skip
        if done < spent:
            # The phase is under way: who has not had a turn in it may still get one.
            if len(found) > 1:
                found[-2]["out"] = []
            break
        start = end
    for phase in found:  # keys of JSON objects are texts; the order counts
        phase["visits"] = list(phase["visits"].items())
    return found


def histogram(look: Look) -> list[int]:
    """How many simulations ended at depth 0, 1, 2, …; [] before the first."""
    count, parent = np.asarray(look.count), np.asarray(look.parent)
    made = count[0] > 0
    made[0] = False
    nodes = np.flatnonzero(made)
    if not len(nodes):
        return []
    visits = np.zeros_like(count)
    np.add.at(visits[0], parent[0, nodes], count[0, nodes])
    tree = SimpleNamespace(count=count, parent=parent, visits=visits[..., None])
    try:
        return show.depths(tree, 0).histogram.tolist()
    except ValueError:  # no simulation
        return []


def line_names(game: Game, spot: Spot, moves: tuple[int, ...]) -> list[str]:
    """Moves that follow each other, as far as the rules can follow them."""
    found = []
    for action in moves[: 1 if game.chance else LONGEST]:  # what is drawn then, nobody knows
        if not (0 <= action < len(spot.legal) and spot.legal[action]):
            break
        found.append(game.move_name(spot.state, action))
        spot = moved(game, spot, action)
    return found


def children(
    looking: Looking, look: Look, node: int, position: str, moves: tuple[int, ...]
) -> dict[str, Any]:
    """One node of the tree and what hangs below it, the most visited first."""
    if not (0 <= node < look.count.shape[1] and look.count[0, node] > 0):
        raise ValueError(f"the tree has no node {node}")
    game, way = looking.game, path(look, node)
    try:
        # What was drawn in a search is not what the game would draw; its moves have one name each.
        way_there = moves if game.chance else (*moves, *way)
        state = spot_after(game, position, way_there).state
    except ValueError:  # a learned model may think of moves that are none
        state = None
    known, nodes = looking.node(node), below(look, node)
    found: list[dict[str, Any]] = []
    for action, row in nodes.items():
        name = str(action) if state is None else game.move_name(state, action)
        entry = {"action": action, "name": name, "node": row, "visits": int(look.count[0, row]),
                 "prior": None, "q": None, "more": bool((look.parent[0] == row).any())}  # fmt: skip
        if known is not None:
            stats, _ = known
            entry |= {"visits": int(stats.visits[action]), "prior": _number(stats.prior[action]),
                      "q": _number(stats.q[action])}  # fmt: skip
        found.append(entry)
    found.sort(key=lambda entry: -entry["visits"])
    value = None if known is None else _number(known[0].value)
    raw = None if known is None else _number(known[0].raw_value)
    return {"node": node, "depth": len(way), "value": value, "rawValue": raw,
            "children": found[:CHILDREN], "left": max(0, len(found) - CHILDREN)}  # fmt: skip


def _number(x: Any) -> float | None:
    return round(float(x), 5) if math.isfinite(x) else None
