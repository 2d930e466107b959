"""Bad input: the error names the argument, what was given and what is accepted."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.types import Edge, Prediction
from halfmove.search import TreeSearch, names, planner
from halfmove.search.planners import full_gumbel, muzero
from tests.search import models

B, A = 3, 4
SEARCHING = [name for name in names() if name != "prior"]


@dataclass(frozen=True)
class Says:
    """A model that returns whatever it is given, at the root and below it."""

    def root(self, params, key, timestep):
        return params["node"], Prediction(**params["root"])

    def step(self, params, key, node, action):
        node = params.get("after", node)
        return node, Edge(**params["edge"]), Prediction(**params["below"])


@functools.cache
def small(name: str, engine: str) -> TreeSearch:
    return planner(name, simulations=2, engine=engine)


def call(name="full_gumbel", *, engine="auto", root=None, edge=None, below=None, **nodes):
    said = {"logits": jnp.zeros((B, A)), "value": jnp.zeros(B)}
    params = {
        "node": {"at": jnp.zeros(B, jnp.int32)},
        **nodes,
        "root": {**said, **(root or {})},
        "edge": {"reward": jnp.zeros(B), "discount": jnp.zeros(B), **(edge or {})},
        "below": {**said, **(below or {})},
    }
    return small(name, engine)(jax.random.key(0), Says(), params, None)


def test_the_model_of_these_tests_is_otherwise_good():
    assert call().action.shape == (B,)


@pytest.mark.parametrize("where", ["root", "below"])
@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("logits", jnp.zeros(A)),
        ("logits", jnp.zeros((B, A, 1))),
        ("value", jnp.zeros((B, 1))),
        ("value", jnp.zeros(())),
        ("value", np.float64(0.0)),
        ("value", jnp.zeros(B + 1)),
        ("legal", jnp.ones((B, A + 1), bool)),
        ("legal", jnp.ones(A, bool)),
    ],
)
def test_wrong_shapes_of_a_prediction(where, field, bad):
    with pytest.raises(ValueError, match=rf"prediction\.{field}") as error:
        call(**{where: {field: bad}})
    assert str(bad.shape) in str(error.value)


def test_below_the_root_the_actions_are_those_of_the_root():
    with pytest.raises(ValueError, match=r"prediction\.logits") as error:
        call(below={"logits": jnp.zeros((B, A + 1))})
    assert f"({B}, {A})" in str(error.value)
    assert f"({B}, {A + 1})" in str(error.value)


@pytest.mark.parametrize("field", ["reward", "discount"])
@pytest.mark.parametrize("shape", [(), (B, 1), (B + 1,)])
def test_wrong_shapes_of_an_edge(field, shape):
    with pytest.raises(ValueError, match=rf"edge\.{field}") as error:
        call(edge={field: jnp.zeros(shape)})
    assert f"({B},)" in str(error.value)
    assert str(shape) in str(error.value)


def test_a_node_needs_a_row_for_each_game():
    with pytest.raises(ValueError, match=r"model\.root: node\['at'\].*\(3, \.\.\.\).*got \(2, 5\)"):
        call(node={"at": jnp.zeros((2, 5))})


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ({"at": jnp.zeros((B, 2), jnp.int32)}, r"node\['at'\] must be int32\[3\].*int32\[3, 2\]"),
        # Kept in the root's whole numbers it would lose its digits without a word.
        ({"at": jnp.zeros(B)}, r"node\['at'\] must be int32\[3\].*float32\[3\]"),
        ({"to": jnp.zeros(B, jnp.int32)}, r"node must be built as.*'at'.*'to'"),
    ],
)
@pytest.mark.parametrize("engine", ["kernel", "xla"])
def test_a_node_after_a_move_is_of_the_roots_kind(engine, after, message):
    with pytest.raises(ValueError, match=rf"model\.step: {message}"):
        call(engine=engine, after=after)


def test_lists_and_shorter_numbers_are_numbers():
    plan = call(
        root={"value": [0.0] * B, "legal": [[True] * A] * B},
        edge={"reward": [1] * B, "discount": np.ones(B)},
        below={"value": [0.5] * B},
        node={"at": jnp.zeros(B)},
        after={"at": jnp.zeros(B, jnp.bfloat16)},
    )
    np.testing.assert_allclose(plan.value, 1.0)


@dataclass(frozen=True)
class Lists:
    """A model whose answers at the root are Python's own; every move wins."""

    def root(self, params, key, timestep):
        return jnp.zeros(B), Prediction([[0.0] * A] * B, [0] * B, [[True] * A] * B)

    def step(self, params, key, node, action):
        below = Prediction(jnp.zeros((len(node), A)), jnp.zeros_like(node))
        return node, Edge(jnp.ones_like(node), jnp.zeros_like(node)), below


@pytest.mark.parametrize("name", ["full_gumbel", "mcs"])
def test_lists_are_numbers_at_the_root_with_and_without_a_tree(name):
    plan = planner(name, simulations=4)(jax.random.key(0), Lists(), None, None)
    np.testing.assert_allclose(plan.value, 0.8, rtol=1e-6)  # four wins, and the root itself


@pytest.mark.parametrize("engine", ["kernel", "xla"])
def test_a_node_may_hold_keys_and_what_comes_of_pythons_numbers(engine):
    keys = jax.random.split(jax.random.key(1), B)
    weak = jnp.where(jnp.zeros(B, bool), 0, 1)
    assert weak.weak_type
    root = {"key": keys, "few": jnp.zeros(B, jnp.int8)}
    after = {"key": keys[::-1], "few": weak}
    with jax.debug_key_reuse(False):  # this model says the same keys every time
        plan = call(engine=engine, node=root, after=after)
    np.testing.assert_array_equal(plan.stats.visits.sum(-1), 2)
    with pytest.raises(ValueError, match=r"model\.step: node\['key'\] must be key.*uint32\[3\]"):
        call(engine=engine, node=root, after={**after, "key": jnp.zeros(B, jnp.uint32)})


def test_a_game_needs_an_action():
    with pytest.raises(ValueError, match=r"logits.*at least one action"):
        call(root={"logits": jnp.zeros((B, 0))})


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_logits_that_are_no_numbers(number):
    logits = jnp.zeros((B, A)).at[1, 2].set(number)
    with pytest.raises(ValueError, match=r"prediction\.logits.*game 1 of 3.*finite"):
        call(root={"logits": logits})


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number(number):
    with pytest.raises(ValueError, match=r"prediction\.value.*game 2 of 3.*finite"):
        call(root={"value": jnp.zeros(B).at[2].set(number)})


@pytest.mark.parametrize("name", ["full_gumbel", "muzero"])
@pytest.mark.parametrize("said", ["value", "reward"])
def test_what_is_no_number_below_the_root(name, said):
    bad = jnp.zeros(B).at[1].set(jnp.nan)
    below = {"below": {"value": bad}} if said == "value" else {"edge": {"reward": bad}}
    with pytest.raises(ValueError, match=rf"{said}.*below the root of game 1 of 3.*finite"):
        call(name, **below)


@pytest.mark.parametrize("engine", ["kernel", "xla", "interpreter"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_logits_that_are_no_numbers_below_the_root(engine, number):
    logits = jnp.zeros((B, A)).at[1, 2].set(number)
    edge = {"discount": jnp.ones(B)}
    with pytest.raises(ValueError, match=r"prediction\.logits.*below the root of game 1 of 3"):
        call(below={"logits": logits}, edge=edge, engine=engine)
    plan = call(below={"logits": logits, "legal": jnp.isfinite(logits)}, edge=edge, engine=engine)
    assert np.isfinite(plan.policy).all()


@pytest.mark.parametrize("engine", ["kernel", "xla"])
def test_where_a_game_is_over_its_policy_is_nobodys_business(engine):
    nothing = jax.nn.log_softmax(jnp.full((B, A), -jnp.inf))  # NaN
    edge = {"reward": jnp.arange(B, dtype=jnp.float32), "discount": jnp.zeros(B)}
    plan = call(below={"logits": nothing}, edge=edge, engine=engine)
    # Two simulations and the root's own 0.
    np.testing.assert_allclose(plan.value, np.arange(B) * 2 / 3, rtol=1e-6)


def test_a_bad_logit_at_an_illegal_action_is_nobodys_business():
    logits = jnp.zeros((B, A)).at[1, 2].set(jnp.nan)
    plan = call(root={"logits": logits, "legal": jnp.ones((B, A), bool).at[1, 2].set(False)})
    assert np.isfinite(plan.policy).all()


@pytest.mark.parametrize("name", ["full_gumbel", "muzero"])
def test_no_game_with_a_legal_action(name):
    with pytest.raises(ValueError, match=r"prediction\.legal.*no game.*at least one"):
        call(name, root={"legal": jnp.zeros((B, A), bool)})


@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize("n", [0, -3, 8.0, 2.5, True, "8", None])
def test_simulations_must_be_a_whole_number_of_at_least_one(name, n):
    with pytest.raises(ValueError, match=r"simulations.*at least 1") as error:
        planner(name, simulations=n)
    assert repr(n) in str(error.value)


@pytest.mark.parametrize("name", SEARCHING)
def test_simulations_must_be_given(name):
    with pytest.raises(ValueError, match=f"{name}.*simulations"):
        planner(name)


def test_numpys_whole_numbers_are_whole_numbers():
    assert full_gumbel(np.int64(8)).simulations == 8
    assert muzero(np.int32(8)).simulations == 8


def test_the_prior_does_not_search():
    with pytest.raises(ValueError, match=r"simulations must be 0, got 5"):
        planner("prior", simulations=5)
    with pytest.raises(ValueError, match=r"simulations must be 0, got None"):
        planner("prior", simulations=None)


def test_a_name_is_a_word():
    with pytest.raises(ValueError, match=r"unknown planner None; known: alphazero"):
        planner(None, simulations=2)


def test_an_unknown_planner():
    with pytest.raises(ValueError, match=r"'ful_gumbel'.*did you mean 'full_gumbel'") as error:
        planner("ful_gumbel", simulations=2)
    assert all(name in str(error.value) for name in names())


@pytest.mark.parametrize("name", SEARCHING)
def test_a_misspelt_option(name):
    with pytest.raises(ValueError, match=r"'max_dept'.*did you mean 'max_depth'") as error:
        planner(name, simulations=2, max_dept=3)
    assert "normalise" in str(error.value)
    assert "leaves" in str(error.value)


def test_an_option_of_another_planner():
    with pytest.raises(ValueError, match="'full_gumbel' has no option 'dirichlet_alpha'"):
        planner("full_gumbel", simulations=2, dirichlet_alpha=0.3)


@pytest.mark.parametrize(
    ("name", "option", "bad", "accepted"),
    [
        ("full_gumbel", "normalise", "global", "'tree', 'siblings'"),
        ("muzero", "normalise", (1.0, 2.0, 3.0), "'tree', 'siblings'"),
        ("alphazero", "normalise", (1.0, -1.0), "low < high"),
        ("full_gumbel", "completion", "zero", "'mixed' or 'raw'"),
        ("trpo", "completion", "zero", "'mixed' or 'raw'"),
        ("mpo", "completion", "zero", "'mixed' or 'raw'"),
        ("gumbel", "engine", "cuda", "'xla'"),
        ("gumbel", "considered", 0, "at least 1"),
        ("gumbel_replacement", "considered", 2.5, "at least 1"),
        ("muzero", "leaves", 0, "at least 1"),
        ("muzero", "leaves", 1.5, "at least 1"),
        ("muzero", "max_depth", 0, "at least 1"),
        ("muzero", "dirichlet_fraction", 1.5, "between 0 and 1"),
        ("muzero", "dirichlet_alpha", 0.0, "above 0"),
        ("muzero", "dirichlet_alpha", float("nan"), "above 0"),
        ("muzero", "dirichlet_fraction", "some", "finite number"),
        ("muzero", "temperature", -1.0, "at least 0"),
        ("mpo", "temperature", float("nan"), "at least 0"),
        ("mcs", "temperature", "hot", "at least 0"),
        ("muzero", "c_base", 0.0, "above 0"),
        ("gumbel", "c_init", float("nan"), "at least 0"),
        ("trpo", "c_puct", "5", "at least 0"),
        ("mcs", "c_puct", -1.0, "at least 0"),
        ("full_gumbel", "c_visit", float("inf"), "at least 0"),
        ("gumbel_stochastic", "c_scale", "1", "at least 0"),
        ("gumbel_replacement", "gumbel_scale", -1.0, "at least 0"),
        ("alphazero", "normalise", (float("-inf"), float("inf")), "finite"),
        ("alphazero", "normalise", ("a", "b"), "a pair (low, high)"),
        ("muzero", "normalise", (None, 1.0), "a pair (low, high)"),
        ("gumbel", "normalise", np.array([0.0, 1.0]), "'tree', 'siblings'"),
        ("mpo", "act", "no", "True or False"),
        ("trpo", "search", None, "True or False"),
        ("trpo", "learn", 0.5, "True or False"),
        ("muzero", "tree", "yes", "True or False"),
        ("mcs", "truncate", "late", "'new', 'fixed', 'growing', 'probability'"),
        ("mcs", "horizon", 0, "at least 1"),
        ("mcs", "threshold", 0.0, "above 0"),
        ("mcs", "remember", -1, "at least 0"),
        ("mcs", "leaves", 0, "at least 1"),
        ("mcs", "max_depth", 0, "at least 1"),
        ("mcs", "engine", "kernel", "'auto' or 'xla'"),
        ("pgs", "learning_rate", -0.1, "at least 0"),
        ("pgs", "learning_rate", float("nan"), "at least 0"),
        ("pgs", "optimiser", "sdg", "sgd, adam"),
        ("pgs_unfrozen", "optimiser", 3, "Optax"),
    ],
)
def test_bad_options(name, option, bad, accepted):
    with pytest.raises(ValueError, match=option) as error:
        planner(name, simulations=4, **{option: bad})
    assert accepted in str(error.value)
    given = [repr(bad), str(bad), *map(str, bad if isinstance(bad, tuple) else [])]
    assert any(text in str(error.value) for text in given)


def test_there_is_no_tree_to_keep():
    with pytest.raises(ValueError, match="tree must be False"):
        planner("mcs", simulations=4, tree=True)


def test_a_model_that_cannot_be_hashed():
    class Unhashable(models.Bandit):
        __hash__ = None

    with pytest.raises(TypeError, match=r"model must be hashable.*Unhashable"):
        planner("muzero", simulations=2)(
            jax.random.key(0), Unhashable(), models.arms(np.zeros((1, 2)), np.zeros((1, 2))), None
        )
