"""Policy improvement, shown: random bandits, tic-tac-toe, and one search looked into.

`main` prints what it measures, plots it, and ends with a reading of the numbers
that were found, whichever way they fell.
"""

import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Plan
from halfmove.experiments import bandits, tictactoe
from halfmove.experiments.bandits import Gain
from halfmove.search import planner, show

BANDITS = 2048
PUZZLES = 128  # of each kind
SEARCHES = (2, 8, 32, 128)
SHOWN = 32  # the search that is drawn
PLAYERS: dict[str, dict[str, float]] = {
    "full_gumbel": {},
    "muzero": {"dirichlet_fraction": 0.0, "temperature": 0.0},
}
KINDS = ("win", "block")
Gains = dict[str, dict[int, Gain]]
Solved = dict[str, dict[int, tuple[float, float]]]  # player -> n -> share of (wins, blocks)


def main(folder: str = "out/improvement", seed: int = 0) -> int:
    """Runs everything, writes pictures into `folder`, returns 0."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}")
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise ValueError(f"folder must be a directory or a new path, got the file {folder!r}")
    place.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()

    print(f"1. {BANDITS} random bandits of {bandits.ARMS} arms: what does a search gain?\n")
    everywhere, misled = measure_bandits(seed)
    print_counterexample(seed)
    print("\n2. Tic-tac-toe, a uniform prior and no idea of value: is the one right move found?\n")
    solved, plan, boards, right = measure_puzzles(seed)
    print(f"\n3. One search of {SHOWN} simulations, looked into\n")
    show_search(place, plan, boards, right)
    plot_bandits(place / "bandits.png", everywhere, misled)
    plot_puzzles(place / "tictactoe.png", solved)

    print("\nFiles, in", place)
    for name, what in FILES.items():
        print(f"  {name:14}{what}")
    print("\n" + reading(everywhere, misled, solved))
    print(f"\n{time.perf_counter() - started:.0f} s, seed {seed}")
    return 0


FILES = {
    "bandits.png": "gain over the prior against simulations; under the zero line a search harms",
    "tictactoe.png": "share of puzzles solved against simulations",
    "tree.svg": "the search of part 3: every card a move, thick lines where the visits went",
    "tree.txt": "the same as text, and tree.json, tree.dot for programs",
    "halving.svg": "its phases of Sequential Halving: who was considered, who fell out",
    "figure1.svg": "figure 1 of the Gumbel paper: n = 200, m = 16",
}


def measure_bandits(seed: int) -> tuple[Gains, Gains]:
    """Gains over all bandits and over those whose most probable arm is a bad one."""
    bandit_key, play_key = jax.random.split(jax.random.key(seed))
    logits, q = bandits.random_bandits(bandit_key, BANDITS)
    samples = bandits.measure(play_key, logits, q, bandits.BUDGETS, draws=2)
    bad = bandits.misled(logits, q)
    everywhere = _gains(samples, np.ones(BANDITS, bool))
    misled = _gains(samples, bad)
    print("Pay of the chosen arm less the prior's mean pay, over all bandits (± standard error):")
    _print_gains(everywhere)
    print(f"\nOnly the {bad.sum()} bandits whose most probable arm pays less than that mean:")
    _print_gains(misled)
    return everywhere, misled


def _gains(samples: dict[str, dict[int, np.ndarray]], rows: np.ndarray) -> Gains:
    return {
        label: {n: bandits.gain(x[:, rows]) for n, x in by_n.items()}
        for label, by_n in samples.items()
    }


def _print_gains(gains: Gains) -> None:
    print(f"{'simulations':20}" + "".join(f"{n:>14}" for n in bandits.BUDGETS))
    for label, by_n in gains.items():
        cells = (f"{g.mean:+.3f} ±{g.error:.3f}" for g in by_n.values())
        print(f"{label:20}" + "".join(f"{cell:>14}" for cell in cells))


def print_counterexample(seed: int) -> None:
    """Example 1 of the Gumbel paper, for every search and for the heuristic it warns of."""
    logits, q = bandits.counterexample(BANDITS)
    key = jax.random.key(seed + 1)
    samples = bandits.measure(key, logits, q, (2,), draws=2)
    prior, pay = np.asarray(jax.nn.softmax(logits[0, :3])), np.asarray(q[0, :3])
    worth = float(prior @ pay)
    top_two = float(pay[np.argsort(-prior)[:2]].max())
    print("\nThe paper's counterexample, π = (0.5, 0.3, 0.2), q = (0, 0, 1), two simulations:")
    print(f"  {'':28}mean pay")
    print(f"  {'the prior':28}{worth:8.3f}")
    print(f"  {'best of the 2 most probable':28}{top_two:8.3f}{_verdict(top_two - worth, 0.0)}")
    for label, by_n in samples.items():
        g = bandits.gain(by_n[2])
        print(f"  {label:28}{worth + g.mean:8.3f}{_verdict(g.mean, g.error)}")


def _verdict(difference: float, error: float) -> str:
    slack = 3 * error + 1e-6
    if difference < -slack:
        return "  worse than the prior"
    return "  better" if difference > slack else "  no better, no worse"


def measure_puzzles(seed: int) -> tuple[Solved, Plan, np.ndarray, np.ndarray]:
    """Shares solved, and the plans of the search that is drawn, with boards and answers."""
    boards, right = tictactoe.puzzles(np.random.default_rng(seed), PUZZLES)
    model, position = tictactoe.TicTacToe(), jnp.asarray(boards)
    solved: Solved = {}
    drawn: Plan | None = None
    for name, options in PLAYERS.items():
        solved[name] = {}
        for n in SEARCHES:
            keep = name == "full_gumbel" and n == SHOWN
            search = planner(name, simulations=n, tree=keep, **options)
            plan = search(jax.random.key(seed + n), model, None, position)
            drawn = plan if keep else drawn
            found = np.asarray(plan.action) == right
            solved[name][n] = float(found[:PUZZLES].mean()), float(found[PUZZLES:].mean())
    assert drawn is not None
    print(f"{'simulations':28}" + "".join(f"{n:>8}" for n in SEARCHES))
    for name, by_n in solved.items():
        for i, kind in enumerate(KINDS):
            shares = "".join(f"{share[i]:8.0%}" for share in by_n.values())
            print(f"{name + ', ' + kind:28}{shares}")
    guess = (1 / (boards == 0).sum(-1)).reshape(2, PUZZLES).mean(-1)
    print(f"(a guess finds {guess[0]:.0%} of the wins and {guess[1]:.0%} of the blocks)")
    return solved, drawn, boards, right


def show_search(place: Path, plan: Plan, boards: np.ndarray, right: np.ndarray) -> None:
    """Prints and draws the search of an open block puzzle, a solved one if there is any."""
    open_ = np.flatnonzero((boards == 0).sum(-1) >= 5)
    blocks = open_[open_ >= PUZZLES]
    found = blocks[np.asarray(plan.action)[blocks] == right[blocks]]
    game = int(found[0] if len(found) else blocks[0])
    print(f"A block with five or more squares empty; {len(found)} of {len(blocks)} were solved.")
    names = tictactoe.name
    story = show.text(plan, game, depth=2, top=4, names=names)
    deep = show.depths(plan, game)
    print(tictactoe.drawing(boards[game]))
    print(f"X moves; every move but {names(int(right[game]))} loses.\n\n{story}\n")
    print(f"Depth of the simulations: mean {deep.mean:.1f}, max {deep.max}")
    phases = show.halving_phases(plan, game)
    for number, phase in enumerate(phases, start=1):
        given = ", ".join(f"{names(a)} {v}" for a, v in phase.visits.items())
        print(f"Phase {number}, {phase.simulations} simulations: {given}")
    files = {
        "tree.txt": show.text(plan, game, depth=9, top=9, names=names) + "\n",
        "tree.json": show.to_json(plan, game, names=names, indent=1),
        "tree.dot": show.to_dot(plan, game, names=names),
        "tree.svg": show.to_svg(plan, game, depth=3, top=3, names=names),
        "halving.svg": show.halving_svg(phases, names=names),
        "figure1.svg": show.halving_svg(),
    }
    for name, content in files.items():
        (place / name).write_text(content, encoding="utf-8")


def _axes(columns: int, wide: float) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(1, columns, figsize=(wide, 4.2), layout="constrained")


STYLE = {
    "full_gumbel": ("#1f5a8c", "-", "o"),
    "gumbel_replacement": ("#7fb0d8", "-", "s"),
    "muzero": ("#b55d11", "-", "^"),
    "muzero, no noise": ("#e0a35c", "--", "v"),
    "trpo, no noise": ("#4c8c4a", ":", "D"),
    "mpo, no noise": ("#9a6fb0", ":", "P"),
}


def plot_bandits(path: Path, everywhere: Gains, misled: Gains) -> None:
    """Gain against simulations, over all bandits and over the misled ones."""
    figure, axes = _axes(2, 12.0)
    titles = ("all bandits", "the prior's favourite arm is a bad one")
    for axis, gains, title in zip(axes, (everywhere, misled), titles, strict=True):
        for label, by_n in gains.items():
            colour, line, mark = STYLE[label]
            axis.errorbar(
                list(by_n), [g.mean for g in by_n.values()], [3 * g.error for g in by_n.values()],
                color=colour, linestyle=line, marker=mark, markersize=5, label=label,
            )  # fmt: skip
        axis.axhline(0, color="black", linewidth=1)
        axis.set_xscale("log", base=2)
        axis.set_xticks(bandits.BUDGETS, [str(n) for n in bandits.BUDGETS])
        axis.set_xlabel("simulations")
        axis.set_title(title, fontsize=11)
        axis.grid(alpha=0.25)
    bottom = min(axis.get_ylim()[0] for axis in axes)
    top = max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(bottom, top)
        axis.axhspan(bottom, 0, color="#b55d11", alpha=0.07, linewidth=0)
    axes[0].set_ylabel("E[q(chosen)] − Σ π q, bars: 3 s.e.")
    axes[1].text(bandits.BUDGETS[-1], bottom + 0.02, "worse than not searching", ha="right")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=9)
    figure.suptitle(f"What a search gains over its prior, {bandits.ARMS} arms", fontsize=12)
    figure.savefig(path, dpi=110)


def plot_puzzles(path: Path, solved: Solved) -> None:
    """Share of puzzles solved against simulations, a panel for each kind."""
    figure, axes = _axes(2, 10.0)
    for i, (axis, kind) in enumerate(zip(axes, KINDS, strict=True)):
        for name, by_n in solved.items():
            colour, line, mark = STYLE[name]
            shares = [100 * share[i] for share in by_n.values()]
            axis.plot(list(by_n), shares, color=colour, linestyle=line, marker=mark, label=name)
        axis.set_xscale("log", base=2)
        axis.set_xticks(SEARCHES, [str(n) for n in SEARCHES])
        axis.set_ylim(0, 103)
        axis.set_xlabel("simulations")
        axis.set_title(f"one move that must be found: a {kind}", fontsize=11)
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("solved, %")
    axes[0].legend(loc="lower right")
    figure.suptitle("Tic-tac-toe without knowledge", fontsize=12)
    figure.savefig(path, dpi=110)


def reading(everywhere: Gains, misled: Gains, solved: Solved) -> str:
    """One paragraph on what the numbers say, for or against the papers."""
    judged = ("full_gumbel", "muzero", "muzero, no noise")
    said = ["Reading:", *(_fate(label, everywhere, misled) for label in judged)]
    ahead = [
        n for n in bandits.BUDGETS
        if everywhere["full_gumbel"][n].mean > everywhere["muzero"][n].mean
    ]  # fmt: skip
    said.append(
        f"full_gumbel gains more than muzero at {len(ahead)} of {len(bandits.BUDGETS)} budgets."
    )
    for n in (2, bandits.BUDGETS[-1]):
        first = max(everywhere, key=lambda label: everywhere[label][n].mean)
        said.append(f"At n = {n} {first} gains most ({everywhere[first][n].mean:+.3f}).")
    for name, by_n in solved.items():
        enough = [next((n for n, s in by_n.items() if s[i] >= 0.9), None) for i in (0, 1)]
        parts = [
            f"9 of 10 {kind}s from n = {n}" if n else f"9 of 10 {kind}s at no n"
            for kind, n in zip(KINDS, enough, strict=True)
        ]
        said.append(f"In tic-tac-toe {name} solves {' and '.join(parts)}.")
    return " ".join(said)


def _fate(label: str, everywhere: Gains, misled: Gains) -> str:
    """Whether inequality 6 was broken by this search, and whether that was expected."""
    broken = {
        "all bandits": [n for n, g in everywhere[label].items() if g.below],
        "the bandits with a bad favourite": [n for n, g in misled[label].items() if g.below],
    }
    where = [f"at n = {', '.join(map(str, ns))} on {what}" for what, ns in broken.items() if ns]
    promised = label == "full_gumbel"
    if not where:
        kept = "is never measurably worse than its prior"
        return f"{label} {kept}" + (
            ", as inequality 6 says." if promised else "; the paper's complaint does not show here."
        )
    lost = f"{label} is worse than not searching {' and '.join(where)}"
    return lost + (": this contradicts inequality 6!" if promised else ".")
