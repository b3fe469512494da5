"""Counts of models that transformers builds are kept, and equal new counts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from estimator.model_shapes import kept_counts
from estimator.model_shapes.counting import Counted, count
from estimator.model_shapes.kept_counts import count_once
from specplan.main import main

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
SMALL: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
}  # fmt: skip
# A model that only transformers counts.
BUILT = SMALL | {"model_type": "seed_oss"}


def published(name: str) -> Any:
    return json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "specplan" / "shapes"


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Configurations that were counted, in order."""
    made: list[Any] = []

    def noted(config: Any, *asked: Any) -> Counted:
        made.append(config)
        return count(config, *asked)

    monkeypatch.setattr(kept_counts, "count", noted)
    return made


def test_a_model_is_counted_once(cache: Path, counts: list[Any]) -> None:
    config = BUILT
    whole, last = count_once(config), count_once(config, ("mlp",), "last layer")
    assert whole == count(config)
    assert last == count(config, ("mlp",), "last layer") != whole
    assert (count_once(config), count_once(config, ("mlp",), "last layer")) == (whole, last)
    assert len(counts) == len(list(cache.iterdir())) == 2


def test_another_configuration_or_version_counts_again(
    cache: Path, counts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert count_once(BUILT) != count_once(BUILT | {"vocab_size": 200})
    # Formats change no count.
    count_once(BUILT | {"quantization_config": {"quant_method": "fp8"}})
    assert len(counts) == 2
    for changed in ("importlib.metadata.version", "estimator.model_shapes.kept_counts._code"):
        monkeypatch.setattr(changed, lambda *_: "another")
        count_once(BUILT)
    assert len(counts) == 4


@pytest.mark.parametrize(
    "damage", [b"", b"\xff", b"[]", b'{"key": "of another"}', b"half", b"other"]
)
def test_a_damaged_file_is_ignored_and_replaced(
    damage: bytes, cache: Path, counts: list[Any]
) -> None:
    other = BUILT | {"vocab_size": 200}
    before = count_once(BUILT)
    file = next(cache.iterdir())
    whole = file.read_bytes()
    if damage == b"other":  # the count of another model under the name
        count_once(other)
        damage = next(each for each in cache.iterdir() if each != file).read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage == b"half" else damage)
    counts.clear()
    assert count_once(BUILT) == before
    assert len(counts) == 1
    assert file.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_ignored_and_a_relative_one_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert count_once(BUILT) == count(BUILT)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert kept_counts.folder() == tmp_path / ".cache" / "specplan" / "shapes"


def test_no_cache_neither_reads_nor_writes(tmp_path: Path, cache: Path, counts: list[Any]) -> None:
    arguments = _plan(tmp_path, BUILT | {"dtype": "bfloat16"})
    anew = CliRunner().invoke(main, [*arguments, "--no-cache"])
    assert anew.exit_code == 0, anew.output
    assert not cache.exists()
    for _ in range(2):
        assert CliRunner().invoke(main, arguments).stdout == anew.stdout
    assert len(counts) == len(list(cache.iterdir())) == 2  # the target and the draft
    for file in cache.iterdir():
        file.unlink()
    assert CliRunner().invoke(main, [*arguments, "--no-cache"]).stdout == anew.stdout
    assert not list(cache.iterdir())


def test_no_cache_needs_configurations() -> None:
    refused = CliRunner().invoke(main, ["plan", "--alpha", "0.8", "--c", "0.1", "--no-cache"])
    assert refused.exit_code == 2
    assert "--c cannot be combined with --no-cache, which needs --target-config" in refused.stderr


def test_plain_and_kept_counts_need_no_torch(tmp_path: Path, cache: Path) -> None:
    plain = _plan(tmp_path / "plain", published("gpt-oss-120b"), published("gpt-oss-120b-eagle3"))
    kept = _plan(tmp_path / "kept", BUILT | {"dtype": "bfloat16"})
    assert CliRunner().invoke(main, kept).exit_code == 0
    unknown = _plan(tmp_path / "unknown", BUILT | {"dtype": "bfloat16", "vocab_size": 200})
    # A program whose imports of torch fail plans from plain and kept counts, and no other.
    code = "import sys\nsys.modules['torch'] = None\nfrom specplan.main import main\n" + "".join(
        f"main({arguments!r}, standalone_mode=False)\nprint('planned')\n"
        for arguments in (plain, kept, unknown)
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    assert done.stdout.splitlines().count("planned") == 2
    assert "torch" in done.stderr.splitlines()[-1]


def _plan(folder: Path, target: Any, draft: Any = None) -> list[str]:
    """Returns the arguments of a plan for these models; without a draft, the target's twin is."""
    folder.mkdir(exist_ok=True)
    files = {"target": target, "draft": {"name": "twin", **target} if draft is None else draft}
    for name, config in files.items():
        (folder / f"{name}.json").write_text(json.dumps(config), encoding="utf-8")
    configs = [f"--{name}-config={folder / name}.json" for name in files]
    return ["plan", *configs, "--gpu", "h100", "--alpha", "0.8"]
