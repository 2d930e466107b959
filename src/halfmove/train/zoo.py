"""Networks that come with the package: each a run's folder with one checkpoint, and a card.

    halfmove zoo                    what there is
    halfmove play hex7              a name may stand wherever a run's folder may; hex7-net too

A card says how the network was made and how strong it is.
"""

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from halfmove.train import checkpoint, metrics
from halfmove.train.durable import RunError, write_whole
from halfmove.train.folder import configuration

ROOT = Path(__file__).parents[1] / "zoo"
_STAGE = re.compile(r"(?P<run>.*)/checkpoints/0*(?P<number>\d+)/?")


@dataclass(frozen=True)
class Card:
    """How a network was made, and how strong it is."""

    game: str
    preset: str  # of its run
    planner: str  # of its run
    command: str  # that made it
    seed: int
    positions: int  # it has learned from
    minutes: float  # of self-play and updates
    device: str  # that took them
    rating: str  # with its interval, and against whom
    date: str


def names() -> list[str]:
    """The networks of the package."""
    return sorted(path.parent.name for path in ROOT.glob("*/card.json"))


def card(name: str) -> Card:
    """What is known of a network; RunError if there is none of that name."""
    if name not in names():
        raise RunError(f"there is no network {name!r}; `halfmove zoo` has {', '.join(names())}")
    return Card(**json.loads((ROOT / name / "card.json").read_text(encoding="utf-8")))


def place(run: str | Path) -> Path:
    """The folder of a run, or of a network of the package; RunError if it is neither."""
    path = Path(run)
    if path.is_dir():
        return path
    name = str(run).removesuffix("-net")
    if name in names():
        return ROOT / name
    known = f"; of the package there are {', '.join(names())}" if names() else ""
    raise RunError(f"{str(run)!r} is no run: there is no such folder{known}")


def stage(run: str | Path) -> tuple[Path, int | None]:
    """The same of RUN/checkpoints/NUMBER, too, with the number; RunError if it is no run."""
    found = _STAGE.fullmatch(str(run))
    return (place(found["run"]), int(found["number"])) if found else (place(run), None)


def minutes(run: Path, until: int | None = None) -> float:
    """What self-play and updates of a run took, to its end or up to an iteration.

    A network of the package has its card. RunError if it is not known.
    """
    if run.parent == ROOT:
        return card(run.name).minutes
    if not (run / "speed.jsonl").exists():
        raise RunError(f"{run} has no speed.jsonl, which says how long it took")
    lines = metrics.read(run / "speed.jsonl")
    spent = [x for x in lines if until is None or x["step"] <= until]
    return sum(x.get("seconds/selfplay", 0.0) + x.get("seconds/updates", 0.0) for x in spent) / 60


def add(run: Path, name: str, written: Card, variables: object, number: int) -> Path:
    """Puts the variables of a run's checkpoint into the package; gives the folder."""
    if not re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", name):
        raise RunError(f"a network's name is of letters, digits and dashes, not {name!r}")
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "config.json", _text(configuration(run)))
    # The network of an older card may be of a greater number than the new one's.
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    checkpoint.save(folder / "checkpoints", number, {"variables": variables})
    write_whole(folder / "card.json", _text(asdict(written)))
    return folder


def _text(value: dict[str, object]) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
