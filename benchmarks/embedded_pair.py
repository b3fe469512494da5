"""The embedded pair on a CPU, held-out prompts and recorded texts: where benchmarks begin."""

from dataclasses import dataclass

import torch

from estimator.loading.prompts import embedded_prompts
from estimator.runs.arms import Subject
from estimator.seeding import seeded
from estimator.traces.scoring import trace
from estimator.traces.traces import Trace
from reference.drafter import Drafter
from reference.generation import decode
from reference.laws.sampling import Sampling
from reference.models.causal_model import CausalModel
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_model, load_tokenizer
from reference.stopping import Stopping

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Pair:
    """Both models in float32, and prompts that neither was trained on."""

    target: CausalModel
    draft: CausalModel
    prompts: list[list[int]]

    def recorded(
        self, drafter: Drafter, sampling: Sampling, *, tokens: int, max_gamma: int, first: int = 0
    ) -> list[Trace]:
        """Returns the traces of a text of the target after each prompt from the first on.

        max_gamma: up to which blocks are recorded.
        """
        recorded = []
        stopping = Stopping(tokens)
        subject = Subject(self.target, drafter, sampling, stopping)
        for number, prompt in list(enumerate(self.prompts))[first:]:
            text = decode(
                self.target, prompt, sampling=sampling, stopping=stopping,
                generator=seeded(CPU, 1, number),
            )  # fmt: skip
            recorded.append(trace(subject, prompt, text.tokens, max_gamma=max_gamma))
        return recorded


def embedded_pair(prompts: int = 1, *, prompt_tokens: int = 64) -> Pair:
    """Returns the pair and so many prompts."""
    folders = [str(weights_folder(role)) for role in ("target", "draft")]
    target, draft = (load_model(folder, device=CPU, dtype="float32") for folder in folders)
    tokenizer = load_tokenizer(folders[0])
    return Pair(
        target, draft, embedded_prompts(tokenizer, count=prompts, prompt_tokens=prompt_tokens)
    )
