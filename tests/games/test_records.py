"""Records of all games: lines of JSON, what a record may be, nothing compiles twice."""

import pytest

from halfmove import games
from halfmove.games import follow, records
from halfmove.games.records import Note, Record, RecordError
from tests.games.record_play import GO, HEX, random_record

# These have a form of their own, and tests of it.
OTHERS = [name for name in games.names() if name not in ("go", "hex", "chess", "shogi")]
SOON = ("2048", "connect_four", "tic_tac_toe")  # to compile


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SOON else pytest.mark.slow) for name in OTHERS],
)
def test_every_other_game_is_a_line_of_json(name):
    game = games.make(name)
    if game.chance:
        record = Record(name, ("Ada",) * game.players, (1, 3, 2), (512.0,) * game.players)
    else:
        record = random_record(game, 1, length=60)
    assert records.suffix(game) == ".jsonl"
    text = records.write(game, record)
    assert text.count("\n") == 1
    assert records.read(text) == [record]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ('{"game": "hex size=4 swap=true", "players": ["a", "b"], "moves": [0, 0]}',
         "line 1: move 2, a1: not legal"),
        ('{"game": "hex"', "line 1, column 15: "),
        ('{"game": "hex"}', "line 1: expected an object with game, players, moves"),
        ('{"game": "hex", "players": ["a"], "moves": []}', "line 1: hex has 2 players"),
        ('{"game": "hex", "players": ["a", 3], "moves": []}', "line 1: player must be"),
        ('{"game": "hex", "players": ["a", "b"], "moves": 3}', "line 1: a field is not of"),
        ('{"game": "hax", "players": ["a", "b"], "moves": []}', "line 1: unknown game 'hax'"),
        ('{"game": "hex", "players": ["a", "b"], "moves": [], "x": 1}', "line 1: x: the fields"),
    ],
)  # fmt: skip
def test_errors_say_where_and_why(text, message):
    with pytest.raises(RecordError, match=message):
        records.read(text)


def test_a_second_record_compiles_nothing():
    before = follow._compiled.cache_info().currsize
    for seed in range(2):
        record = random_record(HEX, seed, length=20)
        records.read(records.write(HEX, record))
        after = follow._compiled.cache_info().currsize
        assert after <= before + 1 if seed == 0 else after == before
        before = after


# -- what a record may be ------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"players": ("a\nb", "c")}, "player must be printable text in one line"),
        ({"players": (" a", "c")}, "without blanks around it"),
        ({"reason": "a\tb"}, "reason must be"),
        ({"info": {"seed": 3}}, "seed must be printable text"),
        ({"info": {"seed": ""}}, "leave it out"),
        ({"info": {"two words": "x"}}, "cannot name an entry"),
        ({"info": {"result": "x"}}, "cannot name an entry"),
        ({"moves": (1, 2), "notes": (Note(),)}, "1 for 2 moves"),
        ({"result": (1.0,)}, "one number for each player"),
    ],
)
def test_a_record_that_none_could_write(fields, message):
    with pytest.raises(ValueError, match=message):
        Record(**{"game": "go", "players": ("a", "b"), **fields})


def test_any_text_becomes_one_line():
    for text in ("crash:\n\tTraceback (most\x00 recent", " \ud800 \u3000x\r\n", "", "plain"):
        Record("go", ("a", "b"), reason=records.one_line(text))
    assert records.one_line("a\nb") == "a b"


def test_records_that_cannot_be_written():
    with pytest.raises(ValueError, match="'hex size=4' is not one of 'hex size=4 swap=true'"):
        records.write(HEX, Record("hex size=4", ("a", "b")))
    with pytest.raises(ValueError, match="go is written as sgf or json, not as 'pgn'"):
        records.write(GO, Record(records.text_of(GO), ("a", "b")), "pgn")
    with pytest.raises(ValueError, match=r"\(1, -1\), \(-1, 1\) or \(0, 0\)"):
        records.write(GO, Record(records.text_of(GO), ("a", "b"), result=(0.5, 0.5)))
    with pytest.raises(ValueError, match="move 2, A5: not legal"):
        records.write(GO, Record(records.text_of(GO), ("a", "b"), (0, 0)))
    with pytest.raises(ValueError, match="game of chance"):
        list(records.replay(games.make("2048"), Record("2048", ("a",), (1,))))


def test_the_text_of_a_game_is_read_as_the_same_game():
    assert records.text_of(games.make("go")) == "go"
    assert records.text_of(GO) == "go size=5 komi=0.5"
    assert records.text_of(HEX) == "hex size=4 swap=true"
    for name in games.names():
        game = games.make(name)
        assert games.read(records.text_of(game)) == game
