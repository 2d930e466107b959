"""How a test of the page plays."""

from tests.web.asking import ask


def seated(home, visit, game, seats, **more):
    """The page of a new table."""
    status, table, _ = ask(home, "/api/tables", {"game": game, "seats": seats, **more})
    assert status == 201, table
    page = visit(f"{home}/play/{table['id']}")
    page.wait_for_selector("svg.board")
    return page


def moves(page):
    return page.locator("#moves button")


def press(page, place):
    page.locator(f'#board [data-place="{place}"]').click(force=True)
