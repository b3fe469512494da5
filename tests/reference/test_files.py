"""Files: complete or absent, held by one process, and read within limits."""

import gzip
import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reference.files import (
    BLOCK_BYTES,
    held,
    json_objects,
    read_json,
    read_whole,
    text_blocks,
    text_lines,
    uninterrupted,
    whole_file,
)


def test_the_file_is_replaced_when_its_writing_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole_file(path) as partial:
        assert partial.parent == tmp_path
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def fail(path: Path, error: BaseException) -> None:
    with whole_file(path) as partial:
        partial.write_text("ne")
        raise error


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_writing_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    with pytest.raises(type(error)):
        fail(path, error)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_writing_that_fails_at_once_names_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "none" / "a.txt") as partial:
        partial.write_text("new")


def test_a_written_file_has_the_usual_permissions(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "a.txt"
    plain.write_text("")
    with whole_file(path) as partial:
        partial.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode


def write(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(text)


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a.txt").write_text("old")
    link, to_come = tmp_path / "link", tmp_path / "to come"
    link.symlink_to(folder / "a.txt")
    to_come.symlink_to("elsewhere/b.txt")
    write(link, "new")
    write(to_come, "first")
    assert link.is_symlink()
    assert to_come.is_symlink()
    assert (folder / "a.txt").read_text() == "new"
    assert sorted(os.listdir(folder)) == ["a.txt", "b.txt"]
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "link", "to come"]


def test_links_in_a_circle_are_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a", "new")
    assert (tmp_path / "a").is_symlink()


def test_a_pipe_takes_the_content_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as reader:
        received = reader.submit(pipe.read_text)
        write(pipe, "new")
    assert received.result() == "new"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_device_stays_one() -> None:
    write(Path(os.devnull), "new")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_writing_that_fails_writes_nothing_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="disk full"):
        fail(pipe, OSError("disk full"))


def test_standard_output_that_is_a_file_is_written_into(tmp_path: Path) -> None:
    """A replaced file would be another than the one that the shell has open."""
    program = (
        "from pathlib import Path\n"
        "from reference.files import whole_file\n"
        "with whole_file(Path('/dev/stdout')) as partial: partial.write_text('first ')\n"
        "print('second')\n"
    )
    path = tmp_path / "output"
    with path.open("a") as output:
        subprocess.run([sys.executable, "-c", program], stdout=output, check=True)
    assert "second" in path.read_text()


INTERRUPTED = """
import signal
from reference.files import uninterrupted

signal.signal(signal.SIGINT, signal.default_int_handler)

@uninterrupted()
def work():
    signal.raise_signal(signal.SIGINT)
    print("done")

try:
    work()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_comes_at_the_end_of_the_work() -> None:
    """A process of its own: libraries that other tests load may end theirs at a Ctrl-C."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.returncode) == ("done\ninterrupted\n", 0), ended.stderr


def test_the_handler_is_as_before_and_an_error_of_the_work_goes_on() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
    with pytest.raises(ValueError, match="its own"), uninterrupted():
        raise ValueError("its own")
    assert signal.getsignal(signal.SIGINT) == before


def test_another_thread_is_left_alone() -> None:
    seen = []

    def work() -> None:
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


HOLD = """
import sys, time
from pathlib import Path
from reference.files import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ended() -> int:
    """Returns the number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_held_output_leaves_nothing(tmp_path: Path) -> None:
    with held(tmp_path / "p.json"):
        assert files(tmp_path) == [".p.json.lock"]
    assert files(tmp_path) == []


def test_another_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    output = tmp_path / "p.json"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(output)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match="must be written by one process at a time, got it"):
            held(output).__enter__()
        with held(tmp_path / "other.json"):
            pass
        holder.kill()
        holder.wait()
    assert files(tmp_path) == [".p.json.lock"]
    with held(output):
        pass
    assert files(tmp_path) == []


def test_two_names_of_one_file_are_one_output(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "p.json")
    with (
        held(tmp_path / "p.json"),
        pytest.raises(ValueError, match=r"link.json must be written by one process"),
    ):
        held(tmp_path / "link.json").__enter__()


def test_files_of_dead_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    dead = ended()
    gone = [f".p.json.{dead}.part", f".p.json.traces.npz.{dead}.part"]
    stay = [
        f".p.json.{os.getppid()}.part",
        f".q.json.{dead}.part",
        "p.json.traces.npz.part",
        ".p.json",
    ]
    for name in (*gone, *stay):
        (tmp_path / name).touch()
    with held(tmp_path / "p.json"):
        assert files(tmp_path) == sorted([".p.json.lock", *stay])


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


def test_json_lines_end_at_line_feeds_only() -> None:
    lines = ['{"text": "one\u2028two\x85three"}', "", '{"text": "four"}']
    read = json_objects("\n".join(lines), "a.jsonl")
    assert [each["text"] for each in read] == ["one\u2028two\x85three", "four"]
