"""The runs of a validation, in turns: baseline, baseline again, cost probes, and each policy."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from estimator.timing import turns
from estimator.timing.batched import Ids, Prompts
from estimator.timing.precision import Timing, precision_percent
from estimator.timing.rates import AGAIN, BASELINE, LEAST_PROMPTS, PROBE, Runs, priced, timed
from reference.drafters.model_drafter import draft_model
from reference.laws import seeded
from reference.models.model import positions_of, text_limit
from reference.policies import Adaptive, Confidence, Fixed, Policy
from reference.records import Block, Stopping
from reference.speculative import (
    Session,
    Subject,
    opening_text,
    plain_session,
    speculative_session,
    start,
)
from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import best_gamma
from simulator.cost.cost import Cost

WARM_UP_TOKENS = 8
# The adaptive planner's grid: a text has a few dozen blocks, so alpha is not known more precisely.
ALPHA_STEPS = 1000
PROBED_PROMPTS = 2

Decoder = Callable[[Subject, Ids, torch.Generator], Session]
"""Starts a session: from the pair, a prompt's ids and a generator of random numbers. Equal decoders
produce equal texts."""


def run_arms(
    subject: Subject,
    prompts: Prompts,
    speculative: Mapping[str, Decoder],
    timing: Timing,
    *,
    least: int = LEAST_PROMPTS,
) -> Runs:
    """Returns the texts of every decoder ("arm") and of the baseline, by prompt and repeat.

    For each repeat and prompt all arms take turns of a few blocks, in random order in each round.
    Each arm has its own caches. The times of blocks are then corrected for how slow the machine was
    in their round. If memory is short, fewer arms take turns at once; with a single set of caches,
    a turn is a whole text. A text depends on seed, arm and prompt, so repeats differ only in time.

    prompts: if time runs out, the result has only the first of them.
    speculative: decoders by name; see `probing` and `Speculative`. The names BASELINE and AGAIN
      replace the decoder of the baseline.
    least: number of prompts that run even after the time limit.
    """
    decoders = {BASELINE: without_draft, AGAIN: without_draft, **speculative}
    arms = list(decoders)

    def begin(subject_copy: Subject, arm: str, prompt: int) -> Session:
        generator = seeded(subject_copy.target.device, timing.seed, prompt, arms.index(arm))
        return decoders[arm](subject_copy, prompts[prompt], generator)

    longest = max(range(len(prompts)), key=lambda prompt: len(prompts[prompt]))
    warm_up = Stopping(min(WARM_UP_TOKENS, subject.stopping.max_new_tokens))
    brief = replace(subject, stopping=warm_up)
    # Arms with equal decoders need one warm-up.
    ways = {decoder: arm for arm, decoder in decoders.items()}
    baseline, *_ = [begin(brief, arm, longest).finished() for arm in ways.values()]
    decoded = len(prompts[longest]) + len(baseline.tokens)
    longer = (decoded + subject.stopping.max_new_tokens) / decoded
    pairs = turns.duplicates((subject.target, subject.drafter), len(arms), longer=longer)
    subjects = [replace(subject, target=target, drafter=drafter) for target, drafter in pairs]
    # If a turn is a whole text, a round is a text of each arm.
    single = len(subjects) == 1
    tokens = subject.stopping.max_new_tokens if single else turns.turn_tokens(baseline)
    clock = turns.processor_clock(subject.target.device)
    order = np.random.default_rng(timing.seed)
    ran: list[tuple[str, int, turns.InTurns]] = []
    rounds = 0

    def exact() -> bool:
        return timing.precise(precision_percent(timed(_at_one_speed(arms, ran))))

    every = timing.turns(range(len(prompts)), arms, order, exact=exact, least=least)
    for _, prompt, shuffled in every:
        first = rounds
        for at in range(0, len(arms), len(subjects)):
            together = list(zip(shuffled[at:], subjects, strict=False))
            texts = turns.decode_in_turns(
                [partial(begin, subject_copy, arm, prompt) for arm, subject_copy in together],
                tokens=tokens,
                order=order,
                clock=clock,
                first_round=first if single else rounds,
                progress=timing.progress,
            )
            ran += [(arm, prompt, text) for (arm, _), text in zip(together, texts, strict=True)]
            rounds = 1 + max(max(numbers, default=first) for _, numbers in texts)
    return _at_one_speed(arms, ran)


def _at_one_speed(arms: Sequence[str], ran: Sequence[tuple[str, int, turns.InTurns]]) -> Runs:
    reached = 1 + max(prompt for _, prompt, _ in ran)
    runs: Runs = {arm: [[] for _ in range(reached)] for arm in arms}
    texts = turns.at_one_speed([(arm, text) for arm, _, text in ran])
    for (arm, prompt, _), text in zip(ran, texts, strict=True):
        runs[arm][prompt].append(text)
    return runs


def require_positions(subject: Subject, prompts: Prompts) -> None:
    """Raises ValueError if a prompt and max_new_tokens exceed the positions of either model.

    Every prompt is checked, because no text may cross the length at which a model changes its
    rotary factors. Both models read the longest prompt, which fails if they do not fit together.
    """
    for prompt in prompts:
        opening_text(subject.target, prompt, subject.stopping)
    start(subject.target, subject.drafter, max(prompts, key=len), subject.stopping)
    draft, new_tokens = draft_model(subject.drafter), subject.stopping.max_new_tokens
    if draft is None:
        return
    for given in (len(draft.beginning(prompt)) for prompt in prompts):
        limit = text_limit(draft, given)
        # The last token of a text is never read.
        if limit is not None and given + new_tokens - 1 > limit:
            raise ValueError(
                f"prompt and new tokens must fit the {positions_of(draft, limit, 'the draft ')}, "
                f"got {given} + {new_tokens} tokens"
            )


def without_draft(subject: Subject, prompt: Ids, generator: torch.Generator) -> Session:
    """Returns a session in which the target decodes without a draft."""
    target, sampling, stopping = subject.target, subject.sampling, subject.stopping
    return plain_session(target, prompt, sampling=sampling, stopping=stopping, generator=generator)


@dataclass(frozen=True, slots=True)
class Speculative:
    """A decoder that decodes speculatively, with draft lengths chosen by a policy."""

    policy: Policy

    def __call__(self, subject: Subject, prompt: Ids, generator: torch.Generator) -> Session:
        return speculative_session(subject, prompt, self.policy, generator)


def timed_blocks(
    subject: Subject, prompt: Ids, *, gamma: int, p_min: float, seed: int
) -> Iterator[tuple[Block, float]]:
    """Decodes a text and yields each block, with the clock's seconds at the end of the block.

    p_min: a draft ends after a token whose probability is below p_min.
    """
    policy: Policy = Fixed(gamma) if p_min == 0 else Confidence(p_min, gamma)
    decoder = Speculative(policy) if gamma > 0 else without_draft
    clock = turns.processor_clock(subject.target.device) or time.perf_counter
    for block in decoder(subject, prompt, seeded(subject.target.device, seed)).blocks:
        yield block, clock()


def probing(gammas: Sequence[int]) -> dict[str, Decoder]:
    """Returns the decoders that measure costs, one for each draft length, by name."""
    return {f"{PROBE}{gamma}": Speculative(Fixed(gamma)) for gamma in probed(gammas)}


def probed(gammas: Sequence[int]) -> list[int]:
    """Returns the distinct draft lengths to time, and 0 for comparison if there is only one."""
    distinct = sorted(set(gammas))
    return distinct if len(distinct) > 1 else sorted({0, *distinct})


def planner(cost: Cost, *, max_gamma: int) -> Callable[[float], int]:
    """Returns a function from α to the γ up to max_gamma with the largest speed-up; 0: no draft.

    The function looks γ up on a grid of α, so that a call takes almost no time.
    """
    alphas = (step / ALPHA_STEPS for step in range(ALPHA_STEPS + 1))
    best = [best_gamma(Iid(alpha), cost, max_gamma=max_gamma) for alpha in alphas]
    return lambda alpha: best[round(alpha * ALPHA_STEPS)]


def probed_gammas(max_gamma: int) -> list[int]:
    """Returns the draft lengths 1, 2, 4, 8, … up to max_gamma, and max_gamma."""
    return sorted({max_gamma, *(2**i for i in range(max_gamma.bit_length()))})


def adaptive(subject: Subject, prompts: Prompts, timing: Timing, *, max_gamma: int) -> Adaptive:
    """Returns the adaptive policy, after measuring costs on the first prompts.

    timing: its seed and progress are used; each run is timed once, without a time limit.
    """
    probes = probing(probed_gammas(max_gamma))
    once = Timing(seed=timing.seed, progress=timing.progress)
    runs = run_arms(subject, prompts[:PROBED_PROMPTS], probes, once)
    return Adaptive(planner(priced(timed(runs)), max_gamma=max_gamma))


def planning_generations(prompts: Prompts, max_gamma: int) -> int:
    """Returns the number of texts that `adaptive` decodes, each with one call of its progress."""
    return len(prompts[:PROBED_PROMPTS]) * (2 + len(probed(probed_gammas(max_gamma))))
