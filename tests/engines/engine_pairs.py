"""Pairs for tests of engines: the embedded one and its prompts, as folders and as GGUF files."""

from pathlib import Path

from engines.llama_cpp import LlamaCpp
from engines.serving.gguf_files import write_gguf
from estimator.prompts import embedded_prompts
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer

TARGET, DRAFT = str(weights_folder("target")), str(weights_folder("draft"))
POSITIONS = 128


def embedded_ids(*, count: int, prompt_tokens: int = 16) -> list[tuple[int, ...]]:
    """Returns ids of held-out library prompts."""
    tokenizer = load_tokenizer(TARGET)
    return [
        tuple(ids) for ids in embedded_prompts(tokenizer, count=count, prompt_tokens=prompt_tokens)
    ]


def embedded_llama_cpp(folder: Path) -> LlamaCpp:
    """Returns llama.cpp with the embedded pair, written into a folder; one thread a model."""
    paths = []
    for name, source in (("target", TARGET), ("draft", DRAFT)):
        paths.append(folder / f"{name}.gguf")
        write_gguf(Path(source), Path(TARGET), paths[-1])
    return LlamaCpp(*paths, positions=POSITIONS, threads=1)
