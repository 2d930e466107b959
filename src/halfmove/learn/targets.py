"""What the network should have said, from what was played.

A window gives K + 1 targets: of its first position, and after each of K moves unrolled from there.
Past the end of a game the state absorbs: value 0, reward 0, no policy. Where a game was cut short
nothing is known of what would have followed, and nothing is asked. MuZero, appendix G.
"""

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, pytree
from halfmove.replay import Sample


@pytree
class Owners:
    """Whose each place was in the end."""

    places: Array  # [n, H, W] f32, 1 the mover's, -1 the other's, 0 no one's
    mask: Array  # [n] f32, 1 where that is known


@pytree
class Targets:
    """What n positions and K moves from each should give. The masks are weights of the losses."""

    played: Array  # [n, K + 1] i32, the moves made; the last one is not unrolled
    policy: Array  # [n, K + 1, A] f32
    policy_mask: Array  # [n, K + 1] f32
    value: Array  # [n, K + 1] f32, as seen by the player to move
    value_mask: Array  # [n, K + 1] f32
    reward: Array  # [n, K + 1] f32, of the move INTO the step, as seen by who made it
    reward_mask: Array  # [n, K + 1] f32; 0 at the first, which no move leads to
    weight: Array  # [n] f32, of all losses of a window
    legal: Array | None = None  # [n, A] bool, at the first position; None: unknown
    owners: Owners | None = None  # of the first position

    @property
    def action(self) -> Array:
        """[n, K] i32, the moves to unroll."""
        return self.played[:, :-1]


def outcome(
    sample: Sample, *, unroll: int = 0, key: Array | None = None, legal: Array | None = None
) -> Targets:
    """Values are how the game came out: AlphaZero, and MuZero on boards.

    Where a game has no outcome, its values are not asked for. For `key` and `legal` see
    `bootstrapped`.
    """
    _check(sample, unroll, unroll + 1)
    value = sample.outcome[:, : unroll + 1]
    return _targets(sample, value, sample.known[:, None], unroll, key, legal)


def bootstrapped(
    sample: Sample,
    *,
    unroll: int = 0,
    steps: int,
    discount: float,
    key: Array | None = None,
    legal: Array | None = None,
) -> Targets:
    """Values are returns of n = `steps` moves: z_t = Σ_{i<n} D_i r_{t+i} + D_n ν_{t+n}.

    D_i is the product of γ d over the i moves from t on, γ = `discount`, and ν the window's value:
    the search's, or another that was put there. A game that ends sooner has no ν. One that was cut
    short at move e < t + n has ν_e instead: the position after the cut is not stored.

    Moves past the end are drawn at random with `key`, else they are action 0. `legal` [n, A] is
    passed on.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be from 0 to 1, got {discount}")
    _check(sample, unroll, unroll + steps + 1)
    window = sample.window
    cut = window.last & (window.discount != 0)
    factor = jnp.where(window.last, 0.0, discount * window.discount)
    value = window.value[:, steps : steps + unroll + 1]
    for i in reversed(range(steps)):
        at = slice(i, i + unroll + 1)
        value = window.reward[:, at] + jnp.where(factor[:, at] == 0, 0.0, factor[:, at] * value)
        value = jnp.where(cut[:, at], window.value[:, at], value)
    everywhere = jnp.ones((1, 1), bool)
    return _targets(sample, value, everywhere, unroll, key, legal)


def priority(sample: Sample, targets: Targets) -> Array:
    """[n], |ν - z| at the first positions: how wrong the search was. MuZero, appendix G."""
    return jnp.abs(sample.window.value[:, 0] - targets.value[:, 0])


def _targets(
    sample: Sample, value: Array, known: Array, unroll: int, key: Array | None, legal: Array | None
) -> Targets:
    """Targets with `value` [n, K + 1] where the game goes on and it is `known`."""
    window, mask = sample.window, sample.mask[:, : unroll + 1]
    steps = slice(0, unroll + 1)
    ended = window.last & (window.discount == 0) & sample.mask
    absorbed = jnp.cumsum(ended, axis=1, dtype=jnp.int32) - ended > 0
    absorbed = absorbed[:, steps] & ~mask
    actions = window.policy.shape[-1]
    other = (
        jnp.zeros(mask.shape, jnp.int32)
        if key is None
        else jax.random.randint(key, mask.shape, 0, actions)
    )
    reward = jnp.where(mask, window.reward[:, steps], 0.0)[:, :-1]
    # A move past the end leads from the absorbing state to itself, and earns nothing.
    moved = (mask | absorbed)[:, :-1]
    first = jnp.zeros((len(value), 1))
    return Targets(
        played=jnp.where(mask, window.action[:, steps], other).astype(jnp.int32),
        policy=jnp.where(mask[..., None], window.policy[:, steps], 0.0),
        policy_mask=jnp.where(mask, window.weight[:, steps], 0.0),
        value=jnp.where(mask, value, 0.0),
        value_mask=((mask & known) | absorbed).astype(jnp.float32),
        reward=jnp.concatenate([first, reward], axis=1),
        reward_mask=jnp.concatenate([first, moved.astype(jnp.float32)], axis=1),
        weight=sample.weight,
        legal=legal,
    )


def _check(sample: Sample, unroll: int, needed: int) -> None:
    if unroll < 0:
        raise ValueError(f"unroll must be at least 0, got {unroll}")
    length = sample.mask.shape[1]
    if length < needed:
        raise ValueError(
            f"the targets need windows of {needed} moves, got {length}; "
            f"make the replay with window={needed}"
        )
