"""A Hex engine that speaks HTP as MoHex does; run as a script, it imports nothing of ours.

    fake_mohex.py LOG

A swap leaves the stone where it is and has the players change colours. It swaps whenever it may,
and else plays the last empty cell.
"""

import sys


def winner(stones, size):
    """B if black has joined top and bottom, W if white has joined left and right, or nothing."""
    for colour, axis in (("B", 1), ("W", 0)):
        mine = {cell for cell, owner in stones.items() if owner == colour}
        seen = [cell for cell in mine if cell[axis] == 0]
        for column, row in seen:
            for right, down in ((-1, 0), (1, 0), (0, -1), (0, 1), (1, -1), (-1, 1)):
                near = (column + right, row + down)
                if near in mine and near not in seen:
                    seen.append(near)
        if any(cell[axis] == size - 1 for cell in seen):
            return colour
    return ""


def main(log):
    size, stones, moves, swap = 11, {}, 0, True
    with open(log, "a") as file:
        for line in sys.stdin:
            file.write(line)
            file.flush()
            command, *rest = line.split()
            answer = "="
            if command == "list_commands":
                answer = "= boardsize\nplay\ngenmove\nparam_game\nparam_mohex"
            elif command == "name":
                answer = "= MoHex"
            elif command == "param_mohex" and rest[0] not in ("max_games", "max_time"):
                answer = f"? Unknown parameter: {rest[0]}"
            elif command == "param_game":
                swap = rest == ["allow_swap", "1"]
            elif command in ("boardsize", "clear_board"):
                stones, moves = {}, 0
                size = int(rest[0]) if rest else size
            elif command in ("play", "genmove"):
                colour = rest[0][0].upper()
                if command == "play":
                    cell = ord(rest[1][0]) - ord("a"), int(rest[1][1:]) - 1
                elif moves == 1 and swap:
                    cell = None
                else:
                    every = [(x, y) for y in range(size) for x in range(size)]
                    cell = [at for at in every if at not in stones][-1]
                moves += 1
                if cell in stones:
                    answer = "? illegal move"
                elif cell is None:
                    answer = "= swap-pieces"
                else:
                    stones[cell] = colour
                    if command == "genmove":
                        answer = f"= {chr(ord('a') + cell[0])}{cell[1] + 1}"
            elif command == "final_score":
                won = winner(stones, size)
                answer = f"= {won}+" if won else "= cannot score"
            print(answer, end="\n\n", flush=True)
            if command == "quit":
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
