"""Several Gymnasium environments stepped one after another, and a process that does so.

This file is also run as a script of its own, in processes that load neither JAX nor the main
program: it imports nothing of this package.
"""

import os
import pickle
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

HEAD = struct.Struct("<Q")
NARROW = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}  # as JAX has them

# observation [b, ...], reward [b], terminated [b], truncated [b], reached [b, ...],
# action mask [b, A] or None. A plain tuple: it is pickled by a script, so it has no class.
Outcome = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


class Failure(Exception):  # noqa: N818
    """An environment raised: `index` among all, what it was `doing`, and its traceback."""

    def __init__(self, index: int, doing: str, trace: str) -> None:
        super().__init__(index, doing, trace)
        self.index, self.doing, self.trace = index, doing, trace


class Batch:
    """Environments `first`, `first + 1`, ... of all; each starts again in the step that ends it."""

    def __init__(self, makers: Sequence[Callable[[], Any]], first: int) -> None:
        self._first = first
        self._envs: list[Any] = []
        for maker in makers:
            self._envs.append(self._do(len(self._envs), "being made", maker))
        self.spaces = self._envs[0].observation_space, self._envs[0].action_space

    def reset(self, seeds: Iterable[int], beat: Callable[[int], None]) -> Outcome:
        """New episodes, one seed each; `beat` is told which environment comes next."""
        seen, infos = [], []
        for i, seed in enumerate(seeds):
            beat(self._first + i)
            observation, info = self._do(i, "in reset", self._envs[i].reset, seed=int(seed))
            seen.append(self._checked(i, "in reset", observation))
            infos.append(info)
        zeros, never = np.zeros(len(seen)), np.zeros(len(seen), bool)
        return self._stack(seen), zeros, never, never, self._stack(seen), self._masks(infos)

    def step(self, actions: Sequence[Any], beat: Callable[[int], None]) -> Outcome:
        """One move each."""
        rows, infos, reached = [], [], []
        for i, action in enumerate(actions):
            beat(self._first + i)
            seen, reward, ended, cut, info = self._do(i, "in step", self._envs[i].step, action)
            reached.append(self._checked(i, "in step", seen))
            if ended or cut:
                seen, info = self._do(i, "in reset", self._envs[i].reset)
                seen = self._checked(i, "in reset", seen)
            rows.append((seen, reward, ended, cut))
            infos.append(info)
        seen, reward, *ends = zip(*rows, strict=True)
        ended, cut = np.array(ends, bool)
        now = self._stack(seen)
        led = self._stack(reached) if ended.any() or cut.any() else now
        return now, np.array(reward, np.float64), ended, cut, led, self._masks(infos)

    def close(self) -> None:
        """Closes each, whatever the others do."""
        for i, env in enumerate(self._envs):
            try:
                env.close()
            except Exception:
                print(f"environment {self._first + i} raised in close", file=sys.stderr)
                traceback.print_exc()
        self._envs = []

    def _do(self, i: int, doing: str, act: Callable[..., Any], *args: Any, **named: Any) -> Any:
        try:
            return act(*args, **named)
        except Exception as error:
            raise Failure(self._first + i, doing, traceback.format_exc()) from error

    def _checked(self, i: int, doing: str, observation: Any) -> Any:
        want = self.spaces[0].shape  # None: a composite space, which the caller refuses
        if want is None:
            return observation
        shown = np.asarray(observation)
        if shown.shape != want:
            said = f"it gave an observation of shape {shown.shape}, its space says {want}"
            raise Failure(self._first + i, doing, said)
        return shown

    def _stack(self, observations: Sequence[Any]) -> np.ndarray:
        stacked = np.array(observations)
        return stacked.astype(NARROW.get(stacked.dtype, stacked.dtype), copy=False)

    def _masks(self, infos: Sequence[dict[str, Any]]) -> np.ndarray | None:
        if not all("action_mask" in info for info in infos):
            return None
        return np.stack([np.asarray(info["action_mask"]) for info in infos]).astype(bool)


def send(sock: socket.socket, message: Any) -> None:
    """One pickled message, with its length in front."""
    data = pickle.dumps(message, 5)
    sock.sendall(HEAD.pack(len(data)) + data)


def receive(sock: socket.socket, still: Callable[[], None] | None = None) -> Any:
    """The next message. EOFError when the other side is gone.

    With a timeout set on the socket, `still` is called each time it passes, to raise or not.
    """
    (size,) = HEAD.unpack(_exactly(sock, HEAD.size, still))
    return pickle.loads(_exactly(sock, size, still))


def _exactly(sock: socket.socket, size: int, still: Callable[[], None] | None) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        try:
            got = sock.recv_into(rest)
        except TimeoutError:
            if still is None:
                raise
            still()
            continue
        if not got:
            raise EOFError
        rest = rest[got:]
    return data


def _leave_with(parent: int) -> None:
    """Ends this process soon after its parent, even from inside a step that never returns."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main(handle: int, parent: int) -> None:
    """Serves one batch until told to close, or until the other side is gone."""
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    os.set_inheritable(handle, False)
    sock = socket.socket(fileno=handle)
    batch: Batch | None = None
    sys.path[:], makers, first = receive(sock)
    try:
        batch = Batch(pickle.loads(makers), first)
        send(sock, ("done", batch.spaces))
        while True:
            command, argument = receive(sock)
            if command == "close":
                break
            beat = (lambda index: send(sock, ("at", index))) if len(argument) > 1 else _silent
            send(sock, ("done", getattr(batch, command)(argument, beat)))
    except Failure as failure:
        send(sock, ("failed", (failure.index, failure.doing, failure.trace)))
    except (EOFError, ConnectionError):
        pass  # nobody to tell
    except Exception:
        doing = "starting" if batch is None else "answering"
        send(sock, ("failed", (first, doing, traceback.format_exc())))
    if batch is not None:
        batch.close()


def _silent(_: int) -> None:
    pass


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
