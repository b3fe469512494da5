"""A page of each kind in a browser: drawn, readable and printable, without errors or network."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from specplan.main import main
from tests.specplan.reports.test_page_option import COMMANDS
from tests.specplan.reports.test_sliders_in_browser import FITTED, SERVED

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
# Labels of charts that are cut at an edge of their chart.
CUT = """[...document.querySelectorAll('.chart')].flatMap(chart => {
    const whole = chart.getBoundingClientRect();
    return [...chart.querySelectorAll('svg text')].filter(text => {
        const box = text.getBoundingClientRect();
        return box.width > 0 && (box.left < whole.left - 1 || box.right > whole.right + 1
            || box.top < whole.top - 1 || box.bottom > whole.bottom + 1);
    }).map(text => text.textContent);
})"""
# Labels of charts that a second label covers, or a dot, ring or mark that is not theirs.
COVERED = """[...document.querySelectorAll('.chart, svg:root')].flatMap(chart => {
    const boxes = (name) => [...chart.querySelectorAll(name)]
        .map(e => ({ text: e.textContent, ...e.getBoundingClientRect().toJSON() }));
    const labels = boxes('text').filter(box => box.width > 0);
    const dots = boxes('path').filter(box => box.width > 9 && box.width < 40
        && Math.abs(box.width - box.height) < 1);
    const meet = (one, other) => one.left < other.right - 1 && other.left < one.right - 1
        && one.top < other.bottom - 2 && other.top < one.bottom - 2;
    return labels.flatMap((label, i) => [...labels.slice(i + 1), ...dots]
        .filter(box => box.text !== label.text && meet(label, box))
        .map(box => `${label.text} and ${box.text || 'a dot'}`));
})"""
FACTOR = "improvement_factor"


def _curve(data: Any) -> list[float]:
    return [point[FACTOR] for point in data["curve"]]


def _drafting(data: Any) -> list[float]:
    return [(row["drafting"] or row)[FACTOR] for row in data["rows"]]


# The values of the first series of a kind's main chart, in the JSON of its command.
VALUES: dict[str, Callable[[Any], list[float]]] = {
    "plan": _curve,
    "batches": _drafting,
    "gpus": _drafting,
    "rates": lambda data: [row[FACTOR] for row in data["rows"]],
    "traffic": lambda data: [row["tpot_ms"] for row in data["by_rate"] if row["speculation"]],
    "burst": lambda data: [row["seconds"] for row in data["rows"]],
    "size": lambda data: [row["tpot_ms"] for row in data["by_rate"]],
    "tree": lambda data: [row["best"][FACTOR] for row in data["rows"]],
    "observe": lambda data: _curve(data["plan"]),
    "compare": lambda data: [
        each["a"] for each in data["differences"] if each["number"].startswith("speed-up")
    ],
    "tune": lambda data: [row["ms_per_token"] for row in data["rows"]],
    "validate": lambda data: [row["predicted"] for row in data["rows"]],
    "drafts": lambda data: [each["replay"] for each in data[FACTOR].values()],
}


def _shows(text: str | None, value: float) -> bool:
    """Returns whether a text has a number, with the digits that pages show."""
    numbers = map(float, re.findall(r"-?\d+(?:\.\d+)?", text or ""))
    return any(abs(number - value) <= 6e-4 * abs(value) for number in numbers)


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.usefixtures("few_requests")
def test_a_page_of_each_kind_is_drawn_readable_and_printable(
    kind: str, browser: Any, tmp_path: Path
) -> None:
    file, words = tmp_path / "page.html", PAGES[kind].split()
    where = ["-o", str(file)] if words[0] == "report" else ["--json", "--page", str(file)]
    answer = tmp_path / "answer.json"
    where += ["-o", str(answer)] if kind == "traffic" else []  # which has the curves
    result = CliRunner().invoke(main, [*words, *where])
    assert result.exit_code == 0, result.output
    printed = Path(words[-1]).read_text() if words[0] == "report" else result.stdout
    data = json.loads(answer.read_text() if answer.exists() else printed)
    assert file.stat().st_size < MOST_BYTES
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.emulate_media(color_scheme="dark")
    page.goto(file.as_uri())
    for width, scheme in ((390, "dark"), (390, "light"), (1280, "light")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        page.wait_for_function(DRAWN)
        assert page.evaluate(CUT) == []
        assert page.evaluate(COVERED) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
    for slider in page.locator("input[type=range]").all():
        slider.press("ArrowRight")
    chart, values = page.locator("[data-chart]").first, VALUES[kind](data)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 61, box["y"] + 110)
    assert _shows(chart.text_content(), values[0])
    chart.focus()
    for value in filter(None, values[:2]):
        page.keyboard.press("ArrowRight")
        assert _shows(chart.locator("xpath=..").locator(".spoken").text_content(), value)
    page.set_viewport_size({"width": 390, "height": 900})
    for form, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
        with page.expect_download() as download:
            page.locator(f'button[data-save="{form}"]').first.click()
        download.value.save_as(tmp_path / f"chart.{form}")
        assert (tmp_path / f"chart.{form}").read_bytes().startswith(start)
    picture = context.new_page()
    picture.goto((tmp_path / "chart.svg").as_uri())
    assert picture.evaluate("document.querySelectorAll('text').length") > 5
    assert picture.evaluate(COVERED) == []
    command = page.locator("pre", has_text="specplan ").last
    command.locator("xpath=..").locator("button.copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == command.text_content()
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
    page.set_viewport_size({"width": 718, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") == 718
    context.close()
