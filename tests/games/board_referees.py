"""Referees of Hex, connect four and Othello in plain Python, slow and obvious.

Players are 0 and 1; a result is the pair of what they earn. Nothing here is shared with
the games: these are what the games are checked against.
"""


class HexReferee:
    """Stones on a rhombus; chains and the four sides are joined in a union-find forest."""

    def __init__(self, size: int) -> None:
        self.size, self.winner = size, None
        self.owner: dict[tuple[int, int], int] = {}
        self.parent: dict[object, object] = {}

    def root(self, node: object) -> object:
        while node in self.parent:
            node = self.parent[node]
        return node

    def join(self, one: object, other: object) -> None:
        one, other = self.root(one), self.root(other)
        if one != other:
            self.parent[one] = other

    def place(self, row: int, column: int, player: int) -> None:
        assert (row, column) not in self.owner
        self.owner[row, column] = player
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                near = row + down, column + right
                if down != right and self.owner.get(near) == player:
                    self.join((row, column), near)
        along = (row, column)[player]  # player 0 goes from row to row
        if along == 0:
            self.join((row, column), f"start of {player}")
        if along == self.size - 1:
            self.join((row, column), f"end of {player}")
        if self.root(f"start of {player}") == self.root(f"end of {player}"):
            self.winner = player


class ConnectFourReferee:
    """Columns as lists; a line is looked for in all directions from the disc just dropped."""

    def __init__(self) -> None:
        self.columns: list[list[int]] = [[] for _ in range(7)]
        self.to_play, self.result = 0, None

    def legal(self) -> set[int]:
        if self.result is not None:
            return set()
        return {c for c in range(7) if len(self.columns[c]) < 6}

    def at(self, column: int, row: int) -> int | None:
        if 0 <= column < 7 and 0 <= row < len(self.columns[column]):
            return self.columns[column][row]
        return None

    def play(self, column: int) -> None:
        me = self.to_play
        self.columns[column].append(me)
        row = len(self.columns[column]) - 1
        for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
            length = 1
            for way in (1, -1):
                step = way
                while self.at(column + step * right, row + step * up) == me:
                    length, step = length + 1, step + way
            if length >= 4:
                self.result = (1, -1) if me == 0 else (-1, 1)
        if self.result is None and sum(map(len, self.columns)) == 42:
            self.result = (0, 0)
        self.to_play = 1 - me


class OthelloReferee:
    """A dictionary of discs, lines walked square by square; 64 is a pass."""

    def __init__(self) -> None:
        self.discs = {(3, 3): 1, (4, 4): 1, (3, 4): 0, (4, 3): 0}
        self.to_play, self.result = 0, None
        self.open = [self.squares(0), self.squares(1)]

    def turned(self, row: int, column: int, player: int) -> list[tuple[int, int]]:
        if (row, column) in self.discs:
            return []
        found = []
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                line, at = [], (row + down, column + right)
                while self.discs.get(at) == 1 - player:
                    line.append(at)
                    at = at[0] + down, at[1] + right
                if self.discs.get(at) == player:
                    found += line
        return found

    def squares(self, player: int) -> set[int]:
        return {s for s in range(64) if self.turned(*divmod(s, 8), player)}

    def legal(self) -> set[int]:
        if self.result is not None:
            return set()
        return self.open[self.to_play] or {64}

    def play(self, square: int) -> None:
        me = self.to_play
        if square != 64:
            for at in [divmod(square, 8), *self.turned(*divmod(square, 8), me)]:
                self.discs[at] = me
        self.to_play = 1 - me
        self.open = [self.squares(0), self.squares(1)]
        if not any(self.open):
            lead = 2 * sum(p == 0 for p in self.discs.values()) - len(self.discs)
            sign = (lead > 0) - (lead < 0)
            self.result = (sign, -sign)
