"""Optimisers against their formulas, and updates of whole networks."""

import functools
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.games.tic_tac_toe import TicTacToe
from halfmove.learn.loss import LossConfig
from halfmove.learn.optimiser import OptimiserConfig, optimiser, rate
from halfmove.learn.targets import Targets
from halfmove.learn.update import Batch, update
from halfmove.models import Learned, Rules, Spec
from halfmove.nets import NetConfig

NET = NetConfig(planes=8, blocks=1, head_width=8, dtype="float32", norm_decay=0.9)
MODELS = {"rules": Rules(TicTacToe(), NET), "learned": Learned(Spec.of_game(TicTacToe()), NET)}
N, K = 16, {"rules": 0, "learned": 2}
ADAM = OptimiserConfig(learning_rate=5e-3, clip=5.0)


@functools.lru_cache
def compiled(kind, config=ADAM, loss=LossConfig()):  # noqa: B008
    step = functools.partial(update, MODELS[kind], optimiser(config), loss)
    return jax.jit(step, donate_argnums=(0, 1))


def begin(kind, config=ADAM):
    variables = MODELS[kind].init(jax.random.key(0))
    return variables, optimiser(config).init(variables["params"])


def batch(kind):
    """Boards that say what to answer: move where their first stone is, win if it is in a corner."""
    k = K[kind]
    place = np.arange(N) % 9
    observation = np.zeros((N, 9, 2), np.float32)
    observation[np.arange(N), place, 0] = 1
    observation[np.arange(N), (place + 3) % 9, 1] = 1
    value = np.where(np.isin(place, [0, 2, 6, 8]), 1.0, -1.0)
    signs = (-1.0) ** np.arange(k + 1)
    ones = np.ones((N, k + 1), np.float32)
    return Batch(
        observation.reshape(N, 3, 3, 2),
        Targets(
            played=np.tile(place[:, None], (1, k + 1)).astype(np.int32),
            policy=np.tile(np.eye(9, dtype=np.float32)[place][:, None], (1, k + 1, 1)),
            policy_mask=ones,
            value=(value[:, None] * signs).astype(np.float32),
            value_mask=ones,
            reward=0.5 * ones,
            reward_mask=ones * (np.arange(k + 1) > 0),
            weight=np.ones(N, np.float32),
        ),
    )


@pytest.mark.parametrize("kind", MODELS)
def test_a_network_learns_a_batch_by_heart_and_remembers_it_outside_of_training(kind):
    step, given = compiled(kind), batch(kind)
    variables, state = begin(kind)
    history = []
    for _ in range(80):
        variables, state, metrics = step(variables, state, given)
        history.append(metrics)
    history = jax.device_get(history)
    first, last = history[0], history[-1]
    assert last["loss"] < 0.1 * first["loss"]
    assert last["agreement"] == 1
    assert last["value_error"] < 0.2
    assert not any(h["skipped"] for h in history)
    assert all(h["gradient_norm"] > 0 for h in history)
    model = MODELS[kind]
    outputs, _ = jax.jit(functools.partial(model.unroll, train=False))(
        variables, given.observation, given.targets.action
    )
    chosen, wanted = np.argmax(outputs.policy, -1), np.argmax(given.targets.policy, -1)
    assert (chosen == wanted).mean() > 0.95
    value = model.value_head.decode(outputs.value)
    np.testing.assert_allclose(value, given.targets.value, atol=0.5)


@pytest.mark.parametrize("kind", ["rules"])
def test_a_loss_that_is_not_finite_changes_nothing_and_is_seen(kind):
    step, given = compiled(kind), batch(kind)
    variables, state = begin(kind)
    variables, state, _ = step(variables, state, given)
    before = jax.tree.map(np.array, (variables, state))
    for spoil in (np.nan, np.inf):
        bad = replace(given, targets=replace(given.targets, weight=np.full(N, spoil, np.float32)))
        variables, state, metrics = step(variables, state, bad)
        assert float(metrics["skipped"]) == 1
        assert not math.isfinite(float(metrics["loss"]))
        jax.tree.map(np.testing.assert_array_equal, (variables, state), before)
    variables, state, metrics = step(variables, state, given)
    assert float(metrics["skipped"]) == 0
    assert not np.array_equal(
        before[0]["params"]["policy"]["Dense_0"]["kernel"],
        variables["params"]["policy"]["Dense_0"]["kernel"],
    )


def rates(config, updates):
    return [float(rate(config)(i)) for i in updates]


def test_schedules():
    base = OptimiserConfig(learning_rate=0.1)
    assert rates(base, [0, 9999]) == pytest.approx([0.1, 0.1])
    warm = replace(base, warmup=10)
    assert rates(warm, [0, 5, 10, 100]) == pytest.approx([0, 0.05, 0.1, 0.1])
    cosine = replace(warm, schedule="cosine", updates=110, final=0.1)
    expected = [0.1 * (0.9 * (1 + math.cos(math.pi * t)) / 2 + 0.1) for t in (0, 0.25, 1, 1)]
    assert rates(cosine, [10, 35, 110, 500]) == pytest.approx(expected)
    steps = replace(warm, schedule="steps", boundaries=(20, 30), factor=0.5)
    assert rates(steps, [5, 15, 25, 40]) == pytest.approx([0.05, 0.1, 0.05, 0.025])
    # Boundaries that the warm-up passes count, each of them.
    early = replace(warm, schedule="steps", boundaries=(2, 5, 20), factor=0.5)
    assert rates(early, [11, 15, 25]) == pytest.approx([0.025, 0.025, 0.0125])


def walk(config, gradients):
    """Two numbers, a kernel and a bias, moved by given gradients."""
    params = {"kernel": jnp.float32(2.0), "bias": jnp.float32(2.0)}
    chosen = optimiser(config)
    state = chosen.init(params)
    for kernel, bias in gradients:
        given = {"kernel": jnp.float32(kernel), "bias": jnp.float32(bias)}
        changes, state = chosen.update(given, state, params)
        params = jax.tree.map(lambda p, c: p + c, params, changes)
    return float(params["kernel"]), float(params["bias"])


GRADIENTS = [(1.0, -3.0), (0.5, 4.0), (-2.0, 0.0)]


def test_momentum_by_hand():
    config = OptimiserConfig("sgd", learning_rate=0.1, momentum=0.9)
    expected = []
    for k in (0, 1):
        x, velocity = 2.0, 0.0
        for gradient in GRADIENTS:
            velocity = 0.9 * velocity + gradient[k]
            x -= 0.1 * velocity
        expected.append(x)
    assert walk(config, GRADIENTS) == pytest.approx(tuple(expected), rel=1e-5)


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_adam_by_hand(kind):
    """Kingma & Ba 2015; Loshchilov & Hutter 2019, on kernels only."""
    config = OptimiserConfig(kind, learning_rate=0.1, b1=0.8, b2=0.9, weight_decay=0.3)
    expected = []
    for k in (0, 1):
        x, m, v = 2.0, 0.0, 0.0
        for t, gradient in enumerate(GRADIENTS, 1):
            m = 0.8 * m + 0.2 * gradient[k]
            v = 0.9 * v + 0.1 * gradient[k] ** 2
            ratio = (m / (1 - 0.8**t)) / (math.sqrt(v / (1 - 0.9**t)) + 1e-8)
            x -= 0.1 * (ratio + (0.3 * x if kind == "adamw" and k == 0 else 0))
        expected.append(x)
    assert walk(config, GRADIENTS) == pytest.approx(tuple(expected), rel=1e-4)


def test_clipping_keeps_the_direction():
    config = OptimiserConfig("sgd", learning_rate=1.0, momentum=0.0, clip=2.5)
    assert walk(config, [(3.0, -4.0)]) == pytest.approx((2 - 1.5, 2 + 2.0), rel=1e-5)
    assert walk(config, [(0.3, -0.4)]) == pytest.approx((1.7, 2.4), rel=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "sdg"}, "kind must be one of sgd, adam, adamw; got 'sdg'"),
        ({"learning_rate": -1.0}, "learning_rate must be at least 0"),
        ({"learning_rate": math.inf}, "learning_rate must be at least 0"),
        ({"b1": 2.0}, "b1 must be from 0 to below 1, got 2.0"),
        ({"momentum": -4.0}, "momentum must be from 0 to below 1"),
        ({"epsilon": 0.0}, "epsilon must be above 0"),
        ({"schedule": "cosine", "warmup": 9, "updates": 9}, "updates must be more than warmup"),
        ({"schedule": "steps", "boundaries": (5, 3)}, "boundaries must rise"),
    ],
)
def test_a_wrong_config_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        OptimiserConfig(**options)


@pytest.mark.parametrize("kind", ["rules"])
def test_a_batch_without_weight_teaches_nothing(kind):
    """As before the first game has ended: batch norm remembers nothing of it, and no rate falls."""
    step, given = compiled(kind), batch(kind)
    variables, state = begin(kind)
    before = jax.tree.map(np.array, (variables, state))
    nothing = replace(given, targets=replace(given.targets, weight=np.zeros(N, np.float32)))
    variables, state, metrics = step(variables, state, nothing)
    assert float(metrics["skipped"]) == 0
    jax.tree.map(np.testing.assert_array_equal, (variables, state), before)
