"""Searches that need mctx's whole tree at every step: the user's own functions, loops, dtypes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import halfmove.compat.mctx as ours
from halfmove.compat.mctx import fast
from tests.compat import models
from tests.compat.models import MIXED, theirs


def squashed(tree, node_index):
    """Reads more than the node's own row: the raw values of its children too."""
    visits, children = tree.children_visits[node_index], tree.children_index[node_index]
    q = jnp.tanh(tree.qvalues(node_index)) + 0.1 * tree.raw_values[children]
    return jnp.where(visits > 0, q, tree.node_values[node_index]) * (2 + jnp.max(visits))


@pytest.mark.parametrize("policy", ["muzero_policy", "gumbel_muzero_policy"])
def test_a_transform_of_the_users_own(policy):
    def run(package, seed, depth):
        return getattr(package, policy)(
            models.params_of(MIXED),
            models.key_of(package, seed),
            models.root_of(package, seed, 4, 6),
            models.recurrent_of(package, 6),
            25,
            models.mask(1, 4, 6, 0.2).astype(np.int32),
            depth,
            qtransform=squashed,
        )

    programs = models.programs(run)
    for seed, depth in ((0, 25), (1, 25), (2, 3), (3, 1)):
        expected, got = (program(seed, depth) for program in programs)
        models.assert_same_output(expected, got)


def searched(choices, *, extra=lambda games: None, simulations=30, **options):
    """Trees of both packages' `search`; choices(package) gives the selection functions."""
    games, actions = 4, 5

    def run(package):
        choose_root, choose = choices(package)
        return package.search(
            models.params_of(MIXED),
            models.key_of(package, 8),
            root=models.root_of(package, 8, games, actions),
            recurrent_fn=models.recurrent_of(package, actions),
            root_action_selection_fn=choose_root,
            interior_action_selection_fn=choose,
            num_simulations=simulations,
            extra_data=extra(games),
            **options,
        )

    return models.both(run)


def test_selection_functions_of_the_users_own():
    def choose_root(rng_key, tree, node_index):
        assert tree.node_visits.ndim == 1
        assert node_index.shape == ()
        scores = jax.random.uniform(rng_key, (tree.num_actions,)) + tree.extra_data["bonus"]
        return jnp.argmax(scores / (1 + tree.children_visits[node_index]))

    def choose(rng_key, tree, node_index, depth):
        sharp = (1.0 + depth) * tree.children_prior_logits[node_index]
        drawn = jax.random.categorical(rng_key, sharp)
        # Something of the whole tree: the least visited of all actions every third node.
        least = jnp.argmin(jnp.sum(tree.children_visits, axis=0))
        return jnp.where(node_index % 3 == 0, least, drawn)

    def extra(games):
        return {"bonus": jnp.linspace(0.0, 2.0, games * 5).reshape(games, 5)}

    trees = searched(lambda package: (choose_root, choose), extra=extra)
    models.assert_same_tree(*trees)
    assert trees[1].num_simulations == 30
    assert trees[1].num_actions == 5


def test_the_packages_own_selection_functions_in_search():
    def choices(package):
        root = functools.partial(
            package.gumbel_muzero_root_action_selection,
            num_simulations=30,
            max_num_considered_actions=4,
        )
        below = functools.partial(package.muzero_action_selection, pb_c_init=2.0)
        return root, below

    def extra(games):
        gumbel = jax.random.gumbel(jax.random.key(1), (games, 5))
        return ours.GumbelMuZeroExtraData(root_gumbel=gumbel)

    invalid = models.mask(2, 4, 5, 0.0)
    models.assert_same_tree(*searched(choices, extra=extra, invalid_actions=invalid, max_depth=4))


@pytest.mark.parametrize(
    ("policy", "dtype"),
    [("muzero_policy", jnp.bfloat16), ("gumbel_muzero_policy", jnp.float16)],
)
# f16 cannot hold the floor of the scores; mctx shows the same warning.
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_short_numbers_stay_short(policy, dtype):
    def run(package):
        return getattr(package, policy)(
            models.params_of(MIXED),
            models.key_of(package, 4),
            models.root_of(package, 4, 4, 5, dtype),
            models.recurrent_of(package, 5, dtype),
            20,
            models.mask(1, 4, 5, 0.2),
        )

    expected, got = models.both(run)
    assert got.search_tree.node_values.dtype == dtype
    models.assert_same_output(expected, got)


def test_short_numbers_from_the_model_alone():
    def run(package):
        return package.gumbel_muzero_policy(
            models.params_of(MIXED),
            models.key_of(package, 4),
            models.root_of(package, 4, 4, 5),
            models.recurrent_of(package, 5, jnp.bfloat16),
            20,
        )

    models.assert_same_output(*models.both(run))


def loops(kind, seen):
    def step_by_step(lower, upper, body, state):
        for turn in range(lower, upper):
            state = body(turn, state)
            seen.append(state[1])
        return state

    return {
        "python": step_by_step,
        "unrolled": functools.partial(jax.lax.fori_loop, unroll=2),
    }[kind]


@pytest.mark.parametrize("kind", ["python", pytest.param("unrolled", marks=pytest.mark.slow)])
def test_a_loop_of_the_users_own(kind):
    seen = []

    def run(package):
        return package.gumbel_muzero_policy(
            models.params_of(MIXED),
            models.key_of(package, 6),
            models.root_of(package, 6, 3, 4),
            models.recurrent_of(package, 4),
            3,
            loop_fn=loops(kind, seen),
        )

    models.assert_same_output(*models.both(run))
    if kind == "python":
        kinds = [type(tree) for tree in seen]
        assert kinds == [theirs.Tree] * 3 + [ours.Tree] * 3


def stochastic_of(package, actions, outcomes):
    """Afterstates and states by hash; one outcome never happens."""

    def decision_fn(params, rng_key, action, embedding):
        node = models.child(embedding, action)
        logits, value, _ = models.says(node, outcomes, jnp.float32)
        said = package.DecisionRecurrentFnOutput(
            chance_logits=logits.at[:, 1].set(-jnp.inf), afterstate_value=value
        )
        return said, (node, -node.astype(jnp.float32))

    def chance_fn(params, rng_key, outcome, embedding):
        node = models.child(embedding[0], outcome, 77)
        logits, value, reward = models.says(node, actions, jnp.float32)
        said = package.ChanceRecurrentFnOutput(
            action_logits=logits, value=value, reward=reward, discount=jnp.full_like(value, 0.97)
        )
        return said, node

    return decision_fn, chance_fn


@pytest.mark.parametrize("transform", [None, pytest.param(squashed, marks=pytest.mark.slow)])
def test_stochastic_policy(transform):
    def run(package, seed, invalid, depth):
        options = {} if transform is None else {"qtransform": transform}
        root = models.root_of(package, seed, 4, 5)
        return package.stochastic_muzero_policy(
            (),
            models.key_of(package, seed),
            root.replace(embedding=root.embedding["node"]),
            *stochastic_of(package, 5, 3),
            26,
            invalid_actions=invalid,
            max_depth=depth,
            temperature=0.5,
            **options,
        )

    programs = models.programs(run)
    for seed, depth in ((0, 26), (1, 26), (2, 3)):
        args = seed, models.mask(seed, 4, 5, 0.0), depth
        expected, got = (program(*args) for program in programs)
        models.assert_same_output(expected, got)
        assert got.action_weights.shape == (4, 5)


def test_stochastic_policy_without_a_mask_in_kernels(monkeypatch):
    plain = fast.engine.search

    def in_kernels(*args, **options):
        return plain(*args, **{**options, "kind": "kernel"})

    monkeypatch.setattr(fast.engine, "search", in_kernels)

    def run(package):
        root = models.root_of(package, 9, 3, 4)
        return package.stochastic_muzero_policy(
            (),
            models.key_of(package, 9),
            root.replace(embedding=root.embedding["node"]),
            *stochastic_of(package, 4, 3),
            12,
        )

    models.assert_same_output(*models.both(run))
