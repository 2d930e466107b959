"""What is shown of a search, against the plan of the same planner with its whole tree."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.game import timestep
from halfmove.search import show
from halfmove.search.planners import planner
from halfmove.web.frames import children, frame, so_far
from halfmove.web.looking import Looking, looked
from halfmove.web.rules import game_of, spot_after
from halfmove.web.settings import Settings

TOE = game_of("tic_tac_toe")
MOVES = (4, 1)
SPOT = spot_after(TOE, "", MOVES)


@pytest.fixture(scope="module")
def gumbel():
    """A search of 40 simulations with noise, and the same one as a plan with its tree."""
    what = looked("mcts:full_gumbel@40", TOE, Settings(), noise=True)
    looking = Looking(what, SPOT, seed=3)
    while not looking.done:
        looking.go_on(0.001)
    seen = jax.tree.map(lambda x: jnp.asarray(x)[None], timestep(TOE, SPOT.state))
    search = planner("full_gumbel", simulations=40, tree=True)
    return looking, search(jax.random.key(3), what.mind.model, None, seen)


def test_the_table_is_that_of_the_plan(gumbel):
    looking, plan = gumbel
    found, whole = frame(looking, looking.look()), show.to_dict(plan)
    assert found["simulations"] == 40
    assert found["action"] == int(plan.action[0])
    assert found["chosen"] == str(found["action"])
    assert [row["action"] for row in found["actions"]] == np.flatnonzero(SPOT.legal).tolist()
    for row, known in zip(found["actions"], whole["actions"], strict=True):
        for name in ("visits", "prior", "q", "completed_q", "policy", "noise", "score"):
            assert row[name] == pytest.approx(known[name], abs=1e-4)
    assert any(row["noise"] for row in found["actions"])


def test_phases_are_those_of_the_plan(gumbel):
    looking, plan = gumbel
    found = frame(looking, looking.look())["phases"]
    known = show.halving_phases(plan)
    assert len(found) == len(known)
    for phase, other in zip(found, known, strict=True):
        assert phase["considered"] == other.considered
        assert phase["simulations"] == phase["planned"] == other.simulations
        assert dict(phase["visits"]) == other.visits
        assert set(phase["out"]) == set(other.out)


def test_depths_are_those_of_the_tree(gumbel):
    looking, plan = gumbel
    found = frame(looking, looking.look())["depths"]
    assert found == show.depths(plan, 0).histogram.tolist()
    assert sum(found) == 40


def test_the_tree_opens_node_by_node(gumbel):
    looking, plan = gumbel
    look, tree = looking.look(), plan.tree
    todo, seen = [0], 0
    while todo:
        node = todo.pop()
        found = children(looking, look, node, "", MOVES)
        assert found["value"] == pytest.approx(float(tree.value[0, node]), abs=1e-4)
        visits = np.asarray(tree.visits[0, node])
        assert {c["action"]: c["visits"] for c in found["children"]} == {
            int(a): int(visits[a]) for a in np.flatnonzero(visits)
        }
        for child in found["children"]:
            assert child["node"] == int(tree.child[0, node, child["action"]])
            assert child["prior"] == pytest.approx(
                float(tree.prior[0, node, child["action"]]), abs=1e-4
            )
            assert child["q"] == pytest.approx(float(tree.q[0, node, child["action"]]), abs=1e-4)
            assert child["more"] == bool((np.asarray(tree.parent[0]) == child["node"]).any())
            todo.append(child["node"])
            seen += 1
    assert seen == int((np.asarray(tree.count[0]) > 0).sum()) - 1
    for wrong in (-1, 63, 10**6):
        with pytest.raises(ValueError, match="no node"):
            children(looking, look, wrong, "", MOVES)


def test_lines_follow_the_rules(gumbel):
    looking, _ = gumbel
    for line in frame(looking, looking.look())["lines"]:
        moves = MOVES
        for name in line["moves"]:
            spot = spot_after(TOE, "", moves)
            assert not spot.over
            moves = (*moves, int(name))
            spot_after(TOE, "", moves)


def test_a_search_can_be_looked_at_half_way():
    what = looked("mcts:full_gumbel@32", TOE, Settings(), noise=True)
    looking = Looking(what, SPOT, seed=0)
    made = []
    while not looking.done:
        looking.go_on(0.0)
        found = frame(looking, looking.look())
        made.append(found["simulations"])
        assert sum(phase["simulations"] for phase in found["phases"]) == found["simulations"]
    assert made == list(range(1, 33))
    assert looking.node(0) is not None


def test_phases_while_they_are_under_way():
    def rows(visits):
        return [{"action": a, "visits": v, "policy": 0.1} for a, v in enumerate(visits)]

    # m = 4, n = 8: four actions once, then two of them twice.
    (first,) = so_far(rows([1, 1, 0, 0]), 4, 8)
    assert (first["visits"], first["out"]) == ([(0, 1), (1, 1)], [])
    first, second = so_far(rows([2, 1, 1, 1]), 4, 8)
    assert (first["out"], second["visits"]) == ([], [(0, 1)])  # who stays is not known yet
    first, second = so_far(rows([3, 3, 1, 1]), 4, 8)
    assert (first["out"], second["simulations"]) == ([2, 3], 4)


def test_other_planners_have_no_phases():
    what = looked("mcts@8", TOE, Settings(), noise=False)
    looking = Looking(what, SPOT, seed=0)
    while not looking.done:
        looking.go_on(0.01)
    found = frame(looking, looking.look())
    assert found["phases"] is None
    assert all(row["noise"] is None and row["score"] is None for row in found["actions"])


@pytest.mark.slow
def test_a_planner_without_a_tree():
    what = looked("mcts:mcs@8", TOE, Settings(), noise=False)
    looking = Looking(what, SPOT, seed=0)
    while not looking.done:
        looking.go_on(0.01)
    look = looking.look()
    below = children(looking, look, 0, "", MOVES)
    assert below["value"] is None
    assert sum(child["visits"] for child in below["children"]) == 8


@pytest.mark.parametrize(
    ("line", "wrong"),
    [("mcts@2s", "simulations"), ("mcts:prior@4", "does not search"), ("mcts@16384", "at most")],
)
def test_what_cannot_be_looked_into(line, wrong):
    with pytest.raises(ValueError, match=wrong):
        Looking(looked(line, TOE, Settings(), noise=False), SPOT, seed=0)
    over = replace(SPOT, over=True)
    with pytest.raises(ValueError, match="over"):
        Looking(looked("mcts@4", TOE, Settings(), noise=False), over, seed=0)
