"""The flags of `halfmove train` and `resume`, and that Ray is only there when asked for."""

import os
import subprocess
import sys

import pytest

from halfmove.cli import main
from halfmove.cluster.config import ClusterConfig
from halfmove.cluster.roles import _environment
from halfmove.train.presets import preset
from tests.cluster.runs import tiny


def test_without_the_flag_nothing_of_ray_is_imported(tmp_path):
    """All that a run in one process does, in a process of its own."""
    script = (
        "import sys; from tests.runs import small; from halfmove.cli import main\n"
        f"small({str(tmp_path / 'run')!r}); status = main(['resume', {str(tmp_path / 'run')!r}])\n"
        "found = [name for name in sys.modules if name.split('.')[0] == 'ray']\n"
        "found += [name for name in sys.modules if name.startswith('halfmove.cluster')]\n"
        "sys.exit(status or (f'imported: {found}' if found else 0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_driver_takes_no_gpu():
    """Told to use one that is not there, JAX would fail: it must not even look for it."""
    script = (
        "from halfmove.cluster.start import on_cpu; on_cpu()\n"
        "import jax; assert jax.devices()[0].platform == 'cpu'"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "JAX_PLATFORMS": "cuda"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("asked", [None, "", "cuda", "cuda,cpu", "gpu"])
def test_who_has_no_gpu_is_on_the_cpu(monkeypatch, asked):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    if asked is not None:
        monkeypatch.setenv("JAX_PLATFORMS", asked)
    assert _environment(0)["env_vars"]["JAX_PLATFORMS"] == "cpu"
    # Who shares one takes no more of it than it needs, who has one takes all.
    assert _environment(0.5)["env_vars"] == {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    assert _environment(1) == {}


def test_who_has_no_gpu_may_have_something_else(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "tpu")
    assert "JAX_PLATFORMS" not in _environment(0)["env_vars"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers", "2"], "--workers is for a cluster: add --cluster"),
        (["--cluster", "--reanalysers", "1"], "--reanalysers need a replay outside the learner"),
        (["--cluster", "--worker-cpus", "-1"], "--worker-cpus must be at least 0, got -1"),
    ],
)
def test_mistakes_are_said(capsys, tmp_path, arguments, said):
    given = ["train", "tic_tac_toe", "--folder", str(tmp_path / "run"), *arguments]
    assert main(given) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_divided_is_said(capsys, tmp_path):
    given = ["train", "tic_tac_toe", "--folder", str(tmp_path / "run"), "--cluster"]
    assert main([*given, "--selfplay.lanes", "8", "--workers", "3"]) == 1
    said = capsys.readouterr().err
    assert "selfplay.lanes (8) cannot be divided among 3 groups: choose --groups 2" in said
    assert "--selfplay.lanes 9" in said


@pytest.mark.parametrize(("workers", "groups"), [(1, 1), (2, 2), (4, 4), (8, 8)])
def test_a_worker_has_a_group_of_its_own(workers, groups):
    assert ClusterConfig(workers=workers).divided(tiny()) == groups


def test_shards_have_whole_groups():
    with pytest.raises(ValueError, match="multiple of --replay-shards"):
        ClusterConfig(workers=4, replay_shards=3).divided(preset("hex5"))
