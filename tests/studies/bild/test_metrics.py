"""Metrics are the libraries' own, or what a formula by hand gives."""

import numpy as np
import pytest
import torch
from pairs import PROMPTS, tiny_llama

from reference.laws import Sampling
from reference.records import Generation, Stopping
from reference.speculative import decode
from studies.bild.sweep import own_metrics, reference_metrics


def test_references_are_judged_by_the_libraries() -> None:
    texts = ["the cat sat on the mat", " a dog "]
    references = ["the cat sat on a mat", "a dog"]
    metrics = reference_metrics(texts, references)
    # ROUGE-L of the first: LCS 5 of 6 and 6 words; the second is equal but for blanks.
    assert metrics["rouge_l"] == pytest.approx(100 * (5 / 6 + 1) / 2)
    assert metrics["exact"] == 50
    # BLEU longhand: 7/8 words (BLEU's own tokens, both texts), 4/6, 2/4, 1/3 of longer n-grams.
    expected = 100 * float(np.exp(np.mean(np.log([7 / 8, 4 / 6, 2 / 4, 1 / 3]))))
    assert metrics["bleu"] == pytest.approx(expected)
    assert reference_metrics(references, references)["rouge_l"] == 100


def test_references_of_another_number_are_refused() -> None:
    with pytest.raises(ValueError, match="references must be as many as the prompts, 1, got 2"):
        reference_metrics(["a"], ["a", "b"])


def own(prompt: list[int], temperature: float = 0.0) -> Generation:
    return decode(
        tiny_llama(seed=0),
        prompt,
        sampling=Sampling(temperature),
        stopping=Stopping(8),
        generator=torch.Generator().manual_seed(1),
    )


def test_the_targets_own_text_agrees_with_itself_and_likelihood_is_of_its_law() -> None:
    model = tiny_llama(seed=0)
    greedy = [own(prompt) for prompt in PROMPTS]
    metrics = own_metrics(model, PROMPTS, greedy, greedy)
    assert metrics["agreement"] == 100
    logarithms = []
    for prompt, run in zip(PROMPTS, greedy, strict=True):
        text = list(prompt)
        for token in run.tokens:
            with torch.inference_mode():
                logits = model.module(torch.tensor([text])).logits[0, -1].double()
            logarithms.append(float(logits.log_softmax(-1)[token]))
            text.append(token)
    assert metrics["log_likelihood"] == pytest.approx(np.mean(logarithms), abs=1e-5)
    sampled = [own(prompt, 1.0) for prompt in PROMPTS]
    other = own_metrics(model, PROMPTS, sampled, greedy)
    assert other["agreement"] < 100
    assert other["log_likelihood"] < metrics["log_likelihood"]
