"""The findings on the terminal and in a file."""

import json
import os
import time
from typing import Any

import jax

from halfmove.core.game import Game
from halfmove.games.check import Finding, check
from halfmove.games.check.views import state_bytes


def main(game: Game, title: str, *, file: str | None = None, **options: Any) -> int:
    """Prints one line for every property; 0 if all hold, else 1.

    With `file`, the findings are written there, and the speed is compared with what
    the file said before.
    """
    before = _earlier(file)
    findings = []
    print(f"{title}: {options['games']:,} random games, seed {options['seed']}", flush=True)
    for finding in check(game, **options):
        findings.append(finding)
        print(line(finding, _compared(finding, before, title, file)), flush=True)
    failed = [finding.name for finding in findings if not finding.ok]
    print(f"failed: {', '.join(failed)}" if failed else "all hold")
    if file is not None:
        with open(file, "w") as out:
            json.dump(_record(game, title, findings, options), out, indent=1)
            out.write("\n")
    return 1 if failed else 0


def line(finding: Finding, remark: str = "") -> str:
    """One finding, with how to see a failure again below it."""
    status = "OK" if finding.ok else "FAILED" if finding.run else "-"
    rows = [f"{status:7s} {finding.name:11s} {finding.note}{remark}"]
    rows += [f"{'':20s}{row}" for text in finding.story for row in text.splitlines()]
    return "\n".join(rows)


def numbers(game: Game) -> list[str]:
    """What a game measures: players, actions, observation, bytes of a state, symmetries."""
    shape = "×".join(map(str, game.observation_shape))
    size = state_bytes(jax.eval_shape(game.init, jax.random.key(0)))
    players = "1 player" if game.players == 1 else f"{game.players} players"
    turned = len(game.action_maps())
    symmetries = f"{turned} symmetries" if turned > 1 else "no symmetries"
    return [
        f"{players}, {game.actions:,} actions, {symmetries}" + (", chance" if game.chance else ""),
        f"observation {shape}, {size:,} bytes a state",
    ]


def _device() -> str:
    return jax.devices()[0].device_kind


def _earlier(file: str | None) -> dict[str, Any]:
    if file is None or not os.path.exists(file):
        return {}
    with open(file) as text:
        try:
            found = json.load(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"--json {file} holds something else: {error}") from error
    if not isinstance(found, dict) or "findings" not in found:
        raise ValueError(f"--json {file} holds something else: not the findings of a check")
    return found


def _compared(finding: Finding, before: dict[str, Any], title: str, file: str | None) -> str:
    if finding.figure is None:
        return ""
    if not before.get("steps_per_second"):
        return "" if file else "; --json FILE keeps the figure to compare with"
    if (before.get("game"), before.get("device")) != (title, _device()):
        return f"; the last figure was of {before.get('game')} on {before.get('device')}"
    ratio = finding.figure / before["steps_per_second"]
    return f"; {ratio:.2f} times the figure of {before.get('date')}"


def _record(
    game: Game, title: str, findings: list[Finding], options: dict[str, Any]
) -> dict[str, Any]:
    speeds = [finding.figure for finding in findings if finding.figure is not None]
    return {
        "game": title,
        "games": options["games"],
        "seed": options["seed"],
        "device": _device(),
        "jax": jax.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "state_bytes": state_bytes(jax.eval_shape(game.init, jax.random.key(0))),
        "steps_per_second": round(speeds[0]) if speeds else None,
        "findings": [
            {"name": f.name, "ok": f.ok, "note": f.note, "story": list(f.story)} for f in findings
        ],
    }
