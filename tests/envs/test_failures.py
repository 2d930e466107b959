"""Environments that crash, hang or die: who and what is said, in time, and nothing is left."""

import functools
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from halfmove.envs import EnvError
from halfmove.envs.gymnasium import Gymnasium
from tests.envs import worlds


def third(what, when, number=[0]):  # noqa: B006
    """Counts inside one process: makes the third environment of it (of three) a bad one."""
    number[0] += 1
    return worlds.Bad(what if number[0] == 3 else "", when)


def bad(what, when="step", **options):
    return Gymnasium(functools.partial(worlds.Bad, what, when), **{"envs": 2, **options})


def pids(env):
    return [crew.process.pid for crew in env._vector._host._crews]


def gone(pid, within=0.0):
    """Whether there is no such process, not even a zombie."""
    until = time.monotonic() + within
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.05)


def fails(env, act, said, within):
    """`act` raises an EnvError of these words, in time, and leaves no process and no use."""
    running = pids(env)
    assert running
    assert not any(gone(pid) for pid in running)
    begin = time.monotonic()
    with pytest.raises(EnvError, match=said):
        act()
    assert time.monotonic() - begin < within
    assert all(gone(pid) for pid in running)
    for again in (lambda: env.step(np.zeros(env.envs, int)), lambda: env.reset(0)):
        with pytest.raises(EnvError, match="was closed after an error and cannot go on"):
            again()
    env.close()


def test_a_killed_process_is_named():
    env = bad("", envs=4, workers=4)
    env.reset(0)
    os.kill(pids(env)[2], signal.SIGKILL)
    said = r"environment 2 of gymnasium:Bad died in step: .*\(pid \d+\) was killed by SIGKILL"
    fails(env, lambda: env.step(np.ones(4, int)), said, within=20)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("kill", r"environment 2 of .* died in step: .* was killed by SIGKILL"),
        ("exit", r"environment 2 of .* died in step: .* exited with status 3"),
        ("hang", r"environment 2 of .* hung in step: no answer in 1.5 s.*longer timeout"),
        ("stop", r"environment 2 of .* hung in step"),
        ("raise", r"environment 2 of .* failed in step: ArithmeticError: the corridor fell in"),
    ],
)
def test_which_of_several_in_one_process_is_named(what, said):
    # The first process has environments 0 to 2, the second 3 and 4.
    maker = functools.partial(third, what, "step")
    env = Gymnasium(maker, envs=5, workers=2, timeout=1.5 if what in ("hang", "stop") else 60.0)
    env.reset(0)
    fails(env, lambda: env.step(np.ones(5, int)), said, within=20)


def test_an_exception_comes_with_its_traceback():
    env = bad("raise", workers=1)
    env.reset(0)
    with pytest.raises(EnvError) as caught:
        env.step(np.ones(2, int))
    assert "worlds.py" in str(caught.value)
    assert "the corridor fell in" in str(caught.value)


def test_failures_in_reset_and_while_starting():
    env = bad("hang", "reset", workers=2, timeout=1.0)
    fails(env, lambda: env.reset(0), "environment 0 of .* hung in reset", within=20)
    with pytest.raises(EnvError, match=r"environment 0 of .* hung starting.*start_timeout"):
        bad("hang", "make", workers=1, start_timeout=3.0)
    with pytest.raises(EnvError, match=r"environment 0 of .* failed being made: ArithmeticError"):
        bad("raise", "make", workers=1)
    with pytest.raises(EnvError, match=r"environment 0 of .* died starting: .* status 3"):
        bad("exit", "make", workers=1)


def test_in_this_process_a_failure_is_named_and_closes_too():
    env = bad("raise")
    env.reset(0)
    with pytest.raises(EnvError, match=r"environment 0 of .* failed in step: Arith") as caught:
        env.step(np.ones(2, int))
    assert isinstance(caught.value.__cause__, ArithmeticError)
    with pytest.raises(EnvError, match=r"closed after an error .*the corridor fell in"):
        env.step(np.ones(2, int))


def test_one_that_will_not_close_is_ended():
    env = bad("hang", "close", workers=2)
    env.reset(0)
    running = pids(env)
    begin = time.monotonic()
    env.close()
    assert time.monotonic() - begin < 20
    assert all(gone(pid) for pid in running)
    with pytest.raises(EnvError, match="is closed: make a new one"):
        env.reset(0)


def test_a_forgotten_one_leaves_no_process():
    env = bad("", workers=2)
    running = pids(env)
    del env
    assert all(gone(pid, within=5) for pid in running)


def test_what_an_environment_started_ends_with_it():
    env = bad("child", workers=2)
    env.reset(0)
    with pytest.raises(EnvError) as caught:
        env.step(np.ones(2, int))
    child = int(re.search(r"child (\d+)", str(caught.value)).group(1))
    assert _ended(child)


def _ended(pid, within=10.0):
    """Whether it runs no more; it may wait for a parent that is not ours to collect it."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_what_an_environment_prints_does_no_harm_and_it_loads_no_jax():
    env = bad("print", workers=1)
    env.reset(0)
    assert np.array_equal(env.step(np.ones(2, int)).observation, [[1], [1]])
    env.close()
    env = bad("jax", workers=1)
    env.reset(0)
    with pytest.raises(EnvError, match="jax loaded: False"):
        env.step(np.ones(2, int))


def test_an_interrupt_ends_the_processes():
    def interrupt(*_):
        raise KeyboardInterrupt

    env = bad("hang", workers=2)
    env.reset(0)
    running = pids(env)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            env.step(np.ones(2, int))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(gone(pid) for pid in running)
    with pytest.raises(EnvError, match=r"closed after an error .*KeyboardInterrupt"):
        env.reset(0)


def test_processes_end_soon_after_a_main_program_that_was_killed():
    # No guard around the main program: nothing runs it a second time.
    program = textwrap.dedent("""
        import numpy as np
        from halfmove.envs.gymnasium import Gymnasium
        from tests.envs import worlds
        env = Gymnasium(lambda: worlds.Bad("hang"), envs=2, workers=2)
        env.reset(0)
        print(*(crew.process.pid for crew in env._vector._host._crews), flush=True)
        env.step(np.ones(2, int))
    """)
    root = Path(__file__).parents[2]
    main = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=root
    )
    running = [int(pid) for pid in main.stdout.readline().split()]
    assert len(running) == 2
    time.sleep(0.5)
    main.kill()
    main.wait()
    main.stdout.close()
    assert all(_ended(pid) for pid in running)
