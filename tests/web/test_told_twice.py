"""A table is told by answers and by the socket, in either order: the page takes each once."""

import pytest

from tests.web.playing import moves, press, seated

sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need Playwright")
expect = sync_api.expect
expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def home(serve, tmp_path_factory):
    return serve(tmp_path_factory.mktemp("runs"))


KEEPS_MESSAGES = """
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", (event) => {
      window.again = () => this.onmessage(event);
      document.documentElement.dataset.told = "yes";
    });
  }
};
"""


def test_a_table_told_again_takes_no_choice_away(home, visit):
    page = seated(home, visit, "chess", ["person", "person"])
    page.add_init_script(KEEPS_MESSAGES)
    page.reload()
    page.wait_for_selector("html[data-told]")
    press(page, 52)
    chosen = page.locator("#board [aria-pressed=true]").element_handle()
    page.evaluate("again()")
    assert chosen.is_visible()  # the very element: nothing was drawn anew under the finger
    press(page, 36)
    expect(page.locator("#moves")).to_contain_text("e2e4")


ANSWERS_LATE = """
const fetched = window.fetch;
window.fetch = async (...given) => {
  const answer = await fetched(...given);
  if (`${given[0]}`.endsWith("/move")) await new Promise((done) => setTimeout(done, 3000));
  return answer;
};
"""


def test_the_next_move_need_not_wait_for_the_answer_to_the_last(home, visit):
    """Only for the position after it, which the socket may tell first."""
    page = seated(home, visit, "tic_tac_toe", ["person", "person"])
    page.add_init_script(ANSWERS_LATE)
    page.reload()
    page.wait_for_selector("svg.board")
    for made, place in enumerate([4, 0, 8], 1):
        # A second press is none. Both in one: the board is drawn anew at any moment in between.
        page.locator(f'#board [data-place="{place}"]').dblclick(force=True)
        expect(moves(page)).to_have_count(made)
