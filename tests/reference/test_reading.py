"""Files without an end are refused by name; logs are read in blocks of whole lines."""

import gzip
import os
import threading
from pathlib import Path

import pytest

from reference.files import BLOCK_BYTES, read_json, read_whole, text_blocks, text_lines

ENDLESS = Path("/dev/zero")


def test_a_whole_file_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "some"
    path.write_bytes(b"x" * 1000)
    assert read_whole(path, most_bytes=1000) == b"x" * 1000
    with pytest.raises(ValueError, match=r"some must have at most 0.000999 MB, got more"):
        read_whole(path, most_bytes=999)
    with pytest.raises(ValueError, match="/dev/zero must have at most 64 MB, got more"):
        read_whole(ENDLESS)


def test_a_line_has_a_limit() -> None:
    with pytest.raises(ValueError, match="a line of /dev/zero must have at most 64 MB, got more"):
        list(text_lines(ENDLESS))


def test_json_that_cannot_be_read_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text('{"a": [1, 2]}')
    assert read_json(path) == {"a": [1, 2]}
    for content, message in (
        (b"[" * 100_000, "nested too deep"),
        (b"{", "Expecting property name"),
        (b"\xff\xfe{}", "some.json must be JSON"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_json(path)


def test_blocks_are_whole_lines_and_together_the_file(tmp_path: Path) -> None:
    text = "".join(f"line {number} ends here\u2028not here\n" for number in range(80_000)) + "end"
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode(), 1))
    for path in (plain, packed):
        blocks = list(text_blocks(path))
        assert len(blocks) > 2
        assert all(block.endswith("\n") for block in blocks[:-1])
        assert max(map(len, blocks)) < BLOCK_BYTES + 100
        assert "".join(blocks) == text
        assert list(text_lines(path)) == [
            *(f"{line}\n" for line in text.split("\n")[:-1]),
            "end",
        ]
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ValueError, match="packed must be whole gzip"):
        list(text_blocks(packed))


def test_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in (lambda: read_json(pipe), lambda: "".join(text_blocks(pipe))):
        writer = threading.Thread(target=pipe.write_text, args=("[1]",), daemon=True)
        writer.start()
        assert read() in ([1], "[1]")
        writer.join(10)
