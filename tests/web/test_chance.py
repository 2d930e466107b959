"""2048 on the page: one player, and tiles that the server draws."""

import json
import time

import numpy as np
import pytest
from websockets.sync.client import connect

from halfmove.web import rules, tables
from halfmove.web.board_view import position_of
from tests.web.asking import ask, until
from tests.web.networks import untrained

ALONE = {"game": "2048", "seats": ["person"]}
NEW = {"game": "2048", "seats": ("person",), "id": "x" * 12, "now": 0.0}
NEARLY = "2,4,2,4/4,2,4,2/2,4,2,4/4,2,4,0"  # one move to the right or down, and then none


def slid(row):
    """A row of tiles pushed to the left and what that earns, written once more: by lists."""
    tiles, found, earned = [tile for tile in row if tile], [], 0
    while tiles:
        first = tiles.pop(0)
        if tiles and tiles[0] == first:
            first += tiles.pop(0)
            earned += first
        found.append(first)
    return found + [0] * (4 - len(found)), earned


def numbers(position):
    return [[int(x) for x in row.split(",")] for row in position.partition(" ")[0].split("/")]


def test_a_move_slides_and_one_tile_is_drawn():
    table, points, drawn = tables.new(**NEW, position=" #3"), 0, []
    rng = np.random.default_rng(0)
    for _ in range(60):
        before = np.array(numbers(table.rules.position(table.spot.state)))
        action = int(rng.choice(np.flatnonzero(table.spot.legal)))
        table = tables.moved(table, action, now=0.0)
        turned = np.rot90(before, action)  # so that left is where the tiles go
        rows, earned = zip(*map(slid, turned.tolist()), strict=True)
        expected = np.rot90(rows, -action)
        difference = np.array(numbers(table.rules.position(table.spot.state))) - expected
        assert np.count_nonzero(difference) == 1
        drawn.append(int(difference.sum()))
        points += sum(earned)
        assert tables.score(table) == points
        if table.over:
            break
    assert set(drawn) <= {2, 4}
    assert 2 in drawn
    assert points > 0


def test_the_seed_tells_the_tiles():
    moves = []
    table = tables.new(**NEW, position=" #7")
    for _ in range(20):
        moves.append(int(np.flatnonzero(table.spot.legal)[0]))
        table = tables.moved(table, moves[-1], now=0.0)
    again = tables.of_json(tables.to_json(table))
    assert again.rules.position(again.spot.state) == table.rules.position(table.spot.state)
    back = tables.undone(table, now=0.0)
    assert tables.moved(back, moves[-1], now=0.0).spot.state.board.tolist() == (
        table.spot.state.board.tolist()
    )
    starts = {tables.new(**NEW).position for _ in range(8)}
    assert len(starts) == 8  # a new game is another one


def test_the_end_and_giving_up():
    table = tables.new(**NEW, position=NEARLY)
    assert not table.over
    assert [move["name"] for move in position_of(table.rules, table.spot, None, None)["legal"]] == [
        "right", "down",
    ]  # fmt: skip
    given_up = tables.resigned(table, 0, now=0.0)
    assert tables.outcome(given_up) == "The end (resignation): 0 points."
    assert not tables.jumped(given_up, 0, now=0.0).over  # taken back by going on
    full = NEARLY.replace("0", "8")
    over = tables.new(**NEW, position=full)
    assert (over.over, over.result) == (True, (0.0,))
    with pytest.raises(ValueError, match="the game is over"):
        tables.moved(over, 0, now=0.0)


@pytest.fixture(scope="module")
def home(serve, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    untrained(runs / "tiles", "2048")
    return serve(runs)


def watched(home, table, line):
    """The table after two moves of that player, who moves while somebody watches."""
    way, before = f"/api/tables/{table['id']}", len(table["moves"])
    ask(home, f"{way}/seats", {"seats": [line]})
    with connect(f"ws{home[4:]}{way}/live"):
        return until(home, table["id"], lambda t: len(t["moves"]) > before + 1, seconds=120)


@pytest.mark.slow  # compiles random games to their ends
def test_by_plain_mcts(home):
    assert watched(home, ask(home, "/api/tables", ALONE)[1], "mcts@50")["score"] >= 0


@pytest.mark.slow
def test_by_hand_and_by_others(home):
    status, table, _ = ask(home, "/api/tables", ALONE)
    assert (status, table["seats"], table["score"]) == (201, ["person"], 0)
    way = f"/api/tables/{table['id']}"
    legal = table["position"]["legal"][0]
    table = ask(home, f"{way}/move", {"name": legal["name"]})[1]
    assert table["moves"] == [legal["name"]]
    assert len(ask(home, way)[1]["position"]["pieces"]) >= 2
    for line in ("random", "tiles@2"):
        table = watched(home, table, line)
    for wrong in (["person", "person"], [], ["nobody"], ["perfect"]):
        assert ask(home, "/api/tables", ALONE | {"seats": wrong})[0] == 400
    status, said, _ = ask(home, f"{way}/record?form=json")
    assert (status, "copy its position" in said["error"]) == (400, True)


def test_no_record_and_no_sample_games(home):
    line = b'{"game": "2048", "players": ["a"], "moves": [0]}'
    status, said, _ = ask(home, "/api/records", raw=line)
    assert (status, "what was drawn" in said["error"]) == (400, True)
    assert "game of chance" in ask(home, "/api/watch/games?run=tiles")[1]["why"]


def test_it_is_looked_into(home):
    table = ask(home, "/api/tables", ALONE)[1]
    name = table["position"]["legal"][0]["action"]
    table = ask(home, f"/api/tables/{table['id']}/move", {"action": name})[1]
    where = {"game": "2048", "position": table["setup"], "moves": table["actions"]}
    shown = ask(home, "/api/position", where)[1]
    assert shown["position"]["pieces"] == table["position"]["pieces"]
    with connect(f"ws{home[4:]}/api/inside") as socket:
        socket.send(json.dumps({"type": "begin", **where, "line": "tiles@8", "seed": 1}))
        deadline = time.monotonic() + 60
        while (heard := json.loads(socket.recv(timeout=60)))["type"] != "done":
            assert heard["type"] in ("state", "frame"), heard
            assert time.monotonic() < deadline
        found = heard["frame"]
        assert sum(row["visits"] for row in found["actions"]) == 8
        assert {row["to"] for row in found["actions"]} <= {16, 17, 18, 19}
        assert all(len(line["moves"]) == 1 for line in found["lines"])
        socket.send(json.dumps({"type": "node", "node": 0}))
        tree = json.loads(socket.recv(timeout=60))["tree"]
        names = {"left", "up", "right", "down"}
        assert {child["name"] for child in tree["children"]} <= names
    asked = {**where, "line": "tiles@2"}
    assert len(ask(home, "/api/values", asked)[1]["values"]) == 2
    assert rules.game_of("2048").chance
