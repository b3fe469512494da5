"""Tiny pairs that the estimator's tests decode with."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from estimator.traces.scoring import trace
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.policies import Fixed
from reference.records import Generation, Stopping
from reference.rules import STRICT, Rule
from reference.speculative import Subject, speculative_session
from tests.reference.tabular import TabularModel
from tests.reference.tiny_models import llama, with_noise

VOCABULARY = 40
Law = list[float] | Callable[[Sequence[int]], list[float]]


def tiny_llama(
    *, seed: int, noise: float = 0.0, name: str = "tiny", layers: int = 1
) -> CausalModel:
    """Returns a random model; the same seed with noise gives one that is close to it."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 128}
    sizes |= {"vocab_size": VOCABULARY, "num_hidden_layers": layers}
    module = llama(seed, initializer_range=0.3, **sizes)
    return CausalModel(with_noise(module, noise), name)


def tiny_pair(sampling: Sampling, *, noise: float = 0.03) -> tuple[CausalModel, ModelDrafter]:
    """Returns a target and a drafter of a model close to it."""
    target = tiny_llama(seed=0, name="target")
    draft = tiny_llama(seed=0, noise=noise, name="draft")
    return target, ModelDrafter(draft, sampling, target.vocabulary)


def tiny_subject(
    temperature: float = 1.0,
    tokens: int = 12,
    *,
    noise: float = 0.03,
    draft_temperature: float | None = None,
    rule: Rule = STRICT,
) -> Subject:
    """Returns that pair, texts of so many tokens; the draft samples as the target by default."""
    sampling = Sampling(temperature)
    drafts = sampling if draft_temperature is None else Sampling(draft_temperature)
    target, drafter = tiny_pair(drafts, noise=noise)
    return Subject(target, drafter, sampling, Stopping(tokens), rule)


def table_subject(
    p: Law, q: Law, temperature: float = 1.0, tokens: int = 12, draft_temperature: float = 1.0
) -> Subject:
    """Returns a pair of tables, given as laws or as functions of the text."""

    def table(law: Law) -> TabularModel:
        if callable(law):
            return TabularModel(law, len(law([0])))
        return TabularModel(lambda text: law, len(law))

    target = table(p)
    drafter = ModelDrafter(table(q), Sampling(draft_temperature), target.vocabulary)
    return Subject(target, drafter, Sampling(temperature), Stopping(tokens))


def speculated(
    subject: Subject, prompt: Sequence[int], gamma: int, seed: int | torch.Generator = 0
) -> Generation:
    """Returns a text of the pair at a fixed gamma."""
    generator = torch.Generator().manual_seed(seed) if isinstance(seed, int) else seed
    return speculative_session(subject, prompt, Fixed(gamma), generator).finished()


def calls_beyond_replay(subject: Subject, gamma: int, runs: int) -> NDArray[np.float64]:
    """Returns counted calls less those replayed along each run's own text, shape (runs,)."""
    generator = torch.Generator().manual_seed(0)
    texts = [speculated(subject, [0], gamma, generator) for _ in range(runs)]
    return np.array(
        [
            run.target_calls
            - float(trace(subject, [0], run.tokens, max_gamma=gamma).replay.calls(gamma))
            for run in texts
        ]
    )


PROMPTS = [[1, 2, 3], [7], [30, 5, 5, 9, 11, 2], [4, 4]]
