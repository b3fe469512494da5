"""Files that appear only when complete."""

import os
from pathlib import Path

import pytest

from reference.files.whole_file import whole_file


def test_the_file_is_replaced_when_its_writing_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole_file(path) as partial:
        assert partial.parent == tmp_path
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_writing_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write() -> None:
        with whole_file(path) as partial:
            partial.write_text("ne")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_writing_that_fails_at_once_names_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "none" / "a.txt") as partial:
        partial.write_text("new")


def test_others_may_read_what_they_may_read_of_any_file(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "a.txt"
    plain.write_text("")
    with whole_file(path) as partial:
        partial.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode
