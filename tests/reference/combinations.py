"""Drafters, policies and settings that the law tests combine, on tables of three tokens."""

import itertools
from collections.abc import Callable, Iterable, Sequence

import torch

from ngram.drafters import PromptLookupDrafter
from reference.drafter import Drafter
from reference.drafters.model_drafter import HierarchicalDrafter, ModelDrafter, RandomDrafter
from reference.laws import Sampling
from reference.policies import Adaptive, Confidence, Fixed, Heuristic, Policy, Product
from reference.records import Generation, Stopping
from reference.rules import STRICT, Rule
from studies.bild.decoder import Fallback
from tests.reference.decoding import speculate
from tests.reference.plain_laws import random_table
from tests.reference.tabular import Table, TabularModel

VOCABULARY = 3
PROMPT = (0, 1)
CPU = torch.device("cpu")

TARGET = random_table(1, VOCABULARY, remembered=3)
DRAFT = random_table(2, VOCABULARY, zeros=1)


def table_text(
    drafter: Drafter,
    sampling: Sampling,
    policy: Policy,
    tokens: int,
    *,
    rule: Rule = STRICT,
    generator: torch.Generator | None = None,
) -> Generation:
    """Returns a text of TARGET after PROMPT."""
    target, stopping = TabularModel(TARGET, VOCABULARY), Stopping(tokens)
    return speculate(
        target, drafter, PROMPT, sampling, policy, stopping, rule=rule, generator=generator
    )


def model_drafter(table: Table, sampling: Sampling) -> ModelDrafter:
    return ModelDrafter(TabularModel(table, VOCABULARY, "draft"), sampling, VOCABULARY)


def hierarchical_drafter(sampling: Sampling) -> HierarchicalDrafter:
    second = model_drafter(random_table(3, VOCABULARY), Sampling(0.0))
    return HierarchicalDrafter(model_drafter(DRAFT, sampling), second, 1)


def greedy_hierarchical_drafter(_: Sampling) -> HierarchicalDrafter:
    second = model_drafter(random_table(3, VOCABULARY), Sampling())
    return HierarchicalDrafter(model_drafter(DRAFT, Sampling(0.0)), second, 1)


DRAFTERS: dict[str, Callable[[Sampling], Drafter]] = {
    "model": lambda sampling: model_drafter(DRAFT, sampling),
    "model with other settings": lambda _: model_drafter(DRAFT, Sampling(1.7, top_k=2)),
    "greedy model": lambda _: model_drafter(DRAFT, Sampling(0.0)),
    "random": lambda _: RandomDrafter(VOCABULARY, CPU),
    "lookup": lambda _: PromptLookupDrafter(device=CPU, longest=1),
    "hierarchical": hierarchical_drafter,
    "greedy hierarchical": greedy_hierarchical_drafter,
}
POLICIES: dict[str, Policy] = {
    "fixed 0": Fixed(0),
    "fixed 1": Fixed(1),
    "fixed 2": Fixed(2),
    "fixed 3": Fixed(3),
    "confidence": Confidence(0.5, most=3),
    "product": Product(0.4, most=3),
    "fallback": Fallback(0.6, most=3),
    "heuristic": Heuristic(1, most=6),
    # Plans nothing, one or two tokens, as its estimate of alpha goes.
    "adaptive": Adaptive(lambda alpha: round(3 * alpha - 0.5), prior_tokens=1.0, window=2),
}
SETTINGS = {
    "plain": Sampling(),
    "temperature": Sampling(0.6),
    "greedy": Sampling(0.0),
    "top-k": Sampling(1.3, top_k=2),
    "top-p": Sampling(top_p=0.8),
    "min-p": Sampling(min_p=0.3),
    "repetition penalty": Sampling(repetition_penalty=1.8),
    "greedy with repetition penalty": Sampling(0.0, repetition_penalty=3.0),
    "all": Sampling(0.8, top_k=2, top_p=0.9, min_p=0.1, repetition_penalty=0.7),
}


def covering(*factors: Iterable[str]) -> list[tuple[str, ...]]:
    """Returns combinations in which any two levels of different factors meet at least once."""

    def pairs(combination: tuple[str, ...]) -> set[tuple[tuple[int, str], ...]]:
        return set(itertools.combinations(enumerate(combination), 2))

    everything = list(itertools.product(*factors))
    missing = set().union(*map(pairs, everything))
    chosen = []
    while missing:
        best = max(everything, key=lambda combination: len(pairs(combination) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return chosen


def once_each(drafters: Sequence[str]) -> list[tuple[str, str, str]]:
    """Returns combinations in which each drafter meets each policy once, and each setting once.

    A policy meets another setting with each drafter.
    """
    settings = list(SETTINGS)
    return [
        (drafter, policy, settings[(place + turn) % len(settings)])
        for turn, drafter in enumerate(drafters)
        for place, policy in enumerate(POLICIES)
    ]
