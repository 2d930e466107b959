"""The page that looks inside a search, in a real browser."""

import re

import pytest

from halfmove.search.planners import PLANNERS
from tests.web.asking import ask
from tests.web.networks import untrained

sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need Playwright")
expect = sync_api.expect
PATIENCE = 60_000  # milliseconds: rules and searches have to be compiled
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def home(serve, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    untrained(runs / "small", "tic_tac_toe")
    return serve(runs)


@pytest.fixture
def page(home, visit):
    shown = visit(f"{home}/inside?game=tic_tac_toe")
    expect(shown.locator(".look select").first).to_have_value("small")
    return shown


def amount(page, simulations, view=0):
    page.locator(".look").nth(view).locator("input[type=number]").fill(str(simulations))


def done(page, view=0, text="Done."):
    expect(page.locator(".state").nth(view)).to_have_text(text)


def test_a_search_all_of_it(page):
    amount(page, 24)
    page.click("#search")
    done(page)
    expect(page.locator(".summary").first).to_contain_text("full_gumbel after 24 simulations")
    rows = page.locator(".look").first.locator("tbody tr")
    expect(rows).to_have_count(9)
    assert (
        sum(int(cell) for cell in page.locator("tbody tr td:nth-child(2)").all_inner_texts()) == 24
    )
    expect(page.locator("ol.phases li").first).to_contain_text("9 considered, 9 of 9 simulations")
    expect(page.locator(".depths .chart")).to_be_visible()
    expect(page.locator("ol.lines li").first).to_contain_text("visit")
    # Every figure can be shown on the board, and the table sorted by it.
    for kind in ("prior", "policy", "q", "completed_q", "noise", "score", "visits"):
        page.select_option("#figure", kind)
        expect(page.locator(".heat").first).to_be_attached()
    for button in page.locator("th button").all():
        button.click()
    expect(page.locator("th[aria-sort]")).to_have_text("Score")
    # The tree, two nodes deep, and closed again.
    page.click('.tree [data-node="0"]')
    children = page.locator('.tree ul ul > li > button[aria-expanded="false"]')
    children.first.click()
    expect(page.locator(".tree ul ul ul li").first).to_be_visible()
    page.click('.tree [data-node="0"]')
    expect(page.locator(".tree ul ul")).to_have_count(0)


def test_slowly_and_stopped(page):
    amount(page, 60)
    page.select_option("#pace", "20")
    page.click("#search")
    expect(page.locator(".state").first).to_contain_text(re.compile(r"Searches: [1-9]\d? of 60"))
    expect(page.locator("#search")).to_be_disabled()
    page.click("#stop")
    done(page, text="Stopped.")
    made = int(re.search(r"after (\d+)", page.locator(".summary").first.inner_text())[1])
    assert 1 <= made < 60
    page.click('.tree [data-node="0"]')
    expect(page.locator(".tree ul ul li").first).to_be_visible()


def test_two_planners_side_by_side(page):
    page.click("#compare")
    expect(page.locator(".look").nth(1)).to_be_visible()
    page.click("#demonstration")
    done(page, 0)
    done(page, 1)
    first, second = page.locator(".summary").all_inner_texts()
    assert "muzero after 4 simulations" in first
    assert "full_gumbel after 4 simulations" in second
    # Gumbel looks at four moves once each.
    expect(page.locator(".look").nth(1).locator("ol.phases li")).to_contain_text(["4 considered"])
    page.click("#compare")
    expect(page.locator(".look").nth(1)).to_be_hidden()


def test_without_a_network_under_any_planner(home, visit):
    page = visit(f"{home}/inside?game=tic_tac_toe")
    expect(page.locator(".look select").first).to_have_value("small")
    for view in page.locator(".look").all():
        view.locator("select").first.select_option("mcts", force=True)
    page.click("#demonstration")
    done(page, 0)
    done(page, 1)
    first, second = page.locator(".summary").all_inner_texts()
    assert "muzero after 4 simulations" in first
    assert "full_gumbel after 4 simulations" in second
    page.click("#compare")
    page.locator(".look").first.get_by_label("Planner").select_option("prior")
    page.click("#search")
    done(page, text="It cannot be searched: prior does not search: there is nothing to look into")


def test_every_planner_is_offered(page):
    offered = page.locator(".look").first.get_by_label("Planner").locator("option")
    assert {one.get_attribute("value") for one in offered.all()} == {"", *PLANNERS}


def test_a_position_at_the_end_has_nothing_to_search(page):
    page.fill("#position", "xxxoo....")
    page.click("#setUp")
    expect(page.locator(".state").first).to_have_text("The game is over.")
    expect(page.locator("#search")).to_be_disabled()
    expect(page.locator("#demonstration")).to_be_disabled()


def test_a_game_is_gone_through(home, visit):
    seats = {"game": "tic_tac_toe", "seats": ["person", "person"]}
    table = ask(home, "/api/tables", seats)[1]
    for action in (4, 0, 8):
        ask(home, f"/api/tables/{table['id']}/move", {"action": action})
    page = visit(f"{home}/inside/{table['id']}?ply=2")
    expect(page.locator("#where")).to_contain_text("After move 2 of 3, 0.")
    page.click("#forward")
    expect(page.locator("#where")).to_contain_text("After move 3 of 3")
    page.click("#first")
    expect(page.locator("#where")).to_contain_text("Before the first move")
    page.click("#last")
    page.click("#back")
    expect(page.locator(".look select").first).to_have_value("small")
    amount(page, 2)
    page.click("#valueButton")
    expect(page.locator("#values .dotted")).to_have_count(4)
    # A move on the board leaves the game.
    page.locator('[data-place="2"]').first.click(force=True)
    expect(page.locator("#where")).to_contain_text("After move 3 of 3, 2.")
    page.click("#toGame")
    expect(page.locator("#moves button")).to_have_count(3)


def test_set_up_and_its_errors(page):
    page.fill("#position", "x.o.x....")
    page.click("#setUp")
    expect(page.locator(".lookBoard").first.locator(".piece:not(.ghost .piece)")).to_have_count(3)
    page.fill("#position", "nonsense")
    page.click("#setUp")
    expect(page.locator("#said")).to_be_visible()
    page.fill("#game", "go size=99")
    page.fill("#position", "")
    page.click("#setUp")
    expect(page.locator("#said")).to_contain_text("2 to 19")


def test_on_a_phone(home, visit):
    page = visit(f"{home}/inside?game=tic_tac_toe", width=390, height=844, dark=True)
    expect(page.locator(".look select").first).to_have_value("small")
    amount(page, 4)
    page.click("#search")
    done(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
