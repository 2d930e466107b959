"""Lines that name a player."""

import pytest

from halfmove.arena.players import game_of, player

GAME = game_of(["hex7"])


def test_options_of_the_planner_stand_behind_the_budget():
    search = player("hex7:pgs@4 learning_rate=0.5 truncate='fixed' horizon=3", GAME).planner
    assert (search.simulations, search.adapt.learning_rate) == (4, 0.5)
    assert (search.truncate, search.horizon) == ("fixed", 3)
    plain = player("hex7-net:pgs@4", GAME).planner
    assert plain.adapt.learning_rate != 0.5
    # Without noise, unless it is asked for.
    loud, still = (player(f"hex7:muzero{x}", GAME).planner for x in (" temperature=0.5", ""))
    assert loud != still
    assert still == player("hex7:muzero@64 temperature=0.0", GAME).planner


@pytest.mark.parametrize(("line", "said"), [
    ("hex7:pgs@4 learning_rat=0.5", "no option 'learning_rat' .did you mean 'learning_rate'"),
    ("hex7:mcs@4 learning_rate=0.5", "no option 'learning_rate'"),
    ("mcts@4 c_puct=1", "nothing but its budget"),
    ("mcts:gumbel@4", "nothing but its budget"),
    ("hex7:pgs@4 learning_rate", "'hex7:pgs@4 learning_rate' is no player"),
    ("hex8", "'hex8' is no player .*no such folder; of the package there are .*hex7"),
])  # fmt: skip
def test_mistakes_are_named(line, said):
    with pytest.raises((ValueError, RuntimeError), match=said):
        player(line, GAME)


def test_engines_of_chess_and_shogi_say_what_is_played():
    # A program's name may look like a planner's.
    assert game_of(["random", "uci:glaurung nodes=500"]).name == "chess"
    assert game_of(["usi:gpsusi nodes=500", "mcts@8"]).name == "shogi"
    assert game_of(["uci:glaurung nodes=5", "hex7@4"]).name == "hex"
    with pytest.raises(ValueError, match="none of these players has a game of its own"):
        game_of(["gtp:gnugo", "mcts@8"])  # of which size?
