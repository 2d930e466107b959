"""An engine that says anything at all: what it gives is a legal move or an EngineFault."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmove.arena.engines import REASONS, RESIGN, Engine, EngineFault, engine
from halfmove.arena.engines.line import EXAMPLES

WORDS = [
    *("=", "? no", "", "= pass", "= resign", "= A1", "= c3", "=1 b2", "= swap-pieces", "= swap"),
    *("uciok", "usiok", "readyok", "bestmove", "bestmove e2e4", "bestmove 7g7f", "bestmove P*5e"),
    *("bestmove resign", "bestmove win", "bestmove (none)", "bestmove a7a8z", "id name", "info"),
    *("option name", "option name Hash type spin default min max", "option name Hash type check"),
]
LINES = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text(max_size=20), st.just("=" * 5000)), max_size=30
)
MOVES = st.one_of(st.from_regex(r"[a-z0-9*+A-Z]{1,6}", fullmatch=True), st.text(max_size=8))
# Answers to all that is asked before the first move.
HELLO = {
    "gtp": ["=", ""] * 6,
    "htp": ["=", ""] * 5,
    "uci": ["uciok", "readyok", "readyok"],
    "usi": ["usiok", "readyok", "readyok"],
}


class Parrot:
    """Stands for a program: says the lines it was given, then ends."""

    def __init__(self, lines):
        self.name, self.lines = "parrot", iter(lines)

    def say(self, line, deadline):
        assert "\n" not in line

    def line(self, deadline):
        for line in self.lines:
            return line.strip()
        raise self.fault("crash", "ended")

    def fault(self, reason, what):
        return EngineFault(reason, what)

    def close(self, goodbye=""):
        pass


def converse(player, game, opening=()):
    """A game until the engine fails, which gives the reason, or until it has made four moves."""
    try:
        player.new_game(game, opening)
        for _ in range(4):
            if player._spot.over:
                break
            legal = player._spot.legal
            action = player.choose()
            if action == RESIGN:
                break
            assert legal[action]
            player.final_score()
    except EngineFault as fault:
        assert fault.text  # noqa: PT017
        return fault.reason
    return ""


def listens_to_any_lines(monkeypatch, protocol, game, opening=()):
    """Whatever comes instead of answers, or after the first of them."""

    @given(lines=LINES, greeted=st.booleans())
    @settings(max_examples=100, suppress_health_check=[HealthCheck.nested_given])
    def run(lines, greeted):
        said = HELLO[protocol] * greeted + lines
        monkeypatch.setattr(engine, "Child", lambda command: Parrot(said))
        assert converse(Engine(EXAMPLES[protocol]), game, opening) in ("", *REASONS)

    monkeypatch.setattr(engine, "command", lambda line, seed: ("parrot",))
    run()


def takes_only_moves(monkeypatch, protocol, game):
    """Whatever comes where a move should be."""

    @given(MOVES)
    @settings(max_examples=100, suppress_health_check=[HealthCheck.nested_given])
    def run(text):
        words = " ".join(text.split())
        answer = [f"= {words}", ""] if protocol in ("gtp", "htp") else [f"bestmove {words}"]
        monkeypatch.setattr(engine, "Child", lambda command: Parrot(HELLO[protocol] + answer))
        player = Engine(EXAMPLES[protocol])
        player.new_game(game)
        legal = player._spot.legal
        try:
            action = player.choose()
        except EngineFault as fault:
            assert fault.reason in ("rubbish", "illegal")  # noqa: PT017
        else:
            assert action == RESIGN or legal[action]

    monkeypatch.setattr(engine, "command", lambda line, seed: ("parrot",))
    run()
