import math
from pathlib import Path

import matplotlib.image
import numpy as np

from halfmove.train import plots
from halfmove.train.metrics import Metrics


def test_pictures_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    assert plots.draw(tmp_path) == []
    metrics = Metrics(tmp_path / "metrics.jsonl")
    for step in range(30):
        metrics.write(step, {"loss/total": 3 / (1 + step) if step != 7 else math.nan, "note": "x"})
        if step % 10 == 0:
            elo = {"rating/elo": step, "rating/elo_low": step - 9, "rating/elo_high": step + 9}
            metrics.write(step, elo)
    metrics.close()
    assert [path.name for path in plots.draw(tmp_path)] == ["metrics.png", "rating.png"]
    assert sorted(p.name for p in (tmp_path / "plots").iterdir()) == ["metrics.png", "rating.png"]
    picture = matplotlib.image.imread(tmp_path / "plots" / "metrics.png")
    assert picture.shape[0] > 300
    assert picture.shape[1] > picture.shape[0]
    assert picture[..., :3].std() > 0.02


def test_the_rating_is_drawn_against_positions_updates_and_seconds() -> None:
    lines: list[dict[str, float]] = [
        {"step": 1, "run/positions": 64, "run/updates": 0},
        {"step": 2, "run/positions": 128, "run/updates": 5, "rating/rating": 40.0},
        {"step": 3, "run/positions": 192, "run/updates": 9},
        {"step": 4, "run/positions": 256, "run/updates": 13, "rating/rating": 90.0},
    ]
    speed = [
        {"step": s, "seconds/selfplay": 2.0, "seconds/updates": 0.5 * s, "seconds/rating": 99.0}
        for s in (1, 2, 3, 4)
    ]
    curves = plots.collect([*lines, *speed])
    rating = plots.grouped(curves)["rating"]
    assert plots.against(curves, rating) == [
        ("positions", {"rating": ([128, 256], [40.0, 90.0])}),
        ("updates", {"rating": ([5, 13], [40.0, 90.0])}),
        ("seconds", {"rating": ([5.5, 13.0], [40.0, 90.0])}),  # 2.5 + 3, and 3.5 + 4 more
    ]
    assert plots.against(plots.collect(lines[1:2]), {}) == []
    assert plots.against({}, rating) == [("step", rating)]


def test_groups_and_numbers() -> None:
    lines = [{"step": 1, "loss/a": 1.0, "loss/b": 2}, {"step": 2, "depth": 3, "name": "text"}]
    assert plots.grouped(plots.collect(lines)) == {
        "loss": {"a": ([1], [1.0]), "b": ([1], [2.0])},
        "depth": {"depth": ([2], [3.0])},
    }


def test_a_scale_for_curves_far_apart() -> None:
    assert plots._far_apart([[30000.0, 29000.0], [50.0, math.nan]])
    assert not plots._far_apart([[2.0, 3.0], [1.0]])
    assert not plots._far_apart([[30000.0], [-50.0]])
    assert not plots._far_apart([[math.nan], [math.nan]])


def test_thinned_curves_are_means_of_neighbours() -> None:
    values = np.random.default_rng(0).normal(size=1003)
    values[300:306], values[10] = np.nan, np.inf
    steps, means = plots.thin(list(range(1003)), list(values), 334)
    assert len(steps) <= 334
    for i in range(len(steps)):
        chunk = values[4 * i : 4 * i + 4]
        finite = chunk[np.isfinite(chunk)]
        np.testing.assert_allclose(means[i], finite.mean() if len(finite) else np.nan)
        assert steps[i] == np.mean(range(4 * i, min(4 * i + 4, 1003)))
