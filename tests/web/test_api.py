"""What pages ask for: whole games, wrong questions, and files made to hurt."""

import contextlib
import json
import shutil
import sys
import time

import hypothesis
import pytest
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from halfmove.games import records
from tests.web.asking import ask, until
from tests.web.networks import ENGINE, untrained

TWO = {"game": "tic_tac_toe", "seats": ["person", "person"]}


@pytest.fixture(scope="module")
def home(serve, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    untrained(runs / "small", "tic_tac_toe")
    untrained(tmp_path_factory.mktemp("elsewhere") / "secret", "tic_tac_toe")
    return serve(runs)


def new(home, **more):
    status, table, _ = ask(home, "/api/tables", TWO | more)
    assert status == 201, table
    return table


def test_pages_and_lists(home):
    for path in ("/", "/play", "/inside", "/static/play.js", "/static/style.css"):
        assert ask(home, path)[0] == 200
    found = ask(home, "/api/games")[1]
    assert {"name": "hex7", "game": "hex size=7"} in found["networks"]
    assert {"go", "hex", "chess", "shogi"} <= {game["name"] for game in found["games"]}
    who = {one["who"]: one for one in ask(home, "/api/players?game=tic_tac_toe")[1]["players"]}
    assert who["small"]["checkpoints"] == [1]
    assert {"mcts", "random", "perfect"} <= set(who)
    assert "small" not in str(ask(home, "/api/players?game=hex")[1])
    assert ask(home, "/api/players?game=nonsense")[0] == 400


@pytest.mark.parametrize("line", ["small@2", "small/checkpoints/00000001@2", "mcts@2", "random"])
def test_a_whole_game_against(home, line):
    table = new(home, seats=["person", line])
    while not table["over"]:
        legal = table["position"]["legal"]
        plies = len(table["moves"])
        _, table, _ = ask(home, f"/api/tables/{table['id']}/move", {"action": legal[0]["action"]})
        table = until(home, table["id"], lambda t, n=plies: t["over"] or len(t["moves"]) == n + 2)
    assert table["outcome"]
    assert table["result"][0] == -table["result"][1]


def test_an_engine_that_the_server_was_started_with(serve, tmp_path):
    program = tmp_path / "engine.py"
    program.write_text(ENGINE)
    line = f"gtp:{sys.executable} {program}"
    started = serve(tmp_path / "runs", engines=(line,))
    who = ask(started, "/api/players?game=go")[1]["players"]
    assert {"who": line, "kind": "engine"} in who
    assert line not in str(ask(started, "/api/players?game=hex")[1])
    go = {"game": "go size=5", "seats": ["person", line]}
    table = ask(started, "/api/tables", go)[1]
    ask(started, f"/api/tables/{table['id']}/move", {"name": "C3"})
    table = until(started, table["id"], lambda t: t["over"])
    assert table["outcome"] == "Black won (resignation)."


def test_two_players_play_while_somebody_watches(home):
    table = new(home, seats=["random", "mcts@2"])
    time.sleep(0.5)
    assert ask(home, f"/api/tables/{table['id']}")[1]["moves"] == []
    with connect(f"ws{home[4:]}/api/tables/{table['id']}/live") as socket:
        heard = []
        while not heard or not heard[-1]["over"]:
            said = json.loads(socket.recv(timeout=30))
            heard += [said["table"]] if said["type"] == "table" else []
    plies = [len(one["moves"]) for one in heard]
    assert plies == sorted(set(plies))
    assert plies[0] == 0


def test_pause_undo_jump_and_other_players(home):
    table = new(home, seats=["person", "random"])
    way = f"/api/tables/{table['id']}"
    assert ask(home, f"{way}/pause", {"wait": True})[1]["paused"]
    ask(home, f"{way}/move", {"name": "4"})
    time.sleep(0.3)
    assert ask(home, way)[1]["moves"] == ["4"]
    ask(home, f"{way}/pause", {"wait": False})
    assert len(until(home, table["id"], lambda t: len(t["moves"]) == 2)["moves"]) == 2
    assert ask(home, f"{way}?ply=1")[1]["position"]["pieces"] == {"4": ["x", 0]}
    assert ask(home, f"{way}/undo", {})[1]["moves"] == []
    assert ask(home, f"{way}/seats", {"seats": ["person", "person"]})[1]["seats"] == ["person"] * 2
    for name in ("0", "1", "2"):
        ask(home, f"{way}/move", {"name": name})
    assert ask(home, f"{way}/jump", {"ply": 1})[1]["moves"] == ["0"]
    # A move in an earlier position takes back what followed.
    assert ask(home, f"{way}/move", {"name": "8", "ply": 0})[1]["moves"] == ["8"]
    assert "resignation" in ask(home, f"{way}/resign", {})[1]["outcome"]


def test_it_is_not_your_turn(home):
    table = new(home, seats=["random", "person"])
    ask(home, f"/api/tables/{table['id']}/pause", {"wait": True})
    table = ask(home, f"/api/tables/{table['id']}/jump", {"ply": 0})[1]
    status, said, _ = ask(home, f"/api/tables/{table['id']}/move", {"action": 0})
    assert (status, said["error"]) == (400, "it is not your turn")


def test_time_is_up(home):
    table = new(home, clock={"base": 0.2, "increment": 0})
    way = f"/api/tables/{table['id']}"
    ask(home, f"{way}/move", {"action": 0})
    time.sleep(0.3)
    assert ask(home, f"{way}/flag", {})[1]["outcome"] == "X won (time)."


def test_records_are_saved_and_loaded(home):
    table = new(home, game="hex size=3")
    way = f"/api/tables/{table['id']}"
    for name in ("b2", "a1"):
        ask(home, f"{way}/move", {"name": name})
    status, text, headers = ask(home, f"{way}/record")
    assert (status, headers["content-disposition"].endswith('.sgf"')) == (200, True)
    assert records.read(text)[0].game == "hex size=3"
    _, again, _ = ask(home, "/api/records", raw=text.encode())
    assert again["moves"] == ["b2", "a1"]
    _, text, _ = ask(home, f"{way}/record?form=json")
    assert ask(home, "/api/records", raw=text.encode())[1]["moves"] == ["b2", "a1"]
    assert ask(home, f"{way}/record?form=pgn")[0] == 400


def test_a_reload_and_a_restart_keep_the_game(serve, tmp_path):
    first = serve(tmp_path)
    table = new(first)
    ask(first, f"/api/tables/{table['id']}/move", {"action": 4})
    file = tmp_path / ".web" / f"{table['id']}.json"
    for _ in range(300):  # written once a second
        if file.exists() and '"moves": [4]' in file.read_text():
            break
        time.sleep(0.1)
    second = serve(tmp_path)
    assert ask(second, f"/api/tables/{table['id']}")[1]["moves"] == ["4"]


WRONG_LINES = ["", "person2", "../secret", "/etc", "small/../small", "..", "gtp:gnugo", "mcts@0",
               "mcts@1e9", "mcts@999999", "mcts@99s", "small:nonsense", "small@2 leaves=99999999",
               "small/checkpoints/00000099@2", "small@2\nx=1", "uci:sh -c id", "perfect@1",
               "a" * 500, "mcts:muzero@4", "\0", "runs/small", "$(id)", "hex7@4"]  # fmt: skip


@pytest.mark.parametrize("line", WRONG_LINES)
def test_who_cannot_sit_there(home, line):
    status, said, _ = ask(home, "/api/tables", TWO | {"seats": ["person", line]})
    assert status == 400, said
    assert len(said["error"]) > 10
    assert "Traceback" not in said["error"]


def test_a_player_that_is_gone_when_it_is_to_move(serve, tmp_path):
    started = serve(tmp_path)
    untrained(tmp_path / "short", "tic_tac_toe")
    table = new(started, seats=["person", "short@2"])
    shutil.rmtree(tmp_path / "short")
    ask(started, f"/api/tables/{table['id']}/move", {"action": 0})
    with connect(f"ws{started[4:]}/api/tables/{table['id']}/live") as socket:
        fault = None
        while fault is None:
            heard = json.loads(socket.recv(timeout=30))
            fault = (heard.get("thinking") or {}).get("fault")
    assert "no run 'short'" in fault
    # Somebody else takes the seat, and the game goes on.
    ask(started, f"/api/tables/{table['id']}/seats", {"seats": ["person", "random"]})
    assert until(started, table["id"], lambda t: len(t["moves"]) == 2)


def test_no_record_imports_anything(home, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')\nclass Game: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for game in ("trap:Game", "trap:x size=3", "os:system"):
        line = json.dumps({"game": game, "players": ["a", "b"], "moves": [0]}).encode()
        status, said, _ = ask(home, "/api/records", raw=line)
        assert (status, "not played here" in said["error"]) == (400, True)
        assert ask(home, "/api/tables", TWO | {"game": game})[0] == 400
    assert "trap" not in sys.modules


SEEDS = [
    b"(;GM[1]FF[4]SZ[5];B[aa];W[bb])", b"(;FF[4]GM[11]SZ[3];B[a1])",
    b'[Event "x"]\n\n1. e4 e5 2. Nf3 *\n', b"PI\n+\n+7776FU\n-3334FU\n",
    b'{"game": "tic_tac_toe", "players": ["a", "b"], "moves": [0, 1]}',
]  # fmt: skip


@st.composite
def damaged(draw):
    """A record with bytes changed, left out or put in."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=4))
    return bytes(data)


NO_GAMES = [
    b"(", b"(;", b"(;GM[1]SZ[99999999999999999999])", b"(;GM[1]SZ[5];B[zz])", b"{", b"{}", b"[]",
    b"(;GM[1]GC[game: go history=999999999])", b"(;GM[1]FF[4]SZ[5];B[aa];B[aa])", b"[" * 9999,
    b"(" * 9999, b"(;C[" + b"x" * 9999, b"{" * 9999, b"\xff\xfe\x00", b"\0", b"", b" \n",
    b"PI\n+7776FU", b'[FEN "x"]\n\n1. e4', b"1. e4 " * 9999, b"(;GM[1]SZ[5])" * 11,
    b'{"game": "go size=5", "players": [1, 2], "moves": {}}', b"x" * 200_001,
    b'{"game": "tic_tac_toe", "players": ["a", "b"], "moves": [1e999]}',
    b'{"game": "2048", "players": ["a"], "moves": [0]}',
]  # fmt: skip


@pytest.mark.parametrize("data", NO_GAMES, ids=range(len(NO_GAMES)))
def test_files_made_to_hurt(home, data):
    status, said, _ = ask(home, "/api/records", raw=data)
    assert status == 400
    assert 10 < len(said["error"]) < 1000


def test_numbers_that_are_none_are_left_out(home):
    line = b'{"game": "tic_tac_toe", "players": ["a", "b"], "moves": [0], '
    for rest in (b'"result": [NaN, 1e400]}', b'"notes": [[1e400, {}]]}', b'"result": [5, 7]}'):
        status, table, _ = ask(home, "/api/records", raw=line + rest)
        assert (status, table["result"], table["values"]) == (201, None, [None])


@hypothesis.settings(max_examples=20)
@hypothesis.given(damaged() | st.binary(max_size=60))
def test_damaged_files_are_refused_with_a_sentence(home, data):
    status, said, _ = ask(home, "/api/records", raw=data)
    assert status in (201, 400), said


@pytest.mark.slow
@hypothesis.settings(max_examples=1000)
@hypothesis.given(damaged() | st.binary(max_size=60))
def test_many_damaged_files(home, data):
    status, said, _ = ask(home, "/api/records", raw=data)
    assert status in (201, 400), said


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = ("game", "seats", "position", "clock", "moves", "line", "action", "name", "ply", "wait")
PATHS = ("/api/tables", "/api/position", "/api/values", "/api/tables/{id}/move",
         "/api/tables/{id}/undo", "/api/tables/{id}/jump", "/api/tables/{id}/seats",
         "/api/tables/{id}/pause", "/api/tables/{id}/resign", "/api/tables/{id}/flag")  # fmt: skip


@hypothesis.settings(max_examples=50)
@hypothesis.given(
    st.sampled_from(PATHS), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5) | JSON
)
def test_wrong_questions_are_refused_with_a_sentence(home, path, body):
    if isinstance(body, dict) and "game" in body and path != "/api/tables":
        body["game"] = "tic_tac_toe"
    path = path.replace("{id}", new(home)["id"])
    status, said, _ = ask(home, path, raw=json.dumps(body).encode())
    assert status in (200, 201, 400), said


def test_odd_questions_to_sockets(home):
    with pytest.raises((InvalidStatus, ConnectionClosed)):
        connect(f"ws{home[4:]}/api/tables/{'x' * 12}/live").recv(timeout=5)
    with pytest.raises((InvalidStatus, ConnectionClosed)):
        connect(f"ws{home[4:]}/api/inside", origin="http://evil.example").recv(timeout=5)
    with connect(f"ws{home[4:]}/api/inside") as socket:
        for said in ("", "null", "[", "{}", '{"type": "node", "node": 1}', '{"type": "x"}',
                     '{"type": "begin"}', '{"type": "begin", "game": "tic_tac_toe", "line": 3}',
                     '{"type": "begin", "game": "tic_tac_toe", "line": "mcts@4", "moves": [99]}',
                     '{"type": "begin", "game": "tic_tac_toe", "line": "mcts@4", "seed": -1}',
                     '{"type": "begin", "game": "tic_tac_toe", "line": "mcts:pgs@4"}',
                     '{"type": "begin", "game": "tic_tac_toe", "line": "../x@4"}'):  # fmt: skip
            socket.send(said)
            assert refused(socket)


def refused(socket):
    """The sentence that a socket is told."""
    while (heard := json.loads(socket.recv(timeout=30)))["type"] == "state":
        pass
    assert heard["type"] == "error", heard
    return heard["error"]


def test_a_fault_of_ours_in_a_search_is_a_sentence(home, monkeypatch, caplog):
    def broken(*given, **more):
        raise TypeError("a detail of ours")

    monkeypatch.setattr("halfmove.web.inside.looked", broken)
    with connect(f"ws{home[4:]}/api/inside") as socket:
        for _ in range(2):  # and the socket lives on
            socket.send('{"type": "begin", "game": "tic_tac_toe", "line": "mcts@4"}')
            assert refused(socket) == "something went wrong on the server; its log says what"
    assert "a detail of ours" in caplog.text


def test_of_too_many_searches_the_oldest_that_is_over_is_let_go(home, monkeypatch):
    monkeypatch.setattr("halfmove.web.inside.SEARCHES", 2)
    begin = '{"type": "begin", "game": "tic_tac_toe", "line": "mcts@4"}'
    with contextlib.ExitStack() as sockets:
        opened = []
        for _ in range(3):
            opened.append(sockets.enter_context(connect(f"ws{home[4:]}/api/inside")))
            opened[-1].send(begin)
            while json.loads(opened[-1].recv(timeout=60))["type"] != "done":
                pass
        first, second, _ = opened
        with pytest.raises(ConnectionClosed):
            first.recv(timeout=10)
        second.send('{"type": "node", "node": 0}')
        assert json.loads(second.recv(timeout=30))["type"] == "node"
