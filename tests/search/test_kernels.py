"""The compiled program against the XLA engine: whole trees, node by node.

On a CPU it runs as native code and, as on a GPU, by Pallas in the interpreter.
"""

import dataclasses
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.lowering import lowered_for_gpu
from halfmove.core.types import Edge, Prediction
from halfmove.search import engine, kernels, names, planner
from halfmove.search.planners import TREELESS, full_gumbel, muzero
from halfmove.search.program import Game
from halfmove.search.rule import TREE
from halfmove.search.search import TreeSearch
from halfmove.search.tree import with_pending
from tests.search import models

ACTIONS = 11
GAMES = 5
SEARCHING = [name for name in names() if name != "prior" and name not in TREELESS]
ENGINES = ("xla", "kernel", "interpreter")


class Maze:
    """Random values and masks, dead ends, ended games; game 3 of the batch is over."""

    def look(self, node):
        lanes = jnp.arange(ACTIONS)
        legal = (node[:, None] + 3 * lanes) % 4 > 0
        legal = legal & (node % 11 != 5)[:, None] & (node >= 0)[:, None]
        logits = 2.0 * jnp.sin(0.37 * node[:, None] * (lanes + 1))
        return Prediction(logits, jnp.cos(0.913 * node), legal)

    def root(self, params, key, timestep):
        return timestep, self.look(timestep)

    def step(self, params, key, node, action):
        node = (node * 31 + action * 17 + 7) % 100003
        discount = jnp.where(node % 11 == 5, 0.0, jnp.where(node % 3 == 0, 0.9, -1.0))
        return node, Edge(jnp.sin(0.11 * node), discount), self.look(node)


MAZE = Maze()
ROOTS = jnp.array([1, 2, 3, -1, 9])


def search(name, engine, **options):
    plan = planner(name, engine=engine, tree=True, **options)
    return plan(jax.random.key(7), MAZE, None, ROOTS)


def assert_same(one, other):
    for field in dataclasses.fields(one.tree):
        a, b = (getattr(plan.tree, field.name) for plan in (one, other))
        if a is None:
            assert b is None
        elif jnp.issubdtype(a.dtype, jnp.integer):
            np.testing.assert_array_equal(a, b, err_msg=field.name)
        else:
            np.testing.assert_allclose(a, b, atol=1e-5, err_msg=field.name)
    np.testing.assert_array_equal(one.action, other.action)
    np.testing.assert_allclose(one.policy, other.policy, atol=1e-5)


class Narrow:
    """Three moves, all tried soon, by a root that thinks itself worse than any of them."""

    def look(self, node):
        logits = jnp.sin(1.7 * node[:, None] * jnp.arange(1, 4))
        return Prediction(logits, jnp.where(node < 10, -5.0, 0.2 * jnp.cos(1.0 * node)))

    def root(self, params, key, timestep):
        return timestep, self.look(timestep)

    def step(self, params, key, node, action):
        node = (node * 31 + action * 17 + 11) % 10007 + 10
        return node, Edge(0.2 * jnp.sin(0.1 * node), jnp.ones(node.shape)), self.look(node)


@pytest.mark.parametrize("name", ["muzero", "mpo"])
def test_lanes_that_pad_a_row_know_nothing_of_leaves_under_way(name):
    plans = [
        planner(name, simulations=24, leaves=8, normalise="siblings", engine=engine)(
            jax.random.key(0), Narrow(), None, jnp.arange(4)
        )
        for engine in ENGINES
    ]
    for plan in plans[1:]:
        np.testing.assert_array_equal(plan.stats.visits, plans[0].stats.visits)


@pytest.mark.parametrize("leaves", [1, 4])
def test_engines_agree_where_plain_numbers_have_64_bits(leaves):
    with jax.enable_x64(True):
        plans = [
            planner("muzero", simulations=8, leaves=leaves, engine=engine, tree=True)(
                jax.random.key(0), Narrow(), None, jnp.arange(4)
            )
            for engine in ENGINES
        ]
    for plan in plans:
        assert plan.policy.dtype == jnp.float32
        assert_same(plan, plans[0])


@pytest.mark.parametrize("normalise", [None, "tree", "siblings", (-1.0, 1.0)])
@pytest.mark.parametrize("value", [-0.9, 0.9])
def test_a_leaf_under_way_never_looks_better_than_an_action_not_tried(value, normalise):
    search = muzero(8, leaves=8, normalise=normalise, dirichlet_fraction=0.0)
    plan = search(jax.random.key(0), models.Flat(), None, jnp.asarray([value]))
    np.testing.assert_array_equal(plan.stats.visits, np.ones((1, 8)))


@pytest.mark.parametrize(
    ("untried", "first"), [(None, 0.3), (TREE, -0.9), (0.0, 0.0), (0.5, 0.3), (-1.0, -1.0)]
)
def test_what_a_leaf_under_way_counts_as(untried, first):
    visits, pending = jnp.array([0, 1, 1, 0]), jnp.array([1, 1, 0, 0])
    value, low = jnp.array([0.6]), jnp.array([-0.9])  # of the node, and the least of the tree
    visits, q = with_pending(visits, jnp.array([0, 0.3, 0.7, 0]), pending, value, low, untried)
    np.testing.assert_array_equal(visits, [1, 2, 1, 0])
    np.testing.assert_allclose(q, [first, (0.3 + first) / 2, 0.7, 0], atol=1e-6)


# Of rules that differ only at the root, one with several leaves will do.
FAMILIES = ("full_gumbel", "muzero")


@pytest.mark.parametrize(
    ("name", "leaves"),
    [(name, 1) for name in SEARCHING]
    + [
        pytest.param(name, 3, marks=() if name in FAMILIES else pytest.mark.slow)
        for name in SEARCHING
    ],
)
def test_all_engines_grow_the_same_tree(name, leaves):
    options = {"simulations": 21, "leaves": leaves}
    xla, *others = (search(name, engine, **options) for engine in ENGINES)
    assert int(xla.stats.visits.sum()) == 21 * 4
    for other in others:
        assert_same(xla, other)


@pytest.mark.parametrize("options", [
    pytest.param({"name": "full_gumbel", "max_depth": 2}, marks=pytest.mark.slow),
    {"name": "muzero", "max_depth": 3},
    {"name": "alphazero", "max_depth": 1, "leaves": 4},
    pytest.param({"name": "full_gumbel", "normalise": "tree"}, marks=pytest.mark.slow),
    {"name": "gumbel", "normalise": None, "completion": "raw", "considered": 3},
    pytest.param({"name": "mpo", "search": False, "c_puct": 2.0}, marks=pytest.mark.slow),
    pytest.param(
        {"name": "trpo", "act": False, "learn": False, "leaves": 2}, marks=pytest.mark.slow
    ),
], ids=str)  # fmt: skip
def test_the_same_with_other_options(options):
    xla, *others = (search(engine=e, simulations=15, **options) for e in ENGINES)
    for other in others:
        assert_same(xla, other)


@pytest.mark.parametrize("simulations", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_few_and_many_simulations(simulations):
    xla, *others = (search("full_gumbel", e, simulations=simulations) for e in ENGINES)
    for other in others:
        assert_same(xla, other)


@pytest.mark.parametrize(
    "name", ["full_gumbel", pytest.param("gumbel_stochastic", marks=pytest.mark.slow)]
)
def test_kept_choices_are_those_made_on_the_way_down(name, monkeypatch):
    """The program asks a rule ahead of time or when it is needed: the same tree."""
    kept = search(name, "interpreter", simulations=40)
    monkeypatch.setattr(kernels, "local", lambda rule, actions: False)
    jax.clear_caches()
    assert_same(kept, search(name, "interpreter", simulations=40))


def lowered(name, leaves, monkeypatch):
    ready = kernels.prepare
    monkeypatch.setattr(kernels, "prepare", lambda *a, how: ready(*a, how="triton"))
    plan = planner(name, simulations=4, leaves=leaves, engine="kernel")
    lowered = lowered_for_gpu(lambda key: plan(key, MAZE, None, ROOTS).action, jax.random.key(0))
    return lowered.as_text()


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("name", SEARCHING)
def test_every_planner_lowers_to_triton(name, leaves, monkeypatch):
    assert "triton" in lowered(name, leaves, monkeypatch)


def test_a_rule_is_kept_only_if_it_sees_its_own_node_alone():
    def kept(search: TreeSearch):
        return kernels.prepare(search.rule, 4, 9, 10, 1, 10, how="triton").kept

    assert kept(full_gumbel(8))
    assert kept(muzero(8, normalise="siblings"))
    assert not kept(muzero(8))
    assert not kept(full_gumbel(8, normalise="tree"))


def test_what_nobody_has_written_is_no_address(monkeypatch):
    """New memory holds anything; a GPU does not clamp what is read outside of an array.

    The interpreter does, so the words that are read have to be watched.
    """
    far = []

    def rubbish(shape, dtype):
        return jnp.full(shape, 10**9 if dtype == jnp.int32 else 0.5, dtype)

    def watched(game, ref, *at):
        for i, size in zip(at, ref.shape, strict=True):
            jax.debug.callback(lambda i, size=size: far.append(int(jnp.max(i)) >= size), i)
        return words(game, ref, *at)

    words = Game.words
    monkeypatch.setattr(kernels.jax.lax, "empty", rubbish)
    monkeypatch.setattr(Game, "words", watched)
    # A number of simulations of its own: a program made for it before would be used again.
    search("alphazero", "interpreter", simulations=23, leaves=4)
    jax.effects_barrier()
    assert far
    assert not any(far)


def closed_over(base: TreeSearch, extra) -> TreeSearch:
    def select(stats, noise):
        return base.rule.select(stats, noise) + extra

    return dataclasses.replace(base, rule=dataclasses.replace(base.rule, select=select))


def test_a_rule_of_the_users_own_runs_in_all_engines():
    results = []
    for kind in ENGINES:
        base = full_gumbel(15, engine=kind, tree=True)
        select = lambda stats, noise: stats.prior / (1.0 + stats.visits)  # noqa: E731
        own = dataclasses.replace(base, rule=dataclasses.replace(base.rule, select=select))
        results.append(own(jax.random.key(1), MAZE, None, ROOTS))
    for other in results[1:]:
        assert_same(results[0], other)


def test_what_a_kernel_cannot_take_is_said(monkeypatch):
    """On a GPU a rule that closes over an array is refused, or runs on XLA with a warning."""
    extra = jnp.linspace(0.0, 1.0, ACTIONS)
    own = closed_over(full_gumbel(6, engine="interpreter"), extra)
    with pytest.raises(ValueError, match="engine='interpreter' cannot run this search"):
        own(jax.random.key(0), MAZE, None, ROOTS)
    native = dataclasses.replace(own, engine="kernel")(jax.random.key(0), MAZE, None, ROOTS)
    monkeypatch.setattr(engine.jax, "default_backend", lambda: "gpu")
    auto = dataclasses.replace(own, engine="auto")
    with pytest.warns(UserWarning, match="without the GPU kernels"):
        found = auto(jax.random.key(0), MAZE, None, ROOTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = dataclasses.replace(own, engine="xla")(jax.random.key(0), MAZE, None, ROOTS)
    np.testing.assert_array_equal(found.stats.visits, plain.stats.visits)
    np.testing.assert_array_equal(native.stats.visits, plain.stats.visits)


def test_numpys_whole_numbers_leave_the_engine_as_it_is(monkeypatch):
    seen = []
    prepare = kernels.prepare
    monkeypatch.setattr(kernels, "prepare", lambda *a, **k: seen.append(k) or prepare(*a, **k))
    # One more, the root's node, than eight bits hold.
    short = muzero(np.int8(127), max_depth=np.int32(2), engine="kernel")
    plain = muzero(127, max_depth=2, engine="xla")
    got, want = (search(jax.random.key(0), MAZE, None, ROOTS) for search in (short, plain))
    assert len(seen) == 1
    np.testing.assert_array_equal(got.stats.visits, want.stats.visits)


def test_kernels_where_there_are_none(monkeypatch):
    monkeypatch.setattr(engine.jax, "default_backend", lambda: "tpu")
    with pytest.raises(ValueError, match=r"engine='kernel' cannot run.*for a TPU"):
        muzero(3, engine="kernel")(jax.random.key(0), MAZE, None, ROOTS)
    auto = muzero(3)(jax.random.key(0), MAZE, None, ROOTS)
    plain = muzero(3, engine="xla")(jax.random.key(0), MAZE, None, ROOTS)
    np.testing.assert_array_equal(auto.stats.visits, plain.stats.visits)


def test_a_rule_that_sorts_runs_on_xla_and_says_so():
    base = full_gumbel(6)
    select = lambda stats, noise: jnp.sort(stats.prior) - stats.visits  # noqa: E731
    own = dataclasses.replace(base, rule=dataclasses.replace(base.rule, select=select))
    with pytest.warns(UserWarning, match="without the CPU kernels: .*'sort'"):
        found = own(jax.random.key(0), MAZE, None, ROOTS)
    plain = dataclasses.replace(own, engine="xla")(jax.random.key(0), MAZE, None, ROOTS)
    np.testing.assert_array_equal(found.stats.visits, plain.stats.visits)
    with pytest.raises(ValueError, match="engine='kernel' cannot run this search"):
        dataclasses.replace(own, engine="kernel")(jax.random.key(0), MAZE, None, ROOTS)


def test_a_batch_of_batches():
    plan = planner("full_gumbel", simulations=9)
    roots = jnp.stack([ROOTS, ROOTS[::-1]])

    def visits(seed, roots):
        return plan(jax.random.key(seed), MAZE, None, roots).stats.visits

    both = jax.vmap(visits)(jnp.arange(2), roots)
    for i in range(2):
        np.testing.assert_array_equal(both[i], visits(i, roots[i]))


class Scaled(Maze):
    """The same values times a parameter."""

    def root(self, params, key, timestep):
        prediction = self.look(timestep)
        return timestep, dataclasses.replace(prediction, value=params * prediction.value)


def test_no_gradient_flows_through_a_plan():
    plan, model = planner("muzero", simulations=5), Scaled()

    def loss(params):
        return params**2 + jnp.sum(plan(jax.random.key(0), model, params, ROOTS).value)

    assert float(jax.grad(loss)(3.0)) == 6.0


def test_trees_beyond_32_bit_addresses_are_refused():
    assert "32-bit" in kernels.refusal(full_gumbel(8).rule, (2048, 1000), 1025)
    assert kernels.refusal(full_gumbel(8).rule, (1024, 82), 201) is None


@pytest.mark.gpu
@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("name", SEARCHING)
def test_compiled_kernels_give_the_visits_of_xla(name, leaves):
    options = {"simulations": 32, "leaves": leaves}
    xla, kernel = (search(name, engine, **options) for engine in ("xla", "kernel"))
    np.testing.assert_array_equal(xla.stats.visits, kernel.stats.visits)
    np.testing.assert_array_equal(xla.action, kernel.action)
