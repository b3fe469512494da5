"""Pages in a browser: no errors, no network, readable, and the numbers of JSON and of `plan`."""

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from estimator.profiles.best import plan_of
from estimator.profiles.profile_file import read_profile, write_profile
from simulator.acceptance.acceptance import Iid
from simulator.choice.plan import plan
from simulator.cost.curves import CostModel
from specplan.main import main
from specplan.reports.page.draft_sliders import scaled
from tests.specplan.made_profiles import made_profile, made_tuning, made_validation

# Settings on and between grid points; the profile's own settings are a grid point.
RANDOM = np.random.default_rng(4).random((150, 3)) * (1, 0.5, 0.3)
GRID = [
    *map(tuple, RANDOM.round(3).tolist()),
    *product((0.31, 0.82, 0.957, 1.0), (0.043, 0.12), (0.0, 0.1)),
]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"
RUNS = "plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85 --json"
CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
GPU = (
    "plan", "--target-config", str(CONFIGS / "llama-3.1-8b.json"), "--draft-config",
    str(CONFIGS / "llama-3.2-1b.json"), "--gpu", "h100",
)  # fmt: skip
MOVE = """([name, settings]) => {
    const part = document.getElementById(name);
    for (const [key, value] of Object.entries(settings)) {
        const slider = part.querySelector(`[data-field="${key}"]`);
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
    }
    const shown = (key) => Number(part.querySelector(`[data-field="${key}"]`).dataset.value);
    const factors = JSON.parse(part.querySelector("[data-chart]").dataset.factors);
    return [shown("advised"), shown("factor"), factors];
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the page of many answers, and plan.json, one of them."""
    folder = tmp_path_factory.mktemp("report")
    for name, draft, alpha, c in (
        ("a", "embedded", 0.82, 0.12), ("b", "lookup:3", 0.31, 0.002), ("c", EVIL, 0.74, 0.3),
    ):  # fmt: skip
        write_profile(made_profile(draft, alpha=alpha, c=c), folder / f"{name}.json")
    (folder / "plan.json").write_text(CliRunner().invoke(main, RUNS.split()).stdout)
    (folder / "v.json").write_text(json.dumps(made_validation(EVIL)))
    tuning = made_tuning()
    tuning["setup"] |= {"engine": EVIL, "target": EVIL, "draft": EVIL}
    (folder / "t.json").write_text(json.dumps(tuning))
    files = [str(folder / f"{name}.json") for name in ("a", "b", "c", "plan", "v", "t")]
    made = CliRunner().invoke(main, ["report", *files, "-o", str(folder / "page.html")])
    assert made.exit_code == 0, made.output
    ratio = f"plan --alpha 0.82 --c 0.12 --page {folder / 'ratio.html'}"
    assert CliRunner().invoke(main, ratio.split()).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def page(browser: Any, folder: Path) -> Iterator[Any]:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto((folder / "page.html").as_uri())
    yield page
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_is_readable_without_errors_or_network(
    browser: Any, folder: Path, width: int, scheme: str
) -> None:
    address = (folder / "page.html").as_uri()
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every(e => e.querySelector('svg path'))"
    )
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [address]
    whole = page.locator(".answer .whole")
    assert "K = " in " ".join(whole.all_text_contents())
    lines = "parts => parts.map(part => part.getClientRects().length)"
    assert set(whole.evaluate_all(lines)) == {1}
    options = page.locator("pre .whole", has_text="--")
    assert set(options.evaluate_all(lines)) <= {0, 1}  # 0: folded
    assert options.count() > 0
    # No element is wider than the screen, except those that scroll, and no text is tiny.
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
    assert page.evaluate("document.images.length") == 0
    assert page.text_content("main").count(EVIL) > 5
    context.close()


def test_a_table_wider_than_the_screen_says_so(browser: Any, folder: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto((folder / "page.html").as_uri())
    page.wait_for_function("document.querySelector('.cut')")
    tables = (
        "[...document.querySelectorAll('.wide')].filter(e => e.checkVisibility())"
        ".map(e => [e.scrollWidth > e.clientWidth + 1, getComputedStyle(e, '::before').content, "
        "getComputedStyle(e).maskImage])"
    )
    shown = page.evaluate(tables)
    assert {wide for wide, *_ in shown} == {True, False}
    for wide, hint, mask in shown:
        assert ("Scroll sideways" in hint) == (mask != "none") == wide
    page.evaluate("document.querySelectorAll('.wide').forEach(e => { e.scrollLeft = 9999; })")
    page.wait_for_timeout(100)
    assert {mask for *_, mask in page.evaluate(tables)} == {"none"}
    page.close()


def test_hover_and_keys_show_the_value_of_json(page: Any, folder: Path) -> None:
    curve = json.loads((folder / "plan.json").read_text())["curve"]
    chart = page.locator('[data-chart="part-2-speed-up"]')
    chart.scroll_into_view_if_needed()
    spoken = chart.locator("xpath=..").locator(".spoken")
    chart.focus()
    for point in curve[:3]:
        page.keyboard.press("ArrowRight")
        for name in ("", "_low", "_high"):
            assert f"{point[f'improvement_factor{name}']:.4g}".rstrip("0") in spoken.text_content()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 62, box["y"] + 120)
    tip = chart.locator("div", has_text="K 1").last
    assert f"speed-up: {curve[0]['improvement_factor']:.4g}" in tip.locator("..").text_content()


def test_sliders_show_the_numbers_of_plan_between_grid_points(browser: Any, folder: Path) -> None:
    """The plan's own settings are exact; others are within 0.5 %."""
    page = browser.new_page()
    page.goto((folder / "ratio.html").as_uri())
    for alpha, c, slope in GRID:
        settings = {"alpha": alpha, "c": c, "slope": slope}
        advised, factor, factors = page.evaluate(MOVE, ["part-1", settings])
        planned = plan(Iid(alpha), CostModel({1: 1.0, 2: 1.0 + slope}, c))
        exact = planned.curve.improvement_factor
        tolerance = 1e-5 if (alpha, c, slope) == (0.82, 0.12, 0.0) else 5e-3
        np.testing.assert_allclose(factors, exact, rtol=tolerance)
        at = 1.0 if advised == 0 else exact[advised - 1]
        # The plan's own K is within 1 % of the best; the table's is at most 0.5 % further.
        assert at >= 0.99 * max(1.0, *exact), settings
        assert factor == pytest.approx(at, rel=5e-3), settings
    assert "part-1.alpha=1" in page.evaluate("location.hash")
    page.close()


def test_a_draft_s_sliders_start_at_its_answer_and_move_to_plans(page: Any, folder: Path) -> None:
    profile = read_profile(folder / "a.json")
    assert profile.cost is not None
    planned = plan_of(profile, profile.cost)
    for drafting, checking in ((1.0, 1.0), (0.35, 1.0), (2.2, 0.45), (0.0, 2.65)):
        moved = {"draft": 0, "drafting": drafting, "checking": checking}
        advised, factor, factors = page.evaluate(MOVE, ["part-1", moved])
        exact = plan_of(profile, scaled(profile.cost, drafting, checking)).curve.improvement_factor
        timed = planned.candidates - 1
        np.testing.assert_allclose(np.array(factors)[timed], exact[timed], rtol=1e-4)
        assert factor >= 0.985 * max(1.0, *exact[timed])
        if (drafting, checking) == (1.0, 1.0):
            assert advised == planned.advised_gamma
            headline = page.locator(".headline").first.text_content()
            assert f"K = {advised}: {factor:.2f} times" in headline


def test_a_slider_shows_the_numbers_of_plan_at_the_costs_of_a_gpu(
    browser: Any, tmp_path: Path
) -> None:
    made = CliRunner().invoke(main, [*GPU, "--alpha", "0.7", "--page", str(tmp_path / "gpu.html")])
    assert made.exit_code == 0, made.output
    page = browser.new_page()
    page.goto((tmp_path / "gpu.html").as_uri())
    for alpha in (0.31, 0.555, 0.7, 0.893):
        advised, _, factors = page.evaluate(MOVE, ["part-1", {"alpha": alpha}])
        printed = CliRunner().invoke(main, [*GPU, "--alpha", str(alpha), "--json"])
        planned = json.loads(printed.stdout)
        exact = [point["improvement_factor"] for point in planned["curve"]]
        tolerance = 1e-5 if alpha == 0.7 else 5e-3
        np.testing.assert_allclose(factors, exact, rtol=tolerance)
        at = 1.0 if advised == 0 else exact[advised - 1]
        assert at >= 0.985 * max(1.0, *exact)
    page.close()


def test_the_address_keeps_the_sliders(browser: Any, folder: Path) -> None:
    page = browser.new_page()
    page.goto((folder / "ratio.html").as_uri() + "#part-1.alpha=0.6&part-1.c=0.25")
    values = page.evaluate(
        "['alpha', 'c'].map(key => document.querySelector(`#part-1 [data-field=${key}]`).value)"
    )
    assert list(map(float, values)) == [0.6, 0.25]
    page.close()


def test_buttons_copy_flags_and_download_pictures(page: Any) -> None:
    part = page.locator("article", has_text="--draft-max 3").last
    part.locator("button.copy").first.click()
    assert page.evaluate("navigator.clipboard.readText()") == "--draft-max 3"
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
        with page.expect_download() as download:
            page.locator(f'button[data-save="{kind}"]').first.click()
        content = download.value.path().read_bytes()
        assert content.startswith(start)
        assert re.fullmatch(rf"[a-z][a-z0-9-]+\.{kind}", download.value.suggested_filename)
    texts = {text.text for text in ElementTree.fromstring(content).findall(".//{*}text")}
    assert {page.locator("h3").first.inner_text(), page.title()} <= texts


def test_print_cuts_no_row_and_no_number(page: Any) -> None:
    page.set_viewport_size({"width": 718, "height": 1000})  # of A4, within margins
    page.emulate_media(media="print")
    rules = page.evaluate(
        "[...document.querySelectorAll('tr')]"
        ".every(e => getComputedStyle(e).breakInside === 'avoid')"
    )
    wide = page.evaluate(
        "[...document.querySelectorAll('.wide')].filter(e => getComputedStyle(e).overflowX !== "
        "'visible').length"
    )
    broken = page.evaluate(
        "[...document.querySelectorAll('tbody td')].filter(e => e.clientHeight > 0 && "
        "/^\\S{1,8}$/.test(e.textContent)).filter(e => { const range = document.createRange(); "
        "range.selectNodeContents(e); return range.getClientRects().length > 1; }).length"
    )
    page.emulate_media(media="screen")
    assert rules
    assert wide == 0
    assert broken == 0
