"""Values of arguments, and how a command says that it failed."""

import argparse
import sys


def count(text: str) -> int:
    """A whole number from 1."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def seed(text: str) -> int:
    """A whole number from 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """A time above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return number


def two(text: str) -> tuple[float, float]:
    """Two numbers, `ELO0,ELO1`."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two numbers, ELO0,ELO1, got {text!r}") from None
    return low, high


def anchor(text: str) -> tuple[str, float]:
    """A player and its rating, `NAME=ELO`."""
    name, found, number = text.rpartition("=")
    try:
        if found:
            return name, float(number)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"must be a player and a number, NAME=ELO, got {text!r}")


def fail(message: str, status: int) -> int:
    """Prints the error; gives the exit status."""
    print(f"halfmove: error: {message}", file=sys.stderr)
    return status
