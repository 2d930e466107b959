"""Searches without a tree against plain Python, simulation by simulation."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from halfmove import games
from halfmove.core.game import timestep
from halfmove.models import Learned, Rules, Spec
from halfmove.models.rollouts import Rollouts
from halfmove.nets import NetConfig
from halfmove.search import RolloutSearch, adapt, planner, simulate
from halfmove.search.anytime import Anytime
from tests.search import models
from tests.search.rollout_oracle import Search

A, N, K = 5, 45, 8
STATE = np.array([11, 1, 12, 3, 17], np.int32)
QUIET = {"dirichlet_fraction": 0.0, "temperature": 0.0}
slow = pytest.mark.slow


@functools.cache
def tables(kind="mixed", seed=3):
    return models.tables(seed, 160, A, kind)


def begun(made):
    """Row 1 has a single move, row 3 none."""
    legal = made.legal[STATE] | (np.arange(A) == 2)
    legal[1] = np.arange(A) == 3
    legal[3] = False
    return STATE, legal


def run(name, made, *, seed=0, memory=None, repeats=True, **options):
    search = planner(name, simulations=N, leaves=K, **QUIET | options)
    model = models.KnownRules(repeats)
    if memory is None:
        memory = search.begin(model, made, len(STATE))
    return jax.device_get(search(jax.random.key(seed), model, made, begun(made), memory))


def expected(made, *, seed=0, policies=None, **options):
    """What the oracle finds for every game; `policies` are those it begins with."""
    key = jax.random.split(jax.random.key(seed), 5)[2]
    seeds = np.asarray(jax.random.bits(key, (len(STATE),), jnp.uint32))
    oracles = [Search(made, int(seed), N, K, **options) for seed in seeds]
    for i, oracle in enumerate(oracles):
        if policies is not None:
            oracle.policy = policies[i].copy()
        oracle.run(int(STATE[i]), begun(made)[1][i])
    return oracles


def agree(plan, oracles):
    for i, oracle in enumerate(oracles):
        np.testing.assert_array_equal(plan.stats.visits[i], oracle.visits)
        np.testing.assert_allclose(plan.stats.q[i], oracle.q, atol=1e-4)
        np.testing.assert_allclose(plan.value[i], oracle.value, atol=1e-4)
        moves = np.mean([len(line) for line in oracle.lines]) if oracle.lines else 0.0
        np.testing.assert_allclose(plan.depth[i], moves, rtol=1e-5)


def same(one, other):
    for mine, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_policy_gradients_are_those_written_out_by_hand():
    """Twice, the second search with what the first has learned."""
    made, options = tables(), {"learning_rate": 0.4}
    oracles = expected(made, **options)
    first = run("pgs", made, **options)
    agree(first, oracles)
    change = [oracle.policy - made.logits for oracle in oracles]
    np.testing.assert_allclose(first.memory.change["params"], change, atol=1e-4)
    assert np.abs(change[0]).max() > 0.5, "or nothing was learned"
    plain = expected(made)
    assert any(a.lines != b.lines for a, b in zip(oracles, plain, strict=True))

    policies = [oracle.policy for oracle in oracles]
    later = expected(made, seed=1, policies=policies, **options)
    agree(run("pgs", made, seed=1, memory=first.memory, **options), later)
    fresh = expected(made, seed=1, **options)
    assert any(a.lines != b.lines for a, b in zip(later, fresh, strict=True))


def test_all_rows_may_walk_at_once(monkeypatch):
    """As they do on a GPU."""
    for module in (simulate, adapt):
        monkeypatch.setattr(module, "at_a_time", lambda count, costly: count)
    # A rate of its own: a program made for it before would be used again.
    made, options = tables(), {"learning_rate": 0.37}
    agree(run("pgs", made, **options), expected(made, **options))


@pytest.mark.parametrize("name", ["mcs", "pgs", "pgs_unfrozen"])
def test_what_new_memory_holds_is_never_read(name, monkeypatch):
    """NaN in every slot that nobody has written, on the way of tables and of a network."""

    def rubbish(shape, dtype):
        if jnp.issubdtype(dtype, jnp.floating):
            return jnp.full(shape, jnp.nan, dtype)
        return jnp.full(shape, 1 if dtype == jnp.bool_ else 10**8, dtype)

    made, game = tables(), games.make("tic_tac_toe")
    net = Rules(game, NET)
    variables = net.init(jax.random.key(2))
    # Two moves before the end most simulations find no new state, and leave their place empty.
    near, found = shown(game, (0, 1, 2, 4, 3, 5, 7)), []
    for seed in (21, 22):  # one that a program was made for before would be used again
        rate = {} if name == "mcs" else {"learning_rate": 0.3}
        plan = run(name, made, seed=4, max_depth=seed, **rate)
        search = planner(name, simulations=40, leaves=16, max_depth=seed, **QUIET | rate)
        found.append((plan, search(jax.random.key(5), net, variables, near)))
        monkeypatch.setattr(simulate.jax.lax, "empty", rubbish)
    assert max(plan.depth.max() for plan in found[0]) < 20
    same(*found)


def test_states_need_not_be_the_same_again():
    """Then nothing is remembered but the sequences, and the same comes out."""
    made, options = tables(), {"learning_rate": 0.4, "baseline": True}
    agree(run("pgs", made, repeats=False, **options), expected(made, **options))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"truncate": "growing", "horizon": 6}, marks=slow),
        {"truncate": "probability", "threshold": 0.02},
        pytest.param({"remember": 20}, marks=slow),
        pytest.param({"truncate": "fixed", "horizon": 3}, marks=slow),
        pytest.param({"remember": 0}, marks=slow),
        pytest.param({"distinct": False}, marks=slow),
        pytest.param({"max_depth": 3}, marks=slow),
    ],
)
def test_where_simulations_end(options):
    made = tables()
    oracles = expected(made, **{"depth" if k == "max_depth" else k: x for k, x in options.items()})
    agree(run("mcs", made, **options), oracles)
    plain = expected(made)
    assert any(a.lines != b.lines for a, b in zip(oracles, plain, strict=True))


@slow
@pytest.mark.parametrize("options", [{}, {"distinct": False}, {"remember": 7}, {"max_depth": 2}])
def test_what_is_remembered_is_what_would_be_found_again(options):
    for made in (tables(), tables("two-player"), tables("single-player")):
        same(run("mcs", made, **options), run("mcs", made, repeats=False, **options))


@pytest.mark.parametrize(
    ("name", "repeats"),
    [
        ("pgs", True),
        pytest.param("pgs", False, marks=slow),
        pytest.param("pgs_unfrozen", True, marks=slow),
    ],
)
def test_without_a_learning_rate_it_is_monte_carlo_search(name, repeats):
    made = tables("two-player")
    plain = run("mcs", made, seed=4, repeats=repeats)
    plan = run(name, made, seed=4, repeats=repeats, learning_rate=0.0)
    assert not any(x.any() for x in jax.tree.leaves(plan.memory.change))
    same(replace(plan, memory=()), plain)


@slow
@pytest.mark.parametrize("repeats", [True, False])
def test_all_of_a_table_is_its_head(repeats):
    """Where nothing but the head has a gradient, adapting everything is adapting the head."""
    made = tables()
    plan = run("pgs_unfrozen", made, learning_rate=0.4, repeats=repeats)
    agree(plan, expected(made, learning_rate=0.4))


@pytest.mark.parametrize("value", [-0.9, 0.0, 0.9])
def test_a_simulation_under_way_counts_as_lost_whatever_the_root_is_worth(value):
    search = planner("mcs", simulations=8, leaves=8, **QUIET)
    plan = search(jax.random.key(0), models.Flat(), None, jnp.asarray([value]))
    np.testing.assert_array_equal(plan.stats.visits, np.ones((1, 8)))


@pytest.mark.parametrize("name", ["lbfgs", "polyak_sgd", "chain", "nobody"])
def test_an_optimiser_that_needs_more_than_a_gradient_is_refused(name):
    with pytest.raises(ValueError, match=rf"optimiser must .*'{name}'"):
        planner("pgs", simulations=8, optimiser=name)


def test_numbers_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="learning_rate must be at least 0 and finite, got inf"):
        planner("pgs", simulations=8, learning_rate=float("inf"))
    for name in ("mcs", "alphazero"):
        with pytest.raises(
            ValueError, match="c_puct must be a finite number of at least 0, got -1"
        ):
            planner(name, simulations=8, c_puct=-1.0)


def test_any_optimiser_of_optax():
    made = tables()
    named = run("pgs", made, optimiser="adam", learning_rate=0.1)
    same(named, run("pgs", made, optimiser=optax.adam(0.1)))
    change = np.abs(named.memory.change["params"])
    # Adam's steps are as long as the rate, whatever the gradient.
    assert 0.1 <= change.max() <= 0.1 * np.ceil(N / K) * 1.01


# -- networks and games ------------------------------------------------------

NET = NetConfig(kind="mlp", planes=12, head_width=8, blocks=1)
TILES = NetConfig(planes=4, blocks=1, head_width=4)


def shown(game, moves=()):
    state = game.init(jax.random.key(0))
    for move in moves:
        state = games.play(game, state, move)
    return jax.tree.map(lambda x: jnp.asarray(x)[None], timestep(game, state))


def simulations_of(model, variables, seen, key, count):
    """The actions of the first batch of simulations, and what each returned from every move on."""
    slices = Anytime(planner("mcs", simulations=count, leaves=count, **QUIET), model, count)
    going = slices.begin(key, variables, seen, budget=count)
    going = slices.go_on(variables, going, 0, 1)
    look, store = jax.device_get((slices.look(going), going.store))
    found = []
    for node in range(1, count + 1):
        line, gains, value, at = [], [], store.value[0, node], node
        while at:
            value = store.reward[0, at] + store.discount[0, at] * value
            line.insert(0, int(look.action[0, at]))
            gains.insert(0, float(value))
            at = look.parent[0, at]
        found.append((line, gains))
    return found


def written_out(model, variables, seen, found):
    """Σ G_i log π(a_i | s_i) over all moves but the first, as a function of the variables."""
    total = 0.0
    for line, gains in found:
        node, _ = model.root(variables, jax.random.key(0), seen)
        for i in range(1, len(line)):
            action = jnp.array([line[i - 1]])
            node, _, said = model.step(variables, jax.random.key(0), node, action)
            legal = said.legal if said.legal is not None else jnp.ones_like(said.logits, bool)
            logs = jax.nn.log_softmax(jnp.where(legal, said.logits, -jnp.inf))
            total += gains[i] * logs[0, line[i]]
    return total


@slow
@pytest.mark.parametrize("kind", ["rules", "learned"])
def test_the_gradient_of_a_network(kind):
    game = games.make("tic_tac_toe")
    net = replace(NET, kind="tower", norm="batch") if kind == "rules" else NET
    model = Rules(game, net) if kind == "rules" else Learned(Spec.of_game(game), net)
    variables, seen = model.init(jax.random.key(1)), shown(game, (4, 0, 8))
    count = 24
    found = simulations_of(model, variables, seen, jax.random.key(7), count)
    assert max(len(line) for line, _ in found) > 2
    slope = jax.jit(jax.grad(lambda v: written_out(model, v, seen, found)))(variables)["params"]
    flat = {
        "params/" + "/".join(str(k.key) for k in path): np.asarray(x)
        for path, x in jax.tree_util.tree_flatten_with_path(slope)[0]
    }
    for name in ("pgs", "pgs_unfrozen"):
        search = planner(name, simulations=count, leaves=count, learning_rate=1.0, **QUIET)
        plan = search(jax.random.key(7), model, variables, seen)
        change = {key: np.asarray(x[0]) for key, x in plan.memory.change.items()}
        assert not any("norm" in key or "stats" in key for key in change)
        for key, x in change.items():
            whole = key if name == "pgs_unfrozen" else key.replace("params/", "params/policy/")
            np.testing.assert_allclose(x, flat[whole], atol=2e-5, err_msg=key)
        assert max(np.abs(x).max() for x in change.values()) > 1e-3
    # A few of its numbers by finite differences.
    f = jax.jit(lambda v: written_out(model, v, seen, found))
    kernel = variables["params"]["policy"]["Dense_0"]["kernel"]
    for spot in [(0, 0), (3, 5)]:
        sides = []
        for step in (1e-2, -1e-2):
            moved = jax.tree.map(lambda x: x, variables)
            moved["params"]["policy"]["Dense_0"]["kernel"] = kernel.at[spot].add(step)
            sides.append(float(f(moved)))
        slope = (sides[0] - sides[1]) / 2e-2
        assert slope == pytest.approx(float(flat["params/policy/Dense_0/kernel"][spot]), abs=1e-3)


@pytest.mark.parametrize("early", [False, True])
def test_batch_norm_is_not_adapted(early):
    """Neither its statistics nor its offsets, wherever in a block it is."""
    net = NetConfig(planes=4, blocks=1, norm="batch", preactivation=early)
    model = Rules(games.make("hex", size=3), net)
    variables = model.init(jax.random.key(0))
    change = planner("pgs_unfrozen", simulations=2).begin(model, variables, 1).change
    assert not [name for name in change if "norm" in name.lower() or "stats" in name]
    kept = {name.rpartition("/")[2] for name in change}
    assert {"kernel", "bias"} <= kept


def test_the_policy_turns_to_the_winning_move():
    """After the root's only move the other side may win at once, or lose whatever it does."""
    won, made, other = 3, jax.tree.map(np.copy, tables()), 50
    made.logits[other] = 0.0
    made.legal[STATE], made.legal[other] = False, True
    made.following[STATE], made.following[other] = other, np.arange(51, 51 + A)
    made.discount[STATE], made.discount[other] = -1.0, 0.0
    made.reward[STATE], made.reward[other] = 0.0, np.where(np.arange(A) == won, 1.0, -1.0)
    plan = run("pgs", made, learning_rate=0.4)
    for game in (0, 2, 4):
        policy = jax.nn.softmax(plan.memory.change["params"][game, other])
        assert policy[won] > 0.9
        # Random replies give the root 0.8 - 0.2 on average, the best one -1.
        assert plan.value[game] < 0.0


@slow
def test_a_game_of_chance_and_one_player():
    game = games.make("2048")
    model = Rules(game, TILES)
    seen = jax.tree.map(lambda x: jnp.repeat(x, 2, axis=0), shown(game))
    search = planner("pgs", simulations=12, leaves=6, normalise="tree", learning_rate=1e-3)
    assert not search.cached(model, seen.state)
    plan = search(jax.random.key(3), model, model.init(jax.random.key(1)), seen)
    np.testing.assert_array_equal(plan.stats.visits.sum(-1), 12)
    assert not plan.stats.visits[~np.asarray(seen.legal)].any()
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(plan.memory))
    # The same moves lead to other tiles: two games draw their own.
    assert not np.array_equal(plan.stats.q[0], plan.stats.q[1])


@slow
@pytest.mark.parametrize("name", ["pgs", "pgs_unfrozen"])
def test_a_network_without_a_learning_rate(name):
    game = games.make("hex", size=3)
    for model in (Rules(game, TILES), Learned(Spec.of_game(game), TILES)):
        variables = model.init(jax.random.key(2))
        plans = [
            planner(who, simulations=60, leaves=16, **options)(
                jax.random.key(5), model, variables, shown(game)
            )
            for who, options in (("mcs", {}), (name, {"learning_rate": 0.0}))
        ]
        np.testing.assert_array_equal(plans[0].stats.visits, plans[1].stats.visits)
        np.testing.assert_allclose(plans[0].stats.q, plans[1].stats.q, atol=1e-6)


def test_who_has_no_policy_head_is_told():
    game = games.make("tic_tac_toe")
    search = planner("pgs", simulations=4)
    with pytest.raises(TypeError, match=r"head_of.*Rollouts has none.*mcs"):
        search(jax.random.key(0), Rollouts(game), {}, shown(game))
    with pytest.raises(ValueError, match="variables are adapted, and none were given"):
        search.begin(Rules(game, TILES), None, 3)


def test_all_options_reach_the_search():
    search = planner("pgs", simulations=100, truncate="fixed", horizon=5, max_depth=3)
    assert isinstance(search, RolloutSearch)
    assert (search.depth, search.batches, search.at_once, search.kept) == (3, 4, 32, 0)
    assert planner("mcs", simulations=5).at_once == 5
    assert planner("mcs", simulations=500).depth == 64
    assert planner("mcs", simulations=500, remember=20).kept == 20
