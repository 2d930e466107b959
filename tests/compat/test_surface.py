"""The names, signatures and records of mctx, and what is said to wrong input."""

import dataclasses
import inspect
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import halfmove.compat.mctx as ours
from tests.compat import models
from tests.compat.models import theirs

FUNCTIONS = [name for name in theirs.__all__ if inspect.isfunction(getattr(theirs, name))]
RECORDS = [name for name in theirs.__all__ if dataclasses.is_dataclass(getattr(theirs, name))]


def test_the_same_names():
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    assert len(ours.__all__) == 22
    assert all(hasattr(ours, name) for name in ours.__all__)
    assert ours.__version__ == theirs.__version__
    assert len(FUNCTIONS) == 10
    assert len(RECORDS) == 7


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_signatures(name):
    def shape(package):
        parameters = inspect.signature(getattr(package, name)).parameters.values()
        return [(p.name, p.kind, getattr(p.default, "__name__", p.default)) for p in parameters]

    assert shape(ours) == shape(theirs)


@pytest.mark.parametrize("name", RECORDS)
def test_the_same_records(name):
    kinds = [getattr(package, name) for package in (theirs, ours)]
    names = [[field.name for field in dataclasses.fields(kind)] for kind in kinds]
    assert names[0] == names[1]
    values = {field: 10 + i for i, field in enumerate(names[0])}
    expected, got = (kind(**values) for kind in kinds)

    assert jax.tree.leaves(got) == jax.tree.leaves(expected)
    assert {**got} == values
    assert set(got) == set(expected)
    # mctx's tree counts its constants as fields here.
    assert got.to_tuple() == expected.to_tuple()[: len(values)]
    assert kinds[1].from_tuple(got.to_tuple()) == got
    changed = got.replace(**{names[0][0]: "new"})
    assert changed[names[0][0]] == "new"
    assert got[names[0][0]] == 10
    assert jax.tree.map(lambda x: x + 1, got) == kinds[1](**{k: v + 1 for k, v in values.items()})
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(got, names[0][0], 1)
    with pytest.raises(KeyError):
        got["nothing"]


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_made_as_a_dict_is(name):
    """From a mapping or from pairs: so dm-tree, of which chex's records are friends, maps them."""
    for kind in (getattr(theirs, name), getattr(ours, name)):
        values = {field.name: i for i, field in enumerate(dataclasses.fields(kind))}
        whole = kind(**values)
        assert {**kind(values)} == values
        assert {**kind((key, whole[key]) for key in whole)} == values
        for given, named in (((values, values), {}), ((values,), values)):
            with pytest.raises((TypeError, ValueError)):
                kind(*given, **named)


def grown(package):
    return package.gumbel_muzero_policy(
        models.params_of(models.MIXED),
        models.key_of(package, 1),
        models.root_of(package, 1, 3, 4),
        models.recurrent_of(package, 4),
        9,
    ).search_tree


def test_the_tree_and_what_it_can_tell():
    expected, got = models.both(grown)
    for name in ("ROOT_INDEX", "NO_PARENT", "UNVISITED", "num_actions", "num_simulations"):
        assert getattr(got, name) == getattr(expected, name), name
    nodes = jnp.asarray([0, 3, 7])
    np.testing.assert_allclose(got.qvalues(nodes), expected.qvalues(nodes), atol=1e-6)
    one = jax.tree.map(lambda x: x[1], got)
    np.testing.assert_allclose(one.qvalues(3), expected.qvalues(nodes)[1], atol=1e-6)
    summary = got.summary()
    assert set(summary) == {"visit_counts", "visit_probs", "value", "qvalues"}
    assert summary.visit_counts.sum(-1).tolist() == [9, 9, 9]
    with pytest.raises(ValueError, match="one index was given to a tree"):
        got.qvalues(0)
    with pytest.raises(ValueError, match="batched tree"):
        one.summary()


def test_no_simulation_gives_a_tree_with_a_root():
    out = ours.muzero_policy(
        (), jax.random.key(0), models.root_of(ours, 0, 2, 4), models.recurrent_of(ours, 4), 0
    )
    assert out.search_tree.num_simulations == 0
    np.testing.assert_allclose(out.action_weights, 0.25)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"root": {"prior_logits": jnp.zeros(4)}}, r"root.prior_logits .* \[B, A\], got \(4,\)"),
        ({"root": {"value": jnp.zeros(3)}}, r"root.value .* \(2,\), got \(3,\)"),
        ({"invalid_actions": jnp.zeros(4)}, r"invalid_actions .* \(2, 4\), got \(4,\)"),
        ({"said": {"reward": jnp.zeros((2, 1))}}, r"recurrent_fn: reward .* \(2,\), got \(2, 1\)"),
        ({"said": {"prior_logits": jnp.zeros((2, 5))}}, r"recurrent_fn: prior_logits .* \(2, 4\)"),
    ],
)
@pytest.mark.parametrize("policy", [ours.muzero_policy, ours.gumbel_muzero_policy])
def test_wrong_shapes_are_named(policy, change, message):
    base = models.recurrent_of(ours, 4)

    def recurrent_fn(*args):
        said, embedding = base(*args)
        return said.replace(**change.get("said", {})), embedding

    root = models.root_of(ours, 0, 2, 4).replace(**change.get("root", {}))
    with pytest.raises(ValueError, match=message):
        policy(
            models.params_of(models.MIXED),
            jax.random.key(0),
            root,
            recurrent_fn,
            2,
            invalid_actions=change.get("invalid_actions"),
        )


def test_neither_mctx_nor_chex_is_needed():
    program = (
        "import sys; import halfmove.compat.mctx as mctx; mctx.RootFnOutput;"
        "sys.exit(bool({'mctx', 'chex'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
