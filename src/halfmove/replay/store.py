"""What a replay holds, and what it hands out."""

from typing import Any

from halfmove.core.types import Array, Step, pytree
from halfmove.replay.outcome import Running


@pytree
class Store:
    """A ring of moves. Column `t % length` of every lane holds its move number t.

    Moves `head - length` to `head - 1` are there; what was before is overwritten.
    """

    steps: Step  # [lanes, length, ...]; the policy as `policies.keep` made it
    outcome: Array  # [lanes, length] f32, see `outcome`
    side: Array  # [lanes, length] i8, see `outcome`
    running: Running  # [lanes], the games that go on
    head: Array  # [] i32, moves written so far, the same for all lanes
    priority: Array | None  # [lanes, length] f32, p^alpha; None: uniform
    top: Array | None  # [] f32, the greatest p^alpha so far, which new moves get
    end: Array | None = None  # [lanes, length] i32, the last move of the game; NEVER: not yet


@pytree
class Context:
    """The moves just before a window, for observations that look back."""

    state: Any  # [n, C, ...], oldest first
    action: Array  # [n, C] i32
    mask: Array  # [n, C] bool, whether of the same game as the window's first move


@pytree
class Final:
    """The last move of a game: where it was made, and what it was."""

    state: Any  # [n, ...]
    action: Array  # [n] i32


@pytree
class Sample:
    """Windows of L moves in a row; n positions, each the first move of its window."""

    lane: Array  # [n] i32
    time: Array  # [n] i32, the number of the first move in its lane: never used twice
    weight: Array  # [n] f32, of the loss: 1, or an importance weight; 0: nothing to sample
    window: Step  # [n, L, ...], the policy dense f32
    mask: Array  # [n, L] bool, whether of the same game as the first move; a prefix
    outcome: Array  # [n, L] f32, the return of the mover from there on; 0 unless `known`
    known: Array  # [n] bool, whether the game has ended by its rules
    age: Array  # [n] i32, how many moves of the lane are newer
    context: Context | None = None
    final: Final | None = None  # of each window's game, where it is `known`
