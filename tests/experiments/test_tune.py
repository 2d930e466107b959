"""The learning rate of Policy Gradient Search, tuned by matches."""

from dataclasses import replace

import pytest

from halfmove.cli import main
from halfmove.experiments import tune
from halfmove.games.records import Record
from halfmove.train.config import SearchConfig
from halfmove.train.trained import trained
from tests.runs import small


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small(tmp_path_factory.mktemp("runs") / "small-0")


def test_the_best_rate_is_written_where_players_find_it(run, capsys):
    words = f"tune pgs {run} --simulations 4 --games 8 --rates 0.01 100 --seed 3 --options leaves=2"
    assert main(words.split()) == 0
    said = capsys.readouterr().out
    net = trained(run)
    (option,) = net.tuned["pgs"]
    best = float(option.removeprefix("learning_rate="))
    assert best in (0.01, 100)
    assert f"now learns with {best:g}" in said
    assert net.planner(4, "pgs").adapt.learning_rate == best
    assert net.planner(4, "pgs", ("learning_rate=0.5",)).adapt.learning_rate == 0.5
    assert net.planner(4, "mcs").adapt is None


def test_games_go_to_the_rates_that_win(run, monkeypatch):
    """Each rate wins as often as it says: 0.1 never, 0.9 nine times of ten."""
    asked, searches = [], []

    def scripted(key, game, one, other, *, games, opening):
        asked.append((one.name, games))
        searches.extend((one.planner, other.planner))
        wins, won, lost = round(float(one.name) * games), (1.0, -1.0), (-1.0, 1.0)
        names = (one.name, other.name)
        return [Record("tic_tac_toe", names, (i,), won if i < wins else lost) for i in range(games)]

    monkeypatch.setattr(tune, "match", scripted)
    rates = (0.1, 0.9, 0.3, 0.5, 0.7)
    found = tune.tune(trained(run), simulations=4, games=600, rates=rates, options=("leaves=2",))
    assert {search.leaves for search in searches} == {2}
    assert [tried.rate for tried in found] == [0.9, 0.7, 0.5, 0.3, 0.1]
    assert [games for _, games in asked] == [40] * 5 + [66] * 3 + [100] * 2
    assert found[0].games == 206
    assert found[0].score == pytest.approx(0.9, abs=0.01)
    assert found[0].low < found[0].elo < found[0].high


@pytest.mark.parametrize("learned_by", ["pgs", "mcs"])
def test_both_sides_differ_in_the_rate_alone(run, monkeypatch, learned_by):
    """Also where the options of the run are those of one of them: leaves matter more than rates."""
    pairs = []

    def scripted(key, game, one, other, *, games, opening):
        pairs.append((one.planner, other.planner))
        return [Record("tic_tac_toe", (one.name, other.name), (i,), (0, 0)) for i in range(games)]

    monkeypatch.setattr(tune, "match", scripted)
    net = trained(run)
    search = SearchConfig(learned_by, 8, ("leaves=2", "c_puct=3.0"))
    net = replace(net, config=replace(net.config, search=search))
    tune.tune(net, simulations=4, games=8, rates=(0.1, 0.2), options=("truncate='fixed'",))
    for mine, base in pairs:
        assert mine.adapt.learning_rate > 0
        assert base.adapt is None
        names = ("leaves", "simulations", "truncate", "horizon")
        assert [getattr(mine, x) for x in names] == [getattr(base, x) for x in names]


@pytest.mark.parametrize(("words", "said"), [
    ("--games 2", "at least 48 to try 8 rates, got 2"),
    ("--rates 0.1 0.1", "two or more different numbers"),
    ("--rates 0.1 -1", "above 0"),
    ("--checkpoint 7", "no checkpoint 7; there are 2"),
])  # fmt: skip
def test_mistakes_are_named(run, words, said, capsys):
    assert main(["tune", "pgs", str(run), *words.split()]) == 1
    assert said in capsys.readouterr().err
