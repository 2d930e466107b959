"""What the README and the examples show is run as it stands there."""

import contextlib
import io
import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.fixture(scope="module")
def readme():
    """(the names that the README's Python leaves behind, what it printed)."""
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for number, block in enumerate(BLOCKS):
            exec(compile(block, f"README.md, block {number}", "exec"), names)
    return names, printed.getvalue()


def test_the_first_example_is_twenty_lines_and_finds_the_moves(readme):
    names, printed = readme
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    assert len(lines) <= 20
    # Nim is solved: leave a multiple of four.
    assert (names["plan"].action + 1).tolist() == [5 % 4, 6 % 4, 7 % 4]
    assert printed.splitlines()[0] == "[1 2 3]"


def test_every_planner_of_the_loop_prefers_the_right_move(readme):
    _, printed = readme
    rows = re.findall(r"^(\w+) +\[\[(.*)\]\]$", printed, re.M)
    assert [name for name, _ in rows] == ["muzero", "gumbel", "mpo"]
    for name, row in rows:
        policy = [float(x) for x in row.split()]
        assert policy.index(max(policy)) == 1, name


def test_the_new_rule_is_ten_lines_and_works(readme):
    _, printed = readme
    code = BLOCKS[2].splitlines()
    rule = [line for line in code if line.strip() and not line.startswith(("from", "print"))]
    assert len(rule) <= 10
    assert printed.splitlines()[4] == "[1 2 3]"


def test_the_drawings_of_the_readme(readme):
    names, printed = readme
    assert "game 1: 64 simulations, plays 1" in printed
    ET.fromstring(names["svg"])
    assert names["depth"].simulations == 3 * 64
    assert sum(phase.simulations for phase in names["phases"]) == 64


def test_the_readme_names_every_planner_and_option():
    from halfmove.search import planners

    table = set(re.findall(r"`(\w+)`", README))
    assert set(planners.names()) <= table
    options = set().union(*map(planners.options_of, planners.names()))
    assert options <= table


def test_links_of_the_readme_exist():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link


def test_quickstart(capsys):
    runpy.run_path(str(ROOT / "examples" / "quickstart.py"), run_name="__main__")
    printed = capsys.readouterr().out
    found = re.findall(r"^(\d) stones: take (\d)", printed, re.M)
    assert [(int(heap), int(take)) for heap, take in found] == [(h, h % 4) for h in (2, 5, 6, 7)]
    assert "game 2: 64 simulations, plays take 2" in printed
