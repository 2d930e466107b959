"""How an engine is named, and what its program is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmove.arena.engines import Line, is_engine, read
from halfmove.arena.engines.line import EXAMPLES, PROTOCOLS
from halfmove.arena.engines.presets import PRESETS, command


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_examples_can_be_read(protocol):
    line = read(EXAMPLES[protocol])
    assert (line.protocol, line.text) == (protocol, EXAMPLES[protocol])
    assert is_engine(EXAMPLES[protocol])


@pytest.mark.parametrize("text", ["mcts@1000", "go9-net:full_gumbel@64", "random", "", "gtp"])
def test_other_players_are_not_engines(text):
    assert is_engine(text) == (text == "gtp")  # a line, if a wrong one: the error says so


PACHI = "gtp:pachi -d 0 -t =10000 threads=1,resign_threshold=0,pass_all_alive"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("gtp:gnugo --level 10", {"program": "gnugo", "arguments": ("--level", "10")}),
        (
            PACHI,
            {
                "program": "pachi",
                "arguments": (
                    *("-d", "0", "-t", "=10000"),
                    "threads=1,resign_threshold=0,pass_all_alive",
                ),
            },
        ),
        (
            "gtp:katago gtp -config my.cfg -override-config maxVisits=100 patience=300 seconds=2.5",
            {
                "program": "katago",
                "arguments": ("gtp", "-config", "my.cfg", "-override-config", "maxVisits=100"),
                "patience": 300.0,
                "seconds": 2.5,
            },
        ),
        (
            "uci:stockfish nodes=1000 Skill Level=5",
            {"program": "stockfish", "nodes": 1000, "options": (("Skill Level", "5"),)},
        ),
        (
            'uci:"/opt/my engines/lc0" --weights=net.pb "Move Overhead=5" depth=3 Backend=blas',
            {
                "program": "/opt/my engines/lc0",
                "arguments": ("--weights=net.pb",),
                "depth": 3,
                "options": (("Move Overhead", "5"), ("Backend", "blas")),
            },
        ),
        (
            "usi:gpsusi -N 2 --memory-use-percent 5 nodes=5 EvalFile=a=b",
            {
                "program": "gpsusi",
                "arguments": ("-N", "2", "--memory-use-percent", "5"),
                "nodes": 5,
                "options": (("EvalFile", "a=b"),),
            },
        ),
        (
            "htp:mohex --seed 1 max_games=1000 nodes=7",
            {
                "program": "mohex",
                "arguments": ("--seed", "1"),
                "options": (("max_games", "1000"), ("nodes", "7")),
            },
        ),
    ],
)
def test_a_line_in_parts(text, parts):
    assert read(text) == Line(text=text, protocol=text[:3], **parts)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gnugo --level 10", "PROTOCOL:PROGRAM.*gtp, htp, uci, usi.*gtp:gnugo"),
        ("xboard:gnuchess", "xboard:gnuchess"),
        ("gtp:", "no program.*gtp:gnugo"),
        ('gtp:gnugo "--level', "no closing quotation"),
        ("uci:stockfish", "how long it may think.*nodes=1000"),
        ("uci:stockfish Hash=16", "how long it may think"),
        ("uci:stockfish nodes=0", "nodes must be a whole number from 1, got '0'"),
        ("uci:stockfish nodes=many", "got 'many'"),
        ("uci:stockfish nodes=1 nodes=2", "nodes is there twice"),
        ("uci:stockfish nodes=1 Hash=1 Hash=2", "Hash is there twice"),
        ("usi:gpsusi nodes=1 --num-cpus 2", "arguments of the program come first"),
        ("uci:lc0 nodes=1 --weights=net.pb", "arguments of the program come first"),
        ("gtp:gnugo seconds=-1", "seconds must be a number of seconds above 0"),
        ("gtp:gnugo seconds=nan", "got 'nan'"),
        ("gtp:gnugo patience=inf", "got 'inf'"),
        ("htp:mohex =3", "'=3' has no name"),
    ],
)
def test_what_is_wrong_with_a_line(text, why):
    with pytest.raises(ValueError, match=why):
        read(text)


@given(st.text(max_size=40), st.sampled_from(["", "gtp:", "uci:", "usi:", "htp:"]))
def test_no_text_does_worse_than_a_value_error(text, head):
    try:
        line = read(head + text)
    except ValueError:
        return
    assert line.program


@pytest.fixture
def programs(tmp_path, monkeypatch):
    for name in (*PRESETS, "pachi"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "gtp:gnugo --level 10",
            "gnugo --level 10 --mode gtp --chinese-rules --positional-superko "
            "--capture-all-dead --never-resign --seed 42",
        ),
        (
            "gtp:gnugo --resign-allowed --seed=7 --simple-ko --japanese-rules --play-out-aftermath",
            "gnugo --resign-allowed --seed=7 --simple-ko --japanese-rules --play-out-aftermath "
            "--mode gtp",
        ),
        (
            "usi:gpsusi nodes=300",
            "gpsusi -N 1 --memory-use-percent 5 --node-count-hard-limit 300",
        ),
        (
            "usi:gpsusi --num-cpus 4 seconds=1",
            "gpsusi --num-cpus 4 --memory-use-percent 5",
        ),
        ("uci:stockfish nodes=300", "stockfish"),
        ("usi:fairy-stockfish nodes=300 Hash=64", "fairy-stockfish"),
        (PACHI, PACHI[4:]),
    ],
)
def test_what_a_program_is_given(text, words, programs):
    found, *rest = command(read(text), 42)
    program, *expected = words.split()
    assert found == str(programs / program)
    assert rest == expected


def test_a_program_that_is_not_here(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("halfmove.arena.engines.presets.GAMES", "")
    with pytest.raises(ValueError, match=r"no program 'gpsusi' here; Debian has it in.*gpsshogi"):
        command(read("usi:gpsusi nodes=1"), 0)
    with pytest.raises(ValueError, match=r"no program 'katago' here$"):
        command(read("gtp:katago gtp"), 0)
