"""Checkpoints: every kind of leaf comes back, and whatever breaks is said and costs one at most."""

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import safetensors

from halfmove.core.types import Edge
from halfmove.train import checkpoint
from halfmove.train.checkpoint import Keep, Writer, numbers, restore, save
from halfmove.train.durable import RunError


def everything() -> dict[str, Any]:
    """A tree with every kind of leaf that a run has."""
    params = {"tower": {"kernel": jnp.arange(6.0).reshape(2, 3)}, "bias": jnp.zeros(3)}
    return {
        "variables": {"params": params, "stats": {}},
        "optimiser": optax.adamw(1e-3).init(params),
        "rest": (
            jax.random.key(7),
            jax.random.split(jax.random.key(8, impl="rbg"), 3),
            jnp.asarray([1.5, -2.0, 1e30], jnp.bfloat16),
            jnp.asarray([[True], [False]]),
            jnp.asarray([-128, 127], jnp.int8),
            jnp.asarray(2**32 - 1, jnp.uint32),
            jnp.zeros((0, 4), jnp.float16),
            Edge(jnp.asarray([jnp.nan, jnp.inf, -0.0]), jnp.ones(3)),
            np.arange(3, dtype=np.int64),
            [None, 12, 0.1, True],
            jnp.full((2,), 3.0),  # weakly typed
        ),
    }


def zeros(tree: Any) -> Any:
    def zero(x: Any) -> Any:
        if isinstance(x, bool | int | float):
            return type(x)(0)
        if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            other = jnp.zeros_like(jax.random.key_data(x))
            return jax.random.wrap_key_data(other, impl=jax.random.key_impl(x))
        return x & False if x.dtype == bool else x * 0

    return jax.tree.map(zero, tree)


def raw(x: Any) -> tuple[Any, ...]:
    """All there is to know of a leaf, bit by bit."""
    weak = getattr(x, "weak_type", None)
    if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return str(x.dtype), x.shape, np.asarray(jax.random.key_data(x)).tobytes()
    kind = "jax" if isinstance(x, jax.Array) else type(x).__name__
    array = np.asarray(x)
    return kind, weak, str(array.dtype), array.shape, array.tobytes()


def small(number: int) -> dict[str, Any]:
    return {
        "variables": {"w": np.full(50, number, np.float32)},
        "replay": np.arange(1000, dtype=np.int32) * number,
    }


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0x10
    file.write_bytes(data)


@pytest.mark.parametrize("background", [False, True])
def test_every_leaf_comes_back(tmp_path: Path, background: bool) -> None:
    tree, meta = everything(), {"game": {"name": "hex", "size": 5}, "note": "é"}
    expected = jax.tree.map(raw, tree)
    if background:
        writer = Writer(tmp_path)
        writer.save(3, tree, meta)
        writer.close()
    else:
        save(tmp_path, 3, tree, meta)
    found = restore(tmp_path, zeros(tree), expect={"game": {"size": 5}})
    assert found is not None
    assert found.number == 3
    assert found.meta == meta
    assert jax.tree.structure(found.tree) == jax.tree.structure(tree)
    assert jax.tree.map(raw, found.tree) == expected
    assert [p.name for p in tmp_path.iterdir()] == ["00000003"]


def test_the_library_reads_the_files(tmp_path: Path) -> None:
    tree = everything()
    save(tmp_path, 3, {"variables": tree["variables"], "rest": tree["rest"][4:8]})
    with safetensors.safe_open(tmp_path / "00000003/variables.safetensors", "np") as file:
        assert sorted(file.keys()) == ["params/bias", "params/tower/kernel"]
        kernel = file.get_tensor("params/tower/kernel")
    np.testing.assert_array_equal(kernel, np.arange(6.0, dtype=np.float32).reshape(2, 3))
    data = (tmp_path / "00000003/rest.safetensors").read_bytes()
    forms = {name: (x["dtype"], x["shape"]) for name, x in safetensors.deserialize(data)}
    assert forms == {
        "0": ("I8", [2]),
        "1": ("U32", []),
        "2": ("F16", [0, 4]),
        "3/reward": ("F32", [3]),
        "3/discount": ("F32", [3]),
    }


def test_arrays_go_back_to_their_devices(tmp_path: Path) -> None:
    free, device = jnp.arange(4.0), jax.devices()[0]
    bound = jax.device_put(jnp.arange(4.0), device)
    save(tmp_path, 1, {"free": free, "bound": bound})
    forms = {"free": jax.eval_shape(lambda: free), "bound": bound}
    found = restore(tmp_path, forms)
    assert found is not None
    assert not found.tree["free"].committed
    assert found.tree["bound"].committed
    assert found.tree["bound"].sharding == bound.sharding


def test_an_array_given_away_after_saving_is_saved_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next update overwrites donated arrays while the thread still writes them."""
    begin, write = threading.Event(), checkpoint._write

    def late(*arguments: Any) -> None:
        assert begin.wait(30)
        write(*arguments)

    monkeypatch.setattr(checkpoint, "_write", late)
    update = jax.jit(lambda x: x.at[...].add(1.0), donate_argnums=0)
    host, store = np.arange(5000.0), jnp.arange(5000.0)
    writer = Writer(tmp_path)
    writer.save(1, {"store": store, "host": host})
    jax.block_until_ready(update(store))
    assert store.is_deleted(), "saving kept the array from being donated"
    host += 1.0
    begin.set()
    writer.close()
    found = restore(tmp_path, {"store": jnp.zeros(5000), "host": np.zeros(5000)})
    assert found is not None
    np.testing.assert_array_equal(found.tree["store"], np.arange(5000.0, dtype=np.float32))
    np.testing.assert_array_equal(found.tree["host"], np.arange(5000.0))


def test_some_parts_alone(tmp_path: Path) -> None:
    save(tmp_path, 4, small(4))
    (tmp_path / "00000004/replay.safetensors").write_bytes(b"broken, but not asked for")
    found = restore(tmp_path, {"variables": small(0)["variables"]})
    assert found is not None
    np.testing.assert_array_equal(found.tree["variables"]["w"], 4)


def test_what_is_kept(tmp_path: Path) -> None:
    keep = Keep(last=2, every=4, parts=("variables",))
    for number in range(1, 12):
        save(tmp_path, number, small(number), keep=keep)
    assert numbers(tmp_path) == [4, 8, 10, 11]
    files = {n: sorted(p.stem for p in (tmp_path / f"{n:08}").iterdir()) for n in (8, 10)}
    assert files[8] == ["checkpoint", "variables"]
    assert files[10] == ["checkpoint", "replay", "variables"]
    past = restore(tmp_path, {"variables": small(0)["variables"]}, number=8)
    assert past is not None
    np.testing.assert_array_equal(past.tree["variables"]["w"], 8)
    assert restore(tmp_path, small(0), number=9) is None
    with pytest.raises(RunError, match=r"no whole checkpoint .*00000008 .replay.*missing"):
        restore(tmp_path, small(0), number=8)
    assert checkpoint.meta(tmp_path, 8) == {}
    with pytest.raises(RunError, match=r"00000009 cannot be read: .*missing"):
        checkpoint.meta(tmp_path, 9)


def test_a_number_saved_again_replaces_the_first(tmp_path: Path) -> None:
    for meta in ({"try": 1}, {"try": 2}):
        save(tmp_path, 5, small(5), meta)
    found = restore(tmp_path, small(0))
    assert found is not None
    assert found.meta == {"try": 2}
    assert [p.name for p in tmp_path.iterdir()] == ["00000005"]
    # As a kill between the two renames leaves it:
    (tmp_path / "00000005").rename(tmp_path / "00000005.old")
    assert restore(tmp_path, small(0)) is not None
    save(tmp_path, 6, small(6), keep=Keep(last=1))
    assert [p.name for p in tmp_path.iterdir()] == ["00000006"]


DAMAGES = {
    "truncated": ("replay.safetensors", lambda f: os.truncate(f, f.stat().st_size - 1)),
    "longer": ("replay.safetensors", lambda f: f.write_bytes(f.read_bytes() + b"\0")),
    "emptied": ("replay.safetensors", lambda f: f.write_bytes(b"")),
    "gone": ("replay.safetensors", lambda f: f.unlink()),
    "length": ("replay.safetensors", lambda f: flip(f, 6)),
    "header": ("replay.safetensors", lambda f: flip(f, 20)),
    "last byte": ("replay.safetensors", lambda f: flip(f, -1)),
    "json truncated": ("checkpoint.json", lambda f: os.truncate(f, 100)),
    "json emptied": ("checkpoint.json", lambda f: f.write_bytes(b"")),
    "json zeros": ("checkpoint.json", lambda f: f.write_bytes(bytes(300))),
    "json not an object": ("checkpoint.json", lambda f: f.write_bytes(b"[1]")),
    "json changed": (
        "checkpoint.json",
        lambda f: f.write_text(f.read_text().replace('"size": 5', '"size": 6')),
    ),
    "json gone": ("checkpoint.json", lambda f: f.unlink()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_is_named_and_the_one_before_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    for number in (1, 2):
        save(tmp_path, number, small(number), {"size": 5})
    name, break_it = DAMAGES[damage]
    break_it(tmp_path / "00000002" / name)
    with caplog.at_level(logging.WARNING):
        found = restore(tmp_path, small(0))
    assert found is not None
    assert found.number == 1
    np.testing.assert_array_equal(found.tree["replay"], np.arange(1000))
    assert "00000002 is damaged and not used" in caplog.text
    assert name in caplog.text


def test_any_flipped_byte_is_noticed(tmp_path: Path) -> None:
    save(tmp_path, 1, {"a": np.arange(4, dtype=np.int16)}, {"note": "x"})
    noticed = 0
    for file in sorted((tmp_path / "00000001").iterdir()):
        whole = file.read_bytes()
        for at in range(0, len(whole), 3):
            flip(file, at)
            try:
                found = restore(tmp_path, {"a": np.zeros(4, np.int16)})
            except RunError as error:
                assert "no whole checkpoint" in str(error)  # noqa: PT017
                noticed += 1
            else:  # between two values of the JSON one blank is as good as another
                assert file.name == "checkpoint.json"
                assert chr(whole[at]).isspace()
                assert found is not None
                np.testing.assert_array_equal(found.tree["a"], np.arange(4))
            file.write_bytes(whole)
    assert noticed > 100
    assert restore(tmp_path, {"a": np.zeros(4, np.int16)}) is not None


def test_all_damaged_is_an_error_and_none_is_none(tmp_path: Path) -> None:
    assert restore(tmp_path / "nowhere", small(0)) is None
    assert restore(tmp_path, small(0)) is None
    for number in (1, 2):
        save(tmp_path, number, small(number))
        os.truncate(tmp_path / f"{number:08}/replay.safetensors", 10)
    with pytest.raises(RunError, match=r"no whole checkpoint in .*00000002 .*; 00000001"):
        restore(tmp_path, small(0))


@pytest.mark.parametrize(
    ("like", "message"),
    [
        ({"variables": {"w": np.zeros(51, np.float32)}}, r"w: float32\[50\] in the.*float32\[51\]"),
        ({"variables": {"w": np.zeros(50, np.int32)}}, r"w: float32\[50\] in .*int32\[50\] now"),
        ({"variables": {"v": np.zeros(50)}}, r"variables/w: only in(.|\n)*/v: not in the checkp"),
        ({"variables": {}, "optimiser": {}}, r"optimiser: not in the checkpoint, which has rep"),
    ],
)
def test_another_tree_is_refused(tmp_path: Path, like: dict[str, Any], message: str) -> None:
    save(tmp_path, 1, small(1))
    with pytest.raises(RunError, match=message):
        restore(tmp_path, like)


def test_another_game_is_refused(tmp_path: Path) -> None:
    save(tmp_path, 1, small(1), {"game": {"name": "hex", "size": 5}, "network": "tower"})
    with pytest.raises(RunError) as error:
        restore(tmp_path, small(0), expect={"game": {"name": "hex", "size": 7}, "network": "mlp"})
    assert "game.size: 5 in the checkpoint, 7 now" in str(error.value)
    assert "network: 'tower' in the checkpoint, 'mlp' now" in str(error.value)
    assert "name" not in str(error.value).split("kind:")[1]


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(checkpoint, "FORMAT", 2)
        later.setattr(checkpoint, "version", lambda: "9.1")
        save(tmp_path, 1, small(1))
    with pytest.raises(RunError, match=r"has format 2, written by halfmove 9\.1; this is halfmove"):
        restore(tmp_path, small(0))


def test_another_version_of_the_same_format_is_mentioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(checkpoint, "version", lambda: "0.0.1")
        save(tmp_path, 1, small(1))
    assert restore(tmp_path, small(0)) is not None
    assert "00000001 was written by halfmove 0.0.1" in caplog.text


@pytest.mark.parametrize(
    ("tree", "meta", "error"),
    [
        ({"a": {"b/c": np.zeros(1), "b": {"c": np.zeros(1)}}}, {}, "both called 'b/c'"),
        ({"../up": np.zeros(1)}, {}, "'../up'"),
        ({"a": np.asarray(["text"])}, {}, "cannot be stored"),
        ({"a": np.zeros(1)}, {"x": float("nan")}, "not JSON compliant"),
    ],
)
def test_what_cannot_be_saved(
    tmp_path: Path, tree: dict[str, Any], meta: dict[str, Any], error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        save(tmp_path, 1, tree, meta)
    assert list(tmp_path.iterdir()) == []


def test_json_says_what_is_inside(tmp_path: Path) -> None:
    save(tmp_path, 7, small(7), {"updates": 12})
    content = json.loads((tmp_path / "00000007/checkpoint.json").read_text())
    assert content["number"] == 7
    assert content["meta"] == {"updates": 12}
    assert content["parts"]["replay"]["leaves"] == {"value": {"dtype": "int32", "shape": [1000]}}


def test_meta_may_be_added_to_and_the_rest_stays(tmp_path):
    tree = {"variables": {"w": jnp.arange(3.0)}}
    checkpoint.save(tmp_path, 5, tree, {"expect": {"game": "hex"}, "updates": 7})
    checkpoint.annotate(tmp_path, 5, {"tuned": {"pgs": ["learning_rate=0.01"]}})
    checkpoint.annotate(tmp_path, 5, {"updates": 8})
    found = checkpoint.restore(tmp_path, tree, expect={"expect": {"game": "hex"}})
    assert found.meta["tuned"] == {"pgs": ["learning_rate=0.01"]}
    assert found.meta["updates"] == 8
    np.testing.assert_array_equal(found.tree["variables"]["w"], [0, 1, 2])
    assert sorted(p.name for p in (tmp_path / "00000005").iterdir()) == [
        "checkpoint.json",
        "variables.safetensors",
    ]
    with pytest.raises(RunError, match="00000006 cannot be changed"):
        checkpoint.annotate(tmp_path, 6, {})
