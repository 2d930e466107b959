"""What Go and Hex engines are told, and a whole game of Hex with a swap."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.arena.engines import RESIGN, Engine, EngineFault, gtp, read
from halfmove.arena.engines.child import Child
from halfmove.games.follow import Spot, begin, moved
from tests.arena.engines import fakes, parrot, real

GO = games.make("go", size=5)
GREETING = ["list_commands", "name", "version"]
RULES = {
    "ko": "POSITIONAL",
    "scoring": "AREA",
    "tax": "NONE",
    "suicide": False,
    "hasButton": False,
    "whiteHandicapBonus": "0",
    "friendlyPassOk": False,
}


def actions(game, *names):
    return [game.parse_move(None, name) for name in names]


def test_a_game_of_go(tmp_path):
    log = tmp_path / "log"
    with Engine(fakes.gtp(log, settings="seconds=3.7")) as player:
        player.new_game(GO, actions(GO, "C3", "D4"))
        assert GO.move_name(None, player.choose()) == "A1"
        player.play(GO.parse_move(None, "pass"))
        assert player.title == "Fake"
        assert player.final_score() == ""
        greeting, *told = [said for said in fakes.said(log) if said not in GREETING[1:]]
        assert greeting == GREETING[0]
        rules = told.pop(3)
        assert rules.startswith("kata-set-rules ")
        assert json.loads(rules.partition(" ")[2]) == RULES
        assert told == [
            *("boardsize 5", "clear_board", "komi 7.5", "time_settings 0 3 1"),
            *("play black C3", "play white D4", "genmove black", "play white pass", "final_score"),
        ]
        player.new_game(games.make("go", size=5, komi=-3.25))
        assert "komi -3.25" in fakes.said(log)[-4:]
        assert player.starts == 1


def test_handicap_stones(tmp_path):
    game = games.make("go", size=7, handicap=2)
    spot = Spot(
        game.init(jax.random.key(0)), np.zeros(50, bool), player=1, over=False, reward=np.zeros(2)
    )
    for rules in ([], ["-_no@set_free_handicap"]):
        log = tmp_path / f"log{len(rules)}"
        line = read(fakes.gtp(log, *rules))
        child = Child([line.program, *line.arguments])
        gtp.Gtp(child, line).new_game(game, spot, "")
        child.close("quit")
        told = [said for said in fakes.said(log) if "C3" in said or "E5" in said]
        assert sorted(told[0].split()) == ["C3", "E5", "set_free_handicap"]
        assert sorted(told[1:]) == (["play black C3", "play black E5"] if rules else [])


def test_a_position_of_go(tmp_path):
    text = "(;GM[1]FF[4]SZ[5]KM[7.5]AB[ba][ab]AW[ca][cb][bc]PL[W])"
    with Engine(fakes.gtp(tmp_path / "log")) as player:
        player.new_game(GO, actions(GO, "E1"), position=text)
        assert player.choose() == GO.parse_move(None, "A1")
    told = [said for said in fakes.said(tmp_path / "log") if said.startswith(("play", "gen"))]
    assert sorted(told[:5]) == [
        *("play black A4", "play black B5"),
        *("play white B3", "play white C4", "play white C5"),
    ]
    assert told[5:] == ["play white E1", "genmove black"]


@pytest.mark.parametrize("answer", ["+_resign", "+_Resign"])
def test_resignation(answer, tmp_path):
    with Engine(fakes.gtp(tmp_path / "log", f"{answer}@genmove")) as player:
        player.new_game(GO)
        assert player.choose() == RESIGN


def test_mistakes_of_the_caller(tmp_path):
    with Engine(fakes.gtp(tmp_path / "log")) as player:
        with pytest.raises(RuntimeError, match="call new_game first"):
            player.choose()
        with pytest.raises(ValueError, match="plays go, as all gtp engines do; the game is hex"):
            player.new_game(games.make("hex", size=3))
        with pytest.raises(ValueError, match="action 12 is not legal"):
            player.new_game(GO, [12, 12])
        assert player.starts == 0
        player.new_game(GO, [12])
        with pytest.raises(ValueError, match="action 12 is not legal"):
            player.play(12)
        player.play(25)
        player.play(25)
        with pytest.raises(ValueError, match="the game is over"):
            player.choose()
        assert player.starts == 1


# -- Hex -----------------------------------------------------------------


HEX = games.make("hex", size=4, swap=True)


def hex_game(player, side, seed, swap):
    """Plays a game against random moves and gives its end; a stranger's swap is made if asked."""
    rng = random.Random(seed)
    first = HEX.parse_move(begin(HEX).state, "b1")
    spot = moved(HEX, begin(HEX), first)
    player.new_game(HEX, [first])
    swapped = False
    while not spot.over:
        if spot.player == side:
            action = player.choose()
        else:
            legal = np.flatnonzero(spot.legal)
            action = HEX.cells if swap and spot.legal[-1] else int(rng.choice(legal[legal < 16]))
            player.play(action)
        swapped |= action == HEX.cells
        spot = moved(HEX, spot, action)
    return spot, swapped


@pytest.mark.parametrize(("side", "swap"), [(0, False), (0, True), (1, True)])
def test_whole_games_with_what_speaks_as_mohex_does(side, swap, tmp_path):
    log = tmp_path / "log"
    winners = set()
    with Engine(fakes.mohex(tmp_path, log)) as player:
        for seed in range(4):
            spot, swapped = hex_game(player, side, seed, swap)
            assert swapped == swap
            winner = "WB"[HEX.to_play(spot.state)]
            assert player.final_score() == f"{winner}+"
            winners.add(winner)
        assert player.title == "MoHex"
    told = fakes.said(log)
    assert told[3:7] == [
        *("param_mohex max_games 10", "boardsize 4 4", "param_game allow_swap 1", "play black b1"),
    ]
    after = told[told.index("play black b1") :][:6]
    again = ["clear_board", "param_game allow_swap 0", "play white a2"]
    assert (after[1:4] == again) == (swap and side == 0)
    if side == 1:
        assert after[1:5] == ["genmove white", *again]


def test_hex_that_goes_wrong(tmp_path):
    plain = games.make("hex", size=4)
    player = Engine(fakes.mohex(tmp_path, tmp_path / "log", "max_gmes=1"))
    with player, pytest.raises(EngineFault, match=r"refused: mohex .* Unknown parameter: max_gmes"):
        player.new_game(plain)
    line = fakes.gtp(tmp_path / "swaps", "+_swap-pieces@genmove").replace("gtp:", "htp:", 1)
    with Engine(line) as player:
        for game, opening in ((plain, []), (plain, [0]), (HEX, []), (HEX, [0, 1])):
            player.new_game(game, opening)
            with pytest.raises(EngineFault, match="illegal"):
                player.choose()
        player.new_game(HEX, [3])
        assert player.choose() == HEX.cells


def test_a_position_of_hex(tmp_path):
    text = "(;FF[4]GM[11]SZ[4]AB[b2][c1]AW[d4][a3]PL[B])"
    log = tmp_path / "log"
    with Engine(fakes.mohex(tmp_path, log)) as player:
        player.new_game(HEX, position=text)
        action = player.choose()
        assert HEX.move_name(begin(HEX, text).state, action) == "c4"
    told = [said for said in fakes.said(log) if said.startswith(("play", "gen"))]
    assert sorted(told[:4]) == ["play black b2", "play black c1", "play white a3", "play white d4"]
    assert told[4:] == ["genmove black"]


@pytest.mark.parametrize(("protocol", "game"), [("gtp", GO), ("htp", HEX)])
def test_any_answers(protocol, game, monkeypatch):
    parrot.listens_to_any_lines(monkeypatch, protocol, game, opening=[0])
    parrot.takes_only_moves(monkeypatch, protocol, game)


# -- GNU Go --------------------------------------------------------------


@real.needs("gnugo")
def test_a_game_of_gnu_go():
    with Engine("gtp:gnugo --level 1") as player:
        played = real.whole_game(player, GO, seed=1, side=1)
        assert player.title == "GNU Go 3.8"
        assert not played.resigned
        assert played.score.startswith("W+")
        assert list(GO.reward(played.end.state)) == [-1, 1]


@real.needs("gnugo")
def test_gnu_go_and_our_rules_forbid_the_same_repetition():
    """A ko on 5x5 is taken, and may be taken back only after a move elsewhere."""
    ko = ["B4", "C4", "A3", "D3", "B2", "C2", "C3", "B3"]
    with Engine("gtp:gnugo --level 1") as player:
        player.new_game(GO, actions(GO, *ko))
        with pytest.raises(ValueError, match="not legal"):
            player.play(GO.parse_move(None, "C3"))
        with pytest.raises(EngineFault, match=r"refused.*illegal move"):
            player._talk.play(0, "C3")
        for name in ("E1", "E5", "C3"):
            player.play(GO.parse_move(None, name))


@real.needs("gnugo")
@pytest.mark.parametrize("size", [5, pytest.param(9, marks=pytest.mark.slow)])
def test_eight_engines_at_once(size):
    """In threads that end before the engines do; the games differ, and no process stays."""
    game, before = games.make("go", size=size), fakes.ours()
    engines = [Engine("gtp:gnugo --level 1", seed=seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        played = list(
            pool.map(lambda i: real.whole_game(engines[i], game, seed=i % 2, side=i % 2), range(8))
        )
    assert len(fakes.ours() - before) == 16
    for side, one in enumerate(played):
        assert one.end.over
        assert game.reward(one.end.state)[side % 2] == 1  # nobody loses to chance
        assert one.score.startswith("BW"[side % 2])
    assert len({tuple(one.names) for one in played}) > 2
    for engine in engines:
        engine.close()
    assert fakes.gone(fakes.ours() - before, 1.0)


@pytest.mark.slow
@real.needs("gnugo")
@pytest.mark.parametrize("handicap", [0, 4])
def test_games_of_gnu_go_on_nine_lines(handicap):
    game = games.make("go", size=9, handicap=handicap)
    with Engine("gtp:gnugo --level 10") as player:
        played = real.whole_game(player, game, seed=3, side=1, opening=0)
        assert list(game.reward(played.end.state)) == [-1, 1]
        assert played.score.startswith("W+")
