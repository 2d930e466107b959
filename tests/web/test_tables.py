"""Tables: what people do at them, and how they are kept."""

import os
import time
from dataclasses import replace

import hypothesis
import pytest
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from halfmove.games import records
from halfmove.games.records import Note
from halfmove.web import tables
from halfmove.web.kept import Tables, new_id
from halfmove.web.tables import PERSON

TWO = (PERSON, PERSON)


def table(game="tic_tac_toe", seats=TWO, **more):
    return tables.new(game, seats, id=new_id(), now=0.0, **more)


def after(start, *moves):
    for move in moves:
        start = tables.moved(start, move, now=0.0)
    return start


def test_a_game_is_won_and_named():
    won = after(table(), 0, 3, 1, 4, 2)
    assert won.over
    assert won.result == (1.0, -1.0)
    assert tables.outcome(won) == "X won."
    with pytest.raises(ValueError, match="over"):
        tables.moved(won, 8, now=0.0)
    assert tables.outcome(after(table(), 0, 4, 8, 1, 7, 6, 2, 5, 3)) == "A draw."


def test_an_illegal_move_is_called_by_its_name():
    taken = tables.moved(table("hex size=3"), 4, now=1.0)
    with pytest.raises(ValueError, match=r"^b2 is not legal here; legal: a1, "):
        tables.moved(taken, 4, now=2.0)


def test_an_illegal_move_says_what_is_legal():
    with pytest.raises(ValueError, match=r"legal: 0, 1"):
        tables.moved(after(table(), 4), 4, now=0.0)
    with pytest.raises(ValueError, match="not legal"):
        tables.moved(table(), 99, now=0.0)


def test_undo_goes_back_to_the_person():
    against = after(table(seats=(PERSON, "mcts@2")), 0, 3, 1)
    assert tables.undone(against, now=0.0).moves == (0, 3)  # it has not answered yet
    assert tables.undone(after(against, 4), now=0.0).moves == (0, 3)
    assert tables.undone(after(table(), 0, 3), now=0.0).moves == (0,)
    second = after(table(seats=("mcts@2", PERSON)), 0)
    with pytest.raises(ValueError, match="not moved yet"):
        tables.undone(second, now=0.0)
    with pytest.raises(ValueError, match="nothing to take back"):
        tables.undone(table(), now=0.0)


def test_undo_of_a_resignation_gives_the_game_back():
    given = tables.resigned(after(table(), 0, 3), 0, now=0.0)
    assert tables.outcome(given) == "O won (resignation)."
    back = tables.undone(given, now=0.0)
    assert back.moves == (0, 3)
    assert not back.over


def test_jump_forgets_what_followed_and_the_result():
    back = tables.jumped(after(table(), 0, 3, 1, 4, 2), 3, now=0.0)
    assert (back.moves, back.result, len(back.notes)) == ((0, 3, 1), None, 3)
    with pytest.raises(ValueError, match="ply must be 0 to 3"):
        tables.jumped(back, 4, now=0.0)


def test_versions_grow_with_every_change():
    first = table()
    versions = [first.version]
    for change in (
        lambda t: tables.moved(t, 0, now=0.0),
        lambda t: tables.paused(t, True, now=0.0),
        lambda t: tables.seated(t, (PERSON, "random"), now=0.0),
        lambda t: tables.undone(t, now=0.0),
        lambda t: tables.resigned(t, 1, now=0.0),
    ):
        first = change(first)
        versions.append(first.version)
    assert versions == sorted(set(versions))


def test_clocks_run_for_people_and_charge_others_for_their_search():
    start = table(seats=(PERSON, "mcts@2"), clock=(60.0, 2.0))
    assert tables.time_left(start, 500.0) == (60.0, 60.0)  # stands until the first move
    one = tables.moved(start, 0, now=10.0)
    assert one.clock.left == (62.0, 60.0)
    two = tables.moved(one, 3, now=40.0, took=1.5)  # 28.5 s of compiling are not its fault
    assert two.clock.left == (62.0, 60.5)
    assert tables.time_left(two, 45.0) == (57.0, 60.5)
    late = tables.flagged(two, now=140.0)
    assert tables.outcome(late) == "O won (time)."
    assert tables.moved(two, 4, now=140.0).reason == "time"
    assert tables.flagged(two, now=50.0) is two
    for wrong in ((0.0, 0.0), (10.0, -1.0), (float("nan"), 0.0), (1e9, 0.0)):
        with pytest.raises(ValueError, match="clock"):
            table(clock=wrong)


def test_a_table_is_the_same_after_json():
    some = after(table(clock=(5.0, 1.0)), 0, 3)
    some = tables.moved(some, 1, now=1.0, note=Note(0.5, {1: 7, 2: 1}, 8))
    assert tables.of_json(tables.to_json(some)) == some


@hypothesis.given(st.text(max_size=200) | st.from_regex(r"\{.{0,60}\}"))
def test_a_damaged_table_is_a_sentence(text):
    with pytest.raises(ValueError, match="cannot be read"):
        tables.of_json(text)
    whole = tables.to_json(after(table(), 0))
    with pytest.raises(ValueError, match="cannot be read"):
        tables.of_json(whole.replace('"moves": [0]', '"moves": [0, 0]'))


def test_positions_and_records_go_both_ways():
    set_up = table("chess", position="8/P7/8/8/8/8/k6K/8 w - - 0 1")
    queen = tables.moved(set_up, set_up.rules.parse_move(set_up.spot.state, "a7a8q"), now=0.0)
    text = records.write(queen.rules, tables.record_of(queen))
    again = tables.of_record(records.read(text)[0], id=new_id(), now=0.0)
    assert (again.moves, again.position) == (queen.moves, queen.position)
    start = table("chess").spot.state
    assert table("chess", position=set_up.rules.position(start)).position == ""
    with pytest.raises(ValueError, match="FEN"):
        table("chess", position="nonsense")
    given = tables.resigned(after(table(), 4), 1, now=0.0)
    kept = tables.of_record(tables.record_of(given), id=new_id(), now=0.0)
    assert (kept.result, kept.reason) == ((1.0, -1.0), "resignation")


# -- kept --------------------------------------------------------------------------


def test_a_restart_keeps_the_games(tmp_path):
    kept = Tables(tmp_path / "web", idle=60.0)
    first = kept.put(table())
    kept.change(first.id, lambda t: tables.moved(t, 4, now=0.0))
    kept.flush()
    assert Tables(tmp_path / "web", idle=60.0).get(first.id).moves == (4,)


def test_idle_games_leave_memory_and_then_the_disk(tmp_path, monkeypatch):
    kept = Tables(tmp_path, idle=1000.0)
    old, new = kept.put(table()), kept.put(table())
    kept.flush()
    now = time.time()
    monkeypatch.setattr("halfmove.web.kept.time.time", lambda: now + 700)
    kept.get(new.id)
    kept.flush()
    assert len(kept) == 1
    assert kept.get(old.id) == old  # from the disk
    kept.expire()
    assert len(list(tmp_path.glob("*.json"))) == 2
    monkeypatch.setattr("halfmove.web.kept.time.time", lambda: now + 1800)
    kept.get(new.id)
    os.utime(tmp_path / f"{new.id}.json", (now, now))
    kept.flush()
    kept.expire()
    assert [path.stem for path in tmp_path.glob("*.json")] == [new.id]
    with pytest.raises(HTTPException, match="idle"):
        kept.get(old.id)


@pytest.mark.parametrize("name", ["", "..", "../../etc/x", "a" * 11, "a" * 13, "%2e%2e%2f%2e%2e/",
                                  "abcdefghijk\0", "abcdefghij/x"])  # fmt: skip
def test_only_names_that_were_given_are_looked_for(tmp_path, name):
    (tmp_path / "x.json").write_text(tables.to_json(table()))
    with pytest.raises(HTTPException):
        Tables(tmp_path / "web", idle=60.0).get(name)


def test_a_change_that_fails_changes_nothing(tmp_path):
    kept = Tables(tmp_path, idle=60.0)
    first = kept.put(table())
    with pytest.raises(ValueError, match="legal"):
        kept.change(first.id, lambda t: tables.moved(t, 77, now=0.0))
    assert kept.get(first.id) == first


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    kept = Tables(tmp_path, idle=60.0)
    first = kept.put(table())

    def full(path, data):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("halfmove.web.kept.write_whole", full)
        with pytest.raises(OSError, match="no space"):
            kept.flush()
    kept.flush()
    assert Tables(tmp_path, idle=60.0).get(first.id) == first


def test_seats_and_results_survive(tmp_path):
    kept = Tables(tmp_path, idle=60.0)
    first = replace(table(), seats=("hex7@2", PERSON), result=(0.0, 0.0), reason="agreed")
    kept.put(first)
    kept.flush()
    assert Tables(tmp_path, idle=60.0).get(first.id) == first
