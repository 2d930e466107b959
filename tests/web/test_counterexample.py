"""The counterexample: figures that can be worked out by hand, and the page with its sliders."""

import itertools
import math

import pytest

from halfmove.web.counterexample import MOST, arms, measured, outcome
from tests.search.test_compilation import compilations
from tests.web.asking import ask

PAPER = (0.5, 0.3, 0.2), (0.0, 0.0, 1.0)


def seen_without_replacement(prior, n, arm):
    """The probability that `arm` is among n draws from `prior` without replacement."""
    total = 0.0
    for order in itertools.permutations(range(len(prior)), n):
        if arm in order:
            left, chance = 1.0, 1.0
            for a in order:
                chance *= prior[a] / left
                left -= prior[a]
            total += chance
    return total


def test_puct_never_sees_the_good_arm_and_gumbel_earns_what_its_draw_allows():
    found = measured(*PAPER)
    assert found["prior"] == pytest.approx(0.2)
    assert found["top"][1] == 0.0  # the paper's rule of thumb with n = 2
    puct, gumbel = (found["searches"][name][1] for name in ("puct", "gumbel"))
    assert puct["value"] == 0.0
    assert puct["visits"] == (1.0, 1.0, 0.0)
    # Its q is so much better that it is played whenever it is seen: 0.2 + 0.5·0.2/0.5 + ...
    expected = seen_without_replacement(PAPER[0], 2, 2)
    assert math.isclose(expected, 0.2 + 0.5 * 0.2 / 0.5 + 0.3 * 0.2 / 0.7)
    assert gumbel["value"] == pytest.approx(expected, abs=4 * gumbel["error"])
    assert gumbel["error"] == pytest.approx(math.sqrt(expected * (1 - expected) / 1024), rel=0.1)


def test_two_arms_and_one_simulation():
    given = arms("0.7,0.3", "0,1")
    assert given == ((0.7, 0.3, 0.0), (0.0, 1.0, 0.0))
    puct, gumbel = (outcome(name, *given, 1) for name in ("puct", "gumbel"))
    assert puct.value == 0.0  # the favourite is all that it looks at
    assert gumbel.value == pytest.approx(0.3, abs=4 * gumbel.error)  # a draw from π
    assert puct.played[2] == gumbel.played[2] == 0.0  # there is no third arm


@pytest.mark.parametrize(
    ("prior", "q"),
    [("0.1,0.8,0.1", "0.9,0.1,0.5"), ("0.4,0.6", "1,0.95")],
)
def test_gumbel_is_never_worse_than_its_prior(prior, q):
    found = measured(*arms(prior, q))
    for n, each in enumerate(found["searches"]["gumbel"], 1):
        assert each["value"] >= found["prior"] - 4 * each["error"] - 1e-6, n
        assert sum(each["visits"]) == pytest.approx(n, abs=1e-3)


def test_moving_a_slider_compiles_nothing():
    measured(*PAPER)
    with compilations() as count:
        outcome("gumbel", *arms("0.25,0.6,0.15", "0.35,0.2,0.8"), 7)
        outcome("puct_noise", *arms("0.9,0.1", "0.35,0.2"), MOST)
    assert count == [0]


@pytest.mark.parametrize(
    ("prior", "q", "said"),
    [
        ("0.5", "1", "2 or 3 numbers"),
        ("0.5,0.5", "1,0,0", "as many"),
        ("0,0", "1,0", "above 0"),
        ("nan,1", "0,1", "from 0 to 1"),
        ("a,b", "0,1", "numbers between commas"),
        ("0.5,0.5", "0,1e9", "from 0 to 1"),
    ],
)
def test_what_is_no_bandit_is_refused_with_a_sentence(prior, q, said):
    with pytest.raises(ValueError, match=said):
        arms(prior, q)


def test_the_page_moves_with_its_sliders(serve, visit, tmp_path):
    page = visit(serve(tmp_path) + "/counterexample")
    bars = page.locator("#bars")
    bars.get_by_text("After pUCT", exact=True).wait_for(timeout=60_000)
    assert "worse than the prior" in bars.inner_text()
    page.get_by_text("With 2 simulations pUCT earns 0.2 less than not searching").wait_for()
    page.get_by_label("n, simulations").press("End")
    page.get_by_text(f"With {MOST} simulations pUCT").wait_for()
    assert f"n={MOST}" in page.url
    page.get_by_role("button", name="Two arms, one look").click()
    page.get_by_text("With 1 simulation pUCT earns 0.3 less").wait_for()
    assert page.locator("#table tbody tr").count() == 2
    page.get_by_label("q, what it pays").nth(1).press("Home")  # no arm pays: nothing to lose
    page.get_by_text("With 1 simulation pUCT does no harm here").wait_for()
    chart = page.locator("#curve svg.plot")
    chart.press("ArrowRight")
    assert "pUCT 0" in page.inner_text("#curve .plot-read")
    page.reload()
    page.get_by_text("With 1 simulation pUCT does no harm here").wait_for()
    assert page.get_by_label("q, what it pays").count() == 2


def test_strange_questions_are_answered_with_a_sentence(serve, tmp_path):
    status, found, _ = ask(serve(tmp_path), "/api/counterexample?pi=1,2&q=0,1")
    assert (status, found) == (400, {"error": "π must be numbers from 0 to 1, got '1,2'"})
