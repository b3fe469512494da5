"""A file that no reader knows gets one line, which says what the file is."""

import gzip
from pathlib import Path

import pytest

from engines.sources import observe
from tests.engines.metrics_pages import BENCH

KINDS = r"must be a metrics page of llama\.cpp, .*, a log of llama\.cpp .*, or JSON of .*, got "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (bytes(range(256)), f"{KINDS}a binary file"),
        (b"<!DOCTYPE html><html><title>502 Bad Gateway</title></html>",
         f"{KINDS}an HTML page, '502 Bad Gateway'"),
        (b"model: x\nk: 3\n", f"{KINDS}a text that begins 'model: x'"),
        (b"gamma,ms\n3,4\n", f"{KINDS}a text that begins 'gamma,ms'"),
        (BENCH.encode()[:60], "JSON of drafts must be JSON or a JSON object a line, got JSON "),
        (b"[]", "JSON of drafts must hold at least one JSON object, got none"),
        (b'{"a": 1, "b": 2}', r"JSON of drafts must have .*, got a, b"),
    ],
)  # fmt: skip
def test_it_is_described(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path}: {message}") as found:
        observe([str(path)], gamma=None)
    assert "\n" not in str(found.value)


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bench.json.gz"
    path.write_bytes(gzip.compress(BENCH.encode()))
    assert observe([str(path)], gamma=None).drafts == 200
