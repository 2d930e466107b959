import dataclasses
import inspect
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from halfmove import cli, games
from halfmove.experiments import improvement, learning
from halfmove.search import planners
from halfmove.train import presets

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
    assert "check" in out.stdout
    assert out.stdout.endswith("loaded: []\n")


def after_first_paragraph(text, thing):
    """The words of `text` that follow the first paragraph of the docstring of `thing`."""
    first = inspect.getdoc(thing).partition("\n\n")[0].split()
    words = text.split()
    assert words[: len(first)] == first
    return words[len(first) :]


def test_planners_lists_every_planner_with_its_options(capsys):
    assert cli.main(["planners"]) == 0
    *blocks, shared = capsys.readouterr().out.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == planners.names()
    for block in blocks:
        name, _, text = block.partition("\n")
        options = after_first_paragraph(text, getattr(planners, name))
        assert all(word.split("=")[0].isidentifier() for word in options if "=" in word)
    assert " ".join(shared.split()) == (
        "every planner with a tree max_depth=None leaves=1 tree=False engine='auto' "
        "every planner without a tree max_depth=64 leaves=32 tree=False engine='auto'"
    )


@pytest.mark.parametrize(("name", "leaves"), [("muzero", 1), ("pgs", 32)])
def test_one_planner_is_listed_with_what_its_kind_shares(name, leaves, capsys):
    assert cli.main(["planners", name]) == 0
    said = capsys.readouterr().out
    assert said.count("every planner") == 1
    assert f"leaves={planners.planner(name, simulations=99).leaves} " in said
    assert f"leaves={leaves} " in said


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


def test_games_lists_every_game_with_its_options(capsys):
    assert cli.main(["games"]) == 0
    blocks = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == list(games.names())
    for block in blocks:
        name, _, text = block.partition("\n")
        game = games.make(name)
        options = after_first_paragraph(text, type(game))
        stated = [word.split("=")[0] for word in options if "=" in word]
        assert stated == [field.name for field in dataclasses.fields(game)]


def test_one_game_is_shown_with_its_numbers(capsys):
    assert cli.main(["games", "tic_tac_toe"]) == 0
    out = capsys.readouterr().out
    assert "2 players, 9 actions, 8 symmetries" in out
    assert "observation 3×3×2, 11 bytes a state" in out  # nine squares, a winner, a flag


@pytest.mark.parametrize("command", ["games", "check"])
def test_an_unknown_game_is_named_with_the_nearest(capsys, command):
    assert cli.main([command, "tic_tac_to"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "unknown game 'tic_tac_to' (did you mean 'tic_tac_toe'?)" in err
    assert cli.main([command, "no.such:Game"]) == 2
    assert "no game at 'no.such:Game'" in capsys.readouterr().err


def test_check_examines_a_game_and_says_so(capsys):
    command = ["check", "tic_tac_toe", "--games", "20", "--only", "types", "--only", "rewards"]
    assert cli.main(command) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first == "tic_tac_toe: 20 random games, seed 0"
    assert [line.split()[:2] for line in lines] == [["OK", "types"], ["OK", "rewards"]]
    assert last == "all hold"


def test_check_tells_what_is_wrong_with_a_persons_own_game(capsys, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from halfmove.games.tic_tac_toe import TicTacToe\n"
        "class Greedy(TicTacToe):\n"
        "    def reward(self, state):\n"
        "        return abs(super().reward(state))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "found.json"
    command = ["check", "mine:Greedy", "--only", "rewards", "--games", "8", "--json", str(file)]
    assert cli.main(command) == 1
    out = capsys.readouterr().out
    assert "FAILED  rewards     the rewards of the two players do not add up to zero" in out
    assert "after the moves: " in out
    assert out.endswith("failed: rewards\n")
    (finding,) = json.loads(file.read_text())["findings"]
    assert not finding["ok"]


def test_check_passes_the_options_of_the_game_on(capsys):
    assert cli.main(["check", "hex", "size=3", "--only", "types"]) == 0
    assert "OK      types       9 actions" in capsys.readouterr().out
    for option, words in {
        "size=1": "1",
        "size": "written name=value, such as size=9; got 'size'",
        "colour=red": "hex has no option 'colour'",
    }.items():
        assert cli.main(["check", "hex", option]) == 2
        assert words in capsys.readouterr().err
    assert cli.main(["check", "hex", "--only", "colour"]) == 2
    assert "unknown property 'colour'; there are types, legal" in capsys.readouterr().err


def test_improvement_passes_its_options_on(monkeypatch):
    seen = []

    def main(folder: str = "out/improvement", seed: int = 0) -> int:
        seen.append((folder, seed))
        return 3

    monkeypatch.setattr(improvement, "main", main)
    assert cli.main(["improvement"]) == 3
    assert cli.main(["improvement", "--folder", "new", "--seed", "7"]) == 3
    assert seen == [("out/improvement", 0), ("new", 7)]


def test_the_demonstration_trains_shows_and_says_how_to_play(tmp_path, capsys, monkeypatch):
    config = presets.preset("hex5")
    short = dataclasses.replace(
        config,
        iterations=2,
        net=dataclasses.replace(config.net, planes=4, blocks=1),
        search=dataclasses.replace(config.search, simulations=2),
        selfplay=dataclasses.replace(config.selfplay, lanes=4, chunk=16),
        rating=dataclasses.replace(config.rating, every=1, games=4, simulations=2, mcts=2),
    )
    monkeypatch.setattr(learning, "preset", lambda name: short)
    run = tmp_path / "demo" / "hex5-2"
    run.with_name("hex5-1").mkdir(parents=True)  # the run of an earlier demonstration stays
    assert cli.main(["demo", "--folder", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    assert f"halfmove play {run}" in out
    assert len([x for x in out.splitlines() if x.endswith("%")]) == 2  # two ratings
    assert list((run / "plots").glob("*.png"))


def test_presets_are_listed_and_all_fit_together(capsys):
    assert cli.main(["presets"]) == 0
    out = capsys.readouterr().out
    for name in presets.PRESETS:
        assert name in out
        presets.preset(name)
    assert cli.main(["train", "tictactoe"]) == 2
    assert "did you mean 'tic_tac_toe'" in capsys.readouterr().err
    assert cli.main(["train", "tic_tac_toe", "--learn.batch", "0"]) == 2
    assert "learn.batch must be at least 1, got 0" in capsys.readouterr().err
    assert cli.main(["train", "tic_tac_toe", "--help"]) == 0
    assert "--net.planes" in capsys.readouterr().out
    assert cli.main(["resume", "/nowhere"]) == 1
    assert "/nowhere is not a run" in capsys.readouterr().err


def test_bad_usage_is_named(capsys, tmp_path):
    assert "COMMAND" in usage_error(capsys)
    assert "no_such" in usage_error(capsys, "no_such")
    assert "at least 0, got '-1'" in usage_error(capsys, "improvement", "--seed=-1")
    assert "at least 1, got '0'" in usage_error(capsys, "check", "hex", "--games=0")
    (tmp_path / "file").write_text("")
    assert cli.main(["improvement", "--folder", str(tmp_path / "file")]) == 2
    assert "--folder must be a directory or a new path" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--replay.gigabytes", "inf"], "replay.gigabytes must be above 0 and finite, got inf"),
        (["--replay.gigabytes", "nan"], "replay.gigabytes must be above 0 and finite, got nan"),
        (["--learn.samples", "inf"], "learn.samples must be above 0 and finite, got inf"),
        (["--seed", "99999999999999999999"], "seed must be below 2^32"),
        (["--selfplay.temperatures", "-1"], "temperatures must be at least 0 and finite"),
        (["--learn.discount", "1.5"], "learn.discount must be from 0 to 1, got 1.5"),
        (["--rating.opening", "-1"], "rating.opening must be at least 0, got -1"),
        (["--rating.mcts", "-5"], "rating.mcts must be at least 0, got -5"),
        (["--rating.simulations", "0"], "rating.simulations must be at least 1, got 0"),
        (["--start", "nosuch"], "'nosuch' is no run"),
    ],
)
def test_what_cannot_be_trained_leaves_no_folder(capsys, tmp_path, words, said):
    folder = tmp_path / "run"
    assert cli.main(["train", "tic_tac_toe", *words, "--folder", str(folder)]) == 2
    found = capsys.readouterr()
    assert said in " ".join((found.err + found.out).replace("│", " ").split())
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_named(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert cli.main(["improvement", "--folder", str(tmp_path / "file" / "below")]) == 1
    assert f"cannot write to --folder {tmp_path}/file/below" in capsys.readouterr().err


def test_a_reader_that_leaves_and_a_terminal_without_greek(monkeypatch):
    reader = f"{sys.executable} -m halfmove.cli planners | true"
    left = subprocess.run(["sh", "-c", reader], capture_output=True, text=True, check=False)
    assert left.stderr == ""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    plain = run("planners", "full_gumbel")
    assert plain.returncode == 0
    assert "visits that track ?' below it" in plain.stdout
