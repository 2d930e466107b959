"""What the disk can do to a checkpoint that is being written."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halfmove.train.checkpoint import restore, save
from halfmove.train.durable import RunError


def small(number: int) -> dict[str, Any]:
    return {
        "variables": {"w": np.full(50, number, np.float32)},
        "replay": np.arange(1000, dtype=np.int32) * number,
    }


def test_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut keeps only what was synced: the files, their folder, then the name itself."""
    done: list[tuple[str, str]] = []
    sync, rename = os.fsync, os.rename

    def noted_sync(descriptor: int) -> None:
        done.append(("sync", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))))
        sync(descriptor)

    def noted_rename(source: Path, target: Path) -> None:
        done.append(("rename", os.path.basename(target)))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "rename", noted_rename)
    save(tmp_path, 1, small(1))
    assert done == [
        ("sync", "variables.safetensors"),
        ("sync", "replay.safetensors"),
        ("sync", "checkpoint.json"),
        ("sync", ".tmp-00000001"),
        ("rename", "00000001"),
        ("sync", tmp_path.name),
    ]
    done.clear()
    save(tmp_path, 1, small(1))  # again: the first stays until the second has its name
    kept = [("rename", "00000001.old"), ("rename", "00000001"), ("sync", tmp_path.name)]
    assert done[4:7] == kept


FULL = """
import resource, sys
from pathlib import Path
import numpy as np
from halfmove.train.checkpoint import Writer, save
from halfmove.train.durable import RunError
folder = Path(sys.argv[1])
save(folder, 1, {"a": np.arange(1000)})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
writer = Writer(folder)
writer.save(2, {"a": np.arange(1_000_000)})
try:
    writer.save(3, {"a": np.arange(1000)})
except RunError as error:
    print(error)
writer.save(4, {"a": np.arange(1000)})
writer.close()
"""


def test_no_room_on_the_disk(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: a part is written, then refused."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True
    )
    assert "checkpoint 2 was not written" in done.stdout
    assert "File too large (8.0 MB to write" in done.stdout
    assert "the last one there is 1" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["00000001", "00000004"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"checkpoint 2 was not written to .*none before"):
        save(tmp_path / "file" / "checkpoints", 2, small(2))


def test_a_folder_that_cannot_be_written() -> None:
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as undo:
        folder = Path(name)
        save(folder, 1, small(1))
        folder.chmod(0o555)
        undo.callback(folder.chmod, 0o755)
        if os.geteuid() == 0:  # root may write anywhere
            os.seteuid(65534)
            undo.callback(os.seteuid, 0)
        with pytest.raises(RunError, match=r"Permission denied .*the last one there is 1"):
            save(folder, 2, small(2))
        found = restore(folder, small(0))
        assert found is not None
        assert [p.name for p in folder.iterdir()] == ["00000001"]


SMALL = """
import subprocess, sys
from halfmove.cli import main
from tests.train.test_resume import COMMAND

disk = sys.argv[1]
arguments = [*COMMAND, "--search.planner", "prior", "--search.simulations", "0"]
arguments += ["--search.options", "--selfplay.resign", "0"]

def mount(options):
    subprocess.run(["mount", *options.split(), "none", disk], check=True)

mount("-t tmpfs -o size=160k")
assert main(["train", "tic_tac_toe", "--folder", f"{disk}/run", *arguments]) == 1
mount("-o remount,size=8m")
assert main(["resume", f"{disk}/run"]) == 0
assert main(["train", "tic_tac_toe", "--folder", f"{disk}/whole", *arguments]) == 0
lines = [open(f"{disk}/{name}/metrics.jsonl").read() for name in ("run", "whole")]
assert lines[0] == lines[1] and lines[0].count("\\n") == 14
mount("-o remount,ro")
assert main(["resume", f"{disk}/run"]) == 1
assert main(["train", "tic_tac_toe", "--folder", f"{disk}/more", *arguments]) == 1
"""
NAMESPACE = ["unshare", "--map-root-user", "--mount"]  # a file system of one's own, for anyone


def can_mount() -> bool:
    try:
        done = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="this system lets us mount nothing")
def test_a_run_on_a_small_disk(tmp_path: Path) -> None:
    """A real one: it fills up, gets more room, the run goes on to the bit, then it is read-only."""
    disk = tmp_path / "disk"
    disk.mkdir()
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-c", SMALL, str(disk)],
        cwd=Path(__file__).parents[2], env={**os.environ, **cache},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    full, closed, nowhere = [x for x in done.stderr.splitlines() if x.startswith("halfmove: error")]
    assert "No space left on device" in full
    assert "Read-only file system" in closed
    assert "Read-only file system" in nowhere
    assert "Traceback" not in done.stdout + done.stderr
