"""The pages of runs and networks, clicked in a real browser; a run is watched while it learns."""

import re
import shutil
import subprocess
import sys

import pytest

from halfmove.train import zoo
from tests.runs import small
from tests.web.test_watch import run_of

TRAIN = (sys.executable, "-m", "halfmove.cli", "train", "tic_tac_toe")
SMALL = [
    "--net.planes=4", "--net.blocks=1", "--net.head-width=4", "--search.simulations=2",
    "--selfplay.lanes=4", "--selfplay.chunk=4", "--rating.every=0", "--iterations=300",
    "--save-every=100",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    small(folder / "ttt")
    run_of(folder, "plain", 30)
    return folder


@pytest.fixture(scope="module")
def site(serve, runs):
    return serve(runs)


def chart(page, metric):
    return page.locator(f'[data-metric="{metric}"]')


def lines(page, metric):
    """The curves of a chart that are no bands."""
    return chart(page, metric).locator('svg path[fill="none"]')


def test_runs_are_compared(site, visit):
    page = visit(f"{site}/watch#run=plain")
    chart(page, "rating/rating").wait_for()
    assert lines(page, "learn/loss").count() == 1
    assert chart(page, "rating/rating").locator("path[fill-opacity]").count() == 1  # the interval
    read = chart(page, "rating/rating").locator(".plot-read")
    assert read.inner_text() == "plain 30 (-1 to 999)"
    plot = chart(page, "rating/rating").locator("svg")
    plot.press("Home")
    assert read.inner_text() == "positions 80: plain 10 (-1 to 999)"
    plot.press("ArrowRight")
    assert "positions 160: plain 20" in read.inner_text()
    plot.hover(position={"x": 300, "y": 60})
    assert "positions 240: plain 30" in read.inner_text()

    page.locator("#against").select_option("seconds")
    plot.press("Home")
    assert "time 7.5 s: plain 10" in read.inner_text()
    page.get_by_label("ttt", exact=True).check()
    page.wait_for_function("location.hash.includes('run=ttt')")
    chart(page, "selfplay/entropy").locator(".plot-value").nth(1).wait_for()  # both runs
    page.get_by_label("Smooth").press("End")
    page.wait_for_function("location.hash.includes('smooth=0.95')")
    assert chart(page, "learn/loss").locator('path[stroke-opacity="0.3"]').count() == 1
    chart(page, "learn/loss").get_by_label("log").check()
    page.wait_for_function("location.hash.includes('log=')")
    assert "x=seconds" in page.url

    page.reload()  # the address has it all
    chart(page, "rating/rating").wait_for()
    assert page.get_by_label("ttt", exact=True).is_checked()
    assert chart(page, "learn/loss").get_by_label("log").is_checked()
    page.get_by_label("ttt", exact=True).uncheck()
    page.get_by_label("plain", exact=True).uncheck()
    page.get_by_text("Choose a run above").wait_for()
    page.get_by_label("ttt", exact=True).check()
    page.get_by_text("All other curves").click()
    chart(page, "games/length").locator(".plot-value").wait_for()


def test_a_run_that_is_gone_is_said_and_left_out(site, visit):
    page = visit(f"{site}/watch#run=gone&run=plain")
    page.get_by_role("alert").get_by_text("There is no run 'gone'").wait_for()
    chart(page, "learn/loss").wait_for()
    assert "gone" not in page.url


def test_a_sample_game_is_replayed_with_the_networks_opinion(site, visit, runs):
    [file] = (runs / "ttt" / "games").glob("*.txt")
    moves = file.read_text().split("\n")[0].split()
    page = visit(f"{site}/watch#run=ttt", width=390, touch=True)
    where = page.locator("#replay p[aria-live]")
    page.get_by_text(f"Position 0 of {len(moves)}. X to move.").wait_for()
    page.locator(".thought tr.chosen").get_by_text(f"{moves[0]} played").wait_for(timeout=120_000)
    page.get_by_role("button", name="One move on").click()
    page.get_by_text(f"Position 1 of {len(moves)}, after {moves[0]}. O to move.").wait_for()
    assert page.get_by_role("button", name=f"{moves[0]}, X, last move").count() == 1
    page.keyboard.press("ArrowRight")
    assert where.inner_text().startswith("Position 2 ")
    page.get_by_role("button", name="Last position").click()
    page.get_by_text("The game is over here").wait_for()
    assert re.search(r"(X|O) won|A draw", where.inner_text())
    page.get_by_role("button", name="One move back").click()
    page.get_by_role("button", name=f"1. {moves[0]}", exact=True).click()
    assert where.inner_text().startswith("Position 1 ")
    page.get_by_role("button", name="First position").click()
    assert where.inner_text().startswith("Position 0 ")
    page.locator("#replay svg.plot").press("End")
    assert "after its search" in page.locator("#replay .plot-read").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name=f"1. {moves[0]}", exact=True).click()
    page.get_by_role("button", name="Look inside this position").click()
    page.wait_for_url(re.compile(r"/inside/[\w-]+\?ply=1$"))


def test_a_run_is_watched_while_it_learns(serve, visit, tmp_path):
    page = visit(serve(tmp_path) + "/watch")
    page.get_by_text("There is no run in the folder yet").wait_for()
    command = [*TRAIN, "--folder", str(tmp_path / "live"), *SMALL]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            page.get_by_label("live", exact=True).wait_for(timeout=120_000)
            page.get_by_text("running", exact=True).wait_for()
            read = chart(page, "selfplay/entropy").locator(".plot-value")
            read.wait_for(timeout=120_000)
            done = page.locator("#runs td").nth(1)
            seen = {done.inner_text()}
            page.get_by_text("finished", exact=True).wait_for(timeout=120_000)
            seen.add(done.inner_text())
            # It has grown before our eyes: half-way it compiles the updates, for seconds.
            assert len(seen) == 2
            assert done.inner_text() == "100%"
            assert process.wait(30) == 0
        finally:
            process.kill()
    page.get_by_label("Game at iteration").locator("option").first.wait_for(state="attached")
    page.get_by_text("Position 0 of").wait_for()
    page.locator("#against").select_option("step")
    chart(page, "selfplay/entropy").locator("svg").press("End")
    chart(page, "selfplay/entropy").get_by_text("iterations 300:").wait_for()
    shutil.rmtree(tmp_path / "live")
    page.get_by_text("There is no run in the folder yet").wait_for()


def test_the_networks_of_the_package_have_cards(site, visit):
    page = visit(f"{site}/networks", dark=True)
    for name in zoo.names():
        card = page.get_by_role("article", name=f"Network {name}")
        card.wait_for()
        assert zoo.card(name).rating in card.inner_text()
    card.get_by_role("link", name="Look inside").click()
    page.wait_for_url("**/inside?game=*")
    page.go_back()
    page.get_by_role("button", name="Play against it").first.click()
    page.wait_for_url(re.compile(r"/play/[\w-]{12}$"))
