import json
import math
import os
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmove.train.durable import append_whole
from halfmove.train.metrics import Metrics, plain, read


def strict(text: str) -> object:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_lines_are_strict_json_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    metrics.write(1, {"loss/total": jnp.float32(0.1), "games": np.int64(2**40), "ok": True})
    metrics.write(1, {"x": jnp.asarray([1.5, -jnp.inf], jnp.bfloat16), "name": "hex", "none": None})
    metrics.write(2, {"loss/total": jnp.nan, "high": np.float32(np.inf)})
    lines = path.read_text().splitlines()  # on the disk before the file is closed
    metrics.close()
    assert [strict(line) for line in lines] == [
        {"step": 1, "loss/total": float(np.float32(0.1)), "games": 2**40, "ok": True},
        {"step": 1, "x": [1.5, "-Infinity"], "name": "hex", "none": None},
        {"step": 2, "loss/total": "NaN", "high": "Infinity"},
    ]
    first, second, third = read(path)
    assert first["loss/total"] == np.float32(0.1)
    assert second["x"] == [1.5, -math.inf]
    assert math.isnan(third["loss/total"])
    assert third["high"] == math.inf


def test_steps_do_not_go_back(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    metrics.write(5, {"a": 1})
    metrics.close()
    metrics = Metrics(path)
    with pytest.raises(ValueError, match="step 4 comes after step 5"):
        metrics.write(4, {"a": 1})
    with pytest.raises(ValueError, match="cannot be called step"):
        metrics.write(6, {"step": 1})
    metrics.close()


@given(
    steps=st.lists(st.integers(0, 9), max_size=12).map(sorted),
    back=st.integers(-1, 9),
    torn=st.sampled_from([b"", b"{", b'{"step": 1}', b"\0" * 40, b"\0\0\n", b"nonsense\n"]),
)
def test_rewound_is_as_if_stopped_there(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], back: int, torn: bytes
) -> None:
    folder = tmp_path_factory.mktemp("rewind")
    once, twice = Metrics(folder / "once"), Metrics(folder / "twice")
    for i, step in enumerate(steps):
        twice.write(step, {"i": i})
        if step <= back:
            once.write(step, {"i": i})
    twice.close()
    with open(twice.path, "ab") as file:
        file.write(torn)
    again = Metrics(twice.path)
    again.rewind(back)
    for metrics in (once, again):
        metrics.write(10, {"i": -1})
        metrics.close()
    assert again.path.read_bytes() == once.path.read_bytes()


def test_a_damaged_line_in_the_middle_costs_only_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"st\0\0\0\n{"step": 3}\n{"step": 4}\n')
    metrics = Metrics(path)
    metrics.rewind(3)
    metrics.write(4, {"a": 1})
    metrics.close()
    assert [line["step"] for line in read(path)] == [1, 3, 4]
    assert "line 2 is damaged" in caplog.text


def test_a_line_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    class Small:
        """A file with room for ten bytes more."""

        def __init__(self) -> None:
            self.file = open(tmp_path / "small", "ab", buffering=0)  # noqa: SIM115
            self.seek, self.truncate, self.room = self.file.seek, self.file.truncate, 10

        def write(self, data: memoryview) -> int:
            if not self.room:
                raise OSError(28, "No space left on device")
            taken = self.file.write(data[: self.room])
            self.room -= taken
            return taken

    small = Small()
    append_whole(small, b"1234\n")  # type: ignore[arg-type]
    with pytest.raises(OSError, match="No space"):
        append_whole(small, b"12345678\n")  # type: ignore[arg-type]
    assert os.path.getsize(tmp_path / "small") == 5
    small.file.close()


def test_plain_gives_what_json_has() -> None:
    found = plain({"a": (np.float16(1.5), [jnp.int32(2)]), 3: {"b": np.bool_(True)}})
    assert found == {"a": [1.5, [2]], "3": {"b": True}}
