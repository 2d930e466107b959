"""Anything may come in: always an answer, never an end, a hang, or another position by mistake.

The search is replaced by one that takes the first legal move: it is the protocols that are tried.
"""

import io
import re

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from halfmove.arena.players import Mind
from halfmove.games.gardner_chess import GardnerChess
from halfmove.games.go import Go
from halfmove.games.hex import Hex
from halfmove.play import gtp_go, htp, uci
from halfmove.play.opinion import Line, Opinion
from halfmove.play.seat import Limits, Seat
from halfmove.play.server import Lines, speaker
from tests.play.minds import even

WORDS = {
    "gtp": """play genmove reg_genmove undo clear_board boardsize fixed_handicap loadsgf
        place_free_handicap set_free_handicap time_settings time_left kgs-time_settings
        final_score final_status_list showboard known_command list_commands name version
        lz-analyze kata-analyze lz-genmove_analyze kata-genmove_analyze protocol_version
        b w black WHITE c3 C3 a1 a1 e5 b2 pass PASS z9 i3 a0 a99 resign alive dead seki none
        absolute byoyomi canadian avoid allow interval maxmoves minmoves c3,d4 /dev/null .""",
    "htp": """play genmove reg_genmove undo clear_board boardsize showboard final_score name
        time_settings time_left b w black white a1 b2 c3 d4 a4 z9 swap-pieces resign 4 4""",
    "uci": """uci isready ucinewgame setoption name value MultiPV Simulations Hash Ponder position
        startpos fen moves b2b3 a4b3 a2a5 e2e3 k4/5/1K3/5/4R w b - 0 1 8/8/8 go nodes depth
        movetime wtime btime winc binc movestogo searchmoves mate stop ponderhit debug register
        a5a4 e1e5 a7a8q 0000 gameover""",
}
NUMBERS = [
    "0",
    "1",
    "2",
    "5",
    "-1",
    "0.5",
    "1e99",
    "nan",
    "inf",
    "9" * 30,
    "٣",
    "0x10",
    "1_0",
    "+3",
]


def lines_of(protocol):
    """Lines that are nearly right, and lines that are not at all; bytes without an end."""
    word = st.one_of(
        st.sampled_from(WORDS[protocol].split()),
        st.sampled_from(NUMBERS),
        st.text(st.characters(blacklist_characters="\n\r"), max_size=6),
    )
    gap = st.sampled_from([b" ", b"  ", b"\t", b"\x0b", b"\x00"])
    near = st.tuples(st.lists(word, max_size=8), gap).map(
        lambda pair: pair[1].join(w.encode("utf-8", "surrogatepass") for w in pair[0])
    )
    far = st.binary(max_size=40).map(lambda b: re.sub(rb"[\r\n]", b"", b))
    huge = st.builds(lambda b, n: b * n, near, st.integers(100, 3000))
    return st.lists(
        st.one_of(near, near, near, far, huge).filter(lambda b: b"quit" not in b), max_size=12
    )


class Hasty:
    """A search that is over at once."""

    done = True
    pace = 0.0

    def __init__(self, legal):
        self._legal = legal

    def opinion(self):
        action = int(self._legal[0])
        line = Line((action,), 1, 0.0, 0.5)
        return Opinion(action, 0.0, 1, 1, 1, (line,))


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    def begin(seat, *, budget=None, only=None):
        return Hasty([a for a in seat.legal() if only is None or a in only])

    monkeypatch.setattr(Seat, "begin", begin)
    monkeypatch.setattr(Seat, "warm", lambda seat: None)
    monkeypatch.setattr("halfmove.play.thinking.Thinker.budget_for", lambda self, seconds: 1)


def only(size):
    """A player of one size alone, so that few boards are compiled."""

    def source(game) -> Mind:
        if game.size != size:
            raise ValueError(f"only {size}")
        return even(game)

    return source


def answered(main, source, game, lines):
    """(answer, board before, board after) of every line."""
    given = b"900000 showboard\n"
    for number, line in enumerate(lines, 1):
        given += line + b"\n%d showboard\n" % (900000 + number)
    said = io.BytesIO()
    options = {"limits": Limits(simulations=1), "seed": 0}
    assert main(source, game, given=io.BytesIO(given), said=said, **options) == 0
    text = said.getvalue().decode()
    found, boards = [], []
    for number in range(len(lines) + 1):
        parts = re.match(rf"(?s)(.*?)=(?:{900000 + number})\n(.*?)\n\n", text)
        assert parts, f"no board after {lines[:number]}"
        found.append(parts[1])
        boards.append(parts[2])
        text = text[parts.end() :]
    assert text == ""
    return list(zip(found[1:], boards[:-1], boards[1:], strict=True))


ANSWER = re.compile(r"([=?])(\d*)( [^\n]*)?\n([^\n]+\n)*\n")
CHANGES = ("play", "genmove", "undo", "clear_board", "boardsize", "komi", "handicap", "loadsgf")


def check_gtp(main, source, game, lines):
    for line, (answer, before, after) in zip(
        lines, answered(main, source, game, lines), strict=True
    ):
        if answer:
            assert ANSWER.fullmatch(answer), (line, answer)
        if not answer.startswith("=") or not any(name.encode() in line for name in CHANGES):
            assert before == after, (line, answer)


def fuzzed(examples):
    return hypothesis.settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
    )


@fuzzed(60)
@hypothesis.given(lines_of("gtp"))
def test_gtp(lines):
    check_gtp(gtp_go.main, only(5), Go(size=5, komi=0.5), lines)


@fuzzed(40)
@hypothesis.given(lines_of("htp"))
def test_htp(lines):
    check_gtp(htp.main, only(4), Hex(size=4, swap=True), lines)


def check_uci(lines):
    said = []
    for line in lines:
        out = io.BytesIO()
        seat = SEAT
        before = seat.past
        talk = uci.Dialogue(uci.CHESS, seat, Lines(io.BytesIO(line + b"\n")), speaker(out))
        assert talk.serve() == 0
        text = out.getvalue().decode()
        assert text == "" or text.endswith("\n")
        for answer in text.splitlines():
            assert re.match(r"(id|option|uciok|readyok|info|bestmove) ?", answer), (line, answer)
        if "info string error" in text or line.split()[:1] != [b"position"]:
            assert seat.past is before, line
        said.append(text)
    return said


SEAT = Seat(even, GardnerChess(), Limits(simulations=1), seed=0)


@fuzzed(80)
@hypothesis.given(lines_of("uci"))
def test_uci(lines):
    check_uci(lines)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["gtp", "htp", "uci"])
def test_thousands_of_lines(protocol):
    @fuzzed(1500)
    @hypothesis.given(lines_of(protocol))
    def many(lines):
        if protocol == "gtp":
            check_gtp(gtp_go.main, only(5), Go(size=5, komi=0.5), lines)
        elif protocol == "htp":
            check_gtp(htp.main, only(4), Hex(size=4, swap=True), lines)
        else:
            check_uci(lines)

    many()


def test_a_line_without_an_end_is_one_answer():
    lines = [b"name", b"play b " + b"c3 " * 2_000_000, b"x" * 5_000_000, b"name"]
    found = answered(gtp_go.main, only(5), Go(size=5, komi=0.5), lines)
    assert [answer.split("\n")[0] for answer, _, _ in found] == [
        "= Halfmove", "? unknown command", "? unknown command", "= Halfmove"
    ]  # fmt: skip
    assert len({board for found in found for board in found[1:]}) == 1


def test_an_end_in_the_middle_of_a_line():
    said = io.BytesIO()
    status = gtp_go.main(
        only(5), Go(size=5, komi=0.5), given=io.BytesIO(b"name\nplay b c"), said=said
    )
    assert status == 0
    assert said.getvalue().startswith(b"= Halfmove\n\n? syntax error")


def test_a_bug_is_an_answer(monkeypatch, capsys):
    def broken(*arguments, **options):
        raise RuntimeError("a bug")

    monkeypatch.setattr(Seat, "begin", broken)
    lines = [b"genmove b", b"lz-analyze", b"name"]
    found = answered(gtp_go.main, only(5), Go(size=5, komi=0.5), lines)
    assert found[0][0] == "? internal error: RuntimeError: a bug\n\n"
    assert found[1][0].startswith("? internal error")
    assert found[2][0] == "= Halfmove\n\n"
    assert "Traceback" in capsys.readouterr().err
    assert np.unique([board for one in found for board in one[1:]]).size == 1
