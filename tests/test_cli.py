import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from halfmove import cli
from halfmove.experiments import improvement
from halfmove.search import planners

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "halfmove.cli", *arguments],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def usage_error(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_version_is_the_projects(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"halfmove {project['version']}\n"


def test_the_installed_command_is_this_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["halfmove"].partition(":")
    assert getattr(sys.modules[module], function) is cli.main


def test_help_does_not_wait_for_jax():
    code = "import sys; from halfmove import cli\ntry: cli.main(['--help'])\nfinally: " + (
        "print('loaded:', sorted({'jax', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "planners" in out.stdout
    assert "demo" in out.stdout
    assert out.stdout.endswith("loaded: []\n")


def test_planners_lists_every_planner_with_its_options(capsys):
    assert cli.main(["planners"]) == 0
    *blocks, shared = capsys.readouterr().out.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == planners.names()
    for block in blocks:
        name, what, *options = block.splitlines()
        assert what.strip() == inspect.getdoc(getattr(planners, name)).splitlines()[0]
        words = " ".join(options).split()
        assert all(word.split("=")[0].isidentifier() for word in words if "=" in word)
    assert shared.split() == [
        "every", "planner", "max_depth=None", "leaves=1", "tree=False", "engine='auto'",
    ]  # fmt: skip


def test_options_and_defaults_are_those_the_planner_takes(capsys):
    assert cli.main(["planners", "alphazero"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    # Its own default, not the one of muzero, to which it passes the others on.
    assert "simulations normalise=(-1.0, 1.0) dirichlet_fraction=0.25" in printed
    assert "'tree'" not in printed


@pytest.mark.parametrize("name", planners.names())
def test_every_default_is_accepted(name):
    options = planners.options_of(name)
    needed = [option for option, default in options.items() if default is ...]
    assert needed == ([] if name == "prior" else ["simulations"])
    stated = planners.planner(name, **options | dict.fromkeys(needed, 8))
    silent = planners.planner(name, **dict.fromkeys(needed, 8))
    for option in ("simulations", *planners.SHARED):
        assert getattr(stated, option) == getattr(silent, option)


def test_an_unknown_planner_is_named_with_the_nearest(capsys):
    assert cli.main(["planners", "full_gumbl"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "unknown planner 'full_gumbl' (did you mean 'full_gumbel'?)" in err
    assert "Traceback" not in err


def test_demo_passes_its_options_on(monkeypatch):
    seen = []

    def main(folder: str = "out/demo", seed: int = 0) -> int:
        seen.append((folder, seed))
        return 3

    monkeypatch.setattr(improvement, "main", main)
    assert cli.main(["demo"]) == 3
    assert cli.main(["demo", "--folder", "new", "--seed", "7"]) == 3
    assert seen == [("out/demo", 0), ("new", 7)]


def test_bad_usage_is_named(capsys, tmp_path):
    assert "COMMAND" in usage_error(capsys)
    assert "no_such" in usage_error(capsys, "no_such")
    assert "at least 0, got '-1'" in usage_error(capsys, "demo", "--seed=-1")
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "--folder", str(tmp_path / "file")]) == 2
    assert "--folder must be a directory or a new path" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "--folder", str(tmp_path / "file" / "below")]) == 1
    assert f"cannot write to --folder {tmp_path}/file/below" in capsys.readouterr().err


def test_a_reader_that_leaves_and_a_terminal_without_greek(monkeypatch):
    reader = f"{sys.executable} -m halfmove.cli planners | true"
    left = subprocess.run(["sh", "-c", reader], capture_output=True, text=True, check=False)
    assert left.stderr == ""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    plain = run("planners", "full_gumbel")
    assert plain.returncode == 0
    assert "visits that track ?' below it" in plain.stdout
