"""Whose points are, and the score: what the network's own head says, seen from the right side."""

import io
import json

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.arena.players import Mind
from halfmove.games.go import Go
from halfmove.models import Rules
from halfmove.nets import NetConfig
from halfmove.play import gtp_go, katago
from halfmove.play.seat import Limits
from halfmove.play.territory import territories
from halfmove.search import planner

GAME = Go(size=3, komi=2.5)
NET = NetConfig(planes=4, blocks=1, ownership=True)


def knowing(game):
    """A player with a head for owners, of which it knows nothing yet."""
    model = Rules(game, NET)
    return Mind(
        game, model, model.init(jax.random.key(0)),
        lambda simulations: planner("full_gumbel", simulations=simulations, gumbel_scale=0.0),
    )  # fmt: skip


def logits(mind, state):
    """The head's own words about one position."""
    seen = mind.game.observe(state)[None]
    return np.asarray(mind.model.network.apply(mind.variables, seen, False)[2][0])


def after(*moves):
    state = GAME.init(jax.random.key(0))
    for move in moves:
        state = games.play(GAME, state, move)
    return state


@pytest.mark.parametrize("moves", [(), (4,), (4, 0)])
def test_black_sees_what_the_head_says_of_the_mover(moves):
    mind, state = knowing(GAME), after(*moves)
    legal = np.flatnonzero(GAME.legal(state)).tolist()
    here, *then = territories(mind, state, 2 * legal)  # more than are looked at together
    for found, line in zip([here, *then], [(), *((move,) for move in 2 * legal)], strict=True):
        reached = after(*moves, *line)
        sign = 1 if GAME.to_play(reached) == 0 else -1
        chance = 1 / (1 + np.exp(-logits(mind, reached)))  # that the mover owns it
        assert found.owners == pytest.approx(sign * (2 * chance - 1), abs=1e-5)
        assert found.lead == pytest.approx(float(found.owners.sum()) - 2.5, abs=1e-4)
        other = found.seen_by(True)
        assert (other.lead, other.owners[0, 0]) == (-found.lead, -found.owners[0, 0])


def test_in_the_end_it_is_known():
    pass_move = 9
    here, ended = territories(knowing(GAME), after(4, pass_move), [pass_move])
    assert ended.owners.tolist() == np.ones((3, 3)).tolist()
    assert ended.lead == 9 - 2.5
    assert np.abs(here.owners).max() < 1


def answers(main, text, **options):
    said = io.BytesIO()
    given = io.BytesIO(text.encode())
    assert main(knowing, GAME, given=given, said=said, seed=0, **options) == 0
    return said.getvalue().decode()


def test_programs_that_review_games_get_it_from_the_side_they_ask_for():
    moves = [["B", "B2"]]
    asked = {
        "id": "q", "boardXSize": 3, "boardYSize": 3, "komi": 2.5, "moves": moves, "maxVisits": 8,
        "includeOwnership": True, "includeMovesOwnership": True,
    }  # fmt: skip
    here, *_ = territories(knowing(GAME), after(4), [])
    sides = {"BLACK": here, "WHITE": here.seen_by(True), "SIDETOMOVE": here.seen_by(True)}
    for side, expected in sides.items():
        line = json.dumps(asked | {"overrideSettings": {"reportAnalysisWinratesAs": side}})
        (found,) = map(json.loads, answers(katago.main, line + "\n").splitlines())  # no warning
        assert found["rootInfo"]["scoreLead"] == pytest.approx(expected.lead, abs=1e-3)
        assert found["ownership"] == pytest.approx(expected.owners.ravel().tolist(), abs=1e-3)
        for info in found["moveInfos"]:
            own = sum(info["ownership"])
            komi = -2.5 if side == "BLACK" else 2.5
            assert info["scoreLead"] == pytest.approx(own + komi, abs=0.01)


def test_programs_that_show_a_search_get_it_from_the_mover():
    ask = "play b b2\nkata-analyze w 100 ownership true\nlz-analyze w 100 ownership true\n"
    text = answers(gtp_go.main, ask, limits=Limits(simulations=8))
    kata, lz = (line for line in text.splitlines() if line.startswith("info"))
    here, *_ = territories(knowing(GAME), after(4), [])
    owners = [float(x) for x in kata.split(" ownership ")[1].split()]
    assert owners == pytest.approx((-here.owners).ravel().tolist(), abs=1e-3)
    words = kata.split()
    assert -9 - 2.5 < float(words[words.index("scoreLead") + 1]) < 9 + 2.5
    assert "ownership" not in lz
