"""The report's page in a browser: no errors, no network, readable, and the numbers of `plan`.

Run where a Chromium is on the path; skipped where none is.
"""

import json
import shutil
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from click.testing import CliRunner
from made_profiles import made_profile, made_validation

from estimator.profiles.profile_file import write_profile
from specplan.main import main

NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason=f"needs a Chromium, and none of {', '.join(NAMES)} is on the path"
)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
GRID = list(product((0.3, 0.8, 0.95, 1.0), (0.05, 0.4), (0.0, 0.1), (1, 9)))
WIDTHS = (400, 1400)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns where a report of three drafts and a validation lies."""
    folder = tmp_path_factory.mktemp("report")
    long = "/models/a-folder/Some-8B-Instruct-with-a-long-name-2026-11"
    for name, draft, alpha, c in (
        ("a", "embedded", 0.82, 0.12),
        ("b", "lookup:3", 0.31, 0.002),
        ("c", long, 0.74, 0.3),
    ):
        write_profile(made_profile(draft, alpha=alpha, c=c), folder / f"{name}.json")
    (folder / "v.json").write_text(json.dumps(made_validation("embedded")))
    files = [str(folder / f"{name}.json") for name in "abcv"]
    made = CliRunner().invoke(main, ["report", *files, "-o", str(folder / "report.html")])
    assert made.exit_code == 0, made.output
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    page = browser.new_page()
    page.goto(address)
    yield page
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_without_errors_or_network(
    browser: Any, address: str, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    messages: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_function("document.querySelectorAll('figure svg').length === 6")
    assert messages == []
    assert [url for url in asked if not url.startswith("data:")] == [address]
    # Nothing is wider than the screen but what scrolls by itself, and no text is tiny.
    assert page.evaluate("document.documentElement.scrollWidth") == width
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('main *')].filter(e => e.textContent.trim())"
        ".map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 12
    dark = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(v => v < 64)"
    )
    assert dark == (scheme == "dark")
    context.close()


def test_the_explorer_has_the_numbers_of_plan(page: Any) -> None:
    shown = page.evaluate(
        """grid => grid.map(([alpha, c, slope, gamma]) => {
            const settings = { alpha, c, slope, gamma };
            for (const [key, value] of Object.entries(settings)) {
                const slider = document.getElementById(key);
                slider.value = value;
                slider.dispatchEvent(new Event("input"));
            }
            return ["factor", "best", "best-factor", "tokens"].map(
                name => Number(document.getElementById(name).dataset.value));
        })""",
        [list(cell) for cell in GRID],
    )
    for (alpha, c, slope, gamma), found in zip(GRID, shown, strict=True):
        costs = ["--target-ms", "1", "--draft-ms", str(c), "--verify-ms", f"2={1 + slope}"]
        cost = ["--c", str(c)] if slope == 0 else costs
        planned, best = (
            json.loads(CliRunner().invoke(main, ["plan", "--alpha", str(alpha), *cost, *at]).stdout)
            for at in (["--gamma", str(gamma), "--json"], ["--json"])
        )
        assert found[1] == best["optimal_gamma"], (alpha, c, slope)
        assert [found[0], found[2], found[3]] == pytest.approx(
            [
                planned["improvement_factor"], best["improvement_factor"],
                planned["expected_tokens"],
            ],
            rel=1e-9,
        )  # fmt: skip


def test_sliders_and_buttons_work_by_keyboard(page: Any) -> None:
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "alpha":
            break
    assert page.evaluate("document.activeElement.id") == "alpha"
    before = float(page.text_content("#alpha-value"))
    page.keyboard.press("ArrowRight")
    assert float(page.text_content("#alpha-value")) == pytest.approx(before + 0.001)
    page.get_by_role("button", name="as lookup:3").focus()
    page.keyboard.press("Enter")
    assert page.text_content("#alpha-value") == "0.31"
