"""Properties of the rules: legal moves, the end, rewards, results, turns."""

from typing import Any

import jax
import numpy as np

from halfmove.core.game import edge
from halfmove.games.check.subject import BrokenError, Place, Subject

STEPS = 60  # for each random game, to try every action in some positions
DECIDED = 32  # decided games from which something about the results follows


def legal(subject: Subject) -> str:
    """A legal action changes the state; an illegal one changes nothing and earns nothing."""
    subject.expect_no("stuck", "refused")
    places = _tried(subject, ended=False)
    for place in places:
        _try_all(subject, place)
    return (
        f"in {subject.games:,} random games; every action tried in {len(places)} positions"
    )  # fmt: skip


def ends(subject: Subject) -> str:
    """Games end; one that is over has no legal move, stays as it is and earns nothing."""
    subject.expect_no("open", "moved", "paid", "both")
    run = subject.run
    if not run.over.all():
        row, left = int(run.over.argmin()), int((~run.over).sum())
        raise BrokenError(
            f"{left} of {subject.games} random games go on after {subject.plies} moves; "
            "let the game be truncated, or allow more with --plies",
            *subject.story(row, subject.plies),
        )
    if (run.length == 0).any():
        raise BrokenError("a game is over before its first move", *subject.story(0, 0))
    for place in _tried(subject, ended=True):
        _try_all(subject, place)
    cut = f", {run.truncated.mean():.0%} truncated" if run.truncated.any() else ""
    least, most, mean = run.length.min(), run.length.max(), run.length.mean()
    return f"after {least} to {most} moves, {mean:.0f} on average{cut}"


def _tried(subject: Subject, *, ended: bool) -> list[Place]:
    count = int(np.clip(STEPS * subject.games // subject.game.actions, 1, 32))
    chosen = [p for p in subject.places if bool(_over(subject, p)) == ended]
    count = min(count, len(chosen))
    return [chosen[(2 * i + 1) * len(chosen) // (2 * count)] for i in range(count)]


def _over(subject: Subject, place: Place) -> Any:
    seen = subject.seen(place)
    return seen.terminated | seen.truncated


def _try_all(subject: Subject, place: Place) -> None:
    """Raises unless every action does what the mask says it does."""
    seen = subject.seen(place)
    key = subject.keys(subject.rows[:1], 1)[0]
    changed, apart, paid = jax.device_get(subject.try_all(key, subject.state(place)))
    # What the state notes of a last move that ended or earned something may go; anything
    # else stays to the last bit.
    moved = apart if seen.reward.any() or _over(subject, place) else changed
    for what, bad in (
        ("the mask forbids a move that step makes", ~seen.legal & moved),
        ("the mask forbids a move that earns something", ~seen.legal & paid),
        ("the mask allows a move that changes nothing", seen.legal & ~changed),
    ):
        if bad.any():
            action = int(bad.argmax())
            raise BrokenError(
                what,
                *subject.told(place),
                f"move {subject.name(subject.state(place), action)}",
            )


def rewards(subject: Subject) -> str:
    """Rewards are finite, none before the first move, and add up to zero between two players."""
    subject.expect_no("number", "sum")
    first = subject.walk[1][0].reward
    if first.any():
        raise BrokenError(f"the first position has a reward: {first[first.any(1)][0]}")
    low, high = subject.run.total.min(), subject.run.total.max()
    if subject.game.players == 2:
        return f"zero-sum; a game earns {low:g} to {high:g}"
    return f"a game earns {low:g} to {high:g}, {subject.run.total.mean():.4g} on average"


def turns(subject: Subject) -> str:
    """Every player moves, and the discount follows from who moves next."""
    subject.expect_no("player")
    states, sights = subject.walk
    edges = jax.jit(jax.vmap(lambda old, new: edge(subject.game, old, new)))
    again, passed = 0, 0
    movers = set()
    for ply in range(len(states) - 1):
        before, after = sights[ply], sights[ply + 1]
        found = jax.device_get(edges(states[ply], states[ply + 1]))
        going = ~(before.terminated | before.truncated)
        same = before.to_play == after.to_play
        wanted = np.where(after.terminated, 0.0, np.where(same, 1.0, -1.0))
        earned = after.reward[np.arange(len(same)), before.to_play]
        bad = going & ((found.discount != wanted) | (found.reward != earned))
        if bad.any():
            row = int(bad.argmax())
            raise BrokenError(
                f"the edge is ({found.reward[row]:g}, {found.discount[row]:g}); "
                f"expected ({earned[row]:g}, {wanted[row]:g})",
                *subject.told(Place(row, ply + 1)),
            )
        movers |= set(before.to_play[going].tolist())
        again += int((going & same & ~after.terminated).sum())
        passed += int((going & ~same & ~after.terminated).sum())
    if len(movers) < subject.game.players:
        raise BrokenError(f"of {subject.game.players} players only {sorted(movers)} ever moved")
    first = sorted(set(sights[0].to_play.tolist()))
    begins = "" if first == [0] else f"; first moves {' or '.join(map(str, first))}"
    return f"discount −1 after {passed:,} moves, 1 after {again:,}, 0 at the end{begins}"


def results(subject: Subject) -> str:
    """Between two players each wins some random games, and some are won by the last move.

    Where the last mover always loses, or one player always does, the sign or the
    order of the rewards is wrong, or the game is a strange one: `--skip results`.
    """
    if subject.game.players != 2:
        return "one player"
    run = subject.run
    decided = run.over & (run.total[:, 0] != run.total[:, 1])
    won = run.total[:, 0] > run.total[:, 1]
    by_last = np.where(run.last == 0, won, ~won)[decided]
    first = won[decided]
    if len(first) >= DECIDED:
        told = f"of {len(first)} decided random games "
        found = "the player who made the last move won none" if not by_last.any() else ""
        if first.all() or not first.any():
            found = f"player {1 if first.all() else 0} won none"
        if found:
            row = int(np.flatnonzero(decided)[run.length[decided].argmin()])
            raise BrokenError(
                told + found + " (by its rules? --skip results)",
                *subject.story(row, int(run.length[row])),
                f"earned {run.total[row].tolist()}",
            )
    drawn = subject.games - len(first)
    line = f"player 0 won {first.sum():,}, player 1 {(~first).sum():,}, drawn or cut {drawn:,}"
    return (
        line
        + f"; the last mover won {by_last.sum():,}"
        + ("" if len(first) >= DECIDED else " (too few to tell anything)")
    )
