"""Runs as they are listed, their curves as they grow, their games; and what stays closed."""

import json
import math
import os
import shutil
import time
import urllib.parse

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmove import games
from halfmove.games import records
from halfmove.train.durable import RunError
from halfmove.train.record import Lane
from halfmove.train.zoo import names
from halfmove.web.watch_curves import ROWS, Curves, Table
from halfmove.web.watch_games import ROWS as AT_ONCE
from halfmove.web.watch_games import replayed, sample, samples
from halfmove.web.watch_runs import Runs, file_of, inside
from tests.runs import small
from tests.web.asking import ask


def run_of(folder, name, lines=0, **config):
    """A folder like a run's, with lines of metrics whose numbers are known."""
    run = folder / name
    run.mkdir(parents=True)
    written = {"game": "hex size=5", "model": "rules", "iterations": 100, **config}
    (run / "config.json").write_text(json.dumps(written))
    write(run, 1, lines)
    return run


def write(run, first, last):
    with open(run / "metrics.jsonl", "a") as file:
        for step in range(first, last + 1):
            line = {"step": step, "run/positions": 8 * step, "learn/loss": 1 / step}
            line["selfplay/entropy"] = 2.0
            if step % 10 == 0:
                rated = {"rating/rating": step, "rating/rating_low": -1, "rating/rating_high": 999}
                line |= rated
            file.write(json.dumps(line) + "\n")
    with open(run / "speed.jsonl", "a") as file:
        for step in range(first, last + 1):
            line = {"step": step, "seconds/selfplay": 0.5, "seconds/updates": 0.25}
            file.write(json.dumps(line) + "\n")


def known(found):
    return {name: (int(found[name]["generation"]), found[name]["next"]) for name in
            ("metrics", "speed")}  # fmt: skip


# -- the list ---------------------------------------------------------------------


def test_runs_are_listed_with_what_they_are_and_how_far_they_came(tmp_path):
    run_of(tmp_path, "a", 25, search={"planner": "gumbel", "simulations": 8})
    run_of(tmp_path, "group/seed0", 100)
    run_of(tmp_path, "broken").joinpath("config.json").write_text("{")
    run_of(tmp_path, ".hidden", 3)
    (tmp_path / "no run").mkdir()
    found = {run["name"]: run for run in Runs(tmp_path).list()}
    assert set(found) == {"a", "group/seed0"}
    one = found["a"]
    assert (one["game"], one["planner"], one["simulations"]) == ("hex size=5", "gumbel", 8)
    assert (one["step"], one["positions"], one["state"]) == (25, 200, "stopped")
    assert one["strength"] == (-1, 20, 999)
    assert found["group/seed0"]["state"] == "finished"
    lock = tmp_path / "a" / "lock"
    lock.write_text(f"{os.getpid()}\n")
    assert {run["name"]: run["state"] for run in Runs(tmp_path).list()}["a"] == "running"
    assert Runs(tmp_path / "nowhere").list() == []


def test_a_name_never_leaves_the_folder(tmp_path):
    runs, secret = tmp_path / "runs", run_of(tmp_path, "secret")
    run_of(runs, "mine", 2)
    (runs / "out").symlink_to(secret)
    (runs / "up").symlink_to(tmp_path)
    (runs / "mine" / "games").symlink_to(secret)
    (runs / "same").symlink_to(runs / "mine")
    (runs / "loop").symlink_to(runs / "loop")
    assert inside(runs, "mine") == runs / "mine"
    assert inside(runs, "same").resolve() == runs / "mine"
    for name in ("../secret", "mine/../../secret", str(secret), "out", "up/secret", "", ".", "..",
                 "mine\0", "..\\secret", "mine/checkpoints", "loop", "x" * 999,
                 "x/" * 999):  # fmt: skip
        with pytest.raises((ValueError, RunError)):
            inside(runs, name)
    for name in ("config.json", "../config.json", "", "..", "/etc/passwd", ".tmp", "a\0"):
        with pytest.raises(ValueError, match=r"file|named"):
            file_of(runs / "mine", "games", name)
    assert {run["name"] for run in Runs(runs).list()} == {"mine", "same"}


# -- curves -----------------------------------------------------------------------


def test_only_what_is_new_is_sent(tmp_path):
    run = run_of(tmp_path, "a", 20)
    curves = Curves(run)
    first = curves.after({})
    assert first["metrics"]["columns"]["step"] == list(range(1, 21))
    assert first["metrics"]["columns"]["rating/rating"][9:11] == [10, None]
    assert first["speed"]["columns"]["seconds/total"][-1] == 0.75 * 20
    assert curves.after(known(first))["metrics"]["columns"]["step"] == []
    write(run, 21, 23)
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"step": 24, "learn/lo')  # torn: the run is writing it
    second = curves.after(known(first))
    assert second["metrics"]["from"] == 20
    assert second["metrics"]["columns"]["step"] == [21, 22, 23]
    with open(run / "metrics.jsonl", "a") as file:
        file.write('ss": "NaN"}\n[]\nnonsense\n')
    third = curves.after(known(second))
    assert third["metrics"]["columns"]["step"] == [24]
    assert third["metrics"]["columns"]["learn/loss"] == [None]


def test_a_run_that_was_cut_back_is_sent_anew(tmp_path):
    run = run_of(tmp_path, "a", 20)
    curves = Curves(run)
    first = curves.after({})
    kept = (run / "metrics.jsonl").read_text().splitlines(keepends=True)[:10]
    (run / "metrics.jsonl").write_text("".join(kept))
    with open(run / "metrics.jsonl", "a") as file:  # longer than before, but not the same
        file.writelines(json.dumps({"step": s, "learn/loss": 5.0}) + "\n" for s in range(11, 60))
    again = curves.after(known(first))["metrics"]
    assert again["from"] == 0
    assert again["columns"]["step"] == list(range(1, 60))
    assert again["columns"]["learn/loss"][10:] == [5.0] * 49


def test_a_long_run_is_thinned_to_means(tmp_path):
    table = Table()
    for step in range(1, 10_001):
        table.add({"step": step, "x": float(step % 2), "rare": step} if step % 100 == 0
                  else {"step": step, "x": float(step % 2)})  # fmt: skip
    found = table.after(0, 0)
    assert found["lines"] == 16
    assert found["next"] == 10_000 // 16 <= ROWS
    steps, x = found["columns"]["step"], found["columns"]["x"]
    assert steps[0] == 8.5
    assert math.isclose(steps[-1], 9992.5)
    assert x == [0.5] * len(x)
    rare = [(s, v) for s, v in zip(steps, found["columns"]["rare"], strict=True) if v]
    assert len(rare) == 100
    assert all(abs(s - v) < 16 for s, v in rare)
    # The last row is not complete before 16 lines are in it: it is sent again.
    table.add({"step": 10_001, "x": 1.0})
    grown = table.after(int(found["generation"]), found["next"])
    assert (grown["from"], grown["next"]) == (625, 625)
    assert grown["columns"]["x"] == [1.0]
    table.add({"step": 10_002, "x": 0.0})
    assert table.after(int(found["generation"]), 625)["columns"]["x"] == [0.5]


def test_a_hundred_long_runs_are_cheap(tmp_path):
    run = run_of(tmp_path, "r0", 10_000, iterations=10_000)
    for i in range(1, 100):
        shutil.copytree(run, tmp_path / f"r{i}", copy_function=os.link)
    runs = Runs(tmp_path)
    began = time.process_time()
    assert len(runs.list()) == 100
    assert time.process_time() - began < 1.0
    curves = Curves(run)
    first = curves.after({})
    assert len(json.dumps(first)) < 200_000
    began = time.process_time()
    for _ in range(100):
        assert len(json.dumps(curves.after(known(first)))) < 2_000
    assert time.process_time() - began < 1.0


# -- over the wire ----------------------------------------------------------------


@pytest.fixture(scope="module")
def trained_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    small(folder / "ttt")
    run_of(folder, "plain", 30)
    return folder


@pytest.fixture(scope="module")
def site(serve, trained_runs):
    return serve(trained_runs)


def test_several_runs_in_one_answer_and_a_missing_one_does_not_hide_them(site):
    asked = {"runs": {"plain": {}, "gone": {}, "../x": {}, "ttt": {"metrics": "nonsense"}}}
    found = ask(site, "/api/watch/curves", asked)[1]["runs"]
    assert found["plain"]["metrics"]["columns"]["run/positions"][-1] == 240
    assert found["gone"]["error"] == "there is no run 'gone'"
    assert "inside the runs folder" in found["../x"]["error"]
    assert "generation and a row" in found["ttt"]["error"]


@pytest.mark.parametrize(
    "query",
    [
        "game?run=..%2Fsecret&file=1.txt", "game?run=ttt&file=..%2Fconfig.json", "game?run=ttt",
        "game?run=ttt&file=9999.txt", "games?run=%00", "games?run=", "games",
        "opinion?run=ttt&file=1.txt&checkpoint=999&from=0",
        "opinion?run=ttt&file=1.txt&checkpoint=-1&from=0", "opinion?run=ttt",
    ],
)  # fmt: skip
def test_strange_questions_are_answered_with_a_sentence(site, query):
    status, found, _ = ask(site, f"/api/watch/{query}")
    assert status == 400
    assert list(found) == ["error"]
    assert len(found["error"]) < 300


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"runs": 3}', b'{"runs": {"a": 1e999}}'])
def test_strange_bodies_too(site, body):
    status, found, _ = ask(site, "/api/watch/curves", raw=body)
    assert status in (200, 400)
    assert "error" in str(found)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text() | st.sampled_from(["ttt", "plain", "x" * 999]), JSON))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_question_breaks_the_server(site, asked):
    status, found, _ = ask(site, "/api/watch/curves", raw=json.dumps({"runs": asked}).encode())
    assert status in (200, 400), found
    words = urllib.parse.urlencode({"run": "".join(asked)[:300].encode("utf-8", "replace")})
    for path in (f"games?{words}", f"game?{words}&file=1.txt", f"game?run=ttt&{words}&file=..."):
        status, found, _ = ask(site, f"/api/watch/{path}")
        assert status in (200, 400), found


def test_a_sample_game_and_what_the_network_thinks_of_it(site, trained_runs):
    there = ask(site, "/api/watch/games?run=ttt")[1]
    name = there["games"][0]["file"]
    words = (trained_runs / "ttt" / "games" / name).read_text().split("\n")[0].split()
    game = ask(site, f"/api/watch/game?run=ttt&file={name}")[1]
    assert game["moves"] == words
    assert len(game["positions"]) == len(words) + 1 <= AT_ONCE
    # In tic-tac-toe a place is an action: the moves are the pieces, and X begins.
    last = game["positions"][-1]["pieces"]
    assert {int(place): piece[1] for place, piece in last.items()} == {
        int(word): i % 2 for i, word in enumerate(words)
    }
    number = there["checkpoints"][-1]
    query = f"run=ttt&file={name}&checkpoint={number}&from=0"
    found = ask(site, f"/api/watch/opinion?{query}")[1]
    assert found["next"] is None
    assert [each["ply"] for each in found["opinions"]] == list(range(len(words)))
    for each, word in zip(found["opinions"], words, strict=True):
        assert [move["name"] for move in each["moves"] if move["played"]] == [word]
        assert sum(move["prior"] for move in each["moves"]) <= 1.001
        assert -1 <= each["alone"] <= 1


def test_a_game_in_a_form_of_its_own_and_a_resignation(tmp_path):
    game = games.make("hex", size=5)
    lane, run = Lane(game), run_of(tmp_path, "a")
    (run / "games").mkdir()
    moves = (12, 0, 24)  # black has had enough after white's move
    (run / "games" / "7.sgf").write_text(lane.text(moves))
    found = sample(run, "7.sgf")
    assert (found.moves, found.reason) == (moves, "resignation")
    assert [each["file"] for each in samples(run)["games"]] == ["7.sgf"]
    shown = replayed(run, "7.sgf")
    assert shown["moves"] == ["c3", "a1", "e5"]
    assert {int(place): who for place, (_, who) in shown["positions"][-1]["pieces"].items()} == {
        12: 0, 0: 1, 24: 0,
    }  # fmt: skip
    # What the page sends on to look inside is the same game.
    assert records.read(shown["record"])[0].moves == moves
    (run / "games" / "8.sgf").write_text("(;GM[1]SZ[9])")
    with pytest.raises(ValueError, match="is a game of go"):
        sample(run, "8.sgf")


def test_what_a_run_names_as_its_game_is_not_imported(tmp_path):
    run = run_of(tmp_path, "evil", 2, game="tests.web.nothing_to_import:Game")
    (run / "games").mkdir()
    (run / "games" / "1.txt").write_text("1 2 3\n")
    with pytest.raises(ValueError, match="not played here"):
        sample(run, "1.txt")
    liar = run_of(tmp_path, "liar", 2)
    (liar / "games").mkdir()
    line = {"game": "tests.web.nothing_to_import:Game", "players": ["a", "b"], "moves": []}
    (liar / "games" / "1.jsonl").write_text(json.dumps(line))
    with pytest.raises(ValueError, match="not played here"):
        sample(liar, "1.jsonl")
    environment = run_of(tmp_path, "atari", 2, game="atari:ms_pacman")
    (environment / "games").mkdir()
    with pytest.raises(ValueError, match="not played here"):
        replayed(environment, "1.txt")


def test_the_networks_have_their_cards(site):
    cards = ask(site, "/api/watch/networks")[1]["networks"]
    assert [card["name"] for card in cards] == names()
    assert all(card["rating"] and card["command"].startswith("halfmove train") for card in cards)
