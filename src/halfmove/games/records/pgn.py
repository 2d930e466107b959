"""Chess as PGN: the seven tags, SetUp and FEN, Termination, moves in algebraic notation.

What PGN has no tag for (the options of the game, the reason of its end, settings) has a tag
of its own, as the standard allows. Variations are not kept.
http://www.saremba.de/chessgml/standards/pgn/pgn-complete.htm
"""

import functools
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array
from halfmove.games import chess_moves, chess_text
from halfmove.games.chess import Chess
from halfmove.games.follow import Spot
from halfmove.games.records import outcome
from halfmove.games.records.notes import write_note
from halfmove.games.records.reading import (
    Written,
    game_of,
    located,
    places,
    played,
    usable,
    where,
)
from halfmove.games.records.record import Record, RecordError, one_line, text_of
from halfmove.games.records.turns import Turn

ROSTER = {"event": "?", "site": "?", "date": "????.??.??", "round": "?"}
SCORES = {0: "1-0", 1: "0-1", -1: "1/2-1/2", None: "*"}
WINNERS = {score: winner for winner, score in SCORES.items()}
ENDS = {"time": "time forfeit", "forfeit": "abandoned"}
REASONS = {"time forfeit": "time", "abandoned": "forfeit", "rules infraction": "illegal"}
OWN = ("White", "Black", "Result", "SetUp", "FEN", "Termination", "Game", "Reason")
TOKEN = re.compile(
    r"""
      \s*(?:
        \[\s*(?P<tag>[A-Za-z0-9_]+)\s*"(?P<value>(?:[^"\\]|\\.)*)"\s*\]
      | \{(?P<comment>[^}]*)\}
      | ;(?P<line>[^\n]*)
      | (?P<end>1-0|0-1|1/2-1/2|\*)(?=[\s()\[{;]|$)
      | (?P<number>\d+\s*\.+|\d+(?=\s))
      | \$(?P<nag>\d+)
      | (?P<bracket>[()])
      | (?P<move>[A-Za-z0O-][A-Za-z0-9+\#=:\-]*[!?]*)
      )
    """,
    re.VERBOSE | re.DOTALL,
)


# -- writing -----------------------------------------------------------------


def write(game: Game, record: Record, turns: Iterable[Turn]) -> str:
    """One game, with an empty line behind it; several in one file follow each other."""
    assert isinstance(game, Chess)
    tags = _tags(game, record)
    text, commented = [], True
    for i, (turn, after) in enumerate(itertools.pairwise(turns)):
        if turn.player == 0 or commented:
            text.append(f"{int(turn.state.ply) // 2 + 1}{'...' if turn.player else '.'}")
        text.append(_san(game, turn, after))
        note = write_note(game, turn, record.notes[i]) if record.notes else ""
        commented = bool(note)
        if note:
            text.append("{" + note + "}")
    text.append(SCORES[outcome.winner(record)])
    lines = [f'[{name} "{_quoted(value)}"]' for name, value in tags]
    moves = textwrap.wrap(" ".join(text), 79, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, "", *moves, "", ""])


def _san(game: Chess, turn: Turn, after: Spot) -> str:
    """As `Chess.san`, several times as fast: both positions are known here."""
    assert turn.action is not None
    setup = chess_text.parse_fen(game.position(turn.state))
    mate, check = bool(after.reward.any()), bool(_check(after.state.boards[0]))
    mark = "#" if mate else "+" if check else ""
    return chess_text.san(setup, turn.action, np.flatnonzero(turn.legal).tolist()) + mark


@jax.jit
def _check(words: Array) -> Array:
    """[] bool, whether the player to move is in check on a board [4, 2] u32."""
    board = chess_moves.unpack(words)
    return chess_moves.moves(board, jnp.uint8(0), jnp.int8(-1)).check


def _tags(game: Chess, record: Record) -> list[tuple[str, str]]:
    roster = [(_tag(key), record.info.get(key) or none) for key, none in ROSTER.items()]
    winner = outcome.winner(record)
    tags = [
        *roster,
        ("White", record.players[0] or "?"),
        ("Black", record.players[1] or "?"),
        ("Result", SCORES[winner]),
    ]
    if record.position:
        tags += [("SetUp", "1"), ("FEN", game.position(game.parse_position(record.position)))]
    first = record.reason.split(":")[0].split()[:1]
    kind = "rules infraction" if first == ["illegal"] else ENDS.get(outcome.kind(record.reason))
    tags.append(("Termination", kind or ("unterminated" if winner is None else "normal")))
    if record.reason:
        tags.append(("Reason", record.reason))
    if text_of(game) != game.name:
        tags.append(("Game", text_of(game)))
    tags += [(_tag(key), value) for key, value in record.info.items() if key not in ROSTER]
    return tags


def _tag(key: str) -> str:
    return key[0].upper() + key[1:]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


# -- reading -----------------------------------------------------------------


@dataclass
class _Draft:
    """A game while it is read."""

    at: int
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[int, str, str]] = field(default_factory=list)  # offset, move, comment
    end: str = ""


def read(text: str, *, moves: bool = True) -> list[Record]:
    """Every game of a text; RecordError says where it is damaged.

    Without `moves` these are left out, and the rules are not asked.
    """
    place = places(text)
    found = [_record(place, draft, moves) for draft in _drafts(text)]
    if not found:
        raise RecordError('the text holds no game: a PGN file has tags, such as [White "Ada"]')
    return found


def _drafts(text: str) -> Iterator[_Draft]:
    draft: _Draft | None = None
    depth = 0
    for begins, kind, token in _tokens(text):
        if draft is None or (kind == "tag" and (draft.moves or draft.end)):
            if draft is not None:
                yield draft
            draft, depth = _Draft(begins), 0
        if kind == "bracket":
            depth += 1 if token == "(" else -1
            if depth < 0:
                raise RecordError(f"{where(text, begins)}: ) without (")
        elif kind == "tag":
            name, _, value = token.partition(" ")
            draft.tags[name] = value
        elif depth:
            continue
        elif kind == "move":
            draft.moves.append((begins, token, ""))
        elif kind == "comment" and draft.moves:
            offset, move, before = draft.moves[-1]
            draft.moves[-1] = (offset, move, before or one_line(token))
        elif kind == "end":
            draft.end = token
            yield draft
            draft = None
    if depth:
        raise RecordError(f"{where(text, len(text))}: the text ends inside a variation")
    if draft is not None:
        yield draft


def _tokens(text: str) -> Iterator[tuple[int, str, str]]:
    """(offset, kind, text) of everything in a file but numbers and marks of moves."""
    at = 1 if text.startswith("\ufeff") else 0
    end = len(text.rstrip())
    while at < end:
        if text[at] == "%" and (at == 0 or text[at - 1] == "\n"):  # a line for other programs
            at = (text.find("\n", at) + 1) or end
            continue
        if text[at].isspace():
            at += 1
            continue
        found = TOKEN.match(text, at)
        if found is None:
            what = {"[": "tag", "{": "comment"}.get(text[at], "move")
            raise RecordError(f"{where(text, at)}: not a {what} of PGN: {text[at : at + 20]!r}")
        kind = found.lastgroup or ""
        if kind == "value":
            value = re.sub(r"\\(.)", r"\1", found["value"], flags=re.DOTALL)
            yield at, "tag", f"{found['tag']} {value}"
        elif kind in ("comment", "line"):
            yield at, "comment", found[kind]
        elif kind not in ("number", "nag"):
            yield at, kind, found[kind]
        at = found.end()


def _record(place: Callable[[int], str], draft: _Draft, moves: bool) -> Record:
    tags = draft.tags
    with located(place(draft.at)):
        if tags.get("Variant", "Standard").lower() not in ("standard", "chess", "normal"):
            raise ValueError(f"the variant {tags['Variant']!r} is not chess as it is played here")
        game = game_of(tags.get("Game", "chess"), ("chess",))
        assert isinstance(game, Chess)
        score = tags.get("Result") or draft.end or "*"
        if score not in WINNERS:
            raise ValueError(f"Result {score!r} is none of {', '.join(WINNERS)}")
        others = {k[0].lower() + k[1:]: v for k, v in tags.items() if k not in OWN}
        info = {k: v for k, v in others.items() if v != ROSTER.get(k)}
        ended = REASONS.get(tags.get("Termination", "").lower(), "")
        names = [one_line(tags.get(side, "")) for side in ("White", "Black")]
        position = ""
        if "FEN" in tags and moves:
            position = game.position(game.parse_position(tags["FEN"]))
        record = Record(
            game=text_of(game),
            players=tuple("" if name == "?" else name for name in names),
            result=outcome.result_of(WINNERS[score]),
            reason=one_line(tags.get("Reason", ended)),
            info=usable(info),
            position=position,
        )
    if not moves:
        return record
    written = [
        Written(place(offset), functools.partial(_action, game, move), comment)
        for offset, move, comment in draft.moves
    ]
    found = played(game, position, written)
    return Record(**{**vars(record), "moves": found.moves, "notes": found.notes})


def _action(game: Chess, move: str, turn: Spot) -> int:
    if turn.over:
        raise ValueError(f"{move} after the end of the game")
    return game.parse_move(turn.state, move)
