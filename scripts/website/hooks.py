"""Hooks that mkdocs calls while it builds the site: pages made from the repository's files.

README is the home page; CONTRIBUTING and CHANGELOG are pages, too; each command has a page of its
own; all figures are drawn; commands write an example page of each kind.
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from commands import command_pages
from examples import example_pages, examples_list
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from figures.registry import FIGURES
from specplan.main import SUMMARIES
from specplan.main import main as specplan

ROOT = Path(__file__).parents[2]
OWN = {
    "README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"
}  # fmt: skip


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the commands where the navigation has room for them."""
    pages: list[Any] = [{"All commands": "commands/index.md"}]
    pages += [{name: f"commands/{name}.md"} for name in SUMMARIES]
    config.nav = [{"Commands": pages} if "Commands" in entry else entry for entry in config.nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is made, and takes out the page that the commands' own pages replace."""
    document = files.get_file_from_path("commands.md")
    assert document is not None
    files.remove(document)
    for path, content in made(document.content_string):
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Returns a page with its links as they are on the site."""
    return relinked(markdown, page.file.src_uri)


def made(commands: str) -> Iterator[tuple[str, str | bytes]]:
    """Yields path and content of every file that is made."""
    for source, path in OWN.items():
        yield path, (ROOT / source).read_text(encoding="utf-8")
    yield "license.txt", (ROOT / "LICENSE").read_text(encoding="utf-8")
    for name, text in command_pages(commands).items():
        yield f"commands/{name}.md", text
    with tempfile.TemporaryDirectory() as folder:
        _run("figures", "-o", f"{folder}/figures", "--format", "svg")
        for figure in sorted((Path(folder) / "figures").glob("*.svg")):
            yield f"figures/{figure.name}", figure.read_bytes()
    yield "figures.md", _gallery()
    sizes = {}
    for path, content in example_pages():
        sizes[path] = len(content)
        yield path, content
    yield "examples.md", examples_list(sizes)


def relinked(markdown: str, path: str) -> str:
    """Returns a page's text with links that lead to where things are on the site."""
    if path in OWN.values():
        markdown = markdown.replace("](docs/", "](")
    for source, target in {**OWN, "LICENSE": "license.txt"}.items():
        markdown = re.sub(rf"\]\((\.\./)*{source}", f"]({target}", markdown)
    markdown = re.sub(r"\]\(commands\.md#specplan-(\w+)\)", r"](commands/\1.md)", markdown)
    return markdown.replace("](commands.md)", "](commands/index.md)")


def _gallery() -> str:
    """Returns the page of all figures and tables, by what they are from."""
    lines = ["# Figures and tables", "", "`specplan figures` draws all of them:"]
    source = ""
    for entry in FIGURES.values():
        paper = entry.source.partition(", ")[0]
        if paper != source:
            source = paper
            lines += ["", f"## {source[0].upper()}{source[1:]}"]
        lines += ["", f"### {entry.name}", "", f"{entry.shows} ({entry.source})", ""]
        lines += [f"![{entry.shows}](figures/{entry.name}.svg)"]
    return "\n".join(lines)


def _run(*words: str) -> None:
    result = CliRunner().invoke(specplan, words)
    if result.exit_code != 0:
        raise RuntimeError(result.output)
