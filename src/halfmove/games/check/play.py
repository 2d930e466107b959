"""Random games, thousands at once on the device, and the way back to any position of them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game, State, over
from halfmove.core.types import Array, pytree

# What can go wrong in one move of one game; `Run.first` says where it first did.
FAULTS = {
    "refused": "a legal move changed nothing",
    "stuck": "the game goes on, but no move is legal",
    "open": "the game is over, but moves are legal",
    "moved": "the game is over, but a move changed it",
    "paid": "the game is over, but a move earned something",
    "number": "a reward is not a finite number",
    "sum": "the rewards of the two players do not add up to zero",
    "player": "to_play is not a player",
    "both": "the game is terminated and truncated at once",
}
SETTLE = 3  # moves tried on games that are over


@pytree
class Sight:
    """What the program reads off one state, but for the observation."""

    legal: Array  # [A] bool
    to_play: Array  # [] i32
    reward: Array  # [P] f32
    terminated: Array  # [] bool
    truncated: Array  # [] bool


def sight(game: Game, state: State) -> Sight:
    """All of it."""
    return Sight(
        game.legal(state),
        game.to_play(state),
        game.reward(state),
        game.terminated(state),
        game.truncated(state),
    )


def differs(one: State, other: State) -> Array:
    """[] bool, whether any leaf of two states of the same structure differs."""

    def leaf(a: Array, b: Array) -> Array:
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        # A NaN is not a change.
        return jnp.any((a != b) & ((a == a) | (b == b)))

    leaves = jax.tree.leaves(jax.tree.map(leaf, one, other))
    return jnp.any(jnp.stack(leaves)) if leaves else jnp.zeros((), bool)


def unmoved(before: Sight, after: Sight) -> Array:
    """[] bool, whether two sights are the same, rewards aside."""
    same = (before.to_play == after.to_play) & (before.terminated == after.terminated)
    return (
        same
        & (before.truncated == after.truncated)
        & jnp.all(before.legal == after.legal)
    )  # fmt: skip


def every_action(game: Game, key: Array, state: State) -> tuple[Array, Array, Array]:
    """[A] bool each: the state changed; what is shown of it changed; it earned something."""

    def outcome(action: Array) -> tuple:
        new = game.step(key, state, action)
        before, after = sight(game, state), sight(game, new)
        apart = ~unmoved(before, after) | jnp.any(game.observe(state) != game.observe(new))
        return differs(state, new), apart, jnp.any(after.reward != 0)

    return jax.vmap(outcome)(jnp.arange(game.actions))


def scramble(word: Array) -> Array:
    """The next of a sequence of random words, u32."""
    word = word * jnp.uint32(1664525) + jnp.uint32(1013904223)
    return word ^ (word >> 16)


def choose(word: Array, legal: Array) -> Array:
    """[] i32, a legal action picked by a random word [] u32; any action if none is legal.

    One multiplication an action and one reduction: next to a step it costs nothing.
    """
    order = jnp.arange(legal.shape[0], dtype=jnp.uint32) * (word | 1) + word
    return jnp.argmax(jnp.where(legal | ~legal.any(), order | 1, 0)).astype(jnp.int32)


def key_of(seed: Array, row: Array, ply: Array) -> Array:
    """The key of move `ply` of game `row`; ply 0 is `init`'s."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), row), ply)


def _wrong(seen: Sight) -> dict[str, Array]:
    """What is wrong with one position."""
    ended = seen.terminated | seen.truncated
    player = (seen.to_play >= 0) & (seen.to_play < seen.reward.shape[0])
    total = jnp.sum(seen.reward) if seen.reward.shape[0] == 2 else jnp.zeros(())
    return {
        "stuck": ~ended & ~seen.legal.any(),
        "open": ended & seen.legal.any(),
        "number": ~jnp.all(jnp.isfinite(seen.reward)),
        "sum": jnp.abs(total) > 1e-5,
        "player": ~player,
        "both": seen.terminated & seen.truncated,
    }


def _faults(old: State, before: Sight, new: State, after: Sight, rested: Array) -> Array:
    """[F] bool, what is wrong with one move; `rested`: not the first one after the end."""
    ended = before.terminated | before.truncated
    changed = differs(old, new)
    found = _wrong(after) | {
        "refused": ~ended & ~changed,
        # The first move after the end may clear what the state notes of the last one.
        "moved": ended & jnp.where(rested, changed, ~unmoved(before, after)),
        "paid": ended & jnp.any(after.reward != 0),
    }
    return jnp.stack([found[name] for name in FAULTS])


@pytree
class _Carry:
    """Everything about N games while they are played."""

    state: State
    seen: Sight  # of the state
    word: Array  # [N] u32
    actions: Array  # [T, N] i32
    length: Array  # [N] i32, moves until the end
    first: Array  # [F, N] i32, moves until each fault was seen; T + 1: never
    total: Array  # [N, P] f32, what each player earned
    last: Array  # [N] i32, who made the last move
    ply: Array  # [] i32
    settled: Array  # [] i32, moves since all games are over


def _start(game: Game, seed: Array, games: int, plies: int) -> _Carry:
    rows = jnp.arange(games)
    state = jax.vmap(lambda row: game.init(key_of(seed, row, jnp.int32(0))))(rows)
    seen = jax.vmap(lambda s: sight(game, s))(state)
    found = jax.vmap(_wrong)(seen)
    never = jnp.zeros(games, bool)
    flags = jnp.stack([found.get(name, never) for name in FAULTS])
    return _Carry(
        state=state,
        seen=seen,
        word=scramble(scramble(rows.astype(jnp.uint32) * 40503 + seed.astype(jnp.uint32))),
        actions=jnp.zeros((plies, games), jnp.int32),
        length=jnp.zeros(games, jnp.int32),
        first=jnp.where(flags, 0, plies + 1),
        total=jnp.zeros((games, game.players)),
        last=jnp.zeros(games, jnp.int32),
        ply=jnp.int32(0),
        settled=jnp.int32(0),
    )


def _turn(game: Game, seed: Array, carry: _Carry) -> _Carry:
    """One move in every game."""
    plies, games = carry.actions.shape

    def move(row: Array, word: Array, state: State, seen: Sight, length: Array) -> tuple:
        action = choose(word, seen.legal)
        new = game.step(key_of(seed, row, carry.ply + 1), state, action)
        after = sight(game, new)
        return action, new, after, _faults(state, seen, new, after, carry.ply > length)

    word = scramble(carry.word)
    action, state, seen, flags = jax.vmap(move)(
        jnp.arange(games), word, carry.state, carry.seen, carry.length
    )
    going = ~(carry.seen.terminated | carry.seen.truncated)
    fresh = flags.T & (carry.first > plies)
    ended = jnp.all(seen.terminated | seen.truncated)
    return _Carry(
        state=state,
        seen=seen,
        word=word,
        actions=carry.actions.at[carry.ply].set(action),
        length=carry.length + going,
        first=jnp.where(fresh, carry.ply + 1, carry.first),
        total=carry.total + seen.reward,
        last=jnp.where(going, carry.seen.to_play, carry.last),
        ply=carry.ply + 1,
        settled=jnp.where(ended, carry.settled + 1, 0),
    )


@dataclass(frozen=True)
class Run:
    """What was seen of N random games."""

    actions: np.ndarray  # [T, N] i32
    length: np.ndarray  # [N] moves until the end, or T
    over: np.ndarray  # [N] bool
    truncated: np.ndarray  # [N] bool
    first: dict[str, np.ndarray]  # by fault, [N]: moves until it was seen; T + 1: never
    total: np.ndarray  # [N, P] f32, what each player earned
    last: np.ndarray  # [N] who made the last move

    def earliest(self, fault: str) -> tuple[int, int] | None:
        """The game that showed a fault after the fewest moves, and how many."""
        row = int(self.first[fault].argmin())
        moves = int(self.first[fault][row])
        return (row, moves) if moves <= len(self.actions) else None


def random_games(game: Game, seed: int, games: int, plies: int) -> Run:
    """`games` random games of at most `plies` moves, every move looked at."""

    @jax.jit
    def play(seed: Array) -> tuple:
        end = jax.lax.while_loop(
            lambda carry: (carry.ply < plies) & (carry.settled < SETTLE),
            lambda carry: _turn(game, seed, carry),
            _start(game, seed, games, plies),
        )
        ended = jax.vmap(lambda state: over(game, state))(end.state)
        return end.actions, end.length, ended, end.seen.truncated, end.first, end.total, end.last

    actions, length, ended, cut, first, total, last = jax.device_get(play(jnp.int32(seed)))
    by_fault = dict(zip(FAULTS, first, strict=True))
    return Run(actions, length, ended, cut, by_fault, total, last)
