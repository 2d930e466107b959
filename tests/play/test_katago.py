"""KataGo's analysis protocol: what is asked is answered, once, whatever else comes in."""

import functools
import io
import json
import time

import hypothesis
import hypothesis.strategies as st
import pytest

from halfmove.cli import main
from halfmove.games.go import Go
from halfmove.games.go_text import vertex
from halfmove.play import katago
from halfmove.play.seat import Limits, Seat
from tests.play.minds import Live, even, spoken
from tests.play.test_fuzz import Hasty, only

GO = Go(size=3, komi=0.5)
PLAIN = {"rules": "tromp-taylor", "boardXSize": 3, "boardYSize": 3, "komi": 0.5, "moves": []}


@pytest.fixture(autouse=True)
def one_size_of_tree(monkeypatch):
    """So that one search is compiled for all."""
    monkeypatch.setattr("halfmove.play.thinking.LEAST", 256)
    monkeypatch.setattr("halfmove.play.thinking.MOST", 256)


@pytest.fixture
def hasty(monkeypatch):
    """A search that takes the first legal move."""
    monkeypatch.setattr(
        Seat, "begin",
        lambda seat, *, budget=None, only=None: Hasty(
            [a for a in seat.legal() if only is None or a in only]
        ),
    )  # fmt: skip


def query(name, **fields):
    return {"id": name, **PLAIN, **fields}


def asked(*queries, source=None, **options):
    """All answers, without warnings."""
    text = "".join((q if isinstance(q, str) else json.dumps(q)) + "\n" for q in queries)
    if source is None:
        said = spoken(katago.main, GO, text, **options)
    else:
        out = io.BytesIO()
        given = io.BytesIO(text.encode("utf-8", "surrogatepass"))
        assert katago.main(source, GO, given=given, said=out, seed=0, **options) == 0
        said = out.getvalue().decode()
    return [found for found in map(json.loads, said.splitlines()) if "warning" not in found]


def test_turns_of_a_game_are_looked_at_from_any_side():
    game = {"moves": [["B", "B2"], ["W", "A1"]], "analyzeTurns": [0, 2], "maxVisits": 40}
    black, white, mover = (
        asked(query("q", **game, includePolicy=True,
                    overrideSettings={"reportAnalysisWinratesAs": side, "wideRootNoise": 0.1}))
        for side in ("BLACK", "WHITE", "SIDETOMOVE")
    )  # fmt: skip
    assert [(a["id"], a["turnNumber"], a["isDuringSearch"]) for a in black] == [
        ("q", 0, False),
        ("q", 2, False),
    ]
    for ours, theirs, own in zip(black, white, mover, strict=True):
        assert ours["rootInfo"]["currentPlayer"] == "B"
        assert own == ours  # it is black's turn in both
        assert ours["rootInfo"]["visits"] == 41
        assert sum(info["visits"] for info in ours["moveInfos"]) == 40
        assert [info["order"] for info in ours["moveInfos"]] == [*range(len(ours["moveInfos"]))]
        for one, other in zip(ours["moveInfos"], theirs["moveInfos"], strict=True):
            assert one["move"] == other["move"] == one["pv"][0]
            assert one["winrate"] + other["winrate"] == pytest.approx(1)
            assert one["scoreLead"] == pytest.approx(20 * one["winrate"] - 10)
            assert one["lcb"] <= one["winrate"]
            assert other["lcb"] >= other["winrate"]
    assert {vertex(3, i) for i, p in enumerate(black[1]["policy"]) if p == -1} == {"B2", "A1"}
    assert black[0]["policy"] == pytest.approx([0.1] * 10)  # nine points and a pass


def test_positions_are_those_that_were_meant(hasty):
    """What is not legal shows what is on the board: points are taken, by whomever."""

    def taken(**fields):
        (answer,) = asked(query("q", includePolicy=True, **fields), source=even)
        return {vertex(3, i) for i, p in enumerate(answer["policy"]) if p == -1}

    assert taken(initialStones=[["W", "A3"], ["B", "C1"]]) == {"A3", "C1"}
    # The same colour twice, and moves after two passes.
    assert taken(moves=[["B", "A1"], ["B", "C3"]]) == {"A1", "C3"}
    assert taken(moves=[["B", "A1"], ["W", "pass"], ["B", "pass"], ["W", "B2"]]) == {"A1", "B2"}
    # A white stone is caught in its corner; to play there again would be suicide.
    caught = [["W", "A1"], ["B", "A2"], ["B", "B1"]]
    assert taken(moves=[*caught, ["B", "B2"]]) == {"A2", "B1", "B2", "A1"}
    players = [
        asked(query("q", **fields), source=even)[0]["rootInfo"]["currentPlayer"]
        for fields in (
            {},
            {"initialPlayer": "W"},
            {"moves": [["W", "A1"]]},
            {"moves": [["B", "A1"]]},
        )
    ]
    assert players == ["B", "W", "B", "W"]


def test_some_moves_are_left_out(hasty):
    def best(**fields):
        return asked(query("q", **fields), source=even)[0]["moveInfos"][0]["move"]

    assert best() == "A3"
    assert best(avoidMoves=[{"player": "B", "moves": ["A3", "B3"], "untilDepth": 1}]) == "C3"
    assert best(avoidMoves=[{"player": "W", "moves": ["A3"], "untilDepth": 1}]) == "A3"
    assert best(allowMoves=[{"player": "B", "moves": ["B2"], "untilDepth": 1}]) == "B2"


def test_the_urgent_come_first_and_the_others_in_turn(hasty):
    found = asked(
        query("a"), query("b", priority=1), query("c"), query("d", priority=2), source=even
    )
    assert [answer["id"] for answer in found] == ["d", "b", "a", "c"]


def test_a_search_reports_and_can_be_ended():
    server = Live(katago.main, GO)
    final = functools.partial(lambda name, line: json.loads(line).get("id") == name)
    long = query("long", maxVisits=200, reportDuringSearchEvery=0.001)
    server.tell(json.dumps(long))
    heard = server.hear(lambda line: json.loads(line).get("isDuringSearch") is False)
    reports = [json.loads(line) for line in heard if "warning" not in line]
    assert len(reports) > 1
    assert all(answer["isDuringSearch"] for answer in reports[:-1])
    visits = [answer["rootInfo"]["visits"] for answer in reports]
    assert visits == sorted(visits)
    assert visits[-1] == 201
    # Ended before it began, and its turns one by one.
    moves = {"moves": [["B", "A1"], ["W", "A2"]], "analyzeTurns": [0, 1, 2], "maxVisits": 100}
    end = {"id": "end", "action": "terminate", "terminateId": "gone", "turnNumbers": [1, 2]}
    every = {"id": "all", "action": "terminate_all"}
    lines = [query("gone", **moves), end, every]
    server.tell("\n".join(json.dumps(line) for line in lines))
    heard = server.hear(lambda line: "noResults" in line and json.loads(line)["turnNumber"] == 2)
    answers = [json.loads(line) for line in heard if "warning" not in line]
    assert end in answers
    assert every in answers
    ended = {a["turnNumber"]: a.get("noResults", False) for a in answers if a["id"] == "gone"}
    assert ended[1]
    assert ended[2]
    server.tell(json.dumps({"id": "v", "action": "query_version"}))
    assert "git_hash" in json.loads(server.hear(functools.partial(final, "v"))[-1])
    assert server.end() == 0


class Endless(Hasty):
    """A search that only somebody else ends."""

    done = False

    def go_on(self, seconds):
        time.sleep(0.001)


def test_a_search_without_end_is_ended(monkeypatch):
    begun = lambda seat, *, budget=None, only=None: Endless(seat.legal())  # noqa: E731
    monkeypatch.setattr(Seat, "begin", begun)
    server = Live(katago.main, GO)
    server.tell(json.dumps(query("long", reportDuringSearchEvery=0.01)))
    server.tell(json.dumps(query("next")))
    server.hear(lambda line: "moveInfos" in line)
    for name in ("long", "next"):
        server.tell(json.dumps({"id": "end", "action": "terminate", "terminateId": name}))
        heard = server.hear(lambda line: '"isDuringSearch": false' in line)
        answer = json.loads(heard[-1])
        assert answer["id"] == name
        # The second may be ended before it has begun.
        assert answer.get("moveInfos") or (name == "next" and answer["noResults"])
    assert server.end() == 0


def test_a_clock_ends_a_search():
    limited = query("q", maxVisits=256, overrideSettings={"maxTime": 0.002})
    asked(query("w", maxVisits=256))
    (_, answer) = asked(query("w", maxVisits=256), limited)
    assert 2 <= answer["rootInfo"]["visits"] <= 257
    (answer,) = asked(query("q", maxVisits=200), limits=Limits(simulations=30))
    assert answer["rootInfo"]["visits"] == 31


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"moves": "B2"}, "moves", "must be a list"),
        ({"moves": [["B", "D4"]]}, "moves", "not a vertex of a 3x3 board"),
        ({"moves": [["X", "B2"]]}, "moves", "a player is B or W"),
        ({"moves": [["B", 4]]}, "moves", "a move is a text"),
        ({"moves": [["B", "B2"], ["W", "B2"]], "analyzeTurns": [0, 1]}, "moves", "Illegal move 1"),
        ({"boardXSize": 4}, "boardYSize", "boards are square"),
        ({"boardXSize": 4, "boardYSize": 4}, "boardXSize", "only 3"),
        ({"boardXSize": 99}, "boardXSize", "from 2 to 19"),
        ({"komi": 7.3}, "komi", "half number"),
        ({"komi": 1e9}, "komi", "from -150 to 150"),
        ({"analyzeTurns": [1]}, "analyzeTurns", "turns from 0 to 0"),
        ({"maxVisits": 0}, "maxVisits", "from 1"),
        ({"maxVisits": True}, "maxVisits", "from 1"),
        ({"priorities": [1, 2]}, "priorities", "one for each"),
        ({"initialStones": [["B", "pass"]]}, "initialStones", "pass"),
        ({"initialStones": [["B", "A1"], ["W", "A2"], ["W", "B1"]]}, "initialStones", "liberty"),
        ({"overrideSettings": {"reportAnalysisWinratesAs": "ME"}}, "overrideSettings", "one of"),
        ({"action": "dance"}, "action", "unknown action"),
        ({"action": "terminate"}, "terminateId", "id of a query"),
    ],
)
def test_what_is_wrong_is_named_once(fields, field, words, hasty):
    (answer,) = asked(query("q", **fields), source=only(3))
    assert answer["id"] == "q"
    assert answer["field"] == field
    assert words in answer["error"]


def test_lines_that_are_no_query(hasty):
    for line in ("", "   "):
        assert asked(line, source=even) == []
    deep = "[" * 100_000
    for line in ("{", "[]", "7", '{"id":7}', "{}", deep, '{"id":"a","komi":NaN}', "x" * 2**21):
        (answer,) = asked(line, source=even)
        assert answer["error"]
        assert set(answer) <= {"error", "field", "id"}


def test_what_cannot_be_had_is_said(hasty):
    text = spoken(
        katago.main, GO, json.dumps(query("q", rules="japanese", includeOwnership=True)) + "\n"
    )
    warned = {found["field"] for found in map(json.loads, text.splitlines()) if "warning" in found}
    assert warned == {"rules", "includeOwnership", "scoreLead"}


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 30), st.floats(allow_nan=False),
        st.text(max_size=4),
        st.sampled_from(["B", "W", "A1", "B2", "C3", "pass", "q", "terminate", "BLACK"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)  # fmt: skip
FIELDS = [
    "id", "action", "terminateId", "turnNumbers", "moves", "initialStones", "initialPlayer",
    "rules", "komi", "boardXSize", "boardYSize", "analyzeTurns", "maxVisits", "includePolicy",
    "includeOwnership",
    "reportDuringSearchEvery", "priority", "priorities", "overrideSettings", "avoidMoves",
    "allowMoves",
]  # fmt: skip
CHANGED = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4)
LINES = st.one_of(
    CHANGED.map(lambda fields: json.dumps(query("q", **fields))),
    JSON.map(json.dumps),
    st.text(st.characters(blacklist_characters="\r\n"), max_size=30),
    CHANGED.map(lambda fields: json.dumps(query("q", **fields))[:-9]),
)


KNOWN = query("known", moves=[["B", "B2"]], maxVisits=1, priority=-(2**31))


def one_board(game):
    """A player of one board and komi alone, so that little is compiled."""
    if game != GO:
        raise ValueError("only that")
    return even(game)


@functools.cache
def alone():
    """What that query is answered when nothing comes before it."""
    return json.dumps(asked(KNOWN, source=one_board)[0])


@hypothesis.given(st.lists(LINES, max_size=8))
@hypothesis.settings(
    max_examples=40, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
def test_anything_is_answered_and_nothing_is_changed(hasty, lines):
    found = asked(*lines, KNOWN, source=one_board)
    assert json.loads(alone()) in found
    assert len(found) >= sum(1 for line in lines if line.strip() and "analyzeTurns" not in line)


def test_the_command_is_for_go(capsys):
    assert main(["analysis", "--game", "hex size=3"]) == 1
    assert "for go, not for hex" in capsys.readouterr().err
