import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from halfmove.train import checkpoint
from halfmove.train.durable import RunError
from halfmove.train.folder import Run, configuration
from halfmove.train.metrics import read

CONFIG = {"game": {"name": "hex", "size": 5}, "seed": 0}


def quiet() -> Console:
    return Console(file=io.StringIO(), force_terminal=False)


def tree(step: int) -> dict[str, Any]:
    return {"variables": {"w": jnp.full((3,), step, jnp.float32)}}


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_run_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    path, console = tmp_path / "runs" / "first", quiet()
    with Run(path, CONFIG, console=console) as run:
        assert run.config == CONFIG
        logging.getLogger("halfmove.train").info("a long line %s", "x" * 200)
        for step in range(1, 6):
            run.log(step, {"loss/total": jnp.float32(1 / step)}, {"speed/positions": 10.0 * step})
            run.save(step, tree(step), CONFIG)
        run.write_game("5-1.txt", "b2 c3\n")
        files = run.plot()
    assert [file.name for file in files] == ["metrics.png"]
    assert sorted(p.name for p in path.iterdir() if not p.name.startswith("events.")) == [
        "checkpoints",
        "config.json",
        "environment.json",
        "games",
        "lock",
        "log.txt",
        "metrics.jsonl",
        "plots",
        "speed.jsonl",
    ]
    assert json.loads((path / "config.json").read_text()) == CONFIG
    (start,) = json.loads((path / "environment.json").read_text())
    assert start["packages"]["numpy"] == np.__version__
    assert start["python"] == ".".join(map(str, sys.version_info[:3]))
    assert "x" * 200 + "\n" in shown(console)
    assert f"{path}: halfmove {start['packages']['halfmove']}, jax" in shown(console)
    assert "INFO a long line" in (path / "log.txt").read_text()
    assert [line["step"] for line in read(path / "metrics.jsonl")] == [1, 2, 3, 4, 5]
    assert not logging.getLogger("halfmove").handlers


def test_a_run_goes_on_from_the_last_whole_checkpoint(tmp_path: Path) -> None:
    with Run(tmp_path, CONFIG, console=quiet()) as run:
        for step in (1, 2, 3, 4):
            run.log(step, {"a": step}, {"b": step})
            if step < 4:
                run.save(step, tree(step), CONFIG)
    os.truncate(tmp_path / "checkpoints/00000003/variables.safetensors", 20)
    console = quiet()
    with Run(tmp_path, console=console, background=False) as run:
        assert run.config == CONFIG
        found = run.restore(tree(0), expect=CONFIG)
        assert found is not None
        assert found.number == 2
        np.testing.assert_array_equal(found.tree["variables"]["w"], 2.0)
        assert [line["step"] for line in read(tmp_path / "metrics.jsonl")] == [1, 2]
        assert [line["step"] for line in read(tmp_path / "speed.jsonl")] == [1, 2]
        run.log(3, {"a": 30})
        run.save(3, tree(3), CONFIG)
    assert "00000003 is damaged and not used" in shown(console)
    assert "00000003 is damaged and not used" in (tmp_path / "log.txt").read_text()
    assert checkpoint.numbers(tmp_path / "checkpoints") == [2, 3]
    assert (tmp_path / "checkpoints/00000003.damaged").exists()
    assert len(json.loads((tmp_path / "environment.json").read_text())) == 2
    with Run(tmp_path, console=quiet()) as run:
        found = run.restore(tree(0))
        assert found is not None
        assert found.number == 3


def test_a_run_without_a_checkpoint_begins_again(tmp_path: Path) -> None:
    with Run(tmp_path, CONFIG, console=quiet()) as run:
        run.log(1, {"a": 1})
    with Run(tmp_path, console=quiet()) as run:
        assert run.restore(tree(0)) is None
        run.log(0, {"a": 0})
    assert [line["step"] for line in read(tmp_path / "metrics.jsonl")] == [0]


def test_a_refusal_to_restore_changes_nothing(tmp_path: Path) -> None:
    with Run(tmp_path, CONFIG, console=quiet()) as run:
        run.log(1, {"a": 1})
        run.save(1, tree(1), CONFIG)
        run.log(2, {"a": 2})
    with Run(tmp_path, console=quiet()) as run:
        with pytest.raises(RunError, match=r"game\.size: 5 in the checkpoint, 7 now"):
            run.restore(tree(0), expect={"game": {"name": "hex", "size": 7}})
        assert len(list(read(tmp_path / "metrics.jsonl"))) == 2


def test_folders_that_are_no_place_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("")
    with pytest.raises(RunError, match=r"is not empty \(chapter1\.tex\)"):
        Run(tmp_path / "thesis", CONFIG)
    assert [p.name for p in (tmp_path / "thesis").iterdir()] == ["chapter1.tex"]
    with pytest.raises(RunError, match=r"is not a run: it has no config\.json"):
        Run(tmp_path / "thesis")
    with pytest.raises(RunError, match="is a file"):
        Run(tmp_path / "thesis" / "chapter1.tex", CONFIG)
    with pytest.raises(RunError, match=r"cannot write the run's folder .*Not a directory"):
        Run(tmp_path / "thesis" / "chapter1.tex" / "run", CONFIG)
    Run(tmp_path / "run", CONFIG, console=quiet()).close()
    with pytest.raises(RunError, match="already holds a run: continue it with `halfmove resume"):
        Run(tmp_path / "run", CONFIG)
    (tmp_path / "run" / "config.json").write_text("{")
    with pytest.raises(RunError, match=r"config\.json cannot be read"):
        configuration(tmp_path / "run")


def test_a_start_that_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    for name in ("lock", "log.txt", "environment.json", ".tmp-config.json-12"):
        (tmp_path / name).write_text("")
    Run(tmp_path, CONFIG, console=quiet()).close()
    assert configuration(tmp_path) == CONFIG


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with Run(tmp_path, CONFIG, console=quiet()):
        with pytest.raises(RunError, match=f"in use by process {os.getpid()}"):
            Run(tmp_path, console=quiet())
        script = "import sys; from halfmove.train.folder import Run; Run(sys.argv[1])"
        done = subprocess.run(
            [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
        )
        assert f"RunError: {tmp_path} is in use by process {os.getpid()}" in done.stderr
    Run(tmp_path, console=quiet()).close()  # its lock file is still there


def test_a_failed_save_is_raised_by_the_next_call(tmp_path: Path) -> None:
    run = Run(tmp_path, CONFIG, console=quiet())
    (tmp_path / "checkpoints").rmdir()
    (tmp_path / "checkpoints").write_text("in the way")
    run.save(1, tree(1))
    with pytest.raises(RunError, match="checkpoint 1 was not written"):
        run.save(2, tree(2))
    run.save(3, tree(3))
    with pytest.raises(RunError, match="checkpoint 3 was not written"):
        run.close()
    assert not logging.getLogger("halfmove").handlers
    console = quiet()
    (tmp_path / "checkpoints").unlink()

    def fail_twice() -> None:
        with Run(tmp_path, console=console) as run:
            (tmp_path / "checkpoints").rmdir()
            (tmp_path / "checkpoints").write_text("in the way")
            run.save(1, tree(1))
            raise KeyError("the first error is the one to see")

    with pytest.raises(KeyError):
        fail_twice()
    assert "checkpoint 1 was not written" in shown(console)
    assert "KeyError" in (tmp_path / "log.txt").read_text()
