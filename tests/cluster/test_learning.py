"""What is learned on a cluster is as good as what one process learns."""

import pytest

from tests.train.test_learning import assert_unbeaten, learned


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "4"])
def test_nobody_beats_what_workers_taught(tmp_path, monkeypatch, workers):
    """The preset of the package, with which one process learns to be unbeaten."""
    monkeypatch.delenv("RAY_AUTH_MODE")  # each run starts a cluster of its own
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    given = ["tic_tac_toe", "--rating.every", "0", "--cluster", "--workers", workers]
    assert_unbeaten(learned(tmp_path / "run", *given), 16)
