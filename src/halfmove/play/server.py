"""Lines in, lines out: what the protocols have in common.

Lines are read ahead by a thread, so that a search can see that another has come. All the rest
happens in the caller's own.
"""

import io
import queue
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO, Protocol

CHUNK = 2**16  # bytes that are read at once
LONGEST = 2**20  # characters of a line that anybody could mean
OVERLONG = "overlong-line"  # stands for a longer one, and is no command of any protocol

Say = Callable[[str], None]


class Stream(Protocol):
    """Where lines come from: `read` gives what there is, and nothing at the end."""

    def read(self, size: int, /) -> bytes | None: ...


class Lines:
    """The lines of a stream."""

    def __init__(self, stream: Stream) -> None:
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._ahead: list[str | None] = []  # the next one, if it was waited for; last: None
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def next(self) -> str | None:
        """The next line without its end, waited for; None when there are no more."""
        self.wait()
        return self._ahead.pop() if self._ahead != [None] else None

    def wait(self) -> None:
        """Until there is something to read: a line, or the end."""
        if not self._ahead:
            self._ahead.append(self._queue.get())

    def waiting(self) -> bool:
        """Whether there is."""
        return bool(self._ahead) or not self._queue.empty()

    def _read(self, stream: Stream) -> None:
        rest, overlong = b"", False
        try:
            while more := stream.read(CHUNK):
                *lines, rest = (rest + more).split(b"\n")
                for line in lines:
                    self._put(line, overlong)
                    overlong = False
                if len(rest) > LONGEST:
                    rest, overlong = b"", True
            if rest or overlong:
                self._put(rest, overlong)
        except (OSError, ValueError) as error:  # the pipe broke, or was closed under us
            print(f"halfmove: the input ended: {error}", file=sys.stderr)
        finally:
            self._queue.put(None)

    def _put(self, line: bytes, overlong: bool) -> None:
        # Whatever is not UTF-8 is in no protocol; it must only not stop us.
        text = line.decode("utf-8", "replace").rstrip("\r")
        self._queue.put(OVERLONG if overlong or len(line) > LONGEST else text)


def opened(given: Stream | None, said: BinaryIO | None) -> tuple[Lines, Say]:
    """The lines and the voice of these streams; without them, of the process.

    Not of Python's own buffered input: it cannot be closed while a thread reads it, and a
    program that ends must.
    """
    lines = Lines(given or io.FileIO(sys.stdin.fileno(), closefd=False))
    return lines, speaker(said or sys.stdout.buffer)


def speaker(stream: BinaryIO) -> Say:
    """Writes a text and the end of its line, at once."""

    def say(text: str) -> None:
        stream.write(text.encode("utf-8", "replace") + b"\n")
        stream.flush()

    return say
