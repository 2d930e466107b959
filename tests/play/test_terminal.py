"""A game in the terminal, played by a script against a run that was really trained."""

import io
from dataclasses import replace

import jax
import pytest

from halfmove import games
from halfmove.cli import main
from halfmove.train.loop import train
from halfmove.train.presets import preset


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = preset("tic_tac_toe")
    config = replace(
        config,
        iterations=2,
        net=replace(config.net, planes=4, blocks=1, head_width=4),
        search=replace(config.search, simulations=2),
        selfplay=replace(config.selfplay, lanes=4, chunk=4),
        rating=replace(config.rating, every=0),
    )
    return train(config, tmp_path_factory.mktemp("runs") / "run")


def said(run, monkeypatch, capsys, text, *options):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    status = main(["play", str(run), "--simulations", "64", *options])
    return status, capsys.readouterr()


def test_a_game_to_its_end(run, monkeypatch, capsys):
    text = "\n".join("012345678" * 2) + "\n"  # what is taken is refused, and the next is tried
    status, out = said(run, monkeypatch, capsys, text)
    assert status == 0
    assert out.out.rstrip().splitlines()[-1] in ("You won.", "You lost.", "A draw.")
    assert "is not legal here" in out.out


def test_the_network_may_begin(run, monkeypatch, capsys):
    status, out = said(run, monkeypatch, capsys, "quit\n", "--second")
    assert status == 0
    assert out.out.count("The network plays") == 1


def test_undo_hint_and_nonsense(run, monkeypatch, capsys):
    status, out = said(run, monkeypatch, capsys, "undo\n4\nundo\nhint\nfoo\n")
    assert status == 0  # the input ends: the person has left
    assert "for you" in out.out
    assert "'foo'" in out.out
    assert "nothing to take back" in out.out
    empty = games.make("tic_tac_toe")
    assert out.out.count(empty.show(empty.init(jax.random.key(0)))) == 2


def test_a_folder_that_is_no_run(tmp_path, capsys):
    assert main(["play", str(tmp_path)]) == 1
    assert "is not a run" in capsys.readouterr().err
