"""Go in a Pallas program: interpreted, lowered and, on a GPU, compiled, against plain XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.lowering import lowered_for_gpu
from halfmove.games import go_kernel, go_state, make
from tests.games import go_playouts

KEY = jax.random.key(0)


def differences(game, games, length, interpret):
    """Steps in which the engines differ; one action in five is any, legal or not."""

    def move(state, key):
        any_, pick, wild = jax.random.split(key, 3)
        logits = go_playouts.weights(game, state, -6.0, sensible=False)
        wild = jax.random.randint(wild, (), -1, game.actions + 1)
        legal = jax.random.categorical(pick, logits)
        action = jnp.where(jax.random.bernoulli(any_, 0.2), wild, legal)
        plain = go_state.step(game.rules, state, action)
        kernel = go_kernel.step(game.rules, state, action, interpret=interpret)
        same = jax.tree.map(lambda a, b: jnp.all(a == b), plain, kernel)
        return plain, ~jnp.all(jnp.stack(jax.tree.leaves(same)))

    @jax.jit
    def run(key):
        states = jax.tree.map(lambda x: jnp.stack([x] * games), game.init(KEY))
        turn = lambda states, key: jax.vmap(move)(states, jax.random.split(key, games))  # noqa: E731
        return jax.lax.scan(turn, states, jax.random.split(key, length))

    final, differ = run(jax.random.key(11))
    assert (final.known.moves > length // 4).all()
    return int(differ.sum())


@pytest.mark.parametrize("options", [
    {"size": 5, "games": 30, "length": 64},
    {"size": 5, "games": 30, "length": 64, "suicide": True},
    {"size": 9, "games": 6, "length": 200},
    pytest.param({"size": 19, "games": 1, "length": 300, "history": 2}, marks=pytest.mark.slow),
], ids=str)  # fmt: skip
def test_both_engines_give_the_same(options):
    games, length = options["games"], options["length"]
    game = make("go", **{k: v for k, v in options.items() if k not in ("games", "length")})
    assert differences(game, games, length, interpret=True) == 0


@pytest.mark.gpu
@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize("size", [5, 9, 13, 19])
def test_the_compiled_kernel_gives_the_same(size, suicide):
    game = make("go", size=size, suicide=suicide)
    assert differences(game, 256, 3 * size * size, interpret=False) == 0


@pytest.mark.parametrize("options", [
    {"size": 2}, {"size": 9}, {"size": 13, "suicide": True}, {"size": 19}
], ids=str)  # fmt: skip
def test_a_batched_step_lowers_to_one_triton_program(options):
    game = make("go", **options)
    states = jax.eval_shape(jax.vmap(game.init), jax.random.split(jax.random.key(0), 4))
    step = jax.vmap(lambda s, a: go_kernel.step(game.rules, s, a))
    actions = jax.ShapeDtypeStruct((4,), jnp.int32)
    text = lowered_for_gpu(step, states, actions).as_text()
    assert text.count("__gpu$xla.gpu.triton") == 1


def test_the_engine_can_be_chosen():
    states = []
    for engine in ("xla", "kernel", "auto"):
        game = make("go", size=2, engine=engine)
        states.append(jax.jit(game.step)(KEY, game.init(KEY), jnp.int32(1)))
    for state in states[1:]:
        jax.tree.map(np.testing.assert_array_equal, states[0], state)


@pytest.mark.parametrize("engine", ["xla", "kernel"])
def test_a_game_is_the_same_where_plain_numbers_have_64_bits(engine):
    game = make("go", size=9, handicap=2, engine=engine)

    def played():
        state = game.parse_position(game.position(game.init(KEY)))
        for action in (0, 12, 3, 81):
            state = jax.jit(game.step)(KEY, state, action)
        return state, game.score(state), game.ownership(state)

    plain = played()
    with jax.enable_x64(True):
        wide = played()
    jax.tree.map(np.testing.assert_array_equal, plain, wide)
    assert [x.dtype for x in jax.tree.leaves(plain)] == [x.dtype for x in jax.tree.leaves(wide)]


def test_a_batched_step_lowers_where_plain_numbers_have_64_bits():
    game = make("go", size=9)
    with jax.enable_x64(True):
        states = jax.eval_shape(jax.vmap(game.init), jax.random.split(jax.random.key(0), 4))
        step = jax.vmap(lambda s, a: go_kernel.step(game.rules, s, a))
        actions = jax.ShapeDtypeStruct((4,), jnp.int32)
        text = lowered_for_gpu(step, states, actions).as_text()
    assert text.count("__gpu$xla.gpu.triton") == 1
