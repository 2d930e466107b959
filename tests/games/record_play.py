"""Games to write down: played by given numbers, with names and notes that are hard to write."""

import contextlib
import dataclasses
import functools

import hypothesis.strategies as st
import numpy as np

from halfmove.games import make, read, records
from halfmove.games.follow import begin
from halfmove.games.records import Note, Record, RecordError, replay, text_of
from halfmove.games.records.turns import follow

MARKS = "ab Z9]\\[\"'{}();:,/%$*?!+-=<>#éß棋　王"
RESULTS = [(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0), None]
REASONS = [
    "",
    "resignation",
    "time",
    "illegal: e9]",
    "crash",
    'hang: no answer; "id" {',
    "adjudication",
]


class _OverError(Exception):
    pass


def play(game, numbers, position=""):
    """The turns of a game where the n-th move is the legal one of that number, until its end."""

    def choose(number):
        def move(turn):
            if turn.over:
                raise _OverError
            legal = np.flatnonzero(turn.legal)
            return int(legal[number % len(legal)])

        return move

    turns: list = []
    with contextlib.suppress(_OverError):
        turns.extend(follow(game, begin(game, position), map(choose, numbers)))
    return [turn for turn in turns if turn.action is not None]


def random_record(game, seed, length=400, **fields):
    """A game at random, to its end if `length` allows; its result is the rules'."""
    rng = np.random.default_rng(seed)
    turns = play(game, rng.integers(0, 2**16, length), fields.get("position", ""))
    moves = tuple(turn.action for turn in turns)
    bare = Record(text_of(game), ("Ada", "Bob"), moves, **fields)
    earned = np.sum([turn.reward for turn in replay(game, bare)], axis=0)
    ended = list(replay(game, bare))[-1].over
    result = tuple(np.sign(earned).tolist()) if ended else None
    return Record(**{**vars(bare), "result": result})


def line(**sizes):
    """One line of printable text."""
    text = st.text(st.sampled_from(MARKS), **sizes).map(
        lambda s: "".join(c for c in s if c.isprintable()).strip()
    )
    return text.filter(lambda s: s != "?" and len(s) >= sizes.get("min_size", 0))


@st.composite
def any_record(draw, game, length):
    """Any record of a game: moves, notes, names, settings."""
    begin = draw(st.lists(st.integers(0, 2**16), max_size=8))
    position = ""
    if draw(st.booleans()) and begin:
        moves = tuple(turn.action for turn in play(game, begin))
        last = list(replay(game, Record(text_of(game), ("", ""), moves)))[-1]
        position = "" if last.over else game.position(last.state)
        # A position tells less than a game; it must stand as the formats tell it.
        position = game.position(game.parse_position(position)) if position else ""
    turns = play(game, draw(st.lists(st.integers(0, 2**16), max_size=length)), position)
    notes = []
    for turn in turns:
        legal = np.flatnonzero(turn.legal).tolist()
        counts = draw(st.dictionaries(st.sampled_from(legal), st.integers(1, 9999), max_size=3))
        value = draw(st.none() | st.floats(-1, 1).map(lambda x: round(x, 4)))
        notes.append(Note(value, counts))
    keys = st.sampled_from(["event", "date", "round", "seed", "komi_rule", "whiteElo", "site"])
    if not draw(st.booleans()) or all(note == Note() for note in notes):
        notes = []
    return Record(
        game=text_of(game),
        players=(draw(line(max_size=9)), draw(line(max_size=9))),
        moves=tuple(turn.action for turn in turns),
        result=draw(st.sampled_from(RESULTS)),
        reason=draw(st.sampled_from(REASONS)),
        position=position,
        info=draw(st.dictionaries(keys, line(min_size=1, max_size=9), max_size=4)),
        notes=tuple(notes),
    )


def damaged(draw, text, begin=0):
    """The text with something missing, changed or put in, from `begin` on."""
    at = draw(st.integers(begin, len(text)))
    upto = min(len(text), at + draw(st.integers(0, 12)))
    instead = draw(st.text(st.sampled_from("()[];{}%+-\\\"BW1a\n,'"), max_size=3))
    return text[:at] + instead + text[upto:]


def last(game, record):
    """The end of a record."""
    return list(replay(game, record))[-1]


def named(game, names, position=""):
    """The actions of moves by name."""
    moves: tuple = ()
    for name in names:
        turn = last(game, Record(text_of(game), ("", ""), moves, position=position))
        moves += (game.parse_move(turn.state, name),)
    return moves


# -- what holds for every form ---------------------------------------------------


def read_again(data, game, length=16):
    """What is written is read again, in the game's own form and as JSON."""
    record = data.draw(any_record(game, length))
    text = records.write(game, record)
    assert records.read(text) == [record]
    assert records.read(records.write(game, record, "json")) == [record]
    short = dataclasses.replace(record, moves=(), notes=(), position="")
    assert records.read(text, moves=False) == [short]


def several(game):
    """Several games in one file, as one text or one by one, with line ends of any kind."""
    found = [random_record(game, seed, length=12) for seed in range(3)]
    assert records.read(records.write_all(game, found)) == found
    one_by_one = "".join(records.write(game, record) for record in found)
    assert records.read(one_by_one) == found
    assert records.read("\ufeff" + one_by_one.replace("\n", "\r\n")) == found
    assert records.read(records.write_all(game, found, "json")) == found


@functools.cache
def _short(game, form):
    return records.write(game, random_record(game, 5, length=8, reason="time"), form)


def damage(data, game, form="", anywhere=False):
    """Whatever is cut out or put in is harmless, or named by an error that says where."""
    text = _short(game, form)
    _harmless(damaged(data.draw, text), moves=False)
    # Elsewhere than in the options of the game, of which each other one compiles.
    begin = 0 if anywhere else text.index("Ada")
    _harmless(damaged(data.draw, damaged(data.draw, text, begin), begin), moves=True)


def _harmless(text, moves):
    found, message = [], "line "
    try:
        found = records.read(text, moves=moves)
    except RecordError as error:
        message = str(error)
    assert any(word in message for word in ("line ", "holds no game", "empty"))
    for record in found if moves else []:
        list(replay(read(record.game), record))


GO = make("go", size=5, komi=0.5)
HEX = make("hex", size=4, swap=True)
CHESS = make("chess")
SHOGI = make("shogi")
