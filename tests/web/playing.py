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
    """Clicks on a place; again if the board was drawn anew before the click, as a person would."""
    from playwright.sync_api import Error  # where it is not installed no test comes here

    there = page.locator(f'#board [data-place="{place}"]')
    for _ in range(5):
        try:
            return there.click(force=True)
        except Error as error:
            if "not visible" not in str(error) and "not attached" not in str(error):
                raise
    return there.click(force=True)
