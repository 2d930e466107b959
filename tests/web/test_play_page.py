"""The page on which games are played, in a real browser: every button, whole games, keyboard."""

import os
import re
import shutil
import threading
from pathlib import Path

import pytest

from halfmove.web.play import view
from tests.web.asking import ask
from tests.web.conftest import ARGUMENTS, program
from tests.web.networks import untrained
from tests.web.playing import moves, press, seated

sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need Playwright")
expect = sync_api.expect
PATIENCE = 60_000  # milliseconds: rules and searches have to be compiled
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def home(serve, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    untrained(runs / "hex3", "hex size=3")
    untrained(runs / "go5", "go size=5 max_moves=12")
    return serve(runs)


def to_the_end(page, choose):
    """Plays until the game is over, `choose(page)` making a person's move; gives the outcome."""
    for _ in range(40):
        expect(page.locator("#status")).to_contain_text(re.compile(r"Your move|won|draw"))
        if page.locator("#resign").is_disabled():
            return page.inner_text("#status")
        before = moves(page).count()
        choose(page)
        expect(moves(page).nth(before)).to_be_visible()
    raise AssertionError("the game has no end")


def first_legal(page):
    page.locator("#board .place.legal").first.click(force=True)


def first_piece(page):
    page.locator("#board .place.starts").first.click(force=True)
    first_legal(page)


def test_the_form_begins_a_game_of_hex_against_a_network(home, visit):
    page = visit(home)
    page.select_option("#game", "hex")
    expect(page.locator("#seat1 select").first).to_have_value("hex7")
    page.select_option("#option-size", "3")
    expect(page.locator("#seat1 select").first).to_have_value("hex3")
    page.locator("#seat1 input[type=number]").fill("2")
    page.click("#start")
    page.wait_for_selector("svg.board")
    assert re.search(r"/play/[\w-]{12}$", page.url)
    outcome = to_the_end(page, first_legal)
    assert re.search(r"(Black|White) won\.", outcome)


def test_komi_handicap_and_seconds_of_the_form(home, visit):
    page = visit(home)
    page.select_option("#game", "go")
    page.select_option("#option-size", "7")
    page.fill("#option-komi", "0.5")
    page.fill("#option-handicap", "2")
    page.locator("#option-handicap").blur()
    expect(page.locator("#seat1 legend")).to_have_text("White, moves first")
    page.locator("#seat0 select").first.select_option("mcts")
    page.locator("#seat0").get_by_label("Simulations or seconds").select_option("s")
    page.locator("#seat0 input[type=number]").fill("0.3")
    page.locator("#seat1 select").first.select_option("person")
    page.click("#start")
    expect(page.locator("#title")).to_have_text("Go 7×7 komi=0.5 handicap=2")
    expect(page.locator("#status")).to_have_text("Your move, White.")
    expect(page.locator("#player0")).to_contain_text("mcts@0.3s")
    expect(page.locator("#board .piece:not(.ghost .piece)")).to_have_count(2)
    page.click("#newGame")
    page.fill("#option-komi", "0.3")
    page.locator("#option-komi").blur()
    expect(page.locator("#said")).to_contain_text("Komi must be whole or a half")


def test_sides_clock_and_position_of_the_form(home, visit):
    page = visit(home)
    page.select_option("#game", "tic_tac_toe")
    expect(page.locator("#seat1 select").first).to_have_value("mcts")
    page.locator("#seat1 select").first.select_option("random")
    page.click("#sides")
    expect(page.locator("#seat0 select").first).to_have_value("random")
    expect(page.locator("#seat1 select").first).to_have_value("person")
    page.click("#new summary")
    page.fill("#minutes", "2")
    page.fill("#position", "x.o......")
    page.click("#start")
    expect(page.locator("#status")).to_contain_text("Your move, O")
    expect(page.locator("#board .piece:not(.ghost .piece)")).to_have_count(3)
    expect(page.locator("#player1 .clock")).to_have_text(re.compile(r"[12]:\d\d"))


def test_a_whole_game_of_go_against_a_network(home, visit):
    page = seated(home, visit, "go size=5 max_moves=12", ["person", "go5@2"])
    expect(page.locator("#pass")).to_be_visible()
    assert "won" in to_the_end(page, first_legal)
    page.click("#undo")
    expect(page.locator("#status")).to_contain_text("Your move")
    page.keyboard.press("p")  # passes
    expect(page.locator("#moves")).to_contain_text("pass")


@pytest.mark.slow
def test_a_whole_game_of_chess(home, visit):
    page = seated(home, visit, "chess max_plies=8", ["person", "random"])
    assert "draw" in to_the_end(page, first_piece)
    assert moves(page).count() == 8


def test_back_and_forth_undo_resign_and_reload(home, visit):
    page = seated(home, visit, "hex size=3", ["person", "person"])
    for number, place in enumerate((4, 0, 8), 1):
        press(page, place)
        expect(moves(page)).to_have_count(number)
    page.click("#back")
    expect(page.locator("#status")).to_contain_text("after move 2 of 3")
    page.click("#first")
    expect(page.locator("#board .piece:not(.ghost .piece)")).to_have_count(0)
    page.click("#forward")
    page.click("#last")
    expect(page.locator("#goOn")).to_be_hidden()
    moves(page).nth(0).click()
    page.click("#goOn")
    expect(moves(page)).to_have_count(1)
    page.reload()
    expect(moves(page)).to_have_count(1)
    page.click("#undo")
    expect(moves(page)).to_have_count(0)
    page.click("#resign")
    expect(page.locator("#status")).to_contain_text("White won (resignation)")
    page.click("#newGame")
    expect(page.locator("#new")).to_be_visible()
    page.click("#cancel")
    expect(page.locator("#table")).to_be_visible()


def test_swap_turn_hints_copy_and_save(home, visit):
    page = seated(home, visit, "hex size=3 swap=true", ["person", "person"])
    expect(page.locator("#swap")).to_be_hidden()
    press(page, 1)
    page.click("#swap")
    expect(page.locator("#moves")).to_contain_text("swap-pieces")
    where = page.locator('[data-place="0"]').bounding_box()
    page.click("#flip")
    assert page.locator('[data-place="0"]').bounding_box() != where
    page.check("#hints")
    expect(page.locator("#board .dot").first).to_be_attached()
    page.click("#copy")
    expect(page.locator("#said")).to_contain_text("SZ[3]")
    with page.expect_download() as saved:
        page.click("#save")
    assert "swap-pieces" in saved.value.path().read_text()
    with page.expect_download() as saved:
        page.click("#saveJson")
    page.click("#newGame")
    page.set_input_files("#load", saved.value.path())
    expect(moves(page)).to_have_count(2)
    page.click("#newGame")
    page.set_input_files("#load", {"name": "x.sgf", "mimeType": "text/plain", "buffer": b"(;GM[9"})
    expect(page.locator("#said")).to_be_visible()


def test_by_keyboard_alone(home, visit):
    page = seated(home, visit, "tic_tac_toe", ["person", "person"])
    page.locator('[data-place="4"]').focus()
    page.keyboard.press("Enter")
    expect(moves(page)).to_have_count(1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    expect(moves(page)).to_have_count(2)
    expect(page.locator('[data-place="0"]')).to_have_attribute("aria-label", "0, O, last move")
    page.fill("#typed", "8")
    page.keyboard.press("Enter")
    expect(moves(page)).to_have_count(3)
    page.locator("#moves button").first.focus()
    page.keyboard.press("u")
    expect(moves(page)).to_have_count(2)
    page.keyboard.press(",")
    expect(page.locator("#status")).to_contain_text("after move 1 of 2")


def test_promotion_and_drops(home, visit):
    page = seated(home, visit, "chess max_plies=8", ["person", "person"],
                  position="8/P7/8/8/8/8/k6K/8 w - - 0 1")  # fmt: skip
    press(page, 8)
    press(page, 0)
    page.get_by_role("button", name="Knight").click()
    expect(page.locator("#moves")).to_contain_text("a7a8n")
    start = "gle/3/1C1/ELG b C 1"
    page = seated(home, visit, "animal_shogi", ["person", "person"], position=start)
    page.get_by_role("button", name="Drop chick").click()
    page.locator("#board .place.legal").first.click(force=True)
    expect(page.locator("#moves")).to_contain_text("C*")


def test_pause_and_other_players(home, visit):
    page = seated(home, visit, "tic_tac_toe", ["person", "random"])
    page.click("#pause")
    press(page, 4)
    expect(page.locator("#status")).to_contain_text("paused")
    page.click("#pause")
    expect(page.locator("#status")).to_contain_text("Your move")
    page.click("#change summary")
    page.locator("#other1 select").first.select_option("person")
    page.click("#reseat")
    expect(page.locator("#player1")).to_contain_text("a person")


def test_clocks(home, visit):
    page = seated(home, visit, "tic_tac_toe", ["person", "person"],
                  clock={"base": 1.2, "increment": 0})  # fmt: skip
    press(page, 4)
    expect(page.locator("#player1 .clock")).to_have_text(re.compile(r"0\.\d"))
    expect(page.locator("#status")).to_contain_text("X won (time)")


def test_a_game_that_is_gone(home, visit):
    page = visit(f"{home}/play/{'x' * 12}")
    expect(page.locator("#said")).to_contain_text("no such game")
    expect(page.locator("#start")).to_be_visible()


def test_phone_width_and_dark(home, visit):
    page = visit(home, width=390, height=844, dark=True, touch=True)
    page.wait_for_selector("#start")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.select_option("#game", "tic_tac_toe")
    page.locator("#seat1 select").first.select_option("person")
    page.click("#start")
    page.locator('[data-place="4"]').tap(force=True)
    expect(moves(page)).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_with_a_token(serve, visit, tmp_path):
    abroad = serve(tmp_path, host="0.0.0.0", token="sesame")
    assert "token is needed" in visit(abroad).inner_text("body")
    page = visit(f"{abroad}/?token=sesame")
    page.select_option("#game", "tic_tac_toe")
    expect(page.locator("#seat1 select").first).to_have_value("mcts")
    page.locator("#seat1 select").first.select_option("random")
    page.click("#start")
    press(page, 4)
    expect(moves(page)).to_have_count(2)  # the answer comes by the socket


def test_everything_has_a_name(home, visit):
    page = seated(home, visit, "tic_tac_toe", ["person", "random"])
    for role in ("button", "link", "textbox", "combobox", "checkbox"):
        for one in page.get_by_role(role).all():
            assert one.is_hidden() or one.evaluate(
                "e => Boolean(e.ariaLabel || e.getAttribute('aria-label') || e.textContent.trim()"
                " || e.labels?.length)"
            ), one
    assert page.locator("svg:not([aria-label]):not([aria-hidden])").count() == 0 or all(
        one.evaluate("e => Boolean(e.closest('[aria-label]'))")
        for one in page.locator("svg:not([aria-label]):not([aria-hidden])").all()
    )


def test_2048_by_keys_swipes_and_arrows(home, visit):
    page = seated(home, visit, "2048", ["person"], position="0,0,0,0/0,2,0,0/0,0,0,0/0,0,0,0 #1")
    page.keyboard.press("ArrowLeft")
    expect(moves(page)).to_have_count(1)
    expect(page.locator('#board [data-place="4"]')).to_have_attribute(
        "aria-label", re.compile("2$")
    )
    page.get_by_role("button", name="right, legal move").click()
    expect(moves(page)).to_have_count(2)
    box = page.locator("#board svg").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 5, y + 80)
    page.mouse.up()
    expect(moves(page)).to_have_count(3)
    expect(page.locator("#moves")).to_contain_text("down")
    page.locator('#board [data-place="17"]').focus()
    page.keyboard.press("Enter")
    expect(moves(page)).to_have_count(4)
    expect(page.locator("#player0")).to_contain_text("points")
    expect(page.locator("#player1")).to_be_hidden()
    expect(page.locator("#save")).to_be_hidden()
    page.click("#undo")
    expect(moves(page)).to_have_count(3)
    page.reload()
    expect(moves(page)).to_have_count(3)
    page.click("#resign")
    expect(page.locator("#status")).to_contain_text("The end (resignation)")


def test_rules_that_are_compiled_are_said_to_be(home, visit, monkeypatch):
    table = ask(home, "/api/tables", {"game": "tic_tac_toe", "seats": ["person", "person"]})[1]
    gate = threading.Event()

    def slowly(*given):
        assert gate.wait(60)
        return view(*given)

    monkeypatch.setattr("halfmove.web.play.view", slowly)
    page = visit(f"{home}/play/{table['id']}")
    try:
        expect(page.locator("#title")).to_have_text(re.compile(r"rules are being compiled, \d+ s"))
    finally:
        gate.set()
    expect(page.locator("#title")).to_have_text("Tic-tac-toe")
    expect(page.locator("#board svg")).to_be_visible()


FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{folder}</cachedir></fontconfig>"""


def test_without_a_japanese_font_kanji_are_not_offered(home, browser, tmp_path):
    """Shogi then has letters on its pieces, as it has anyway until kanji are asked for."""
    latin = list(Path("/usr/share/fonts").rglob("DejaVuSans.ttf"))
    if not latin:
        pytest.skip("needs DejaVu Sans: apt-get install fonts-dejavu-core")
    shutil.copy(latin[0], tmp_path)
    (tmp_path / "fonts.conf").write_text(FONTS.format(folder=tmp_path))
    bare = browser.browser_type.launch(
        executable_path=program(),
        args=ARGUMENTS,
        env={**os.environ, "FONTCONFIG_FILE": str(tmp_path / "fonts.conf")},
    )
    try:
        page = bare.new_page()
        page.goto(home)
        assert page.evaluate("import('/static/pieces.js').then((m) => m.hasKanji())") is False
    finally:
        bare.close()
