"""Safetensors files, written and read in one pass with their SHA-256.

The format: the header's length (u64, little-endian), a JSON header of names, types,
shapes and offsets, then the bytes of all tensors without a gap. Written here, not by
the library, because its writer needs every tensor in memory at once and a second pass
for the checksum, and its reader has no bfloat16 for numpy.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, np.dtype] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "I64": np.dtype(np.int64),
    "U64": np.dtype(np.uint64),
    "I32": np.dtype(np.int32),
    "U32": np.dtype(np.uint32),
    "I16": np.dtype(np.int16),
    "U16": np.dtype(np.uint16),
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}
_CHUNK = 1 << 24


class DamagedError(Exception):
    """A file is not what was written; the text says how it differs."""


@dataclass(frozen=True)
class Tensor:
    """An array to be written: its form now, its bytes when their turn comes."""

    dtype: np.dtype
    shape: tuple[int, ...]
    fetch: Callable[[], np.ndarray]

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Seal:
    """What a file must be when it is read again."""

    bytes: int
    sha256: str


def supported(dtype: np.dtype) -> bool:
    """Whether a safetensors file can hold the type."""
    return dtype in _CODES


def write(path: Path, tensors: Mapping[str, Tensor]) -> Seal:
    """Writes a new safetensors file and syncs it. Fetches one tensor at a time."""
    # Wide types first, as the library does it: every tensor is then aligned in the file.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {}
    end = 0
    for name in order:
        tensor = tensors[name]
        start, end = end, end + tensor.nbytes
        header[name] = {
            "dtype": _CODES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    with open(path, "xb", buffering=0) as file:

        def put(data: memoryview) -> None:
            digest.update(data)
            while data:
                data = data[file.write(data) :]

        put(memoryview(len(text).to_bytes(8, "little") + text))
        for name in order:
            array = np.ascontiguousarray(tensors[name].fetch())
            raw = array.reshape(-1).view(np.uint8).data
            for i in range(0, len(raw), _CHUNK):
                put(raw[i : i + _CHUNK])
        os.fsync(file.fileno())
    return Seal(8 + len(text) + end, digest.hexdigest())


def read(path: Path, seal: Seal) -> dict[str, np.ndarray]:
    """All tensors of a file by name; `DamagedError` unless every byte is as sealed."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise DamagedError(f"{path.name} is missing") from None
    if size != seal.bytes:
        raise DamagedError(f"{path.name} has {size} bytes, not {seal.bytes}")
    digest = hashlib.sha256()
    tensors: dict[str, np.ndarray] = {}
    with open(path, "rb", buffering=0) as file:

        def take(count: int) -> np.ndarray:
            data = np.empty(count, np.uint8)
            view = data.data
            while view:
                part = view[:_CHUNK]
                got = file.readinto(part)
                if not got:
                    raise DamagedError(f"{path.name} ends too early")
                digest.update(part[:got])
                view = view[got:]
            return data

        # A damaged length could ask for any amount of memory: the checksum alone comes too late.
        length = int.from_bytes(take(8).tobytes(), "little")
        if length > size - 8:
            raise DamagedError(f"{path.name} has a damaged header")
        try:
            header = json.loads(take(length).tobytes())
            spans = sorted((e["data_offsets"], name) for name, e in header.items())
            for (start, end), name in spans:
                dtype, shape = DTYPES[header[name]["dtype"]], header[name]["shape"]
                if end - start > size:
                    raise ValueError(name)
                tensors[name] = take(end - start).view(dtype).reshape(shape)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DamagedError(f"{path.name} has a damaged header") from None
    if digest.hexdigest() != seal.sha256:
        raise DamagedError(f"{path.name} has another SHA-256 than when it was written")
    return tensors
