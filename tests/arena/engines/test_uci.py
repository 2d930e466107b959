"""Chess and shogi engines: what they are told, read by python-chess and python-shogi."""

import random
import shlex
import sys
import time

import chess
import numpy as np
import pytest
import shogi

from halfmove import games
from halfmove.arena.engines import Engine, EngineFault, uci
from halfmove.arena.engines.child import Child
from halfmove.arena.engines.line import read
from halfmove.games.follow import begin, moved
from tests.arena.engines import fakes, parrot, real

SHOGI, CHESS = games.make("shogi"), games.make("chess")


@pytest.mark.parametrize(
    ("game", "protocol"),
    [pytest.param(CHESS, "uci", marks=pytest.mark.slow), (SHOGI, "usi")],
)
def test_games_from_the_start_and_from_a_position(game, protocol, tmp_path):
    """Each question is read by the library; the engine ends if a move or position is wrong."""
    rng, log = random.Random(3), tmp_path / "log"
    with Engine(fakes.uci(log, "nodes=5 Skill Level=7", protocol)) as player:
        texts = [""]
        for number in range(3):
            spot = begin(game, texts[number])
            player.new_game(game, position=texts[number])
            for _ in range(30):
                if spot.over:
                    break
                action = int(rng.choice(np.flatnonzero(spot.legal)))
                if rng.random() < 0.5:
                    action = player.choose()
                else:
                    player.play(action)
                spot = moved(game, spot, action)
            texts.append(game.position(spot.state))
        assert player.title == "Fake 1.0"
        assert player.final_score() == ""
        assert player.starts == 1
    told = fakes.said(log)
    new = f"{protocol}newgame"
    head = [protocol, "setoption name Skill Level value 7", "isready"]
    assert told[:3] == head
    assert told[3:5] == ([new, "isready"] if protocol == "uci" else ["isready", new])
    asked = [said for said in told if said.startswith("position")]
    assert any(said.startswith("position startpos moves ") for said in asked)
    entry = {"uci": "fen", "usi": "sfen"}[protocol]
    assert any(said.startswith(f"position {entry} {texts[2]} moves ") for said in asked)
    assert "go nodes 5" in told


@pytest.mark.parametrize(
    ("text", "go"),
    [
        ("uci:x nodes=1000", "go nodes 1000"),
        ("uci:x depth=8", "go depth 8"),
        ("uci:x seconds=0.25", "go movetime 250"),
        ("uci:x nodes=9 depth=3 seconds=2", "go nodes 9 depth 3 movetime 2000"),
        ("usi:x nodes=1000", "go nodes 1000"),
        ("usi:x seconds=1.5", "go btime 0 wtime 0 byoyomi 1500"),
        ("usi:gpsusi nodes=1000", "go btime 0 wtime 0 byoyomi 10000"),
        ("usi:/usr/games/gpsusi nodes=1000 seconds=2", "go btime 0 wtime 0 byoyomi 2000"),
        ("usi:gpsusi depth=5", "go btime 0 wtime 0 byoyomi 10000"),
    ],
)
def test_the_question_for_a_move(text, go):
    assert uci._go(read(text)) == go


@pytest.mark.parametrize(
    ("setting", "answer"),
    [
        ("skill level=3", "setoption name Skill Level value 3"),
        ("Book File=/a/b c", None),
        ('"Book File=/a/b c"', "setoption name Book File value /a/b c"),
        ("Clear Hash=", "setoption name Clear Hash"),
        ("Ponder=TRUE", "setoption name Ponder value true"),
        ('"Style=Very Risky"', "setoption name Style value Very Risky"),
        (
            "Skil Level=3",
            r"no option 'Skil Level' \(did you mean 'Skill Level'.*it has Skill Level, B",
        ),
        ("Skill Level=21", "wants 0 to 20 for Skill Level, not '21'"),
        ("Skill Level=much", "wants a whole number"),
        ("Ponder=yes", "wants true or false"),
        ("Style=Risky", "wants one of Solid, Normal, Very Risky for Style"),
    ],
)
def test_options(setting, answer, tmp_path):
    if answer is None:
        with pytest.raises(ValueError, match="'c' after the settings has no value"):
            read(f"uci:x nodes=1 {setting}")
        return
    with Engine(fakes.uci(tmp_path / "log", f"nodes=1 {setting}", "usi")) as player:
        if answer.startswith("setoption"):
            player.new_game(SHOGI)
            assert fakes.said(tmp_path / "log")[1] == answer
        else:
            with pytest.raises(EngineFault, match=f"refused: .*{answer}"):
                player.new_game(SHOGI)


SCRIPT = """
import sys
for line in sys.stdin:
    word = line.split()[0]
    if word in ("uci", "usi"): print(word + "ok", flush=True)
    if word == "isready": print("readyok", flush=True)
    if word == "quit": break
    if word == "go": print("info string thinking", "bestmove " + sys.argv[1], sep="\\n", flush=True)
"""


@pytest.mark.parametrize(
    ("game", "answer", "reason", "text"),
    [
        (CHESS, "e2e5", "illegal", "e2e5"),
        (CHESS, "e7e5", "illegal", "e7e5"),
        (CHESS, "a1b4", "illegal", "no piece goes from a1 to b4"),
        (CHESS, "(none)", "illegal", "no move"),
        (CHESS, "0000", "illegal", "no move"),
        (CHESS, "e4", "rubbish", "'e4', which is no move"),
        (CHESS, "", "rubbish", "''"),
        (SHOGI, "5g5e", "illegal", "5g5e"),
        (SHOGI, "P*5e", "illegal", "P*5e"),
        (SHOGI, "win", "illegal", "entering"),
        (SHOGI, "7g7f++", "rubbish", "7g7f++"),
    ],
)
def test_moves_that_are_none(game, answer, reason, text, tmp_path):
    (tmp_path / "engine.py").write_text(SCRIPT)
    line = fakes.uci(tmp_path / "log", protocol="uci" if game is CHESS else "usi")
    line = line.replace(str(fakes.HERE / "fake_uci.py"), f"-I -S {tmp_path / 'engine.py'}")
    with Engine(line.replace(str(tmp_path / "log"), f"'{answer}'")) as player:
        player.new_game(game)
        with pytest.raises(EngineFault) as caught:
            player.choose()
    assert caught.value.reason == reason
    assert text in caught.value.text


@pytest.mark.parametrize(("protocol", "game"), [("uci", CHESS), ("usi", SHOGI)])
def test_any_answers(protocol, game, monkeypatch):
    parrot.listens_to_any_lines(monkeypatch, protocol, game)
    parrot.takes_only_moves(monkeypatch, protocol, game)


# -- real engines --------------------------------------------------------


def check_chess(played):
    """python-chess agrees that it was a game, and how it ended."""
    board = chess.Board()
    for name in played.names:
        board.push_uci(name)  # ValueError if it is not legal
    outcome = board.outcome(claim_draw=True)
    assert outcome is not None
    won = {None: [0, 0], True: [1, -1], False: [-1, 1]}[outcome.winner]
    assert list(CHESS.reward(played.end.state)) == won


def check_shogi(played):
    """python-shogi agrees that it was a game, and that it is mate unless somebody resigned."""
    board = shogi.Board()
    for name in played.names:
        assert shogi.Move.from_usi(name) in board.legal_moves
        board.push_usi(name)
    assert board.is_checkmate() != played.resigned


GAMES = {"uci": (CHESS, check_chess), "usi": (SHOGI, check_shogi)}
ENGINES = [
    pytest.param(line, marks=[real.needs(line[4:].split()[0]), *more])
    for line, *more in (
        ("uci:stockfish nodes=300 Skill Level=10",),
        ("usi:fairy-stockfish nodes=300 Hash=8",),
        ("usi:gpsusi nodes=20000",),
        ("uci:stockfish seconds=0.02 UCI_LimitStrength=true UCI_Elo=1500", pytest.mark.slow),
        ("uci:stockfish depth=3", pytest.mark.slow),
        ("uci:fairy-stockfish nodes=300", pytest.mark.slow),
        ("usi:fairy-stockfish depth=3", pytest.mark.slow),
        ("usi:fairy-stockfish seconds=0.02 UCI_LimitStrength=true UCI_Elo=1500", pytest.mark.slow),
        ("usi:gpsusi depth=4", pytest.mark.slow),
        ("usi:gpsusi seconds=1", pytest.mark.slow),
    )
]


@pytest.mark.parametrize("line", ENGINES)
def test_a_game_of_a_real_engine(line):
    game, check = GAMES[line[:3]]
    with Engine(line) as player:
        played = real.whole_game(player, game, seed=5, side=1)
        check(played)
        assert not played.resigned  # against chance
        assert list(game.reward(played.end.state)) == [-1, 1]


@pytest.mark.slow
@real.needs("stockfish")
def test_a_real_engine_from_a_position_of_mate_in_one():
    text = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
    with Engine("uci:stockfish nodes=1000") as player:
        player.new_game(CHESS, position=text)
        assert CHESS.move_name(begin(CHESS, text).state, player.choose()) == "d1d8"
        with pytest.raises(ValueError, match="the game is over"):
            player.choose()


ENDLESS = """
import sys, threading
stop = threading.Event()
def search():
    nodes = 0
    while not stop.wait(0.001):
        nodes += 40000
        print(f"info time 1 nodes {nodes} nps 1", flush=True)
        if nodes == 120000 and "hasty" in sys.argv:
            break
    print("bestmove e2e4", flush=True)
for line in sys.stdin:
    word = line.split()[0]
    if word in ("uci", "isready"):
        print({"uci": "uciok", "isready": "readyok"}[word], flush=True)
    elif word == "go":
        threading.Thread(target=search, daemon=True).start()
    elif word == "stop":
        stop.set()
    elif word == "quit":
        break
"""


@pytest.mark.parametrize("how", ["endless", "hasty"])
def test_an_engine_that_does_not_know_go_nodes_is_stopped(how, tmp_path, monkeypatch):
    """It searches until it is told to stop, as Toga II does; or it has just answered by itself."""
    program = tmp_path / "endless.py"
    program.write_text(ENDLESS)
    words = shlex.join([sys.executable, "-I", "-S", str(program), how])
    said, interject = [], Child.interject

    def slowly(child, line, deadline):
        said.append(line)
        if line == "stop":
            time.sleep(0.2)  # a hasty engine's answer has come by then
        interject(child, line, deadline)

    monkeypatch.setattr(Child, "interject", slowly)
    with Engine(f"uci:{words} nodes=1000 patience=20") as player:
        player.new_game(CHESS)
        assert CHESS.move_name(begin(CHESS).state, player.choose()) in ("e2e4", "e4")
    assert said.count("stop") == 1
