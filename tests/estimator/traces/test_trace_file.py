"""Files of traces: written whole, taken up again, and refused where they are damaged."""

import random
from pathlib import Path

import numpy as np
import pytest

from estimator.traces.trace_file import (
    JOURNAL,
    KeptTraces,
    journal_path,
    read_arrays,
    read_traces,
    require_place,
    traces_path,
)
from estimator.traces.traces import RecordedConfidence, Trace, TracePair


def pair(seed: int, *, tokens: int = 5, blocks: bool = False, confident: bool = True) -> TracePair:
    """Returns random traces of one text."""
    generator = np.random.default_rng(seed)

    def one() -> Trace:
        sure = RecordedConfidence(
            generator.random((tokens, 3, 3) if blocks else (tokens, 3)).astype(np.float32),
            np.arange(0, tokens + seed % 2, 2),
            generator.random((len(range(0, tokens + seed % 2, 2)), 4, 3)).astype(np.float32),
        )
        return Trace(
            generator.random(tokens),
            2 * generator.random((tokens, 3) if blocks else tokens),
            np.arange(tokens) % 4 if blocks else None,
            tokens + seed,
            {0.5: generator.random(), 1.0: generator.random()},
            None if blocks else generator.integers(0, 9, tokens),
            sure if confident else None,
        )

    return TracePair(one(), one(), tuple(range(tokens)) if confident else None)


def require_equal(one: TracePair, other: TracePair) -> None:
    assert one.ids == other.ids
    for mine, yours in ((one.sampled, other.sampled), (one.argmax, other.argmax)):
        for name in ("beta", "ratio", "rank", "drafted", "limit", "alpha_by_lenience"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(yours, name))
        assert (mine.confidence is None) == (yours.confidence is None)
        for kept, read in zip(mine.confidence or (), yours.confidence or (), strict=True):
            np.testing.assert_array_equal(kept, read)


def write(path: Path, traces: dict[int, TracePair], key: str = "this") -> None:
    kept = KeptTraces(path, key)
    for prompt, of_prompt in traces.items():
        kept.add(prompt, of_prompt)
    kept.finish()


def put(path: Path, content: bytes) -> None:
    """Overwrites a file in its place, which takes no wait for the disk."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


@pytest.mark.parametrize("confident", [False, True])
@pytest.mark.parametrize("blocks", [False, True])
def test_written_files_are_read_unchanged(blocks: bool, confident: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    settings = {"blocks": blocks, "confident": confident}
    traces = {prompt: pair(prompt, tokens=prompt + 1, **settings) for prompt in (2, 0, 1)}
    write(path, traces)
    assert [file.name for file in tmp_path.iterdir()] == ["t.npz"]
    read = read_traces(path)
    assert list(read) == [0, 1, 2]
    for prompt, of_prompt in traces.items():
        require_equal(read[prompt], of_prompt)
    with np.load(path) as file:  # an .npz like any other
        assert len(file["sampled_beta"]) == 6


def test_names_are_made_of_the_whole_name() -> None:
    names = [traces_path(Path("out") / name).name for name in ("a.v1", "a.v2", "a.json", "a")]
    assert names == ["a.v1.traces.npz", "a.v2.traces.npz", "a.json.traces.npz", "a.traces.npz"]


def test_traces_of_another_measurement_are_replaced_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    write(path, {0: pair(0)}, "that")
    kept = KeptTraces(path, "this")
    assert kept.known == {}
    kept.add(0, pair(5))
    assert str(read_arrays(path)["key"]) == "that"
    assert KeptTraces(path, "that").known.keys() == {0}
    kept.finish()
    assert str(read_arrays(path)["key"]) == "this"


def test_a_journal_holds_the_whole_records_of_a_killed_run(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    kept = KeptTraces(path, "this")
    ends = []
    for prompt in range(3):
        kept.add(prompt, pair(prompt))
        ends.append(journal_path(path).stat().st_size)
    whole = journal_path(path).read_bytes()
    start = whole.index(b"\n") + 1
    about_ends = {stop + off for stop in ends for off in (-2, -1, 0, 1)}
    for end in sorted({*range(start, len(whole) + 1, 211), *about_ends} - {len(whole) + 1}):
        put(journal_path(path), whole[:end])
        known = KeptTraces(path, "this").known
        assert len(known) == sum(stop <= end for stop in ends)
    journal_path(path).write_bytes(whole[:-1])
    resumed = KeptTraces(path, "this")
    resumed.add(7, pair(7))
    found = KeptTraces(path, "this").known
    assert sorted(found) == [0, 1, 7]
    for prompt, traces in found.items():
        require_equal(traces, pair(prompt))


def test_keeping_a_prompt_costs_the_same_however_many_went_before(tmp_path: Path) -> None:
    """100 prompts write some 100 records, where whole files of all so far would be 50 times that.

    Counted in bytes, the journal's end being where each is written.
    """
    path = tmp_path / "t.npz"
    kept = KeptTraces(path, "this")
    sizes = [0]
    inode = None
    for prompt in range(100):
        kept.add(prompt, pair(prompt % 7))
        stat = journal_path(path).stat()
        sizes.append(stat.st_size)
        assert inode in (None, stat.st_ino)  # never rewritten
        inode = stat.st_ino
    steps = np.diff(sizes[1:])
    assert steps.max() < 1.2 * steps.min()
    kept.finish()
    assert len(read_traces(path)) == 100


REFUSED = "must be a .* 'specplan measure' wrote, got another or a damaged"


def damaged(content: bytes, trial: int, source: random.Random) -> bytes:
    """Returns a file that is cut, continued, or shuffled about, or has a byte changed."""
    place = source.randrange(len(content))
    changed = bytes([content[place] ^ source.randrange(1, 256)])
    ways = (
        content[:place],
        content + source.randbytes(1 + place % 90),
        content[place:] + content[:place] if place > 0 else content[1:],
        content[:place] + changed + content[place + 1 :],
    )
    return ways[min(trial % 10, 3)]


def test_damaged_traces_are_refused_in_one_line(tmp_path: Path) -> None:
    """Every byte flipped once and 1,000 damages more: no other error, and no trace misread."""
    path = tmp_path / "t.npz"
    write(path, {0: pair(0, blocks=True), 1: pair(1, blocks=True)})
    content = path.read_bytes()
    source = random.Random(0)
    flipped = (
        content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
        for place in range(len(content))
    )
    others = (damaged(content, trial, source) for trial in range(1000))
    for changed in (*flipped, *others):
        put(path, changed)
        with pytest.raises(ValueError, match=REFUSED) as refusal:
            read_traces(path)
        assert "\n" not in str(refusal.value)


def test_a_damaged_journal_gives_its_whole_records_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    kept = KeptTraces(path, "this")
    pairs = [pair(0, confident=False), pair(1)]
    for prompt, of_prompt in enumerate(pairs):
        kept.add(prompt, of_prompt)
    content = journal_path(path).read_bytes()
    source = random.Random(1)
    for trial in range(700):
        changed = damaged(content, trial, source)
        put(journal_path(path), changed)
        if not changed.startswith(JOURNAL):
            with pytest.raises(ValueError, match=REFUSED):
                KeptTraces(path, "this")
            continue
        for prompt, known in KeptTraces(path, "this").known.items():
            require_equal(known, pairs[prompt])


@pytest.mark.parametrize("place", ["traces", "journal"])
@pytest.mark.parametrize("content", [b"", b"a letter", b"PK\x03\x04"])
def test_files_of_another_program_are_refused_and_stay(
    place: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t.npz"
    taken = path if place == "traces" else journal_path(path)
    taken.write_bytes(content)
    for take in (require_place, lambda where: KeptTraces(where, "this")):
        with pytest.raises(ValueError, match=REFUSED):
            take(path)
    assert taken.read_bytes() == content


def test_arrays_of_another_kind_are_refused(tmp_path: Path) -> None:
    from ngram.formats.model_files import sealed

    path = tmp_path / "t.npz"
    for arrays in ({"key": np.array("this")}, {"layout": np.array("others")}):
        path.write_bytes(sealed(arrays))
        with pytest.raises(ValueError, match=REFUSED):
            read_traces(path)
