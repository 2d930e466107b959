"""Histories on the device, and the planes that MuZero reads."""

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.envs.history import begin, planes, push


def play(steps=9, length=4, batch=3):
    """A history on the host, one on the device, and plain lists of what was shown."""
    draw = np.random.default_rng(0)

    def frame():
        return draw.integers(0, 256, (batch, 5, 6, 3), dtype=np.uint8)

    shown = frame()
    host, device = begin(shown, length), begin(jnp.asarray(shown), length)
    lists = [[(0, shown[i])] for i in range(batch)]
    yield host, device, lists
    for _ in range(steps):
        shown, action, first = frame(), draw.integers(18, size=batch), draw.random(batch) < 0.2
        host = push(host, shown, action, first)
        device = push(device, jnp.asarray(shown), action, first)
        for i, seen in enumerate(lists):
            if first[i]:
                seen.clear()
            seen.append((0 if first[i] else int(action[i]), shown[i]))
        yield host, device, lists


def expected(lists, length):
    """Planes by plain loops: black and no-op before the episode, colours of each frame in turn."""
    out = []
    for seen in lists:
        last = [(0, np.zeros((5, 6, 3)))] * length + seen
        last = last[-length:]
        colours = [frame[:, :, c] / 255 for _, frame in last for c in range(3)]
        actions = [np.full((5, 6), action / 18) for action, _ in last]
        out.append(np.stack(colours + actions, axis=-1))
    return np.stack(out)


def test_planes_are_the_last_frames_and_actions_scaled_as_the_document_says():
    encode = jax.jit(planes)
    for host, device, lists in play():
        want = expected(lists, 4)
        assert want.shape == (3, 5, 6, 16)
        np.testing.assert_allclose(encode(host), want, atol=1e-6)
        np.testing.assert_allclose(encode(device), want, atol=1e-6)


def test_a_history_on_the_device_is_that_on_the_host():
    for host, device, _ in play():
        assert isinstance(host.frames[-1], np.ndarray)
        assert isinstance(device.frames[-1], jax.Array)
        assert jax.tree.structure(host) == jax.tree.structure(device)
        assert all(map(np.array_equal, jax.tree.leaves(host), jax.tree.leaves(device)))


def test_the_document_s_setting_gives_128_planes():
    history = begin(np.zeros((2, 96, 96, 3), np.uint8), 32)
    out = jax.eval_shape(lambda h: planes(h, jnp.bfloat16), history)
    assert out.shape == (2, 96, 96, 128)
    assert out.dtype == jnp.bfloat16


def test_one_frame_is_a_history_too():
    for host, _, lists in play(length=1):
        np.testing.assert_allclose(planes(host), expected(lists, 1), atol=1e-6)
