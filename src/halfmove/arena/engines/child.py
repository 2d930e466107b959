"""A program that is spoken to line by line, with deadlines, and that leaves nothing behind.

There is no thread: whoever waits for a line also takes away what the program writes elsewhere,
so that it never waits for us while we wait for it. See `guard.py` for how it is ended.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from halfmove.arena.engines.fault import EngineFault

GUARD = Path(__file__).with_name("guard.py")
BLOCK = 65536
LONGEST = 1 << 20  # bytes of one line
MOST = 1 << 24  # bytes between two commands
KEPT = 2048  # bytes of the error output, for messages
SHOWN = 4  # lines of either output in a message
POLITE_S = 1.0  # from the word that ends a program to its end
LEAVING_S = 3.0  # from the end of its output to that of the program, on a busy machine
ENDING_S = 8.0  # for the guard, which needs 5.3 at most


class Child:
    """A running program. Times are those of `time.monotonic`."""

    def __init__(self, command: Sequence[str]) -> None:
        self.name = Path(command[0]).name
        self._lines: deque[str] = deque()
        self._shown: deque[str] = deque(maxlen=SHOWN)
        self._part = bytearray()
        self._errors = bytearray()
        self._read = 0
        self._last = "its start"
        self._cutting = threading.Lock()
        watched, self._life = os.pipe()
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), str(watched), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(watched,),
                start_new_session=True,  # Ctrl-C is for us alone
            )
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(watched)
        three = (self._guard.stdin, self._guard.stdout, self._guard.stderr)
        self._pipes = [pipe for pipe in three if pipe is not None]
        self._in, self._out, self._err = (pipe.fileno() for pipe in self._pipes)
        self._open = {self._out, self._err}
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    def say(self, line: str, deadline: float) -> None:
        """Sends a line; EngineFault if it cannot be sent by then.

        What the program has said before it is forgotten: it was not asked.
        """
        self._pump(0.0)
        self._lines.clear()
        self._last, self._read = repr(line), 0
        self.interject(line, deadline)

    def interject(self, line: str, deadline: float) -> None:
        """Sends a line that is no question of its own: the answer to the last one still counts."""
        data = line.encode() + b"\n"
        while data:
            try:
                data = data[os.write(self._in, data) :]
            except BlockingIOError:
                if not self._pump(deadline, writing=True):
                    raise self._late() from None
            except BrokenPipeError:
                raise self._ended() from None

    def line(self, deadline: float) -> str:
        """The next line; EngineFault if there is none by then."""
        while not self._lines:
            if self._full:
                raise self.fault("rubbish", f"wrote {self._read} bytes without an answer")
            if self._out not in self._open:
                raise self._ended()
            if not self._pump(deadline) and not self._lines:
                raise self._late()
        return self._lines.popleft()

    def fault(self, reason: str, what: str) -> EngineFault:
        """Says that the program did `what`, after which command, and its last lines."""
        said = [line[:200] for line in self._shown if line]
        if self._part:
            said.append(repr(bytes(self._part[:100])))
        errors = self._errors.decode(errors="replace").splitlines()
        wrote = [line[:200] for line in errors if line.strip()][-SHOWN:]
        words = "".join(
            f"; its {name}: {' / '.join(lines)}"
            for name, lines in (("last lines", said), ("error output", wrote))
            if lines
        )
        return EngineFault(reason, f"{self.name} {what} at {self._last}{words}")

    def close(self, goodbye: str = "") -> None:
        """Ends the program: by its own word for it if one is given, by force if it stays."""
        if not self._pipes:
            return
        if goodbye:
            until = time.monotonic() + POLITE_S
            with contextlib.suppress(EngineFault):
                self.say(goodbye, until)
                while self._open and self._pump(until):
                    self._forget()  # it may have to write before it can read
        self.cut()
        try:
            self._guard.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self._guard.kill()  # and the program with it: the system sees to that
        self._guard.wait()
        for pipe in self._pipes:
            pipe.close()
        self._pipes.clear()
        self._open.clear()

    def cut(self) -> None:
        """Has the program ended at once. Safe from another thread, whose wait then fails."""
        with self._cutting:
            if self._life >= 0:
                os.close(self._life)
                self._life = -1

    @property
    def _full(self) -> bool:
        return len(self._part) > LONGEST or self._read > MOST

    def _forget(self) -> None:
        self._lines.clear()
        self._part.clear()
        self._read = 0

    def _pump(self, deadline: float, writing: bool = False) -> bool:
        """Takes in what there is, waiting for it until the deadline; False once that is past."""
        poll = select.poll()
        for end in self._open:
            if end == self._err or not self._full:
                poll.register(end, select.POLLIN)
        if writing:
            poll.register(self._in, select.POLLOUT)
        left = deadline - time.monotonic()
        # Up to the next millisecond, or the last of them would be spent in turns of 0.
        ready = poll.poll(max(0, int(left * 1000) + 1))
        for end, _ in ready:
            if end in self._open:
                self._take(end)
        return left > 0 and bool(ready)

    def _take(self, end: int) -> None:
        try:
            block = os.read(end, BLOCK)
        except BlockingIOError:
            return
        if not block:
            self._open.discard(end)
        elif end == self._err:
            self._errors += block
            del self._errors[:-KEPT]
        else:
            self._read += len(block)
            self._part += block
            *whole, rest = self._part.split(b"\n")
            self._part = bytearray(rest)
            for line in whole:
                text = line.decode(errors="replace").strip()
                self._lines.append(text)
                self._shown.append(text)

    def _late(self) -> EngineFault:
        return self.fault("hang", "gave no answer in time")

    def _ended(self) -> EngineFault:
        """How the program ended, its error output read to the end."""
        until = time.monotonic() + LEAVING_S
        while self._err in self._open and self._pump(until):
            pass
        try:
            status = self._guard.wait(max(0.05, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return self.fault("crash", "closed its output")
        if status > 128:
            try:
                how = f"was ended by {signal.Signals(status - 128).name}"
            except ValueError:
                how = f"ended with status {status}"
        else:
            how = f"ended with status {status}"
        return self.fault("crash", how)
