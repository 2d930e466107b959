"""Tournaments: every game once, the same ones after a kill, and no engine can end them."""

import json
from collections import Counter

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.arena import round as arena_round
from halfmove.arena import tournament
from halfmove.arena.engines import read
from halfmove.arena.openings import openings
from halfmove.arena.players import Outside, player
from halfmove.arena.solver import solve
from halfmove.arena.sprt import SPRT
from halfmove.cli import main
from halfmove.games import records
from halfmove.selfplay import rating
from halfmove.train.durable import RunError
from tests.arena.engines import fakes
from tests.selfplay import solver

TTT = games.make("tic_tac_toe")
GO = games.make("go", size=3)


def small(names, count=8, game=TTT, opening="random:2", **options):
    found = openings(opening, game, count=count // 2, seed=1)
    plan = tournament.Plan(records.text_of(game), names, count, tuple(found), **options)
    return plan, game, [player(name, game) for name in names]


def test_the_perfect_player_knows_what_plain_python_knows():
    known = solve(TTT)
    state = TTT.init(jax.random.key(0))
    board = (0,) * 9
    for square in (0, 4, 8, 1, 7):
        best = [s for s in range(9) if solver.table()[solver.number(board)][s]]
        assert known.moves(jax.device_get(state)).tolist() == best
        state, board = games.play(TTT, state, square), solver.after(board, square)
    assert len(known.best) == 4520
    with pytest.raises(ValueError, match="only games for two"):
        solve(games.make("2048"))


def test_all_meet_all_from_both_sides_of_every_opening(tmp_path):
    plan, game, seats = small(("random", "perfect", "mcts@4"))
    played = tournament.play(plan, game, seats, tmp_path / "t", at_once=6)
    assert len(played) == 3 * 8
    assert [int(record.info["number"]) for record in played] == list(range(24))
    pairs = [record.players for record in played]
    assert all(pairs.count((a, b)) == 4 for a in plan.players for b in plan.players if a != b)
    for one, other in zip(played[::2], played[1::2], strict=True):
        assert one.players == other.players[::-1]
        assert one.moves[:2] == other.moves[:2]
    mine = [record for record in played if "perfect" in record.players]
    lost = [record for record in mine if record.result[record.players.index("perfect")] < 0]
    assert all(solver_lost(record) for record in lost)
    searched = [r for r in played if r.players[0] == "mcts@4"]
    assert all(sum(note.visits.values()) == 4 for r in searched for note in r.notes[2::2])
    kept = records.read((tmp_path / "t" / "games.jsonl").read_text())
    assert sorted(kept, key=lambda record: int(record.info["number"])) == played
    ratings = tournament.rated(played)
    assert ratings.names[-1] == "random"


def solver_lost(record):
    """Whether the opening had already lost the game for the perfect player."""
    board = (0,) * 9
    for move in record.moves[:2]:
        board = solver.after(board, move)
    mover = 1 if record.players[0] == "perfect" else -1
    return solver.value(board) * mover < 0


def test_what_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    plan, game, seats = small(("random", "mcts@3"), 12)
    whole = tournament.play(plan, game, seats, tmp_path / "whole", at_once=4)

    def stop(played, total):
        assert total == 12
        if len(played) == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tournament.play(plan, game, seats, tmp_path / "half", at_once=4, heard=stop)
    kept = tmp_path / "half" / "games.jsonl"
    lines = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(b"".join(lines[:6]) + lines[6][:20])  # half of a round, a line cut off
    assert tournament.play(plan, game, seats, tmp_path / "half", at_once=4) == whole
    assert len((tmp_path / "half" / "games.jsonl").read_bytes().splitlines()) == 12
    other = small(("random", "mcts@3"), 14)[0]
    with pytest.raises(RunError, match="holds another tournament"):
        tournament.play(other, game, seats, tmp_path / "half")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a").touch()
    with pytest.raises(RunError, match="not empty and no tournament"):
        tournament.play(plan, game, seats, tmp_path / "letters")


def test_the_same_game_counts_once():
    record = records.Record("tic_tac_toe", ("a", "b"), (0, 1, 2), (0.0, 0.0))
    other = records.Record("tic_tac_toe", ("b", "a"), (0, 1, 2), (0.0, 0.0))
    assert rating.distinct([record, record, other]) == [other, record]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("exit@genmove", "crash"),
        ("+_A1@genmove", "illegal"),
        ("+_resign@genmove", "resignation"),
        ("exit@start", "crash"),
        ("-_no@play", "refused"),
    ],
)
def test_a_bad_engine_loses_its_games_and_nothing_else(tmp_path, behaviour, reason):
    before = fakes.ours()
    names = (fakes.gtp(tmp_path / "log", behaviour).strip(), "random")
    plan, game, seats = small(names, 4, GO, opening="first")
    played = tournament.play(plan, game, seats, tmp_path / "t", at_once=4)
    assert len(played) == 4
    for record in played:
        bad = record.players.index(names[0])
        assert record.result[bad] == -1.0
        assert record.result[1 - bad] == 1.0
        assert record.reason.startswith(reason)
    assert fakes.gone(fakes.ours() - before)
    kept = records.read((tmp_path / "t" / "games.sgf").read_text())
    assert [record.moves for record in kept] == [record.moves for record in played]


def test_a_program_that_does_not_begin_is_waited_for_once(tmp_path):
    """Such as one that speaks another language: every game waited for it, one after the other."""
    line = fakes.gtp(tmp_path / "log", "hang@start", settings="patience=2").strip()
    plan, game, seats = small((line, "random"), 24, GO)
    played = tournament.play(plan, game, seats, tmp_path / "t", at_once=24)
    assert len(played) == 24
    assert {record.reason.split()[0].rstrip(":") for record in played} == {"hang"}
    assert (tmp_path / "log").read_text().count("start\n") == 1


def test_games_are_kept_as_they_end(tmp_path):
    plan, game, seats = small(("random", "mcts@3"), 12)
    lines = []

    def heard(played, total):
        lines.append(len((tmp_path / "t" / "games.jsonl").read_bytes().splitlines()))
        assert lines[-1] == len(played)

    tournament.play(plan, game, seats, tmp_path / "t", at_once=12, heard=heard)
    assert lines[0] == 0
    assert lines[-1] == 12
    assert len(lines) > 2


def test_beside_a_gpu_engines_think_while_one_program_searches(tmp_path, monkeypatch):
    """What is done where searches leave the cores alone; here they do not, but it works too."""
    monkeypatch.setattr(arena_round, "_beside", lambda: True)
    rows = []

    def searched(game, who, boards, key, size=0):
        rows.append((len(boards), size))
        return boards_searched(game, who, boards, key, size)

    boards_searched = arena_round.searched
    monkeypatch.setattr(arena_round, "searched", searched)
    line = fakes.gtp(tmp_path / "log").strip()
    plan, game, seats = small(("mcts@3", line), 12, GO)
    played = tournament.play(plan, game, seats, tmp_path / "t", at_once=12)
    assert len(played) == 12
    assert {size for _, size in rows} == {8}  # twelve games, of which half are ours to move in
    assert {count for count, _ in rows} > {6}
    assert max(len(record.moves) for record in played) > 4
    plan, game, seats = small(("mcts@3", "mcts@5", "random"), 8)
    assert len(tournament.play(plan, game, seats, tmp_path / "u", at_once=24)) == 24


def test_a_sequential_test_stops_when_it_knows(tmp_path):
    plan, game, seats = small(("perfect", "random"), 400, opening="random:2")
    assert 60 < len(plan.openings) <= 72  # there are no more
    test = SPRT(0, 100)
    played = tournament.play(plan, game, seats, tmp_path / "t", at_once=40, test=test)
    assert len(played) < 400
    assert tournament.decided(test, played).verdict == "H1"


def test_openings(tmp_path):
    assert openings("first", TTT, count=3, seed=0) == [(a,) for a in range(9)]
    drawn = openings("random:3", TTT, count=20, seed=0)
    assert len(set(drawn)) == 20
    assert drawn == openings("random:3", TTT, count=20, seed=0)
    assert drawn != openings("random:3", TTT, count=20, seed=1)
    path = tmp_path / "lines.jsonl"
    lines = [records.Record("tic_tac_toe", ("a", "b"), moves) for moves in ((0, 1), (4,), (4,))]
    path.write_text(records.write_all(TTT, lines))
    assert openings(str(path), TTT, count=9, seed=0) == [(0, 1), (4,)]
    with pytest.raises(ValueError, match="not of hex"):
        openings(str(path), games.make("hex", size=3), count=9, seed=0)
    for text, words in (("random:x", "random:MOVES"), ("nowhere", "got 'nowhere'")):
        with pytest.raises(ValueError, match=words):
            openings(text, TTT, count=2, seed=0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["random"], "two or more different players"),
        (["random", "random"], "two or more different players"),
        (["random", "mcts@4"], "none of these players has a game"),
        (["random", "nobody", "--game", "tic_tac_toe"], "'nobody' is no player"),
        (["random", "mcts:nothing@4", "--game", "tic_tac_toe"], "unknown planner 'nothing'"),
        (["random", "mcts@0", "--game", "tic_tac_toe"], "at least 1"),
        (["random", "gtp:cat", "--game", "tic_tac_toe"], "plays go, not tic_tac_toe"),
        (["random", "perfect", "--game", "tic_tac_toe", "--games", "3"], "must be even"),
        (
            ["random", "perfect", "--game", "tic_tac_toe", "--openings", "first", "--games", "20"],
            "games must be a multiple of 18, for every first move from both sides; got 20",
        ),
        (["random", "perfect", "--game", "2048"], "no game for two"),
        (["random", "perfect", "--game", "tic_tac_toe", "--anchor", "x=3"], "'x' does not play"),
    ],
)
def test_mistakes_are_named(words, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["arena", *words]) == 1
    assert said in capsys.readouterr().err


def test_the_command_prints_a_table_and_rate_agrees(tmp_path, capsys):
    words = ["arena", "perfect", "random", "--game", "tic_tac_toe", "--games", "12"]
    words += ["--folder", str(tmp_path / "t"), "--anchor", "random=100", "--sprt", "0,300"]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert "+100" in first
    plan = json.loads((tmp_path / "t" / "tournament.json").read_text())
    assert np.shape(plan["openings"]) == (6, 2)
    assert main(words) == 0  # nothing is left to play
    again = capsys.readouterr().out
    assert all(line in again for line in first.splitlines() if line.strip().startswith("1 "))
    assert main(["rate", str(tmp_path / "t" / "games.jsonl"), "--anchor", "random=100"]) == 0
    again = capsys.readouterr().out.splitlines()
    (row,) = [line for line in first.splitlines() if line.strip().startswith("1  perfect")]
    assert row in again or "not counted" in first


@pytest.mark.parametrize(("words", "times"), [([], 1), (["--games", "72"], 4)])
def test_every_first_move_is_played_as_often_as_asked(tmp_path, capsys, words, times):
    """As in a match of 4 games from each first move with each colour."""
    folder = ["--openings", "first", "--folder", str(tmp_path / "t")]
    assert main(["arena", "random", "perfect", "--game", "tic_tac_toe", *folder, *words]) == 0
    played = tournament.load(tmp_path / "t")
    begun = Counter((record.players, record.moves[0]) for record in played)
    assert len(begun) == 18
    assert set(begun.values()) == {times}


def test_pairs_share_a_round_unless_somebody_must_be_alone(tmp_path):
    """A player who meets many searches for all these games at once."""
    game = games.make("tic_tac_toe")
    names = ("mcts@2", "mcts@4", "random", "mcts@0.01s")
    plan = tournament.Plan("tic_tac_toe", names, 4, ((0,), (1,)))
    seats = [player(name, game) for name in names]

    def rounds(most):
        parts = list(tournament._parts(plan.fixtures(), seats, most))
        played = [f for part in parts for f in part]
        assert sorted(played, key=lambda f: f.number) == plan.fixtures()
        return [sorted({tuple(sorted(f.players)) for f in part}) for part in parts]

    assert rounds(64) == [[(0, 1), (0, 2), (1, 2)], [(0, 3)], [(1, 3)], [(2, 3)]]
    assert rounds(6)[:3] == [[(0, 1), (0, 2)], [(0, 2), (1, 2)], [(0, 3)]]
    # An engine, of which as many think as there are cores, meets several at a time.
    seats[0] = Outside("mcts@2", read("gtp:gnugo"))
    assert rounds(8) == [[(0, 1), (0, 2)], [(0, 3)], [(1, 2)], [(1, 3)], [(2, 3)]]
    seats[0] = player(names[0], game)

    plan = tournament.Plan("tic_tac_toe", names[:3], 6, ((0,), (1,), (4,)))
    together = tournament.play(plan, game, seats[:3], tmp_path / "one", at_once=64)
    assert len({int(record.info["number"]) for record in together}) == 18
    assert all(record.result for record in together)
