"""What both kinds of model owe: to planners, to learning, and to an adapted policy head."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove import games
from halfmove.core.game import timestep
from halfmove.models import Learned, Rules, Spec
from halfmove.models.places import places, wanted
from halfmove.nets import NetConfig
from halfmove.search import names, planner


def key():
    """A key that nothing has used yet."""
    return jax.random.key(2)


NET = NetConfig(planes=4, blocks=1, head_width=4, dtype="float32")
HEX = games.make("hex", size=3)
MODELS = {"rules": Rules(HEX, NET), "learned": Learned(Spec.of_game(HEX), NET)}
every_model = pytest.mark.parametrize("kind", MODELS)


@functools.cache
def steps(game, count):
    """Positions after one move each."""

    @jax.jit
    def run(key):
        start = jax.vmap(game.init)(jax.random.split(key, count))
        after = jax.vmap(game.step, in_axes=(None, 0, 0))(key, start, jnp.arange(count))
        return jax.vmap(functools.partial(timestep, game))(after)

    return run(key())


@functools.cache
def variables(kind, seed=0):
    return MODELS[kind].init(jax.random.key(seed))


def check(count, plan, legal):
    policy, visits = np.asarray(plan.policy), np.asarray(plan.stats.visits)
    np.testing.assert_allclose(policy.sum(-1), 1, rtol=1e-5)
    assert not policy[~legal].any()
    np.testing.assert_array_equal(visits.sum(-1), count)
    assert legal[np.arange(len(legal)), np.asarray(plan.action)].all()


@every_model
def test_a_second_search_compiles_nothing(kind):
    """Equal models, made anew, are one to the compiler; parameters are only arrays."""
    model, search = MODELS[kind], planner("full_gumbel", simulations=4)
    shown = steps(HEX, 3)
    # Not `jit(search)`: JAX would share its cache with the other model's.
    compiled = jax.jit(functools.partial(search), static_argnums=1)
    plans = [compiled(key(), model, variables(kind), shown)]
    plans.append(compiled(key(), replace(model), variables(kind, 1), shown))
    assert compiled._cache_size() == 1
    for plan in plans:
        check(4, plan, np.asarray(shown.legal))
    assert not np.allclose(plans[0].stats.logits, plans[1].stats.logits)


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("game", ["tic_tac_toe", "hex"])
@pytest.mark.parametrize("name", names())
def test_every_planner_runs_on_every_model(kind, game, name):
    played = games.make(game, **({"size": 3} if game == "hex" else {}))
    model = Rules(played, NET) if kind == "rules" else Learned(Spec.of_game(played), NET)
    count = 0 if name == "prior" else 12
    shown = steps(played, 4)
    plan = planner(name, simulations=count)(key(), model, model.init(key()), shown)
    check(count, plan, np.asarray(shown.legal))


@every_model
def test_variables_are_plain_dicts_of_floats(kind):
    made = variables(kind)
    assert sorted(made) == ["params", "stats"]

    def walk(tree):
        if isinstance(tree, dict):
            assert type(tree) is dict
            for name, value in tree.items():
                assert isinstance(name, str)
                walk(value)
        else:
            assert tree.dtype == jnp.float32

    walk(made)


@every_model
def test_the_policy_head_stands_alone(kind):
    """It reads the features, and only its own parameters."""
    model, made = MODELS[kind], variables(kind)
    _, prediction = jax.jit(model.root)(made, key(), steps(HEX, 3))
    head = model.head_of(made)
    logits = jax.jit(model.policy)(head, prediction.features)
    np.testing.assert_allclose(logits, prediction.logits, rtol=1e-5, atol=1e-6)
    louder = jax.tree.map(lambda x: 2 * x, head)
    assert not np.allclose(jax.jit(model.policy)(louder, prediction.features), logits)
    rest = sum(x.size for x in jax.tree.leaves(made["params"]))
    assert 0 < sum(x.size for x in jax.tree.leaves(head["params"])) < rest


@every_model
def test_bfloat16_searches_and_unrolls(kind):
    model = replace(MODELS[kind], config=replace(NET, dtype="bfloat16"))
    made, shown = variables(kind), steps(HEX, 3)

    @jax.jit
    def both(made):
        node, prediction = model.root(made, key(), shown)
        after = model.step(made, key(), node, jnp.array([4, 5, 6]))
        action = jnp.zeros((3, 0 if kind == "rules" else 2), jnp.int32)
        return prediction, after[1:], model.unroll(made, shown.observation, action, train=True)

    prediction, (edge, below), (outputs, stats) = both(made)
    assert prediction.features.dtype == jnp.bfloat16
    for x in jax.tree.leaves((edge, below.logits, below.value, outputs, stats)):
        assert x.dtype == jnp.float32
        assert np.isfinite(np.asarray(x)).all()
    exact = jax.jit(MODELS[kind].root)(made, key(), shown)[1]
    np.testing.assert_allclose(prediction.logits, exact.logits, atol=0.02)
    plan = jax.eval_shape(
        lambda made: planner("gumbel", simulations=3)(key(), model, made, shown), made
    )
    assert plan.policy.dtype == jnp.float32


def test_places_of_shogi():
    """27 kinds of moves to 81 squares, numbered down the files from the right."""
    found = places(games.make("shogi"))
    kind, to = np.divmod(np.arange(27 * 81), 81)
    row, column = to % 9, 8 - to // 9
    np.testing.assert_array_equal(found, (9 * row + column) * 27 + kind)


@pytest.mark.slow
def test_places_of_chess():
    """73 kinds of moves from 64 squares, numbered square by square."""
    np.testing.assert_array_equal(places(games.make("chess")), np.arange(4672))


def test_a_policy_is_planes_only_where_dense_would_be_huge():
    shogi, go = games.make("shogi"), games.make("go", size=5)
    assert wanted(NET, shogi, 2187) is not None
    assert wanted(replace(NET, policy="dense"), shogi, 2187) is None
    assert wanted(NET, HEX, 9) is None
    np.testing.assert_array_equal(wanted(replace(NET, policy="planes"), HEX, 9), np.arange(9))
    with pytest.raises(ValueError, match='use policy="dense"'):
        wanted(replace(NET, policy="planes"), go, go.actions)
    shapes = jax.eval_shape(lambda: Rules(shogi, NET).init(key()))
    assert shapes["params"]["policy"]["Dense_0"]["kernel"].shape == (4, 27)
