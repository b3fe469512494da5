"""Random tabular models, and their laws under sampling settings, in plain Python."""

import functools
import math
import random
from collections.abc import Sequence

from reference.laws import Sampling
from tests.reference.tabular import Table


def random_table(seed: int, vocabulary: int, *, zeros: int = 0, remembered: int = 2) -> Table:
    """Returns a random law for each beginning of a text, which depends only on its last tokens.

    Args:
      seed: seed of the laws.
      vocabulary: number of tokens.
      zeros: how many tokens have no mass, others after each text.
      remembered: how many last tokens the law depends on.
    """

    @functools.cache
    def law_after(seen: tuple[int, ...]) -> list[float]:
        source = random.Random(repr((seed, seen)))
        weights = [source.random() ** 2 + 0.02 for _ in range(vocabulary)]
        for token in source.sample(range(vocabulary), zeros):
            weights[token] = 0.0
        return normalised(weights)

    return lambda text: law_after(tuple(text[-remembered:]))


def plain_law(
    probabilities: Sequence[float], sampling: Sampling, text: Sequence[int]
) -> list[float]:
    """Returns the law that settings make of a model's probabilities, one step after another."""
    logits = [math.log(p) if p > 0 else -math.inf for p in probabilities]
    penalty = sampling.repetition_penalty
    for token in set(text):
        logits[token] *= penalty if logits[token] < 0 else 1 / penalty
    if sampling.temperature == 0:
        best = logits.index(max(logits))
        return [float(token == best) for token in range(len(logits))]
    logits = [logit / sampling.temperature for logit in logits]
    if sampling.top_k is not None and sampling.top_k < len(logits):
        least = sorted(logits, reverse=True)[sampling.top_k - 1]
        logits = [logit if logit >= least else -math.inf for logit in logits]
    law = softmax(logits)
    if sampling.top_p < 1:
        kept, mass = set(), 0.0
        for token in sorted(range(len(law)), key=lambda token: -law[token]):
            if mass < sampling.top_p:
                kept.add(token)
            mass += law[token]
        law = normalised([p if token in kept else 0.0 for token, p in enumerate(law)])
    return normalised([p if p >= sampling.min_p * max(law) else 0.0 for p in law])


def softmax(logits: Sequence[float]) -> list[float]:
    return normalised([math.exp(logit - max(logits)) for logit in logits])


def normalised(weights: Sequence[float]) -> list[float]:
    total = sum(weights)
    return [weight / total for weight in weights]
