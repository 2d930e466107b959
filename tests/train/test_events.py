"""Event files, read by TensorBoard's own readers."""

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import crc32c, masked_crc32c

from halfmove.train import events
from halfmove.train.events import Events


def test_checksum_is_crc32c() -> None:
    assert events._crc32c(b"123456789") == 0xE3069283  # the check value of RFC 3720
    data = np.random.default_rng(0).bytes(300)
    assert events._crc32c(data) == crc32c(data)
    assert events._masked(data) == struct.pack("<I", masked_crc32c(data))


def test_tensorboard_reads_the_scalars(tmp_path: Path) -> None:
    values = {"loss/total": 0.25, "gr\u00f6\u00dfe": -3.5, "big": 1e300}
    file = Events(tmp_path)
    file.write(0, values)
    file.write(300, {"loss/total": math.nan})
    file.write(2**40, {"loss/total": math.inf})
    file.close()
    raw = [event_pb2.Event.FromString(x) for x in RawEventFileLoader(str(file.path)).Load()]
    assert raw[0].file_version == "brain.Event:2"
    assert [event.step for event in raw[1:]] == [0, 300, 2**40]
    assert all(event.wall_time > 1.6e9 for event in raw)
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    assert sorted(found.Tags()["scalars"]) == sorted(values)
    loss = [event.value for event in found.Scalars("loss/total")]
    assert loss[0] == 0.25
    assert math.isnan(loss[1])
    assert loss[2] == math.inf
    assert found.Scalars("gr\u00f6\u00dfe")[0].value == -3.5
    assert found.Scalars("big")[0].value == math.inf


@pytest.mark.parametrize("torn", [0, 1, 30])
def test_a_run_that_goes_on_shows_every_step_once(tmp_path: Path, torn: int) -> None:
    for first, last, slope in ((None, 9, 1.0), (6, 8, 10.0), (4, 12, 100.0), (0, 3, 0.5)):
        file = Events(tmp_path, first=first)
        for step in range(first or 0, last + 1):
            file.write(step, {"a": step * slope})
        file.close()
        if torn:
            file.path.write_bytes(file.path.read_bytes()[:-torn])
    assert len(list(tmp_path.iterdir())) == 4
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    shown = {event.step: event.value for event in found.Scalars("a")}
    expected = {step: step * 0.5 for step in range(4)}
    if torn:
        del expected[3]
    assert shown == expected
    assert len(found.Scalars("a")) == len(shown)
