"""Files that are whole or not there, whatever happens while they are written."""

import io
import os
from pathlib import Path


class RunError(RuntimeError):
    """What keeps a run from going on, said to the person who started it."""


def write_whole(path: Path, data: bytes) -> None:
    """Puts `data` at `path` in one move: a reader sees the old file or the new one.

    On the disk when it returns. OSError leaves what was there before as it was.
    """
    temporary = path.with_name(f".tmp-{path.name}-{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder survive a power cut."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_whole(file: io.FileIO, data: bytes) -> None:
    """Appends all of `data` to an unbuffered file, or nothing and raises OSError."""
    start = file.seek(0, os.SEEK_END)
    rest = memoryview(data)
    try:
        while rest:
            # A full disk first takes a part, and only then refuses.
            rest = rest[file.write(rest) :]
    except OSError:
        file.truncate(start)
        raise
