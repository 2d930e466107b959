"""The phases of Sequential Halving: who was considered, who fell out.

Halving gives every action of a phase the same visits, so the final counts tell
all: an action was in each phase that began below its count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmove.core.types import Plan
from halfmove.search.halving import phases
from halfmove.search.show.svg import PHASE_COLOURS, Svg
from halfmove.search.show.view import Names, check_game


@dataclass(frozen=True)
class Phase:
    """One phase. A last phase cut short by n reaches only some of its actions."""

    considered: int  # how many actions the schedule keeps in this phase
    simulations: int  # spent in this phase
    visits: dict[int, int]  # action -> visits it got in this phase, best first
    out: tuple[int, ...]  # actions of this phase that were never visited again


def halving_phases(plan: Plan, game: int = 0) -> list[Phase]:
    """The phases of one game of a Gumbel planner's plan; [] if the game was over."""
    check_game(plan, game)
    visits, policy = np.asarray(plan.stats.visits[game]), np.asarray(plan.policy[game])
    order = np.lexsort((-policy, -visits))
    final = {int(a): int(visits[a]) for a in order if visits[a] > 0}
    found = _split(final)
    if found is None:
        raise ValueError(
            f"the root visits {list(final.values())} of game {game} are not those of "
            "Sequential Halving; expected the plan of a Gumbel planner"
        )
    return found


def halving_schedule(considered: int = 16, simulations: int = 200) -> list[Phase]:
    """The phases that any search will have; actions are numbered from the best down."""
    for name, value in (("considered", considered), ("simulations", simulations)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    final = dict.fromkeys(range(min(considered, simulations)), 0)
    for kept, spent in phases(len(final), simulations):
        for turn in range(spent):
            final[turn % kept] += 1
    found = _split(final)
    assert found is not None
    return found


def _split(final: dict[int, int]) -> list[Phase] | None:
    """Final visits, most first, cut at the ends of the phases; None if they do not fit."""
    simulations, start, found = sum(final.values()), 0, []
    schedule = phases(len(final), simulations) if final else []
    for number, (kept, spent) in enumerate(schedule):
        end = start - (-spent // kept)
        given = {a: min(v, end) - start for a, v in final.items() if v > start}
        if sum(given.values()) != spent or len(given) != min(kept, spent):
            return None
        last = number == len(schedule) - 1
        out = () if last else tuple(a for a in given if final[a] <= end)
        found.append(Phase(kept, spent, given, out))
        start = end
    return found


def halving_svg(found: Sequence[Phase] | None = None, *, names: Names | None = None) -> str:
    """Visits of every considered action, a colour a phase, as an SVG text.

    Without phases: figure 1 of the Gumbel paper, n = 200 and m = 16. `names`
    labels the actions; without it they are numbered from the most visited down.
    """
    found = halving_schedule() if found is None else list(found)
    if not found:
        raise ValueError("there are no phases to draw: the game was over")
    actions = list(found[0].visits)
    final = {a: sum(p.visits.get(a, 0) for p in found) for a in actions}
    n, ticks = sum(final.values()), _ticks(max(final.values()))
    most = ticks[-1]
    left, base, high, gap = 56, 300, 230, 34
    right = left + gap * len(actions)
    svg = Svg(right + 290, max(360, 70 + 40 * len(found)))
    svg.text(left - 40, 28, f"Sequential Halving: {len(actions)} actions, {n} simulations", size=15)
    svg.text(left - 40, 52, "visits N(a)", size=11, colour="#555")
    for tick in ticks:
        y = base - high * tick / most
        svg.line(left, y, right, y, colour="#e3e3e3")
        svg.text(left - 8, y + 4, str(tick), size=11, colour="#555", anchor="end")
    for i, a in enumerate(actions):
        floor = float(base)
        for number, phase in enumerate(found):
            height = high * phase.visits.get(a, 0) / most
            colour = PHASE_COLOURS[number % len(PHASE_COLOURS)]
            svg.box(left + i * gap + 4, floor - height, gap - 8, height, fill=colour)
            floor -= height
        middle = left + i * gap + gap / 2
        svg.text(middle, floor - 5, str(final[a]), size=11, anchor="middle")
        label = str(i + 1) if names is None else names(a)
        svg.text(middle, base + 17, label, size=11, anchor="middle", limit=5)
    svg.line(left, base, right, base, colour="#333")
    axis = "actions, from the most visited down" if names is None else "actions"
    svg.text((left + right) / 2, base + 40, axis, size=11, colour="#555", anchor="middle")
    _legend(svg, right + 22, found)
    return svg.done()


def _legend(svg: Svg, x: float, found: Sequence[Phase]) -> None:
    for number, phase in enumerate(found):
        y = 78 + 40 * number
        svg.box(x, y - 11, 14, 14, fill=PHASE_COLOURS[number % len(PHASE_COLOURS)])
        least, most = min(phase.visits.values()), max(phase.visits.values())
        each = f"{most} each" if least == most else f"{least} or {most} each"
        svg.text(x + 22, y, f"phase {number + 1}: {len(phase.visits)} actions, {each}", size=12)
        gone = f", {len(phase.out)} fall out" if phase.out else ""
        svg.text(x + 22, y + 15, f"{phase.simulations} simulations{gone}", size=11, colour="#555")


def _ticks(most: int) -> list[int]:
    """Round numbers from 0 to the first that is not below `most`, six at most."""
    step = next(s * 10**e for e in range(10) for s in (1, 2, 5) if most <= 5 * s * 10**e)
    return list(range(0, most + step, step))
