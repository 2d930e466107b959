"""A search in slices against the same search in one piece."""

import jax
import numpy as np
import pytest

from halfmove.search import anytime, planner
from halfmove.search.anytime import Anytime
from tests.search import models

TABLES = models.tables(0, 301, 6, "two-player")
MODEL = models.KnownRules()
STATE = np.flatnonzero(TABLES.legal.sum(-1) > 3)[:2].astype(np.int32)
BEGUN = (STATE, TABLES.legal[STATE])


def sliced(slices, seed, budget, length):
    """The looks after every slice of that many turns."""
    going = slices.begin(jax.random.key(seed), TABLES, BEGUN, budget=budget)
    looks = [slices.look(going)]
    turns = slices.turns(budget)
    for start in range(0, turns, length):
        going = slices.go_on(TABLES, going, start, min(turns, start + length))
        looks.append(slices.look(going))
    return jax.device_get(looks)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("full_gumbel", {}),
        pytest.param("gumbel", {"leaves": 3, "engine": "xla"}, marks=pytest.mark.slow),
        pytest.param("full_gumbel", {"leaves": 4}, marks=pytest.mark.slow),
        pytest.param("alphazero", {}, marks=pytest.mark.slow),
        pytest.param("full_gumbel", {"engine": "xla"}, marks=pytest.mark.slow),
        pytest.param("gumbel", {"engine": "interpreter"}, marks=pytest.mark.slow),
        pytest.param("muzero", {"engine": "interpreter", "leaves": 2}, marks=pytest.mark.slow),
        pytest.param("pgs", {"leaves": 6, "learning_rate": 0.3}, marks=pytest.mark.slow),
        pytest.param("mcs", {"leaves": 6, "truncate": "growing"}, marks=pytest.mark.slow),
        pytest.param("pgs_unfrozen", {"leaves": 6}, marks=pytest.mark.slow),
    ],
)
def test_to_the_end_it_is_the_planner(name, options):
    slices = Anytime(planner(name, simulations=32, **options), MODEL, 32)
    programs = (
        anytime._begin, anytime._go_on, anytime._look,
        anytime._begin_treeless, anytime._go_on_treeless, anytime._look_treeless,
    )  # fmt: skip
    compiled, interpreted = None, options.get("engine") == "interpreter"
    # Fewer simulations than there are candidates, a part, and all that there is room for.
    for seed, budget, length in ((0, 21, 5), (1, 3, 100), (2, 32, 32)):
        last = sliced(slices, seed, budget, length)[-1]
        whole = planner(name, simulations=budget, **options)
        plan = jax.device_get(whole(jax.random.key(seed), MODEL, TABLES, BEGUN))
        for mine, theirs in zip(jax.tree.leaves(last.plan), jax.tree.leaves(plan), strict=True):
            # XLA may fuse the interpreter's own steps otherwise in a program of another size.
            np.testing.assert_allclose(mine, theirs, rtol=3e-7 if interpreted else 0, atol=0)
        sizes = [program._cache_size() for program in programs]
        assert compiled in (None, sizes), "another budget compiled again"
        compiled = sizes


def test_it_can_be_looked_at_after_every_slice():
    slices = Anytime(planner("full_gumbel", simulations=32), MODEL, 32)
    for number, look in enumerate(sliced(slices, 3, 21, 5)):
        turns = min(21, 5 * number)
        assert (look.plan.stats.visits.sum(axis=-1) == turns).all()
        assert (look.count[:, 0] == turns + 1).all()
        for game, legal in enumerate(BEGUN[1]):
            assert legal[look.plan.action[game]]
            assert look.legal[game, 0] == legal.sum()
            for node in np.flatnonzero(look.count[game])[1:]:
                above, action = look.parent[game, node], look.action[game, node]
                assert above < node
                if above == 0:  # a node was visited as often as the edge to it
                    assert look.plan.stats.visits[game, action] == look.count[game, node]


def test_sequences_are_looked_at_as_a_tree():
    slices = Anytime(planner("mcs", simulations=32, leaves=6), MODEL, 32)
    look = sliced(slices, 4, 32, 6)[-1]
    for game, legal in enumerate(BEGUN[1]):
        made = np.flatnonzero(look.count[game])
        assert look.count[game, 0] == 33
        assert look.legal[game, 0] == legal.sum()
        below = np.zeros_like(look.count[game])
        for node in made[:0:-1]:
            below[look.parent[game, node]] += look.count[game, node]
            state = walked(look, game, node)
            assert look.legal[game, node] == TABLES.legal[state].sum()
            # Itself and those that begin with it.
            assert look.count[game, node] == 1 + below[node]
        tried = {look.action[game, node] for node in made[1:] if look.parent[game, node] == 0}
        assert tried == set(np.flatnonzero(look.plan.stats.visits[game]))


def walked(look, game, node):
    """The state that a node stands for."""
    line = []
    while node:
        line.append(look.action[game, node])
        node = look.parent[game, node]
    state = STATE[game]
    for action in reversed(line):
        state = TABLES.following[state, action]
    return state


def test_what_cannot_be_sliced_is_refused():
    search = planner("full_gumbel", simulations=8)
    with pytest.raises(ValueError, match="at least 1"):
        Anytime(search, MODEL, 0)
    with pytest.raises(TypeError, match="only a search of this package"):
        Anytime(lambda *a: None, MODEL, 8)
    with pytest.raises(ValueError, match="0 to 8 simulations, got 9"):
        Anytime(search, MODEL, 8).begin(jax.random.key(0), TABLES, BEGUN, budget=9)
