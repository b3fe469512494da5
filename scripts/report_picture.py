"""Draws the README's picture: the top of the report on the profiles of docs/examples.

    python scripts/report_picture.py

needs a chromium on the path, and writes docs/images/report.png.
"""

import shutil
import tempfile
from pathlib import Path

from click.testing import CliRunner
from playwright.sync_api import sync_playwright

from specplan.main import main as specplan

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, HEIGHT = 1200, 1150


def main() -> None:
    profiles = [str(DOCS / "examples" / name) for name in ("embedded.json", "lookup.json")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        result = CliRunner().invoke(specplan, ["report", *profiles, "-o", str(page)])
        assert result.exit_code == 0, result.output
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        view.goto(page.as_uri())
        view.evaluate("for (const each of document.querySelectorAll('details')) each.open = false")
        view.screenshot(path=str(DOCS / "images" / "report.png"))
        browser.close()


if __name__ == "__main__":
    main()
