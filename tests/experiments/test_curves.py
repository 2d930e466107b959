"""Matches of a run's checkpoints with a fixed player, from the command line."""

import json
from dataclasses import replace

import pytest

from halfmove.cli import main
from halfmove.experiments import curves
from halfmove.train.presets import preset
from tests.runs import small


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small(tmp_path_factory.mktemp("runs") / "small-0", save_every=1)


def test_every_checkpoint_is_measured_once(run, tmp_path, capsys):
    points, plot = tmp_path / "points.jsonl", tmp_path / "curves.png"
    words = (
        f"curves {run} --against mcts@2 --simulations 2 --games 8 --points {points} --plot {plot}"
    )
    assert main(words.split()) == 0
    first = capsys.readouterr().out
    found = [json.loads(line) for line in points.read_text().splitlines()]
    assert [point["positions"] for point in found] == [16, 32]
    for point in found:
        assert 0 <= point["low"] <= point["score"] <= point["high"] <= 1
        assert f"{point['score']:.0%}" in first
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main(words.split()) == 0
    assert capsys.readouterr().out == first
    assert len(points.read_text().splitlines()) == 2


def test_against_who_does_not_search_and_by_minutes(run, tmp_path, capsys):
    points, plot = tmp_path / "points.jsonl", tmp_path / "curves.png"
    points.write_text('{"run": "small-0", "checkpoint": 1, "mcts": 100, "score": 0.5}\n')
    words = f"curves {run} --simulations 2 --games 6 --points {points} --plot {plot} --by minutes"
    words = [*words.split(), "--against", "random"]
    assert main(words) == 0
    first = capsys.readouterr().out
    found = [json.loads(line) for line in points.read_text().splitlines()][1:]
    assert [point["against"] for point in found] == ["random"] * 2
    spent = [json.loads(line) for line in (run / "speed.jsonl").read_text().splitlines()]
    seconds = [line["seconds/selfplay"] + line["seconds/updates"] for line in spent]
    minutes = [seconds[0] / 60, sum(seconds) / 60]
    assert [point["minutes"] for point in found] == pytest.approx(minutes)
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main(words) == 0
    assert capsys.readouterr().out == first


def test_a_player_that_cannot_be_is_said(run, tmp_path, capsys):
    words = ["curves", str(run), "--points", str(tmp_path / "points"), "--against", "nobody@5"]
    assert main(words) == 1
    assert "nobody" in capsys.readouterr().err


@pytest.mark.parametrize("games", [1, 2, 8, 64, 1000])
def test_an_interval_is_where_the_score_is_just_not_surprising(games):
    for won in {0, games // 3, games // 2, games}:
        low, high = curves.wilson(won / games, games)
        assert 0 <= low <= won / games <= high <= 1
        # A true share at an end is 1.96 of its own standard deviations away.
        for end in {low, high} - {0.0, 1.0}:
            away = abs(won / games - end) / (end * (1 - end) / games) ** 0.5
            assert away == pytest.approx(1.96, abs=1e-3)


def test_a_folder_that_is_no_run_is_named(tmp_path, capsys):
    assert main(["curves", str(tmp_path / "nothing")]) == 1
    assert "nothing" in capsys.readouterr().err


def test_a_label_says_what_differs_but_the_seed():
    one = preset("hex7")
    other = replace(one, search=replace(one.search, simulations=4))
    found = curves.labels({"a": one, "b": replace(one, seed=1), "c": other})
    assert found == {"a": "simulations 16", "b": "simulations 16", "c": "simulations 4"}
