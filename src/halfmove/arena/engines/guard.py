"""Runs one program and leaves nothing of it behind, however its master ends.

This file is run as a script between the two: `python guard.py LIFE PROGRAM ARGUMENTS...`. The
program has this process's input and outputs; LIFE is the reading end of a pipe whose other end
only the master holds. When that is closed, by hand or because the master was killed, or when the
program ends, every process that came of it is ended. The status is the program's own, 128 + n
after signal n.

It imports nothing of this package. A signal set to come at the parent's death (PR_SET_PDEATHSIG)
would not do in the master: it comes when the THREAD that started the program ends.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
POLITE_S = 0.3  # between asking to end and ending
PATIENCE_S = 5.0  # for processes that cannot be ended, being in the kernel


def main(life: int, command: list[str]) -> int:
    """Runs the command; gives its status."""
    os.set_inheritable(life, False)
    # Those whose parent has ended become children of this process, not of init.
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    master = os.getpid()
    child = os.fork()
    if child == 0:
        _become(command, master)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)
    nothing = os.open(os.devnull, os.O_RDWR)
    for end in range(3):
        os.dup2(nothing, end)  # its pipes close when the program closes them
    status = _watch(life, woken, child)
    if status is None:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGTERM)
        status = _reap(child, POLITE_S)
    _end_all(child)
    return 128 + signal.SIGKILL if status is None else status


def _become(command: list[str], master: int) -> None:
    """The program instead of this process; never returns."""
    try:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == master:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it
            os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _watch(life: int, woken: int, child: int) -> int | None:
    """The status of the child when it has ended; None when the master has let go."""
    poll = select.poll()
    for end in (life, woken):
        poll.register(end, select.POLLIN)
    while True:
        ready = [end for end, _ in poll.poll()]
        with contextlib.suppress(BlockingIOError):
            os.read(woken, 4096)
        status = _reap(child, 0.0)
        if status is not None or life in ready:
            return status


def _reap(child: int, seconds: float) -> int | None:
    """The status of the child if it ends by then; others that ended are taken leave of too."""
    until = time.monotonic() + seconds
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if pid == 0:
            if time.monotonic() >= until:
                return None
            time.sleep(0.005)


def _end_all(child: int) -> None:
    """Ends every process below this one, those they start meanwhile too."""
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        for pid in _descendants():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _descendants() -> set[int]:
    """All processes below this one, where the system has /proc; else none."""
    parents: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    # The name of the program, in brackets, may hold anything.
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found: set[int] = set()
    new = {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
