"""A page of each kind in a browser: drawn, readable and printable, without errors or network."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from specplan.main import main
from tests.specplan.reports.test_page_in_browser import browser, pytestmark
from tests.specplan.reports.test_page_option import COMMANDS
from tests.specplan.reports.test_sliders_in_browser import FITTED, SERVED

__all__ = ["browser", "pytestmark"]
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
PAGES = {
    "plan": f"{COMMANDS['plan']} --export vllm",
    "batches": FITTED,
    "gpus": COMMANDS["gpus"],
    "rates": "plan --alpha 0.5,0.9 --c 0.05,0.1",
    "traffic": f"{SERVED} --rate 4,9 --slo tpot=30,ttft=200 --simulate --requests 200",
    "burst": f"{SERVED} --burst 20",
    "size": COMMANDS["size"],
    "tree": "tree --acceptance-by-rank 0.7,0.1 --c 0.05 --max-nodes 8",
    "observe": f"observe {EXAMPLES}/answers.jsonl --gamma 4 --target-ms 5.67 --draft-ms 0.5",
    "compare": f"compare {EXAMPLES}/embedded.json {EXAMPLES}/lookup.json",
    "tune": f"report {EXAMPLES}/tuned.json",
    "validate": f"report {EXAMPLES}/validated.json",
    "drafts": f"report {EXAMPLES}/embedded.json {EXAMPLES}/lookup.json",
}
# Largest size of a page in bytes: the library has 0.7 MB, and grids have at most 0.4 MB.
MOST_BYTES = 1.2e6
DRAWN = "[...document.querySelectorAll('.chart')].every(e => e.querySelector('svg path'))"


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_of_each_kind_is_drawn_readable_and_printable(
    kind: str, browser: Any, tmp_path: Path
) -> None:
    option, file = "-o" if PAGES[kind].startswith("report") else "--page", tmp_path / "page.html"
    result = CliRunner().invoke(main, [*PAGES[kind].split(), option, str(file)])
    assert result.exit_code == 0, result.output
    assert file.stat().st_size < MOST_BYTES
    for width, scheme in ((390, "dark"), (1280, "light")):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
        )  # fmt: skip
        page = context.new_page()
        messages: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message, kept=messages: kept.append(message.text))
        page.on("pageerror", lambda error, kept=messages: kept.append(str(error)))
        page.on("request", lambda request, kept=requests: kept.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_timeout(400)
        assert page.evaluate(DRAWN)
        for chart in page.locator("[data-chart]").all():
            chart.focus()
            page.keyboard.press("Home")
            assert chart.locator("xpath=..").locator(".spoken").text_content()
        for slider in page.locator("input[type=range]").all():
            slider.press("ArrowRight")
        command = page.locator("pre", has_text="specplan ").last
        command.locator("xpath=..").locator("button.copy").click()
        assert page.evaluate("navigator.clipboard.readText()") == command.text_content()
        assert messages == []
        assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.set_viewport_size({"width": 718, "height": 1000})
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") == 718
        context.close()
