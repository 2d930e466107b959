"""Every stored move learns how its game came out, however many chunks later.

In a game that begins at move s, as seen by who made move s, let S_t = d_s d_{s+1} ... d_{t-1}
be the side that makes move t (|d| = 1 inside a game) and C_t = Σ_{s ≤ i < t} S_i r_i what was
earned before it. When the game has ended and earned R in all, the return of move t,
G_t = r_t + d_t G_{t+1}, is S_t (R - C_t). So a ring that keeps C_t and S_t needs one elementwise
pass when games end, and no second look at rewards. A game may be longer than the ring.

`side` is S_t (1 or -1) while the game goes on, and then ENDED or CUT; `outcome` is C_t while
it goes on, and then G_t, if it ended by its rules. Rewards count in full, without discounting.
"""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, Step, pytree

ENDED = 0  # by its rules: the outcome is known
CUT = 2  # for another reason: there is none, and never will be


@pytree
class Running:
    """The game that each lane is in: what its next move begins with."""

    earned: Array  # [lanes] f32, C
    side: Array  # [lanes] i8, S


@pytree
class Chunk:
    """What T new moves mean for themselves and for those stored before."""

    outcome: Array  # [lanes, T] f32
    side: Array  # [lanes, T] i8
    total: Array  # [lanes] f32, R of the game that was going on, if it has ended
    end: Array  # [lanes] i8: ENDED, CUT, or 1 if it still goes on


def begin(lanes: int) -> Running:
    """New games everywhere."""
    return Running(jnp.zeros(lanes, jnp.float32), jnp.ones(lanes, jnp.int8))


def enter(running: Running, steps: Step) -> tuple[Running, Chunk]:
    """The games that go on after the moves [lanes, T], and what the moves settle."""
    reward, passed, last = steps.reward.T.astype(jnp.float32), steps.discount.T < 0, steps.last.T
    end = jnp.where(last, jnp.where(steps.discount.T == 0, ENDED, CUT), 1).astype(jnp.int8)

    def forward(game: Running, move: tuple[Array, ...]) -> tuple[Running, tuple[Array, ...]]:
        reward, passed, last = move
        earned = game.earned + game.side * reward
        side = jnp.where(passed, -game.side, game.side)
        after = Running(jnp.where(last, 0.0, earned), jnp.where(last, jnp.int8(1), side))
        return after, (game.earned, game.side, earned)

    def backward(game: tuple[Array, Array], move: tuple[Array, Array]) -> tuple[Any, Any]:
        game = jax.tree.map(lambda here, later: jnp.where(move[1] != 1, here, later), move, game)
        return game, game

    after, (before, side, earned) = jax.lax.scan(forward, running, (reward, passed, last))
    goes_on = (jnp.zeros_like(running.earned), jnp.ones_like(running.side))
    first, (total, kind) = jax.lax.scan(backward, goes_on, (earned, end), reverse=True)
    outcome, side = settled(before, side, total, kind)
    return after, Chunk(outcome.T, side.T, *first)


def settled(outcome: Array, side: Array, total: Array, end: Array) -> tuple[Array, Array]:
    """`outcome` and `side` once the games they belong to came to `end` with `total`."""
    goes_on = jnp.abs(side) == 1
    known = goes_on & (end == ENDED)
    outcome = jnp.where(known, side * (total - outcome), outcome)
    return outcome, jnp.where(goes_on & (end != 1), end, side)
