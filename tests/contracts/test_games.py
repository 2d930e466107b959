"""What every game owes, whatever its rules: `halfmove check` over all of them."""

from pathlib import Path

import jax
import pytest

from halfmove.games import check, make, names
from halfmove.games.check.views import state_bytes

# Small boards reach captures, full boards and repetitions soon; large games are cut short.
SETTINGS = [
    ("go", {"size": 5}, 30),
    ("hex", {"size": 5}, 30),
    ("hex", {"size": 4, "swap": True}, 30),
    ("chess", {"max_plies": 40}, 4),
    ("shogi", {"max_moves": 40}, 4),
    ("gardner_chess", {}, 8),
]
SET = {"go", "hex", "chess", "shogi", "gardner_chess"}
OTHERS = [(name, {}, 30) for name in names() if name not in SET]


def label(value: object) -> str | None:
    if isinstance(value, dict):
        return " ".join(f"{key}={setting}" for key, setting in value.items()) or "plain"
    return None


@pytest.mark.parametrize(("name", "options", "games"), [*SETTINGS, *OTHERS], ids=label)
def test_every_property_holds(name, options, games):
    # How fast a game is depends on the machine.
    found = list(check.check(make(name, **options), games=games, skip=["speed"]))
    failed = {finding.name: (finding.note, *finding.story) for finding in found if not finding.ok}
    assert failed == {}
    assert len(found) == len(check.PROPERTIES) - 1


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_property_holds_in_a_thousand_games_as_played(name):
    found = list(check.check(make(name), games=1000, seed=1))
    assert [(finding.name, finding.note) for finding in found if not finding.ok] == []


def test_every_game_is_made_by_its_own_name_without_options():
    for name in names():
        assert make(name).name == name


def test_the_documented_numbers_are_the_games_own():
    page = (Path(__file__).parents[2] / "docs" / "games.md").read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in row] for row in rows]
    table = {row[0].strip("`"): row[2:6] for row in rows if row[0].strip("`") in names()}
    found = {}
    for name in names():
        game = make(name)
        shape = "×".join(map(str, game.observation_shape))
        size = state_bytes(jax.eval_shape(game.init, jax.random.key(0)))
        found[name] = [f"{game.actions:,}", shape, f"{size:,}", str(len(game.action_maps()))]
    assert table == found
    assert state_bytes(make("go", size=19).init(jax.random.key(0))) == 5896
