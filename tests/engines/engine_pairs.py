"""Pairs for tests of engines, as folders and as GGUF files; their prompts, and runs of these."""

from pathlib import Path

import gguf
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engines.engine import EngineRun, EngineServer, Prompts, run
from engines.kind import EngineSettings, Models
from engines.servers.llama_cpp import LlamaCpp
from estimator.prompts.prompts import embedded_prompts
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer
from tests.specplan.programs import TEXT, bpe_tokenizer

TARGET, DRAFT = str(weights_folder("target")), str(weights_folder("draft"))
POSITIONS = 128


def embedded_ids(*, count: int, prompt_tokens: int = 16) -> list[tuple[int, ...]]:
    """Returns ids of held-out library prompts."""
    tokenizer = load_tokenizer(TARGET)
    return [
        tuple(ids) for ids in embedded_prompts(tokenizer, count=count, prompt_tokens=prompt_tokens)
    ]


def other_pair(folder: Path) -> tuple[str, str, list[tuple[int, ...]]]:
    """Returns a tiny pair with a tokenizer of its own, and prompts; trained on the tests' text."""
    tokenizer = bpe_tokenizer(tokens=320)
    ids = torch.tensor(tokenizer(TEXT)["input_ids"])
    sources = []
    for seed, (name, width, steps) in enumerate((("target", 48, 60), ("draft", 16, 40))):
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=width, intermediate_size=2 * width,
            num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=128,
        )  # fmt: skip
        model = LlamaForCausalLM(config)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(steps):
            starts = torch.randint(0, len(ids) - 33, (8, 1))
            batch = ids[starts + torch.arange(33)]
            loss = model(batch, labels=batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        sources.append(str(folder / name))
        model.save_pretrained(sources[-1])
        tokenizer.save_pretrained(sources[-1])
    prompts = [tuple(ids[100 * n : 100 * n + 12].tolist()) for n in range(4)]
    return sources[0], sources[1], prompts


def quantised(source: Path, path: Path, form: str, **fields: str) -> Path:
    """Copies a GGUF file with its matrices in another number format, and with further fields."""
    read, kind = gguf.GGUFReader(source), gguf.GGMLQuantizationType[form]
    writer = gguf.GGUFWriter(path, str(read.fields["general.architecture"].contents()))
    for name, field in read.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    for name, text in fields.items():
        writer.add_string(f"tokenizer.{name}", text)
    for tensor in read.tensors:
        if tensor.data.ndim > 1:
            values = gguf.quants.quantize(tensor.data, kind)
            writer.add_tensor(tensor.name, values, raw_dtype=kind)
        else:
            writer.add_tensor(tensor.name, tensor.data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def embedded_llama_cpp(folder: Path) -> LlamaCpp:
    """Returns llama.cpp with the embedded pair, written into a folder; one thread a model."""
    models = Models(TARGET, DRAFT, folder, POSITIONS)
    engine = LlamaCpp.of_models(models, EngineSettings("llama.cpp", threads=1))
    engine.write()
    return engine


def run_of(
    server: EngineServer,
    prompts: Prompts,
    *,
    tokens: int,
    speculative: bool = True,
    temperature: float = 0.0,
    concurrency: int = 1,
) -> EngineRun:
    """Returns what a server makes of prompts."""
    case = (temperature, concurrency)
    return run(server, prompts, case, 5, speculative=speculative, max_new_tokens=tokens)
