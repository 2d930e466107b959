"""Seeing a search: the numbers shown are those of the tree, in every form."""

import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.types import Edge, NodeStats, Plan, Prediction, RootNoise
from halfmove.search import planner, show

SIMULATIONS = 24
ACTIONS = 5
SVG = "{http://www.w3.org/2000/svg}"


class Maze:
    """Pseudo-random rewards and priors, two players, an end on every seventh node.

    Game 1 has two legal actions at the root, game 2 is over.
    """

    def root(self, params, key, timestep):
        legal = jnp.ones((3, ACTIONS), bool).at[1, 2:].set(False).at[2].set(False)
        return timestep, self.predict(timestep, legal)

    def step(self, params, key, node, action):
        child = (node * 31 + action * 7 + 3) % 1009
        over = child % 7 == 0
        reward = jnp.sin(child.astype(jnp.float32))
        edge = Edge(reward, jnp.where(over, 0.0, -0.9))
        return child, edge, self.predict(child, jnp.ones((3, ACTIONS), bool) & ~over[:, None])

    def predict(self, node, legal):
        logits = jnp.cos(node[:, None] * 1.7 + jnp.arange(ACTIONS) * 2.3)
        return Prediction(logits, jnp.sin(node * 0.37), legal)


class Corridor:
    """One action, and the game ends after `length` moves."""

    def __init__(self, length):
        self.length = length

    def root(self, params, key, timestep):
        return timestep, self.predict(timestep)

    def step(self, params, key, node, action):
        edge = Edge(jnp.zeros(node.shape), jnp.ones(node.shape))
        return node + 1, edge, self.predict(node + 1)

    def predict(self, node):
        legal = (node < self.length)[:, None]
        return Prediction(jnp.zeros((node.shape[0], 1)), jnp.zeros(node.shape), legal)


@pytest.fixture(scope="module")
def plan():
    search = planner("full_gumbel", simulations=SIMULATIONS, considered=4, tree=True)
    return search(jax.random.key(3), Maze(), None, jnp.asarray([11, 42, 5]))


def strict(found):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(found, parse_constant=refuse)


@pytest.mark.parametrize("game", [0, 1])
def test_json_nodes_are_a_tree_that_adds_up(plan, game):
    found = strict(show.to_json(plan, game))
    nodes = {node["node"]: node for node in found["nodes"]}
    assert found["simulations"] == SIMULATIONS
    assert nodes[0]["visits"] == SIMULATIONS + 1
    assert nodes[0]["parent"] is None
    below = dict.fromkeys(nodes, 0)
    total = {i: node["raw_value"] for i, node in nodes.items()}
    for i in sorted(nodes, reverse=True):
        node = nodes[i]
        again = node["visits"] - 1 - below[i]
        assert again >= 0
        total[i] += again * node["raw_value"]  # a finished game, evaluated again
        assert node["value"] == pytest.approx(total[i] / node["visits"], abs=1e-4)
        if i:
            assert node["parent"] < i
            below[node["parent"]] += node["visits"]
            gain = node["visits"] * node["reward"] + node["discount"] * total[i]
            total[node["parent"]] += gain


@pytest.mark.parametrize("game", [0, 1])
def test_json_root_table_agrees_with_the_nodes(plan, game):
    found = strict(show.to_json(plan, game))
    children = {n["action"]: n for n in found["nodes"] if n["parent"] == 0}
    assert [row["action"] for row in found["actions"]] == ([0, 1] if game else [0, 1, 2, 3, 4])
    for row in found["actions"]:
        if row["action"] in children:
            child = children[row["action"]]
            assert row["visits"] == child["visits"]
            q = child["reward"] + child["discount"] * child["value"]
            assert row["q"] == pytest.approx(q, abs=1e-5)
            assert row["completed_q"] == row["q"]
        else:
            assert row["visits"] == 0
            assert row["q"] is None
            assert math.isfinite(row["completed_q"])
    assert sum(row["prior"] for row in found["actions"]) == pytest.approx(1, abs=1e-5)
    assert sum(row["policy"] for row in found["actions"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("game", [0, 1])
def test_score_is_what_the_gumbel_planner_ranks_by(plan, game):
    rows = show.to_dict(plan, game)["actions"]
    most = max(row["visits"] for row in rows)
    among = [r for r in rows if r["visits"] == most]
    best = max(among, key=lambda r: -math.inf if r["score"] is None else r["score"])
    assert best["action"] == show.to_dict(plan, game)["action"] == int(plan.action[game])


def test_score_is_noise_and_logit_and_scaled_q(plan):
    """g + l + (50 + max N) · scaled completed Q, by hand, up to one constant."""
    rows = show.to_dict(plan, 0)["actions"]
    q = [r["completed_q"] for r in rows]
    most = max(r["visits"] for r in rows)
    expected = [
        r["noise"] + r["logit"] + (50 + most) * (r["completed_q"] - min(q)) / (max(q) - min(q))
        for r in rows
    ]
    pairs = [(r["score"], e) for r, e in zip(rows, expected, strict=True) if r["score"] is not None]
    assert len(pairs) >= 3
    shift = pairs[0][0] - pairs[0][1]
    for score, by_hand in pairs:
        assert score - by_hand == pytest.approx(shift, abs=1e-3)


def test_completion_is_the_planners_option(plan):
    unvisited = next(
        r for r in show.to_dict(plan, 0, completion="raw")["actions"] if r["q"] is None
    )
    assert unvisited["completed_q"] == pytest.approx(show.to_dict(plan, 0)["raw_value"])
    mixed = next(r for r in show.to_dict(plan, 0)["actions"] if r["q"] is None)
    assert mixed["completed_q"] != unvisited["completed_q"]


def test_numbers_that_json_cannot_hold_become_null(plan):
    bad = plan.noise.row.at[0].set(jnp.asarray([jnp.nan, jnp.inf, -jnp.inf, 0.0, 0.0]))
    odd = Plan(**{**plan.__dict__, "noise": RootNoise(bad, plan.noise.want)})
    noise = [row["noise"] for row in strict(show.to_json(odd, 0))["actions"]]
    assert noise == [None, None, None, 0.0, 0.0]


def test_a_finished_game_can_be_shown(plan):
    found = strict(show.to_json(plan, 2))
    assert found["actions"] == []
    assert len(found["nodes"]) == 1
    assert "no legal action" in show.text(plan, 2)
    assert show.halving_phases(plan, 2) == []
    ET.fromstring(show.to_svg(plan, 2))
    with pytest.raises(ValueError, match="game 2 has no simulations"):
        show.depths(plan, 2)


def test_text_has_one_indented_line_an_action(plan):
    lines = show.text(plan, 0, depth=2, top=3).splitlines()
    assert f"{SIMULATIONS} simulations" in lines[0]
    table = {n["node"]: n for n in show.to_dict(plan, 0)["nodes"]}
    level = [line for line in lines[2:] if not line.startswith((" ", "..."))]
    assert len(level) == 3
    for line in level:
        action, visits, prior, q, policy, value = line.split()
        row = show.to_dict(plan, 0)["actions"][int(action)]
        child = next(n for n in table.values() if n["parent"] == 0 and n["action"] == int(action))
        assert int(visits) == row["visits"]
        expected = (row["prior"], row["q"], row["policy"], child["value"])
        shown = [float(x) for x in (prior, q, policy, value)]
        assert shown == pytest.approx(expected, abs=6e-4)
    visits = [int(line.split()[1]) for line in level]
    assert visits == sorted(visits, reverse=True)
    assert any(line.startswith("  ") for line in lines[2:])
    assert "... 2 more" in lines
    assert not any(line.startswith("  ") for line in show.text(plan, 0, depth=1).splitlines())


NASTY = '<a> & "b" \\ \x00\n'


def test_svg_is_well_formed_tidy_and_escaped(plan):
    root = ET.fromstring(show.to_svg(plan, 0, depth=3, top=3, names=lambda a: f"{NASTY}{a}"))
    wide, high = float(root.get("width")), float(root.get("height"))
    cards = []
    for rect in root.iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None:
            x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
            cards.append((title.text, x, y, x + w, y + h))
    assert any(title.startswith('<a> & "b" \\') for title, *_ in cards)
    assert all(x >= 0 and y >= 0 and r <= wide and b <= high for _, x, y, r, b in cards)
    for i, (_, x, y, r, b) in enumerate(cards):
        for _, x2, y2, r2, b2 in cards[:i]:
            assert r <= x2 or r2 <= x or b <= y2 or b2 <= y, "two cards overlap"
    edges = list(root.iter(f"{SVG}path"))
    assert len(edges) == len(cards) - 1
    first = [c for c in cards if c[1] == sorted({c[1] for c in cards})[1]]
    assert len(first) == 3
    texts = [t.text for t in root.iter(f"{SVG}text")]
    for row in sorted(show.to_dict(plan, 0)["actions"], key=lambda r: -r["visits"])[:2]:
        assert f"N {row['visits']}" in texts
        assert f"Q {row['q']:+.2f}" in texts
        assert f"π′ {row['policy']:.2f}" in texts


def test_dot_quotes_names_and_has_every_edge(plan):
    source = show.to_dot(plan, 0, depth=2, top=2, names=lambda a: f'"{a}\\')
    nodes = re.findall(r'^  (n\d+) \[label="((?:[^"\\]|\\.)*)"(?:, penwidth=3)?\];$', source, re.M)
    edges = re.findall(
        r"^  (n\d+) -> (n\d+) \[penwidth=[\d.]+(?:, style=dashed)?\];$", source, re.M
    )
    assert len(source.strip().splitlines()) == 3 + len(nodes) + len(edges)
    assert len(edges) == len(nodes) - 1
    assert {child for _, child in edges} | {"n0"} == {name for name, _ in nodes}
    assert r"\"" in nodes[1][1]


def fake(visits):
    """A plan of one game of which only the visits are known."""
    row = jnp.asarray([visits], jnp.int32)
    zero, flat = jnp.zeros(1), jnp.zeros(row.shape)
    stats = NodeStats(flat, flat, row, flat, zero, zero, zero, zero, zero, flat)
    return Plan(jnp.zeros(1, jnp.int32), flat, zero, stats, RootNoise(flat, zero))


def plain_halving(scores, n):
    """Algorithm 2 as it is written: [{action: visits} a phase] for fixed scores, best first."""
    m = len(scores)
    order = sorted(range(m), key=lambda a: -scores[a])
    rounds, kept, left, found = max(1, math.ceil(math.log2(m))), m, n, []
    while left:
        given = dict.fromkeys(order[:kept], 0)
        for _ in range(max(1, n // (rounds * kept)) if m > 1 else n):
            for a in order[:kept]:
                if left:
                    given[a] += 1
                    left -= 1
        found.append({a: v for a, v in given.items() if v})
        kept = max(min(2, m), kept // 2)
    return found


def test_phases_are_recovered_from_the_final_visits():
    rng = np.random.default_rng(0)
    for m in range(1, 12):
        for n in range(m, 45):
            expected = plain_halving(rng.permutation(m), n)
            visits = [sum(phase.get(a, 0) for phase in expected) for a in range(m)] + [0, 0]
            found = show.halving_phases(fake(visits))
            assert [phase.visits for phase in found] == expected
            assert [phase.simulations for phase in found] == [sum(p.values()) for p in expected]
            for now, later in itertools.pairwise(found):
                assert set(now.out) == set(now.visits) - set(later.visits)
            assert found[-1].out == ()
            assert [p.simulations for p in show.halving_schedule(m, n)] == [
                p.simulations for p in found
            ]


def test_phases_of_a_real_search(plan):
    first = show.halving_phases(plan, 0)[0]
    assert first.considered == len(first.visits) == 4
    assert show.halving_phases(plan, 1)[0].considered == 2


def test_visits_of_another_search_are_not_called_phases():
    with pytest.raises(ValueError, match="Sequential Halving"):
        show.halving_phases(fake([5, 2, 1]))


def test_figure_1():
    final = [sum(p.visits.get(a, 0) for p in show.halving_schedule(16, 200)) for a in range(16)]
    assert final == [49] * 2 + [21] * 2 + [9] * 4 + [3] * 8
    texts = [t.text for t in ET.fromstring(show.halving_svg()).iter(f"{SVG}text")]
    assert "Sequential Halving: 16 actions, 200 simulations" in texts
    assert "phase 3: 4 actions, 12 each" in texts
    assert texts.count("21") == 2


def test_halving_chart_of_a_search_names_its_actions(plan):
    chart = show.halving_svg(show.halving_phases(plan, 0), names=lambda a: f"<{a}>")
    texts = [t.text for t in ET.fromstring(chart).iter(f"{SVG}text")]
    assert f"<{int(plan.action[0])}>" in texts


def test_depths_of_a_corridor():
    search = planner("muzero", simulations=10, tree=True)
    tree = search(jax.random.key(0), Corridor(4), None, jnp.asarray([0, 1])).tree
    deep = show.depths(tree, 0)
    assert deep.depth.tolist() == [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]
    assert (deep.mean, deep.max, deep.simulations) == (3.4, 4, 10)
    assert deep.histogram.tolist() == [0, 1, 1, 1, 7]
    assert deep.percentiles == pytest.approx({5: 1.45, 25: 3.25, 50: 4, 75: 4, 95: 4})
    assert show.depths(tree, 1).depth.tolist() == [1, 2] + [3] * 8
    both = show.depths(tree)
    assert both.simulations == 20
    assert both.mean == pytest.approx((34 + 27) / 20)


def test_depths_agree_with_the_nodes(plan):
    nodes = show.to_dict(plan, 0)["nodes"]
    depth, below = {0: 0}, {}
    for node in nodes[1:]:
        depth[node["node"]] = depth[node["parent"]] + 1
        below[node["parent"]] = below.get(node["parent"], 0) + node["visits"]
    expected = [
        depth[n["node"]] for n in nodes[1:] for _ in range(n["visits"] - below.get(n["node"], 0))
    ]
    assert show.depths(plan, 0).depth.tolist() == sorted(expected)
    assert float(plan.depth[0]) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("draw", [show.text, show.to_dict, show.to_json, show.to_svg, show.to_dot])
def test_bad_input_is_named(plan, draw):
    with pytest.raises(ValueError, match="tree=True"):
        draw(fake([1, 2]))
    for game in (3, -1, 0.5, True):
        with pytest.raises(ValueError, match=f"game must be .* from 0 to 2, got {game}"):
            draw(plan, game)
    with pytest.raises(TypeError, match="plan must be a Plan"):
        draw(SimpleNamespace())


def test_bad_shapes_are_named(plan):
    for draw in (show.text, show.to_svg, show.to_dot):
        with pytest.raises(ValueError, match=r"depth must be .* at least 1, got 0"):
            draw(plan, depth=0)
        with pytest.raises(ValueError, match="top must be"):
            draw(plan, top=0)
    with pytest.raises(ValueError, match="tree=True"):
        show.depths(fake([1]))
    with pytest.raises(ValueError, match="game must be"):
        show.depths(plan, 7)
    with pytest.raises(ValueError, match="game must be"):
        show.halving_phases(plan, 9)
    with pytest.raises(ValueError, match="considered must be"):
        show.halving_schedule(0, 4)
    with pytest.raises(ValueError, match="completion must be"):
        show.to_json(plan, completion="average")
    with pytest.raises(ValueError, match="no phases"):
        show.halving_svg([])
