"""Small programs in the style of mctx's users, run with either package."""

import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pytest

PACKAGES = ("mctx", "halfmove.compat.mctx")


def improvement(mctx, key, games=64, actions=30):
    """Policy improvement on random bandits: (action, weights, noise, gain of both)."""
    logits_key, q_key, search_key = jax.random.split(key, 3)
    prior_logits = jax.random.normal(logits_key, [games, actions])
    qvalues = jax.random.uniform(q_key, prior_logits.shape)
    value = jnp.sum(jax.nn.softmax(prior_logits) * qvalues, axis=-1)
    lines = jnp.arange(games)

    def recurrent_fn(params, rng_key, action, embedding):
        # Only the first move of a line earns anything.
        reward = jnp.where(embedding == 0, qvalues[lines, action], 0.0)
        said = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.ones_like(reward),
            prior_logits=jnp.zeros_like(qvalues),
            value=jnp.zeros_like(reward),
        )
        return said, embedding + 1

    out = mctx.gumbel_muzero_policy(
        params=(),
        rng_key=search_key,
        root=mctx.RootFnOutput(
            prior_logits=prior_logits, value=value, embedding=jnp.zeros([games])
        ),
        recurrent_fn=recurrent_fn,
        num_simulations=4,
        max_num_considered_actions=16,
        qtransform=functools.partial(mctx.qtransform_completed_by_mix_value, use_mixed_value=False),
    )
    gumbel = out.search_tree.extra_data.root_gumbel
    without = qvalues[lines, jnp.argmax(gumbel + prior_logits, axis=-1)]
    acting = qvalues[lines, out.action] - without
    learning = jnp.sum(out.action_weights * qvalues, axis=-1) - value
    return out.action, out.action_weights, gumbel, acting, learning


def test_policy_improvement_on_bandits():
    key = jax.random.PRNGKey(42)
    expected, got = (jax.jit(functools.partial(improvement, m))(key) for m in map(module, PACKAGES))
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_allclose(b, a, atol=1e-6)
    assert got[3].min() >= 0.0
    assert got[4].min() >= -1e-6
    assert got[3].mean() > 0.1


def module(name):
    return importlib.import_module(name)


def edges(mctx):
    """The tree of a search in a maze, one line an edge, as a drawing program would read it."""
    # Five rooms; a door that leads nowhere ends the walk.
    doors = jnp.asarray([[1, 2, 0], [3, 0, 0], [0, 4, 0], [0, 0, 0], [0, 0, 0]])
    gold = jnp.asarray([[0.0, 1, 0], [0, 2, 0], [0, 0, 0], [5, 0, 0], [0, 9, 1]])
    games = 2

    def recurrent_fn(params, rng_key, action, room):
        following = doors[room, action]
        said = mctx.RecurrentFnOutput(
            reward=gold[room, action],
            discount=jnp.where(following > 0, 1.0, 0.0),
            prior_logits=jnp.zeros([games, 3]),
            value=jnp.full([games], 4.0),
        )
        return said, following

    root = mctx.RootFnOutput(
        prior_logits=jnp.zeros([games, 3]),
        value=jnp.full([games], 4.0),
        embedding=jnp.zeros([games], jnp.int32),
    )
    key = jax.random.PRNGKey(1)
    run = functools.partial(mctx.gumbel_muzero_policy, (), key, root, recurrent_fn, 24)
    out = jax.jit(functools.partial(run, max_depth=4))()
    tree: mctx.Tree = out.search_tree
    lines = [f"action {out.action[1]}"]
    for node in range(tree.num_simulations):
        q = tree.qvalues(jnp.full([games], node))
        for action in range(tree.num_actions):
            child = tree.children_index[1, node, action]
            if child >= 0:
                lines.append(
                    f"{node} -{action}-> {child} q {q[1, action]:.3f} "
                    f"r {tree.children_rewards[1, node, action]:.1f} "
                    f"d {tree.children_discounts[1, node, action]:.1f} "
                    f"v {tree.node_values[1, child]:.3f} n {tree.node_visits[1, child]}"
                )
    return lines


def test_drawing_a_tree():
    expected, got = (edges(module(name)) for name in PACKAGES)
    assert got == expected
    assert len(got) > 8


def self_play(mctx, env, key, games=6, moves=4, simulations=12):
    """AlphaZero's self-play with a random linear network: what every move would teach."""
    init_key, net_key, play_key = jax.random.split(key, 3)
    state = jax.vmap(env.init)(jax.random.split(init_key, games))
    width = state.observation.reshape(games, -1).shape[1]
    params = jax.random.normal(net_key, (width, env.num_actions + 1)) / jnp.sqrt(width)

    def network(params, observation):
        out = observation.reshape(games, -1).astype(jnp.float32) @ params
        return out[:, :-1], jnp.tanh(out[:, -1])

    def recurrent_fn(params, rng_key, action, state):
        player = state.current_player
        state = jax.vmap(env.step)(state, action)
        logits, value = network(params, state.observation)
        logits = logits - jnp.max(logits, axis=-1, keepdims=True)
        logits = jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
        over = state.terminated
        said = mctx.RecurrentFnOutput(
            reward=state.rewards[jnp.arange(games), player],
            discount=jnp.where(over, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(over, 0.0, value),
        )
        return said, state

    def move(state, key):
        logits, value = network(params, state.observation)
        out = mctx.gumbel_muzero_policy(
            params=params,
            rng_key=key,
            root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
            recurrent_fn=recurrent_fn,
            num_simulations=simulations,
            invalid_actions=~state.legal_action_mask,
            qtransform=mctx.qtransform_completed_by_mix_value,
            gumbel_scale=1.0,
        )
        summary = out.search_tree.summary()
        state = jax.vmap(env.step)(state, out.action)
        return state, (out.action, out.action_weights, summary.qvalues, summary.visit_counts)

    return jax.lax.scan(move, state, jax.random.split(play_key, moves))[1]


@pytest.mark.parametrize(("name", "moves"), [("tic_tac_toe", 7), ("connect_four", 4)])
def test_self_play(name, moves):
    env = pgx.make(name)
    key = jax.random.PRNGKey(3)
    expected, got = (
        jax.jit(functools.partial(self_play, module(m), env, moves=moves))(key) for m in PACKAGES
    )
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_allclose(b, a, atol=1e-5)
