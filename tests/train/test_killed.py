"""Processes killed at random moments (SIGKILL), many times: nothing that was written is lost.

The script imports everything once and forks for every try; it uses no JAX before it forks.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

COMMON = """
import logging, os, random, signal, sys, time, warnings
from pathlib import Path
import numpy as np
from halfmove.train.checkpoint import Keep, Writer, restore, save
from halfmove.train.folder import Run

warnings.filterwarnings("ignore", message=".*fork.*")
folder, tries, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)

def in_a_child(work, delay, from_start):
    # What the child said it had done, and whether it ended by itself.
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            work(lambda text: os.write(writing, f"{text}\\n".encode()))
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    said = b"" if from_start else os.read(reading, 65536)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while part := os.read(reading, 65536):
        said += part
    os.close(reading)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed"
    return said.decode().split(), not os.WIFSIGNALED(status)
"""

CHECKPOINTS = (
    COMMON
    + """
def tree(number):
    rows = np.arange(40_000, dtype=np.float32) + number
    return {"variables": {"w": rows[:1000]}, "replay": {"a": rows, "b": rows.astype(np.int8)}}

class Refuse(logging.Handler):
    def emit(self, record):
        raise AssertionError(record.getMessage())

logging.getLogger("halfmove").addHandler(Refuse())
last, moments = 0, set()
for i in range(tries):
    def work(say, first=last + 1, background=bool(i % 2)):
        writer = Writer(folder, keep=Keep(last=2, every=7, parts=("variables",)))
        for number in range(first, first + 10_000):
            if background:
                writer.save(number, tree(number), {"number": number})
                say(number - 1)  # the next save waits for the one before
            else:
                save(folder, number, tree(number), {"number": number}, keep=writer._keep)
                save(folder, number, tree(number), {"number": number}, keep=writer._keep)
                say(number)
    said, _ = in_a_child(work, chance.uniform(0, 0.08), from_start=False)
    moments.add(tuple(sorted(p.name for p in folder.iterdir() if p.name.startswith("."))))
    found = restore(folder, tree(0))
    least = max([last, *map(int, said)])
    if found is None:
        assert least == 0, least
        continue
    assert found.number >= least, (found.number, least)
    assert found.meta == {"number": found.number}
    for part, leaves in tree(found.number).items():
        for name, x in leaves.items():
            np.testing.assert_array_equal(found.tree[part][name], x)
    last = found.number
print(last, "saved;", len(moments - {()}), "kinds of temporary folders left behind")
assert last > tries and len(moments) > 1
"""
)

RUN = (
    COMMON
    + """
STEPS = 5 * tries

def train(path, say, pause):
    config = {"steps": STEPS}
    new = not (path / "config.json").exists()
    with Run(path, config if new else None, keep=Keep(last=2), background=True) as run:
        state = {"rest": {"step": 0, "x": np.arange(8.0), "key": np.uint32(1)}}
        found = run.restore(state)
        state = state if found is None else found.tree
        say("ready")
        for step in range(state["rest"]["step"] + 1, STEPS + 1):
            rest = state["rest"]
            key = np.uint32(int(rest["key"]) * 1664525 + 1013904223 & 0xFFFFFFFF)
            x = rest["x"] * 0.9 + key / 2**32
            state = {"rest": {"step": step, "x": x, "key": key}}
            run.log(step, {"loss/total": x.sum(), "loss/first": x[0]}, {"speed/now": time.time()})
            if step % 10 == 5:
                run.log(step, {"rating/elo": x[1] * 100})
            if step % 3 == 0 or step == STEPS:
                run.save(step, state, {"step": step})
            time.sleep(pause)

path, kills = folder / "killed", 0
for i in range(tries):
    early = i % 4 == 0
    _, ended = in_a_child(lambda say: train(path, say, 0.01), chance.uniform(0, 0.2), early)
    kills += not ended
    if ended:
        break
    if (path / "config.json").exists() and chance.random() < 0.2:
        with open(path / "metrics.jsonl", "ab") as file:
            file.write(b'{"step": 3, "loss/to')  # as a kill in the middle of a line leaves it
if not ended:
    train(path, print, 0.0)
train(folder / "whole", print, 0.0)
print(kills, "kills")
assert kills >= 5, kills
"""
)


def run_script(script: str, folder: Path, tries: int) -> str:
    command = [sys.executable, "-c", script, str(folder), str(tries), "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("tries", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_checkpoints_of_a_killed_process(tmp_path: Path, tries: int) -> None:
    run_script(CHECKPOINTS, tmp_path, tries)


@pytest.mark.parametrize("tries", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_run_ends_as_a_whole_one(tmp_path: Path, tries: int) -> None:
    run_script(RUN, tmp_path, tries)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    assert (killed / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    steps = 5 * tries
    assert (killed / "metrics.jsonl").read_bytes().count(b"\n") == steps + steps // 10
    for file in ("rest.safetensors", "checkpoint.json"):
        last = f"checkpoints/{steps:08}/{file}"
        assert (killed / last).read_bytes() == (whole / last).read_bytes()
    assert steps_shown(killed) == steps_shown(whole) == list(range(1, steps + 1))


def steps_shown(run: Path) -> list[int]:
    """The steps of loss/total as TensorBoard shows them, restarts taken into account."""
    steps: list[int] = []
    for file in sorted(run.glob("events.*")):
        for event in EventFileLoader(str(file)).Load():
            if event.HasField("session_log"):
                steps = [step for step in steps if step < event.step]
            if any(value.tag == "loss/total" for value in event.summary.value):
                steps.append(event.step)
    return steps
