"""The embedded pair on a CPU and held-out prompts: where benchmarks begin."""

from dataclasses import dataclass

import torch

from estimator.prompts.prompts import embedded_prompts
from reference.models.architectures import CausalModel
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_model, load_tokenizer

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Pair:
    """Both models in float32, and prompts that neither was trained on."""

    target: CausalModel
    draft: CausalModel
    prompts: list[list[int]]


def embedded_pair(prompts: int = 1, *, prompt_tokens: int = 64) -> Pair:
    """Returns the pair and so many prompts."""
    folders = [str(weights_folder(role)) for role in ("target", "draft")]
    target, draft = (load_model(folder, device=CPU, dtype="float32") for folder in folders)
    tokenizer = load_tokenizer(folders[0])
    return Pair(
        target, draft, embedded_prompts(tokenizer, count=prompts, prompt_tokens=prompt_tokens)
    )
