"""Notes on moves as comments: `value +0.1250; simulations 812; visits d4:420 c3:300`.

The value is rounded to four digits. Moves are named as the game names them.
"""

import re

from halfmove.core.game import Game
from halfmove.games.records.record import Note
from halfmove.games.records.turns import Turn

FORM = re.compile(r"(?:value (\S+))?(?:; )?(?:simulations (\d+))?(?:; )?(?:visits((?: \S+:\d+)+))?")


def write_note(game: Game, turn: Turn, note: Note) -> str:
    """The comment on the move of a turn; "" if there is nothing to say."""
    parts = [] if note.value is None else [f"value {note.value:+.4f}"]
    if note.simulations is not None:
        parts.append(f"simulations {note.simulations}")
    if note.visits:
        counts = sorted(note.visits.items(), key=lambda item: -item[1])
        named = " ".join(f"{game.move_name(turn.state, a)}:{int(n)}" for a, n in counts)
        parts.append(f"visits {named}")
    return "; ".join(parts)


def read_note(game: Game, turn: Turn, text: str) -> Note:
    """The note in a comment; an empty one if it is somebody else's comment."""
    found = FORM.fullmatch(text.strip())
    if found is None:
        return Note()
    try:
        value = None if found[1] is None else float(found[1])
        simulations = None if found[2] is None else int(found[2])
        pairs = [pair.rpartition(":") for pair in (found[3] or "").split()]
        visits = {game.parse_move(turn.state, name): int(n) for name, _, n in pairs}
        return Note(value, visits, simulations)
    except ValueError:
        return Note()
