"""The Universal Shogi Interface: the dialogue of play/uci.py with shogi's words.

Specification: Tord Romstad's draft, as shogi programs extended it (`byoyomi`).
"""

import functools

from halfmove.play import centipawns, uci

SHOGI = uci.Dialect(
    name="usi",
    position="sfen",
    fields=4,
    clocks=("btime", "wtime"),
    moves=50,
    nothing="resign",
    scores=centipawns.shogi,
)

main = functools.partial(uci.main, dialect=SHOGI)
