"""On a GPU the policies run in the kernels: they must lower to Triton anywhere."""

import functools

import jax
import jax.numpy as jnp
import pytest

import halfmove.compat.mctx as mctx
from halfmove.core.lowering import lowered_for_gpu
from halfmove.search import engine

GAMES, ACTIONS, OUTCOMES = 3, 5, 4


def root():
    zeros = jnp.zeros((GAMES, ACTIONS))
    return mctx.RootFnOutput(prior_logits=zeros, value=zeros[:, 0], embedding=zeros[:, 0])


def step(params, key, action, node):
    node = node + 0.1 * action
    logits = jnp.sin(node[:, None] + jnp.arange(ACTIONS))
    out = mctx.RecurrentFnOutput(
        reward=node, discount=-jnp.ones_like(node), prior_logits=logits, value=node
    )
    return out, node


def afterstate(params, key, action, node):
    node = node + 0.1 * action
    logits = jnp.sin(node[:, None] + jnp.arange(OUTCOMES))
    return mctx.DecisionRecurrentFnOutput(chance_logits=logits, afterstate_value=node), node


def chance(params, key, outcome, node):
    out, node = step(params, key, outcome, node)
    answer = mctx.ChanceRecurrentFnOutput(
        action_logits=out.prior_logits, value=out.value, reward=out.reward, discount=out.discount
    )
    return answer, node


bounded = functools.partial(mctx.qtransform_by_min_max, min_value=-1.0, max_value=1.0)
raw = functools.partial(mctx.qtransform_completed_by_mix_value, use_mixed_value=False)
POLICIES = {
    "muzero": lambda key: mctx.muzero_policy((), key, root(), step, 4),
    "muzero, fixed range": lambda key: mctx.muzero_policy(
        (), key, root(), step, 4, qtransform=bounded
    ),
    "gumbel": lambda key: mctx.gumbel_muzero_policy((), key, root(), step, 4),
    "gumbel, raw value": lambda key: mctx.gumbel_muzero_policy(
        (), key, root(), step, 4, qtransform=raw
    ),
    "stochastic": lambda key: mctx.stochastic_muzero_policy((), key, root(), afterstate, chance, 4),
}


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_lowers_to_triton(name, monkeypatch):
    monkeypatch.setattr(engine.jax, "default_backend", lambda: "gpu")
    lowered = lowered_for_gpu(lambda key: POLICIES[name](key).action, jax.random.key(0))
    assert "triton" in lowered.as_text()
