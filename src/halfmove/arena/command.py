"""`halfmove arena`."""

import datetime
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from halfmove import games as all_games
from halfmove.arena import tournament
from halfmove.arena.openings import openings as drawn
from halfmove.arena.person import present
from halfmove.arena.players import PERSONS, game_of, player
from halfmove.arena.sprt import SPRT
from halfmove.core.game import Game
from halfmove.games.records import Record, text_of
from halfmove.selfplay import rating

USUAL = 64  # games of a pair


def main(
    players: Sequence[str],
    *,
    game: str | None = None,
    games: int | None = None,
    openings: str = "random:2",
    folder: str | None = None,
    gauntlet: bool = False,
    sprt: tuple[float, float] | None = None,
    anchors: dict[str, float] | None = None,
    at_once: int | None = None,
    limit: int = 1000,
    seed: int = 0,
) -> int:
    """Plays a tournament, or goes on with one, and prints the ratings; gives the exit status.

    `games` of each pair: 64 unless given, from every first move all that there are, or so many
    times all.
    """
    names = tuple(text.strip() for text in players)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"two or more different players must be given, got {', '.join(names)}")
    if games is not None and games % 2:
        raise ValueError(f"games must be even, every opening is played twice; got {games}")
    if sprt and len(names) != 2:
        raise ValueError(f"a sequential test is for two players, got {len(names)}")
    for name in anchors or {}:
        if name not in names:
            raise ValueError(f"--anchor: {name!r} does not play; {', '.join(names)} do")
    asking = not set(PERSONS).isdisjoint(names)
    if asking:
        present()
    rules = _rules(game, names)
    plan = _plan(rules, names, games, openings, gauntlet, seed, limit)
    test = SPRT(*sprt) if sprt else None
    where = Path(folder or _new_folder(rules))
    console = Console()
    console.print(
        f"{plan.game}: {len(plan.fixtures())} games, {len(plan.openings)} openings, in {where}"
    )
    seats = [player(name, rules) for name in names]
    with _bar(console, hidden=asking) as bar:
        task = bar.add_task("", total=None)

        def heard(played: list[Record], total: int) -> None:
            bar.update(task, total=total, completed=len(played), description=_estimate(played))

        played = tournament.play(plan, rules, seats, where, at_once=at_once, test=test, heard=heard)
    if not played:
        print(f"No game was finished; the same command with --folder {where} begins again.")
        return 0
    print(rating.table(tournament.rated(played, anchors or None)))
    _remarks(played, test)
    if asking and (left := len(plan.fixtures()) - len(played)):
        print(f"{left} games are left: the same command with --folder {where} goes on.")
    return 0


def _rules(text: str | None, names: Sequence[str]) -> Game:
    rules = all_games.read(text) if text else game_of(names)
    if rules.players != 2 or rules.chance:
        raise ValueError(f"{rules.name} is no game for two without chance")
    return rules


def _plan(
    rules: Game,
    names: tuple[str, ...],
    count: int | None,
    text: str,
    gauntlet: bool,
    seed: int,
    limit: int,
) -> tournament.Plan:
    found = drawn(text, rules, count=(count or USUAL) // 2, seed=seed)
    # Every first move from both sides is a whole tournament: 2 n² games of a pair on n x n Hex.
    once = 2 * len(found)
    if text == "first" and count is not None and count % once:
        raise ValueError(
            f"games must be a multiple of {once}, for every first move from both sides; got {count}"
        )
    each = count or (once if text == "first" else USUAL)
    return tournament.Plan(text_of(rules), names, each, tuple(found), gauntlet, seed, limit)


def _new_folder(rules: Game) -> str:
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return f"arena/{rules.name}-{stamp}"


def _bar(console: Console, *, hidden: bool) -> Progress:
    return Progress(
        MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"),
        console=console, disable=hidden,
    )  # fmt: skip


def _estimate(played: list[Record]) -> str:
    """The two ends of the table as it stands."""
    if not played:
        return ""
    found = tournament.rated(played)
    ends = [0, len(found.names) - 1]
    return ", ".join(f"{found.names[i]} {found.elo[i]:+.0f}" for i in ends)


def _remarks(played: list[Record], test: SPRT | None) -> None:
    same = len(played) - len(rating.distinct(played))
    if same:
        print(f"{same} games went as another one did and were not counted.")
    odd = [record for record in played if record.reason]
    for reason in sorted({record.reason.partition(":")[0] for record in odd}):
        count = sum(record.reason.partition(":")[0] == reason for record in odd)
        print(f"{count} ended by: {reason}.")
    if test is not None:
        print(tournament.decided(test, played))
