"""Who owned the board in the end, against areas counted on the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove import games
from halfmove.core.types import Step
from halfmove.learn.augment import turned
from halfmove.learn.loss import LossConfig, of_outputs
from halfmove.learn.owners import owners
from halfmove.learn.targets import Owners, Targets
from halfmove.learn.update import Batch
from halfmove.models import Outputs, Rules
from halfmove.nets import NetConfig
from halfmove.replay import Replay
from tests.games.go_referee import Referee

SIZE, LANES, MOVES = 4, 6, 96
GAME = games.make("go", size=SIZE, komi=0.5, history=1)


def played(resigns):
    """Random games, each restarted when it ends; lane 0 gives up at move 40 if it `resigns`."""
    step, legal = jax.jit(jax.vmap(GAME.step, (None, 0, 0))), jax.jit(jax.vmap(GAME.legal))
    over, turn = jax.jit(jax.vmap(GAME.terminated)), jax.jit(jax.vmap(GAME.to_play))
    first = jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), LANES))
    rng, state, steps, ends = np.random.default_rng(0), first, [], []
    lines, areas, sides = [[] for _ in range(LANES)], {}, []
    for t in range(MOVES):
        allowed = np.array(legal(state))
        passes = rng.random(LANES) < 0.3
        allowed[:, :-1] &= ~passes[:, None]
        action = np.array([rng.choice(np.flatnonzero(row)) for row in allowed], np.int32)
        after = step(jax.random.key(0), state, action)
        ended = np.array(over(after))
        gave_up = (np.arange(LANES) == 0) & (t == 40) & resigns & ~ended
        sides.append(np.array(turn(state)))
        steps.append((state, action, ended | gave_up))
        for lane in range(LANES):
            lines[lane].append(int(action[lane]))
            if ended[lane] or gave_up[lane]:
                areas[lane, t] = None if gave_up[lane] else area(lines[lane])
                lines[lane] = []
        last = jnp.asarray(ended | gave_up)
        state = jax.tree.map(
            lambda new, old, over=last: jnp.where(
                over.reshape(-1, *[1] * (old.ndim - 1)), new, old
            ),
            first,
            after,
        )
        ends.append(ended | gave_up)
    return steps, np.array(ends), areas, np.array(sides)


def area(moves):
    """[size, size]: 1 black's, -1 white's, by a referee that shares no code."""
    referee = Referee(SIZE)
    for move in moves:
        referee.play(move)
    return np.array(referee.owners())


@pytest.mark.parametrize("resigns", [False, True])
def test_owners_of_random_games(resigns):
    steps, ends, areas, sides = played(resigns)
    replay = Replay(lanes=LANES, length=MOVES, chunk=8, window=1, finished_only=True, ends=True)

    def chunk(start):
        part = steps[start : start + 8]
        state = jax.tree.map(lambda *x: jnp.stack(x, axis=1), *(s for s, _, _ in part))
        action = jnp.asarray(np.stack([a for _, a, _ in part], axis=1))
        last = jnp.asarray(np.stack([e for _, _, e in part], axis=1))
        zero = jnp.zeros(action.shape)
        return Step(
            state=state, action=action, policy=jnp.zeros((*action.shape, GAME.actions)),
            value=zero, reward=zero, discount=jnp.where(last, 0.0, -1.0), last=last,
            weight=zero + 1,
        )  # fmt: skip

    store = replay.empty(chunk(0))
    for start in range(0, MOVES, 8):
        store = jax.jit(replay.add)(store, chunk(start))
    lane, time = (x.ravel() for x in np.meshgrid(range(LANES), range(MOVES), indexing="ij"))
    sample = replay.at(store, jnp.asarray(lane, jnp.int32), jnp.asarray(time, jnp.int32))
    found = jax.device_get(jax.jit(lambda sample: owners(GAME, sample))(sample))
    seen = set()
    for i, (b, t) in enumerate(zip(lane, time, strict=True)):
        end = next((u for u in range(t, MOVES) if ends[u][b]), None)
        wanted = None if end is None else areas[b, end]
        assert found.mask[i] == (wanted is not None)
        if wanted is not None:
            sign = 1 if sides[t][b] == 0 else -1
            np.testing.assert_array_equal(found.places[i], sign * wanted)
            seen.add(int(wanted.sum()))
    assert len(seen) > 3


def test_they_turn_with_the_board():
    board = jnp.arange(9.0).reshape(3, 3)
    game = games.make("go", size=3, history=1)
    n = 16
    blank = jnp.zeros((n, 1))
    targets = Targets(
        played=jnp.zeros((n, 1), jnp.int32), policy=jnp.ones((n, 1, 10)) / 10, policy_mask=blank,
        value=blank, value_mask=blank, reward=blank, reward_mask=blank, weight=jnp.ones(n),
        owners=Owners(jnp.broadcast_to(board, (n, 3, 3)), jnp.ones(n)),
    )  # fmt: skip
    seen = jnp.broadcast_to(board[..., None], (n, 3, 3, 3))
    batch = turned(jax.random.key(1), game, Batch(seen, targets))
    np.testing.assert_array_equal(batch.observation[..., 0], batch.targets.owners.places)
    assert len({tuple(x.ravel()) for x in np.asarray(batch.targets.owners.places)}) > 2


def test_the_loss_of_who_owns_what():
    n, size = 3, 2
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(n, size, size)).astype(np.float32)
    whose = rng.integers(-1, 2, (n, size, size)).astype(np.float32)
    mask = np.array([1.0, 0.0, 1.0], np.float32)
    blank = jnp.zeros((n, 1))
    targets = Targets(
        played=jnp.zeros((n, 1), jnp.int32), policy=jnp.zeros((n, 1, 5)), policy_mask=blank,
        value=blank, value_mask=blank, reward=blank, reward_mask=blank, weight=jnp.ones(n),
        owners=Owners(jnp.asarray(whose), jnp.asarray(mask)),
    )  # fmt: skip
    model = Rules(games.make("go", size=2), NetConfig(planes=2, blocks=0))
    outputs = Outputs(jnp.zeros((n, 1, 5)), jnp.zeros((n, 1, 1)), None, jnp.asarray(logits))
    total, metrics = of_outputs(model, LossConfig(ownership_weight=2.0), outputs, targets)
    wanted = 0.0
    for i in (0, 2):
        for p, x in zip((1 + whose[i].ravel()) / 2, logits[i].ravel(), strict=True):
            q = 1 / (1 + np.exp(-x))
            wanted += sum(a * np.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0) / 4
    assert total == pytest.approx(2.0 * wanted / n, rel=1e-5)
    assert metrics["ownership_loss"] == pytest.approx(wanted / 2, rel=1e-5)


def test_the_head_is_asked_by_learning_alone():
    game = games.make("go", size=3, history=1)
    model = Rules(game, NetConfig(planes=2, blocks=1, ownership=True))
    plain = Rules(game, NetConfig(planes=2, blocks=1))
    variables = model.init(jax.random.key(0))
    assert "owners" in variables["params"]
    assert "owners" not in plain.init(jax.random.key(0))["params"]
    observation = jax.random.normal(jax.random.key(1), (4, *game.observation_shape))
    none = jnp.zeros((4, 0), jnp.int32)
    outputs, _ = model.unroll(variables, observation, none, train=False)
    assert outputs.owners.shape == (4, 3, 3)
    other = {
        part: {name: x for name, x in tree.items() if name != "owners"}
        for part, tree in variables.items()
    }
    same, _ = plain.unroll(other, observation, none, train=False)
    assert same.owners is None
    np.testing.assert_array_equal(outputs.policy, same.policy)


def test_the_discs_of_othello_decide():
    game = games.make("othello")
    rng, state, results = np.random.default_rng(2), game.init(jax.random.key(0)), set()
    step = jax.jit(game.step)
    for _ in range(3):
        state = game.init(jax.random.key(0))
        while not game.terminated(state):
            legal = np.flatnonzero(np.asarray(game.legal(state)))
            state = step(jax.random.key(0), state, jnp.int32(rng.choice(legal)))
        whose = np.asarray(game.ownership(state))
        marks = game.position(state).split()[0]
        wanted = [{"X": 1, "O": -1, "-": 0}[mark] for mark in marks]
        assert whose.ravel().tolist() == wanted
        assert np.sign(whose.sum()) == game.reward(state)[0]
        results.add(float(game.reward(state)[0]))
    assert len(results) > 1
