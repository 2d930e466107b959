"""Many games between several players: who meets whom, what is kept, what it says of strength.

A tournament is a folder. `games.jsonl` grows by a line for every game that is over, and is all
that a tournament which was killed needs to go on; the games are also there in the form that other
programs read (`games.sgf`, `games.pgn`, `games.csa`).
"""

import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from halfmove.arena.person import Left
from halfmove.arena.players import Outside, Person, Player, Timed
from halfmove.arena.round import Engines, play_round
from halfmove.arena.sprt import SPRT
from halfmove.core.game import Game
from halfmove.games import records
from halfmove.games.records import Record
from halfmove.selfplay import rating
from halfmove.selfplay.boards import Fixture
from halfmove.selfplay.openings import Opening
from halfmove.train.durable import RunError, append_whole, write_whole

GAMES = "games.jsonl"
PLAN = "tournament.json"
TOGETHER = 64  # games under way: our moves in them are one search
# Of an engine, one for each core can think; the others wait meanwhile for our moves, so that
# these are searched several at a time.
EACH_CORE = 4


@dataclass(frozen=True)
class Plan:
    """What is to be played. Two folders with equal plans hold the same games."""

    game: str
    players: tuple[str, ...]
    games: int  # of each pair, even
    openings: tuple[Opening, ...]
    gauntlet: bool = False  # the first against all others; else all against all
    seed: int = 0
    limit: int = 1000

    def fixtures(self) -> list[Fixture]:
        """Every game: for each pair each opening twice, sides changed, as often as there are."""
        count = len(self.players)
        pairs = [(0, i) for i in range(1, count)] if self.gauntlet else None
        found: list[Fixture] = []
        for one, other in pairs or itertools.combinations(range(count), 2):
            for i in range(self.games):
                opening = self.openings[i // 2 % len(self.openings)]
                sides = (one, other) if i % 2 == 0 else (other, one)
                found.append(Fixture(len(found), sides, opening))
        return found


def play(
    plan: Plan,
    game: Game,
    players: Sequence[Player],
    folder: Path,
    *,
    at_once: int | None = None,
    test: SPRT | None = None,
    heard: Callable[[list[Record], int], None] = lambda played, total: None,
) -> list[Record]:
    """Plays what is missing in the folder; gives all records, in the order of their numbers.

    `at_once` games are under way together: without it 64 and, where one of the players is an
    engine, which has a process for each, four for every core.
    `heard` is told whenever games have ended what has been played, of how many. `test`, for two
    players, ends the tournament when the answer is known; a person who leaves ends it too, for now.
    RunError: the folder holds another tournament.
    """
    _claim(folder, plan)
    done = {int(record.info["number"]): record for record in load(folder)}
    fixtures = plan.fixtures()
    engines = Engines(_cores())
    try:
        with open(folder / GAMES, "ab", buffering=0) as file:

            def keep(ended: list[Record]) -> None:
                new = [record for record in ended if int(record.info["number"]) not in done]
                if new:
                    append_whole(file, records.write_all(game, new, "json").encode())
                    os.fsync(file.fileno())
                    done.update({int(record.info["number"]): record for record in new})
                    heard(list(done.values()), len(fixtures))

            heard(list(done.values()), len(fixtures))
            for part in _parts(fixtures, players, at_once):
                kept = [fixture.number in done for fixture in part]
                if all(kept):
                    continue
                if test and not any(kept) and decided(test, list(done.values())).verdict:
                    break
                # All of a round is searched together: one that was kept in part is played again
                # as it was, and what is missing of it is kept.
                seed = plan.seed * 1_000_003 + part[0].number
                try:
                    play_round(
                        game, players, part,
                        seed=seed, limit=plan.limit, engines=engines, ended=keep,
                    )  # fmt: skip
                except Left:
                    break
    finally:
        engines.close()
    played = [done[number] for number in sorted(done)]
    suffix = records.suffix(game)
    if played and suffix != ".jsonl":
        write_whole(folder / f"games{suffix}", records.write_all(game, played).encode())
    return played


def _parts(
    fixtures: list[Fixture], players: Sequence[Player], most: int | None
) -> Iterator[list[Fixture]]:
    """Games to be played together, an even number of them; a person plays one at a time.

    Those of a person or a clock are of the same two players, those of an engine of anybody who
    meets it. The others are of any: whoever plays in many pairs then searches for all of them
    at once.
    """

    def apart(fixture: Fixture) -> frozenset[int] | None:
        seats = {i: players[i] for i in fixture.players}
        if any(isinstance(who, (Person, Timed)) for who in seats.values()):
            return frozenset(seats)
        return frozenset(i for i, who in seats.items() if isinstance(who, Outside)) or None

    together: dict[frozenset[int] | None, list[Fixture]] = {}
    for fixture in fixtures:
        together.setdefault(apart(fixture), []).append(fixture)
    for who, mine in together.items():
        seats = [players[i] for i in who or ()]
        if any(isinstance(seat, Person) for seat in seats):
            size = 1
        else:
            engine = any(isinstance(seat, Outside) for seat in seats)
            usual = EACH_CORE * _cores() if engine else TOGETHER
            size = max(2, (most or usual) // 2 * 2)
        for at in range(0, len(mine), size):
            yield mine[at : at + size]


def _cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _claim(folder: Path, plan: Plan) -> None:
    text = json.dumps(plan.__dict__, indent=1).encode()
    path = folder / PLAN
    if path.exists():
        if path.read_bytes() != text:
            raise RunError(
                f"{folder} holds another tournament: give the same players, games, openings and "
                "seed to go on with it, or another folder"
            )
        return
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} is not empty and no tournament: give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def load(folder: Path) -> list[Record]:
    """The records in a folder; the torn end of a line that a killed process left is cut off."""
    path = folder / GAMES
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return records.read(whole.decode()) if whole else []


def rated(played: Sequence[Record], anchors: dict[str, float] | None = None) -> rating.Ratings:
    """The players' ratings by the games that tell something new."""
    return rating.rate(rating.results_of(rating.distinct(played)), anchors=anchors)


def decided(test: SPRT, played: Sequence[Record]) -> SPRT:
    """The test after the pairs of games in `played`, as the first player sees them."""
    by_number = {int(record.info["number"]): record for record in played}
    for number in sorted(by_number):
        if number % 2 == 0 and number + 1 in by_number:
            first, second = by_number[number], by_number[number + 1]
            if first.result and second.result:
                test = test.add(0.5 + first.result[0] / 2, 0.5 + second.result[1] / 2)
    return test
