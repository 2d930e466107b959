"""A referee of Go in plain Python: boards as strings, every rule taken at its word."""

BLACK, WHITE, EMPTY = "X", "O", "."


class Referee:
    """One game by Tromp-Taylor rules; without `suicide`, a stone must have a liberty."""

    def __init__(self, size, komi=7.5, suicide=False, max_moves=None, board=None, turn=BLACK):
        self.size, self.komi, self.suicide = size, komi, suicide
        self.max_moves = max_moves or 2 * size * size
        self.board = board or EMPTY * (size * size)
        self.turn = turn
        self.seen = {self.board}
        self.past = [self.board]
        self.kos = self.superkos = 0  # moves refused that retake a ko, or repeat an older position
        self.moves = self.passes = 0
        self.over = False
        self.captured = {BLACK: 0, WHITE: 0}  # stones each colour lost
        self.near = [self._neighbours(point) for point in range(size * size)]

    def _neighbours(self, point):
        row, column = divmod(point, self.size)
        sides = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        inside = range(self.size)
        return [r * self.size + c for r, c in sides if r in inside and c in inside]

    def _reach(self, board, start, through, until):
        """The points joined to `start` through one mark; None once a mark of `until` is met."""
        found, stack = {start}, [start]
        while stack:
            for point in self.near[stack.pop()]:
                if board[point] == until:
                    return None
                if board[point] == through and point not in found:
                    found.add(point)
                    stack.append(point)
        return found

    def breathes(self, point):
        """Whether the chain of a stone has a liberty."""
        return self._reach(self.board, point, self.board[point], EMPTY) is None

    def after(self, point):
        """The board after a stone there, or None if the rules forbid it."""
        if self.board[point] != EMPTY:
            return None
        enemy = WHITE if self.turn == BLACK else BLACK
        board = self.board[:point] + self.turn + self.board[point + 1 :]
        if not any(self.board[near] == EMPTY for near in self.near[point]) or any(
            self.board[near] == enemy for near in self.near[point]
        ):
            board = self._cleared(board, point, enemy)
        if board in self.seen:
            if board in self.past[-2:]:
                self.kos += 1
            else:
                self.superkos += 1
            return None
        return board

    def _cleared(self, board, point, enemy):
        for near in self.near[point]:
            if board[near] == enemy:
                board = self._without(board, self._reach(board, near, enemy, EMPTY))
        own = self._reach(board, point, self.turn, EMPTY)
        if own is not None and not self.suicide:
            return None
        return self._without(board, own)

    @staticmethod
    def _without(board, points):
        if points is None:
            return board
        return "".join(EMPTY if i in points else mark for i, mark in enumerate(board))

    def legal(self):
        """The set of legal actions."""
        if self.over:
            return set()
        points = {p for p in range(self.size**2) if self.after(p) is not None}
        return points | {self.size**2}

    def play(self, action):
        """Makes a legal move."""
        assert not self.over
        if action == self.size**2:
            self.passes += 1
        else:
            board = self.after(action)
            assert board is not None
            for colour in (BLACK, WHITE):
                before = self.board.count(colour) + (colour == self.turn)
                self.captured[colour] += before - board.count(colour)
            self.board, self.passes = board, 0
            self.seen.add(board)
        self.past.append(self.board)
        self.turn = WHITE if self.turn == BLACK else BLACK
        self.moves += 1
        self.over = self.passes == 2 or self.moves == self.max_moves

    def owners(self):
        """[size][size]: 1 in black's area, -1 in white's, else 0."""
        whose = [0] * self.size**2
        for point, mark in enumerate(self.board):
            border = {mark}
            if mark == EMPTY:
                region = self._reach(self.board, point, EMPTY, None)
                border = {self.board[n] for p in region for n in self.near[p]} - {EMPTY}
            whose[point] = (border == {BLACK}) - (border == {WHITE})
        return [whose[i : i + self.size] for i in range(0, len(whose), self.size)]

    def score(self):
        """Black's area less white's."""
        return sum(map(sum, self.owners()))

    def result(self):
        """1 if black won, -1 if white did, 0 for a draw or a game that goes on."""
        lead = self.score() - self.komi
        return self.over * ((lead > 0) - (lead < 0))
