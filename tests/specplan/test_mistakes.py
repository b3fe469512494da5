"""Each mistake that users make gets one clear line with a way out: `refused/mistakes.txt`.

Mistakes that are answered all the same, with a line that names them, are in `said/mistakes.txt`.
"""

import gzip
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from specplan.main import main
from tests.engines.test_http import server, slow_page
from tests.engines.web_server import web_server
from tests.specplan.plan_inputs import LLAMA
from tests.specplan.refusals import assert_refused, refused
from tests.specplan.test_refusals import FILES as OTHER_FILES

HTML = "<!DOCTYPE html><html><title>502 Bad Gateway</title></html>"
FLASH = LLAMA | {
    "model_type": "qwen3",
    "architectures": ["DFlashDraftModel"],
    "num_hidden_layers": 1,
    "block_size": 7,
    "dflash_config": {"target_layer_ids": [1, 9, 17]},
}
FILES = {
    "nothing.json": "",
    "text": "no JSON",
    "page.html": HTML,
    "page.yaml": "gamma: 3\nmodel: x\n",
    "cut.json": '{"schema": "specplan-profile", "vers',
    "closed.json": "{}",
    "trace.csv": OTHER_FILES["trace.csv"],
    "trace-back.csv": OTHER_FILES["trace-back.csv"],
    "questions.jsonl": '{"question": "why?"}\n',
    "uncounted.log": "draft acceptance rate = 0.61000 (  305 accepted /   500 generated)\n",
    "target.json": json.dumps(LLAMA),
    "draft.json": json.dumps(LLAMA | {"num_hidden_layers": 2}),
    "flash.json": json.dumps(FLASH),
    "config-formatless.json": json.dumps(LLAMA | {"torch_dtype": None, "dtype": None}),
}


@pytest.fixture(scope="module")
def folder(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of the folder of models, with files that cannot be used."""
    root = shutil.copytree(folders, tmp_path_factory.mktemp("mistakes") / "files")
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    (root / "bytes").write_bytes(b"\xff\xfe\x00")
    (root / "made.json.gz").write_bytes(gzip.compress(b"{}"))
    (root / "model.gguf").write_bytes(b"GGUF\x03\0\0\0")
    (root / "folder").mkdir()
    return root


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """Yields the URLs of a server whose pages are HTML, and of one that answers for ever."""
    with ExitStack() as running:
        html = running.enter_context(web_server({"/metrics": HTML}, lambda *_: (404, "")))
        yield {"HTML": html, "ENDLESS": running.enter_context(server(slow_page))}


@pytest.mark.parametrize(("words", "message"), refused("mistakes"))
def test_a_mistake_gets_one_line(
    folder: Path,
    servers: dict[str, str],
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    _forbid(monkeypatch, "closed.json")
    before = sorted(folder.iterdir())
    typed = [word.format(**servers) if "{" in word else word for word in words]
    assert_refused(CliRunner().invoke(main, typed), message)
    assert sorted(folder.iterdir()) == before


def _forbid(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Makes a file unreadable, for administrators, too."""
    opened = Path.open

    def open_unless_closed(path: Path, *arguments: object, **settings: object) -> object:
        if path.name == name:
            raise PermissionError(13, "Permission denied", name)
        return opened(path, *arguments, **settings)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", open_unless_closed)
