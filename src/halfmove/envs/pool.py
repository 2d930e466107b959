"""Environments in processes of their own, so that one that crashes or hangs ends nothing else.

A failure of one raises `EnvError` with its name, its number and what happened, and ends all
processes of the pool; nothing waits longer than the given time. Processes are new programs
(`subprocess`), never forks: JAX has threads, and a fork of it may deadlock.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from halfmove.envs import worker
from halfmove.envs.env import EnvError

LOOK = 0.5  # seconds between two looks whether a silent process is still there
GRACE = 5.0  # seconds that environments have to close


@dataclass
class Crew:
    """One process and the environments in it."""

    process: subprocess.Popen
    sock: socket.socket
    members: range
    at: int  # the environment it works on, as far as it has said


class Pool:
    """B environments in `workers` processes; the order of all arrays is that of `makers`."""

    def __init__(
        self,
        name: str,
        makers: Sequence[Callable[[], Any]],
        *,
        workers: int,
        timeout: float,
        start_timeout: float,
    ) -> None:
        if os.name != "posix":
            raise EnvError(f"{name}: processes need Linux or macOS; workers=0 works everywhere")
        self._name, self._timeout = name, timeout
        self._crews: list[Crew] = []
        # Also at exit, and when the pool is forgotten without being closed.
        self._ender = weakref.finalize(self, _end, self._crews)
        import cloudpickle  # type: ignore[import-untyped]  # comes with gymnasium

        parts = np.array_split(np.arange(len(makers)), min(workers, len(makers)))
        try:
            messages = []
            for part in parts:
                members = range(int(part[0]), int(part[-1]) + 1)
                self._crews.append(_start(members))
                packed = cloudpickle.dumps([makers[i] for i in members])
                messages.append((sys.path, packed, members.start))
        except BaseException:
            self._ender()
            raise
        self.spaces = self._ask(messages, "starting", start_timeout)[0]

    def reset(self, seeds: np.ndarray) -> worker.Outcome:
        """New episodes; seeds [B]."""
        return self._together("reset", list(seeds))

    def step(self, actions: Sequence[Any]) -> worker.Outcome:
        """One move each; as many actions as environments."""
        return self._together("step", list(actions))

    def close(self) -> None:
        """Asks the processes to end, and ends them if they do not."""
        deadline = time.monotonic() + GRACE
        for crew in self._crews:
            with suppress(OSError):
                worker.send(crew.sock, ("close", None))
        for crew in self._crews:
            with suppress(subprocess.TimeoutExpired):
                crew.process.wait(max(0.0, deadline - time.monotonic()))
        self._ender()

    def _together(self, command: str, arguments: list[Any]) -> worker.Outcome:
        messages = [(command, arguments[c.members.start : c.members.stop]) for c in self._crews]
        parts = self._ask(messages, f"in {command}", self._timeout)
        joined = [np.concatenate(columns) for columns in zip(*(p[:5] for p in parts), strict=True)]
        masks = [part[5] for part in parts]
        mask = None if any(m is None for m in masks) else np.concatenate(masks)
        return (*joined, mask)  # type: ignore[return-value]

    def _ask(self, messages: Sequence[Any], doing: str, patience: float) -> list[Any]:
        """One answer of each; on any failure, also an interrupt, all processes are ended."""
        deadline = time.monotonic() + patience
        try:
            for crew, message in zip(self._crews, messages, strict=True):
                crew.at = crew.members.start
                crew.sock.settimeout(patience)
                with suppress(ConnectionError):  # the answer will say why
                    worker.send(crew.sock, message)
            return [self._answer(crew, doing, deadline, patience) for crew in self._crews]
        except BaseException:
            self._ender()
            raise

    def _answer(self, crew: Crew, doing: str, deadline: float, patience: float) -> Any:
        def still() -> None:
            if crew.process.poll() is not None:
                raise EOFError
            if time.monotonic() > deadline:
                raise EnvError(
                    f"environment {crew.at} of {self._name} hung {doing}: no answer in "
                    f"{patience:g} s, so its process was ended. If it is only slow, give a longer "
                    f"{'start_timeout' if doing == 'starting' else 'timeout'}"
                )

        crew.sock.settimeout(min(LOOK, patience))
        while True:
            try:
                kind, content = worker.receive(crew.sock, still)
            except (EOFError, ConnectionError):
                self._dead(crew, doing)
            if kind == "done":
                return content
            if kind == "failed":
                index, when, trace = content
                raise failed(self._name, index, when, trace)
            crew.at = content

    def _dead(self, crew: Crew, doing: str) -> NoReturn:
        with suppress(subprocess.TimeoutExpired):
            crew.process.wait(GRACE)
        code = crew.process.returncode
        how = "closed its connection" if code is None else f"exited with status {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        raise EnvError(
            f"environment {crew.at} of {self._name} died {doing}: "
            f"its process (pid {crew.process.pid}) {how}"
        )


def failed(name: str, index: int, doing: str, trace: str) -> EnvError:
    """The error for an environment that raised: the last line first, then its traceback."""
    last = trace.strip().splitlines()[-1]
    return EnvError(f"environment {index} of {name} failed {doing}: {last}\n\n{trace}")


def _start(members: range) -> Crew:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            # -P: the folder of that file must not be searched for modules; its names would
            # hide gymnasium itself.
            [sys.executable, "-P", worker.__file__, str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            # Should an environment use JAX, it must not take the GPU's memory.
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
            # A group of its own: it is ended with all that it has started itself, and an
            # interrupt from the keyboard reaches only the main program.
            start_new_session=True,
        )
    return Crew(process, ours, members, members.start)


def _end(crews: list[Crew]) -> None:
    for crew in crews:
        # Also after the process has ended by itself: what it started may live on.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(crew.process.pid, signal.SIGKILL)
    for crew in crews:
        crew.process.wait()
        crew.sock.close()
    crews.clear()
