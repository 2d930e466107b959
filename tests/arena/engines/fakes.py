"""Lines that name the fake engines, and a look at the processes there are."""

import os
import shlex
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def gtp(log, *behaviours, settings=""):
    words = [sys.executable, "-I", "-S", str(HERE / "fake_gtp.py"), str(log), *behaviours]
    return f"gtp:{shlex.join(words)} {settings}"


def uci(log, settings="nodes=1", protocol="uci"):
    words = [sys.executable, str(HERE / "fake_uci.py"), str(log)]
    return f"{protocol}:{shlex.join(words)} {settings}"


def mohex(folder, log, settings="max_games=10"):
    """A program of the name `mohex`: what it is called matters."""
    program = folder / "mohex"
    script = shlex.join([sys.executable, "-I", "-S", str(HERE / "fake_mohex.py"), str(log)])
    program.write_text(f"#!/bin/sh\nexec {script}\n")
    program.chmod(0o755)
    return f"htp:{shlex.quote(str(program))} {settings}"


def said(log):
    """The commands that an engine was given, since its last start."""
    return log.read_text().rpartition("start\n")[2].splitlines()


def below(pid):
    """All processes below one, whatever became of those between."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def gone(pids, seconds=5.0):
    """Whether all of them end by then; a zombie has ended."""
    until = time.monotonic() + seconds
    left = set(pids)
    while left and time.monotonic() < until:
        left = {pid for pid in left if _lives(pid)}
        time.sleep(0.01)
    return not left


def _lives(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def ours():
    """What this process has started and not ended."""
    return below(os.getpid())
