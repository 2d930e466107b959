"""TensorBoard event files: scalars only, so that TensorBoard is not needed to write them.

A file is a row of TFRecords: length (u64), its masked CRC-32C, the bytes of an `Event`,
their masked CRC-32C. The messages are protobuf, of which three kinds of field are used:
varint (0), 64 bits (1), length and bytes (2), 32 bits (5).
"""

import math
import re
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from halfmove.train.durable import append_whole

_START = 1  # SessionLog.START
_FILE = re.compile(r"events\.out\.tfevents\.(\d+)\..*")


class Events:
    """A new event file in a folder; with `first`, TensorBoard drops earlier points from there on.

    So a run that goes on from step n - 1 begins a file with `first=n`, and its curves
    have every step once.
    """

    def __init__(self, folder: Path, *, first: int | None = None) -> None:
        # TensorBoard reads files in the order of their names.
        stamps = [int(m[1]) for each in folder.iterdir() if (m := _FILE.fullmatch(each.name))]
        stamp = max([int(time.time()), *(each + 1 for each in stamps)])
        self.path = folder / f"events.out.tfevents.{stamp:010d}.{socket.gethostname()}"
        self._file = open(self.path, "xb", buffering=0)  # noqa: SIM115
        self._write(_bytes(3, b"brain.Event:2"))
        if first is not None:
            self._write(_varint(2, first) + _bytes(7, _varint(1, _START)))

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Appends one event with all the scalars of a step."""
        scalars = (
            _bytes(1, _bytes(1, tag.encode()) + b"\x15" + _float(value))
            for tag, value in values.items()
        )
        self._write(_varint(2, step) + _bytes(5, b"".join(scalars)))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, fields: bytes) -> None:
        event = b"\x09" + struct.pack("<d", time.time()) + fields
        length = struct.pack("<Q", len(event))
        append_whole(self._file, length + _masked(length) + event + _masked(event))


def _float(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # finite, but not in 32 bits
        return struct.pack("<f", math.copysign(math.inf, value))


def _varint(field: int, value: int) -> bytes:
    encoded = bytearray([field << 3])
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _bytes(field: int, value: bytes) -> bytes:
    length = _varint(0, len(value))[1:]
    return bytes([field << 3 | 2]) + length + value


def _masked(data: bytes) -> bytes:
    """The checksum of TFRecord: CRC-32C, rotated right by 15 bits, plus a constant."""
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _row(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)  # Castagnoli's polynomial, reflected
    return byte


_TABLE = [_row(byte) for byte in range(256)]
