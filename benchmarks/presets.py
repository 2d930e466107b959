"""Every preset for a while: does it play, learn and save on this machine?

    python -m benchmarks.presets                                  (those for one GPU)
    python -m benchmarks.presets hex5 go5 --seconds 30

Updates begin after the first iteration, so that one is seen; nothing else is changed. The status
is 1 if one of them failed, or made no update.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from halfmove.train.metrics import read
from halfmove.train.presets import PRESETS, preset


def last_of(metrics: Path) -> dict[str, Any]:
    """The newest line there is; nothing if there is none."""
    lines = list(read(metrics)) if metrics.exists() else []
    return lines[-1] if lines else {}


def run(name: str, seconds: float, folder: Path) -> dict[str, Any]:
    """One preset, stopped by Ctrl-C `seconds` after its first update, or after ten minutes."""
    config = preset(name)
    begin = min(config.learn.begin, config.selfplay.lanes * config.selfplay.chunk)
    words = ["--folder", str(folder / name), "--learn.begin", str(begin), "--iterations", "1000000"]
    environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    began = time.monotonic()
    metrics, first = folder / name / "metrics.jsonl", 0.0
    with open(folder / f"{name}.log", "w") as log:
        working = subprocess.Popen(
            [sys.executable, "-m", "halfmove.cli", "train", name, *words],
            stdout=log, stderr=subprocess.STDOUT, env=environment,
        )  # fmt: skip
        while working.poll() is None and time.monotonic() - began < 600:
            if not first and last_of(metrics).get("run/updates"):
                first = time.monotonic() - began
            if first and time.monotonic() - began > first + seconds:
                break
            time.sleep(0.2)
        early = working.poll() is not None
        if not early:
            working.send_signal(signal.SIGINT)
        status = working.wait()
    last = last_of(metrics)
    said = (folder / f"{name}.log").read_text().strip().splitlines()
    return {
        "preset": name, "status": status, "first": first, "iterations": last.get("step", 0),
        "positions": last.get("run/positions", 0), "updates": last.get("run/updates", 0),
        "loss": last.get("learn/loss"), "fault": said[-1] if early and said else "",
    }  # fmt: skip


def main() -> int:
    """Prints a row for each; gives the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="default: all for one GPU")
    parser.add_argument("--seconds", type=float, default=60.0, help="after the first update")
    parser.add_argument("--json")
    args = parser.parse_args()
    names = args.names or [name for name, one in PRESETS.items() if one.needs == "one GPU"]
    rows, head = [], ("preset", "update after", "iterations", "positions", "updates", "loss")
    print("{:22}{:>12}{:>12}{:>12}{:>9}{:>9}".format(*head))
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            row = run(name, args.seconds, Path(folder))
            rows.append(row)
            loss = "" if row["loss"] is None else f"{row['loss']:.3f}"
            print(
                f"{name:22}{row['first']:>10.1f} s{row['iterations']:>12,}{row['positions']:>12,}"
                f"{row['updates']:>9,}{loss:>9}  {row['fault']}",
                flush=True,
            )
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["fault"] or not row["updates"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
