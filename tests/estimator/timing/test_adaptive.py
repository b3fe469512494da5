"""The gain of the adaptive policy on the embedded pair, without prior knowledge."""

import functools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from estimator.prompts.prompts import embedded_prompts
from estimator.timing.arms import planner
from estimator.timing.batched import decode_batch
from estimator.traces.scoring import trace
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.cached_model import CachedModel
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_model, load_tokenizer
from reference.policies import Adaptive, Fixed, Policy
from reference.records import Block, Stopping
from reference.speculative import Subject, speculative_session
from simulator.cost.curves import CostModel

CPU = torch.device("cpu")
NEW_TOKENS = 96
PROMPTS = 8
# A draft step at 0.11 of a target step, and a verification that grows by 0.03 a token: about
# what the pair takes on two cores.
COST = CostModel(
    target_seconds={1: 1.0, 2: 1.03, 3: 1.06}, draft_seconds=0.11, overhead_seconds=0.02
)


@functools.cache
def embedded(name: str) -> CachedModel:
    return load_model(str(weights_folder(name)), device=CPU)


def embedded_pair(sampling: Sampling) -> tuple[CachedModel, ModelDrafter]:
    target = embedded("target")
    return target, ModelDrafter(embedded("draft"), sampling, target.vocabulary)


@functools.cache
def prompts() -> list[list[int]]:
    tokenizer = load_tokenizer(str(weights_folder("target")))
    return embedded_prompts(tokenizer, count=PROMPTS, prompt_tokens=64)


@functools.cache
def acceptances(sampling: Sampling) -> list[NDArray[np.float64]]:
    """Returns the acceptance probability at each position of texts of the target."""
    target, drafter = embedded_pair(sampling)
    stopping = Stopping(NEW_TOKENS)
    generators = [torch.Generator().manual_seed(seed) for seed in range(PROMPTS)]
    texts = decode_batch(
        target, prompts(), sampling=sampling, stopping=stopping, generators=generators
    )
    subject = Subject(target, drafter, sampling, stopping)
    return [
        trace(subject, prompt, text, max_gamma=16).acceptance
        for prompt, text in zip(prompts(), texts, strict=True)
    ]


def replayed(
    policy: Policy, acceptance: NDArray[np.float64], generator: np.random.Generator
) -> list[Block]:
    """Returns the blocks of decoding a text with that probability of acceptance by position."""
    blocks: list[Block] = []
    at = 0
    while at < len(acceptance):
        gamma = min(policy.gamma(blocks), NEW_TOKENS - at - 1)
        drafted = acceptance[at : at + gamma]
        rejections = np.flatnonzero(generator.random(len(drafted)) >= drafted)
        accepted = int(rejections[0]) if len(rejections) > 0 else len(drafted)
        drafts, tokens = (0,) * gamma, (0,) * (accepted + 1)
        blocks.append(Block(gamma, drafts, tokens, accepted, 0.0, 0.0, 0.0, None))
        at += accepted + 1
    return blocks


def price(blocks: Sequence[Block]) -> float:
    """Returns what drafts and target calls cost on the one curve."""
    gammas = np.array([len(block.drafted) for block in blocks])
    return float(COST.block_seconds(gammas).sum())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_adaptive_gamma_reaches_97_percent_of_the_best_fixed_gamma(temperature: float) -> None:
    """Counted calls and drafts, priced; at temperature 1 over 10 replays of each text."""
    texts = acceptances(Sampling(temperature))
    replays = 1 if temperature == 0 else 10

    def total(policy: Policy) -> float:
        generator = np.random.default_rng(0)
        return sum(
            price(replayed(policy, text, generator)) for _ in range(replays) for text in texts
        )

    best = min(total(Fixed(gamma)) for gamma in range(1, 9))
    assert best / total(Adaptive(planner(COST, max_gamma=16))) >= 0.97


def test_replayed_blocks_are_those_of_the_decoder() -> None:
    """At temperature 0, where acceptance leaves nothing to chance."""
    sampling = Sampling(0.0)
    policy = Adaptive(planner(COST, max_gamma=16))
    subject = Subject(*embedded_pair(sampling), sampling, Stopping(NEW_TOKENS))
    begun = speculative_session(subject, prompts()[0], policy, torch.Generator())
    generation = begun.finished()
    blocks = replayed(policy, acceptances(sampling)[0], np.random.default_rng(0))
    assert [(len(b.drafted), b.accepted) for b in blocks] == [
        (len(b.drafted), b.accepted) for b in generation.blocks
    ]
