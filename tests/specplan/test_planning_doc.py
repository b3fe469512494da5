"""What docs/planning.md shows is what the program prints."""

import json
import re
import shlex
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from specplan.main import main

DOC = Path(__file__).parents[2] / "docs" / "planning.md"

SHAPES = {
    "8b": {
        "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": False,
    },
    "1b": {
        "num_hidden_layers": 16, "hidden_size": 2048, "intermediate_size": 8192,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
        "tie_word_embeddings": True,
    },
}  # fmt: skip


def examples() -> list[tuple[str, str]]:
    """Returns (command, output) of every indented block that begins with a prompt."""
    found = []
    document = DOC.read_text(encoding="utf-8")
    for block in re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", document):
        lines = textwrap.dedent(block).strip("\n").split("\n")
        if lines[0].startswith("$ specplan "):
            end = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
            command = " ".join(line.rstrip("\\") for line in lines[: end + 1])
            found.append((command.removeprefix("$ specplan "), "\n".join(lines[end + 1 :])))
    return found


def test_the_document_has_examples() -> None:
    assert len(examples()) == 4


@pytest.mark.parametrize(
    ("command", "output"), examples(), ids=[command for command, _ in examples()]
)
def test_the_document_shows_real_output(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, shape in SHAPES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(
            json.dumps(
                {"model_type": "llama", "vocab_size": 128256, "torch_dtype": "bfloat16", **shape}
            ),
            encoding="utf-8",
        )
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.rstrip("\n") == output


def test_the_servers_flags_in_the_document_are_the_exported_ones() -> None:
    text = DOC.read_text(encoding="utf-8")
    for server in ("vllm", "sglang", "llama.cpp"):
        result = CliRunner().invoke(
            main, ["plan", "--alpha", "0.8", "--c", "0.05", "--gamma", "4", "--export", server]
        )
        assert result.stdout.strip() in text
