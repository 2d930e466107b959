"""What an engine can do wrong in a game."""

# crash     it ended, or closed its output
# hang      it did not answer in its patience
# rubbish   it answered what its protocol does not know
# illegal   it chose a move that the rules of this package forbid
# refused   it would not take a legal move, a setting or the game
# time      its move came later than the line allows
REASONS = ("crash", "hang", "rubbish", "illegal", "refused", "time")

# After these the engine still knows where it is, and may play on.
MILD = ("illegal", "refused")


class EngineFault(Exception):  # noqa: N818
    """The engine has lost its game: `reason` is one of `REASONS`, `text` says what happened.

    The text is one line of printable characters, fit for a game record.
    """

    def __init__(self, reason: str, text: str) -> None:
        clean = "".join(c if c.isprintable() else "?" for c in text)
        super().__init__(reason, clean)
        self.reason, self.text = reason, clean

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"
