"""The networks of the package: their cards are whole, they load, and they play."""

import json

import jax
import pytest

from halfmove.arena.players import game_of, player
from halfmove.cli import main
from halfmove.play.terminal import opponent
from halfmove.selfplay.match import match, score
from halfmove.train import checkpoint, zoo
from halfmove.train.presets import PRESETS
from halfmove.train.trained import config_of, saved, trained
from tests.runs import small

LARGE = {"go9", "hex9"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=pytest.mark.slow if x in LARGE else ()) for x in zoo.names()],
)
def test_a_network_wins_against_one_that_knows_nothing(name):
    card, net = zoo.card(name), trained(name)
    assert card.game == net.config.game
    assert card.positions == net.positions
    assert card.seed == net.config.seed
    assert card.preset in PRESETS
    assert all(vars(card).values()) or card.seed == 0
    game = game_of([f"{name}-net:prior"])
    assert type(game) is type(net.game)
    mine, other = player(f"{name}:prior", game), player("mcts@2", game)
    played = match(jax.random.key(0), game, mine, other, games=4, opening=1)
    assert score(played, mine.name) >= 0.75


def test_the_list_and_a_card(capsys):
    assert main(["zoo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == zoo.names()
    assert main(["zoo", "hex7"]) == 0
    assert "halfmove train hex7" in capsys.readouterr().out
    assert main(["zoo", "hex70"]) == 1
    assert "no network 'hex70'" in capsys.readouterr().err


def test_a_name_stands_for_a_folder():
    game, who = opponent("hex7", None, 4)
    assert (game.size, who.name) == (7, "hex7@4")
    with pytest.raises(RuntimeError, match="'hexx' is no run: there is no such folder; of "):
        trained("hexx")


def test_a_stage_of_a_run_is_a_network_too(tmp_path):
    run = small(tmp_path / "run", save_every=1)
    first, *_, last = saved(run)
    assert first < last
    named = trained(run / "checkpoints" / f"{first:08d}")
    assert named.number == first
    assert config_of(run / "checkpoints" / f"{first:08d}") == named.config
    assert trained(run).number == last
    assert trained(run / "checkpoints" / f"{first:08d}", last).number == last


def test_a_run_is_added_with_its_card(tmp_path, monkeypatch, capsys):
    run = small(tmp_path / "run")
    monkeypatch.setattr(zoo, "ROOT", tmp_path / "zoo")
    assert main(["zoo", "ttt", "--add", str(run), "--rating", "none"]) == 1
    assert "give command, device too" in capsys.readouterr().err
    words = ["--command", "halfmove train ttt", "--device", "a", "--rating", "none"]
    strange = ["--command", "by hand", *words[2:]]
    assert main(["zoo", "ttt", "--add", str(run), *strange]) == 1
    assert "expected 'halfmove train PRESET" in capsys.readouterr().err
    assert main(["zoo", "../ttt", "--add", str(run), *words]) == 1
    assert "letters, digits and dashes" in capsys.readouterr().err
    # A network that learned for longer, whose place it takes.
    checkpoint.save(tmp_path / "zoo" / "ttt" / "checkpoints", 1000, {"variables": {}})
    assert main(["zoo", "ttt", "--add", str(run), *words]) == 0
    assert zoo.names() == ["ttt"]
    assert saved("ttt") == saved(run)[-1:]
    mine, theirs = trained("ttt").variables, trained(run).variables
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), mine, theirs))
    kept = json.loads((tmp_path / "zoo" / "ttt" / "card.json").read_text())
    assert kept["positions"] == 32
    assert kept["preset"] == "ttt"
    assert kept["minutes"] == round(zoo.minutes(run), 1)
    assert zoo.minutes(run) > 0
    parts = [path.name for path in (tmp_path / "zoo" / "ttt" / "checkpoints").glob("*/*.safe*")]
    assert parts == ["variables.safetensors"]
