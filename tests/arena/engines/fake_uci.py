"""An engine of UCI or USI on python-chess or python-shogi; run as a script.

    fake_uci.py LOG

It knows nothing of ours: a position or a move that those libraries cannot read ends it. It plays
the legal move that comes last in the alphabet.
"""

import sys

GREETING = """\
id name Fake 1.0
option name Skill Level type spin default 20 min 0 max 20
option name Book File type string default <empty>
option name Clear Hash type button
option name Ponder type check default false
option name Style type combo default Normal var Solid var Normal var Very Risky"""


def position(words):
    """(the library's board, how it writes a move) after `position ...`."""
    moves = words[words.index("moves") + 1 :] if "moves" in words else []
    head = words[: words.index("moves")] if "moves" in words else words
    if PROTOCOL == "uci":
        import chess

        board = chess.Board() if head[1] == "startpos" else chess.Board(" ".join(head[2:]))
        for move in moves:
            board.push_uci(move)  # ValueError if it is not legal
        return board, lambda move: move.uci()
    import shogi

    board = shogi.Board() if head[1] == "startpos" else shogi.Board(" ".join(head[2:]))
    for move in moves:
        if shogi.Move.from_usi(move) not in board.legal_moves:
            raise ValueError(f"{move} is not legal")
        board.push_usi(move)
    return board, lambda move: move.usi()


def main(log):
    global PROTOCOL  # noqa: PLW0603
    board, name = None, str
    with open(log, "a") as file:
        for line in sys.stdin:
            file.write(line)
            file.flush()
            words = line.split()
            if words[0] in ("uci", "usi"):
                PROTOCOL = words[0]
                print(GREETING)
                print(f"{PROTOCOL}ok", flush=True)
            elif words[0] == "isready":
                print("readyok", flush=True)
            elif words[0] == "position":
                board, name = position(words)
            elif words[0] == "go":
                print("info depth 1 score cp 13 pv (and so on)")
                names = sorted(name(move) for move in board.legal_moves)
                print(
                    f"bestmove {names[-1]} ponder a7a6" if names else "bestmove (none)", flush=True
                )
            elif words[0] == "quit":
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
