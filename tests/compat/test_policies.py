"""The policies with mctx's own transforms give mctx's trees, from the same keys."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import halfmove.compat.mctx as ours
from halfmove.compat.mctx import fast
from tests.compat import models
from tests.compat.models import MIXED, ONE_PLAYER, TWO_PLAYERS, theirs

POLICIES = ("muzero_policy", "gumbel_muzero_policy")
# games, actions, simulations
SHAPES = ((6, 7, 24), (3, 1, 5))
MORE = ((4, 30, 1), (5, 30, 11))
# A fixed choice of examples: about one random search in ten thousand has two
# scores within the 1e-7 of mctx's tie noise, and then either action is right.
few = settings(max_examples=20, derandomize=True, deadline=None)


@pytest.mark.parametrize(
    "shape", [*SHAPES, *(pytest.param(x, marks=pytest.mark.slow) for x in MORE)], ids=str
)
@pytest.mark.parametrize("policy", POLICIES)
def test_same_trees(policy, shape):
    games, actions, simulations = shape

    def run(package, seed, params, invalid, depth):
        return getattr(package, policy)(
            params,
            models.key_of(package, seed),
            models.root_of(package, seed, games, actions),
            models.recurrent_of(package, actions),
            simulations,
            invalid_actions=invalid,
            max_depth=depth,
        )

    programs = models.programs(run)

    @few
    @given(
        seed=st.integers(0, 2**31 - 1),
        discounts=st.sampled_from((TWO_PLAYERS, ONE_PLAYER, MIXED)),
        density=st.sampled_from((0.0, 0.4, 0.8)),
        depth=st.sampled_from((1, 2, 5, simulations)),
    )
    def check(seed, discounts, density, depth):
        invalid = models.mask(seed, games, actions, density)
        args = seed, models.params_of(discounts), invalid, depth
        expected, got = (program(*args) for program in programs)
        models.assert_same_output(expected, got)
        # The first row has no valid action.
        assert got.action[0] == 0
        visits = [simulations] + [0] * (actions - 1)
        assert got.search_tree.summary().visit_counts[0].tolist() == visits

    check()


def outputs(policy, shape=(4, 6, 18), seed=3, **options):
    """Both packages' outputs. A function is asked for the package's option; arrays are traced."""
    games, actions, simulations = shape
    invalid = models.mask(seed, games, actions, 0.2).astype(np.float32)
    arrays = {name: x for name, x in options.items() if isinstance(x, jax.Array)}

    def run(package, arrays):
        plain = {name: x(package) if callable(x) else x for name, x in options.items()}
        return getattr(package, policy)(
            models.params_of(MIXED),
            models.key_of(package, seed),
            models.root_of(package, seed, games, actions),
            models.recurrent_of(package, actions),
            simulations,
            invalid_actions=invalid,
            **{**plain, **arrays},
        )

    return models.both(run, arrays)


def transform(name, **keywords):
    return lambda package: functools.partial(getattr(package, name), **keywords)


TRANSFORMS = {
    "range": transform("qtransform_by_min_max", min_value=-2.0, max_value=3),
    "siblings": transform("qtransform_by_parent_and_siblings", epsilon=0.5),
    "raw value": transform("qtransform_completed_by_mix_value", use_mixed_value=False),
    "scales": transform("qtransform_completed_by_mix_value", value_scale=0.7, maxvisit_init=3),
    "as is": transform("qtransform_completed_by_mix_value", rescale_values=False),
}


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        pytest.param("muzero_policy", "range", marks=pytest.mark.slow),
        pytest.param("muzero_policy", "siblings", marks=pytest.mark.slow),
        ("muzero_policy", "scales"),
        pytest.param("gumbel_muzero_policy", "range", marks=pytest.mark.slow),
        pytest.param("gumbel_muzero_policy", "siblings", marks=pytest.mark.slow),
        ("gumbel_muzero_policy", "raw value"),
        ("gumbel_muzero_policy", "as is"),
    ],
)
def test_transforms_with_options(policy, name):
    models.assert_same_output(*outputs(policy, qtransform=TRANSFORMS[name]))


def test_a_partial_of_a_partial_is_still_known():
    inner = functools.partial(ours.qtransform_completed_by_mix_value, value_scale=9.0)
    outer = functools.partial(inner, value_scale=np.float32(0.5), epsilon=jnp.float32(1e-3))
    assert fast.advantage_of(outer) is not None
    assert fast.advantage_of(functools.partial(theirs.qtransform_by_parent_and_siblings)) is None
    assert fast.advantage_of(functools.partial(inner, value_scale=jnp.ones(6))) is None

    class Unhashable:
        __hash__ = None

        def __call__(self, tree, node_index):
            return tree.qvalues(node_index)

    assert fast.advantage_of(Unhashable()) is None
    with pytest.raises(TypeError, match="value_scal"):
        fast.advantage_of(functools.partial(inner, value_scal=1.0))


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (
            "gumbel_muzero_policy",
            {"max_num_considered_actions": 3, "gumbel_scale": jnp.float32(0.3)},
        ),
        ("gumbel_muzero_policy", {"max_num_considered_actions": 40, "gumbel_scale": 0.0}),
        ("gumbel_muzero_policy", {"max_num_considered_actions": 1, "max_depth": 2}),
        (
            "muzero_policy",
            {
                "temperature": jnp.float32(0.0),
                "dirichlet_fraction": jnp.float32(0.6),
                "dirichlet_alpha": 0.03,
                "pb_c_init": jnp.float32(2.0),
                "pb_c_base": np.float32(50.0),
            },
        ),
    ],
)
def test_options_given_as_numbers_and_as_traced_arrays(policy, options):
    models.assert_same_output(*outputs(policy, **options))


def test_a_traced_option_of_a_transform_and_a_key_of_the_old_kind():
    def run(package, scale):
        return package.gumbel_muzero_policy(
            models.params_of(TWO_PLAYERS),
            jax.random.PRNGKey(5),
            models.root_of(package, 5, 3, 6),
            models.recurrent_of(package, 6),
            20,
            qtransform=functools.partial(
                package.qtransform_completed_by_mix_value, value_scale=scale
            ),
        )

    models.assert_same_output(*models.both(run, jnp.float32(0.3)))


@pytest.mark.parametrize("policy", POLICIES)
def test_logits_of_minus_infinity_keep_their_meaning(policy):
    def run(package):
        base, known = models.recurrent_of(package, 5), models.root_of(package, 2, 3, 5)

        def recurrent_fn(params, rng_key, action, embedding):
            said, embedding = base(params, rng_key, action, embedding)
            logits = said.prior_logits.at[:, 1].set(-jnp.inf)
            logits = logits.at[:, 3].set(jnp.finfo(jnp.float32).min)
            return said.replace(prior_logits=logits), embedding

        root = known.replace(prior_logits=known.prior_logits.at[:, 2].set(-jnp.inf))
        key = models.key_of(package, 7)
        return getattr(package, policy)(models.params_of(MIXED), key, root, recurrent_fn, 30)

    models.assert_same_output(*models.both(run))


@pytest.mark.parametrize("policy", POLICIES)
def test_one_game_and_one_simulation_outside_of_jit(policy):
    # A loop of one turn is no loop to XLA, and a path of one game is overwritten unread: that
    # must not bring the compiler down.
    def run(package):
        return getattr(package, policy)(
            models.params_of(MIXED),
            models.key_of(package, 3),
            models.root_of(package, 3, 1, 2),
            models.recurrent_of(package, 2),
            1,
        )

    models.assert_same_output(*(run(package) for package in models.PACKAGES))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_search_inside_of_a_loss(policy):
    """A target that is cut off: gradients come from the rest of the loss, as with mctx."""

    def run(package, params):
        def loss(params):
            root = models.root_of(package, 3, 3, 4)
            logits = root.prior_logits * params["gain"]
            root = package.RootFnOutput(
                prior_logits=logits,
                value=root.value * params["gain"],
                embedding=root.embedding | {"scale": jnp.full(3, params["gain"])},
            )
            plain = models.recurrent_of(package, 4)

            def recurrent_fn(params, rng_key, action, embedding):
                said, following = plain(params, rng_key, action, embedding)
                return said, following | {"scale": embedding["scale"] * params["gain"]}

            key = models.key_of(package, 3)
            out = getattr(package, policy)(params, key, root, recurrent_fn, 6)
            target = jax.lax.stop_gradient(out.action_weights)
            return -jnp.sum(target * jax.nn.log_softmax(logits))

        return jax.value_and_grad(loss)(params)

    (loss, gradient), (same, found) = models.both(run, models.params_of(MIXED))
    np.testing.assert_allclose(same, loss, rtol=1e-5)
    assert gradient["gain"] != 0.0
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4), found, gradient)


def test_short_numbers_where_plain_ones_have_64_bits():
    def run(package):
        return package.gumbel_muzero_policy(
            models.params_of(MIXED),
            models.key_of(package, 3),
            models.root_of(package, 3, 3, 4),
            models.recurrent_of(package, 4),
            8,
        )

    with jax.enable_x64(True):
        models.assert_same_output(*models.both(run))


def test_a_policy_under_vmap():
    def run(package, seeds):
        def one(seed):
            return package.gumbel_muzero_policy(
                models.params_of(MIXED),
                models.key_of(package, seed),
                models.root_of(package, seed, 3, 4),
                models.recurrent_of(package, 4),
                8,
            )

        return jax.vmap(one)(seeds)

    expected, got = models.both(run, jnp.arange(3))
    np.testing.assert_array_equal(expected.action, got.action)
    models.assert_same_tree(expected.search_tree, got.search_tree)


def test_exact_ties_fall_on_every_action():
    games, actions = 3000, 5
    zeros = jnp.zeros((games, actions)), jnp.zeros(games)

    def recurrent_fn(params, rng_key, action, embedding):
        logits, zero = zeros
        said = ours.RecurrentFnOutput(reward=zero, discount=zero, prior_logits=logits, value=zero)
        return said, embedding

    def first_two(seed):
        root = ours.RootFnOutput(prior_logits=zeros[0], value=zeros[1], embedding=())
        key = jax.random.key(seed)
        out = ours.muzero_policy((), key, root, recurrent_fn, 2, dirichlet_fraction=0.0)
        return out.search_tree.action_from_parent[:, 1:]

    first, other = np.asarray(jax.jit(first_two)(11)), np.asarray(jax.jit(first_two)(12))
    assert stats.chisquare(np.bincount(first[:, 0], minlength=actions)).pvalue > 1e-3
    # The second visit goes to one of the other four, and the draws are independent.
    table = stats.contingency.crosstab(first[:, 0], first[:, 1]).count
    assert (np.diag(table) == 0).all()
    assert stats.chisquare(table[~np.eye(actions, dtype=bool)]).pvalue > 1e-3
    across = stats.contingency.crosstab(first[:, 0], other[:, 0]).count
    assert stats.chi2_contingency(across).pvalue > 1e-3


@pytest.mark.parametrize("policy", POLICIES)
def test_the_kernels_give_the_same(policy, monkeypatch):
    plain = fast.engine.search

    def in_kernels(*args, **options):
        return plain(*args, **{**options, "kind": "kernel"})

    monkeypatch.setattr(fast.engine, "search", in_kernels)
    models.assert_same_output(*outputs(policy, shape=(3, 5, 8), max_depth=3))


def test_the_reference_is_another_program():
    assert theirs.muzero_policy.__module__.startswith("mctx.")
    assert ours.muzero_policy.__module__.startswith("halfmove.")
