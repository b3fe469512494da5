"""Decodes one text: speculatively, without a draft, or by beam search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from estimator.loading.pairs import LoadedPair, load, parse_policies
from estimator.requests import GAMMA, Generate, GenerateAlone, GenerateBeams
from estimator.rule_names import acceptance_rule
from estimator.settings import FIXED, MAX_GAMMA, draft_sampling
from estimator.timing.arms import adaptive
from estimator.timing.precision import Timing
from estimator.timing.threads import require_one_process
from reference.beams import BeamSearch, BeamSettings, beam_search
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling, seeded
from reference.records import StopStrings
from reference.rules import STRICT, Rule
from reference.speculative import Session, Subject, opening_text, plain_session, speculative_session


@dataclass(frozen=True, slots=True)
class Started:
    """The decoding of one text, ready to run: iterate over `session` to decode block by block.

    before: token ids to display before the first block: the prompt's, or none.
    """

    tokenizer: Any
    before: list[int]
    session: Session
    rule: Rule


def loaded(request: GenerateAlone, gammas: Sequence[int] = ()) -> LoadedPair:
    """Returns the loaded models and prompt, and the conditions that end the text.

    gammas: draft lengths for which forward passes are compiled.
    """
    require_one_process("generate")
    pair = load(
        request.models,
        request.text,
        sampling=request.sampling,
        prompt=request.prompt,
        compiling=request.compiling,
        gammas=gammas,
    )
    if not request.stop_strings:
        return pair
    strings = StopStrings(request.stop_strings, pair.tokenizer.decode)
    return replace(pair, stopping=replace(pair.stopping, stop_strings=strings))


def started(request: GenerateAlone, loaded: LoadedPair, session: Session, rule: Rule) -> Started:
    """Returns the session together with the prompt's ids to display.

    No ids are displayed for a prompt in a chat template, or for an encoder–decoder target.
    """
    [ids] = loaded.prompts
    hidden = request.text.chat or session.text != ids
    return Started(loaded.tokenizer, [] if hidden else list(ids), session, rule)


def generate_alone(request: GenerateAlone) -> Started:
    """Returns a session in which the target decodes without a draft."""
    sampling, pair = request.sampling.at(request.temperature), loaded(request)
    [ids] = pair.prompts
    generator = seeded(pair.target.device, request.seed)
    text = plain_session(
        pair.target, ids, sampling=sampling, stopping=pair.stopping, generator=generator
    )
    return started(request, pair, text, STRICT)


def generate(request: Generate) -> Started:
    """Returns a session in which a target decodes with a draft."""
    gamma = GAMMA if request.gamma is None else request.gamma
    most = MAX_GAMMA if request.max_gamma is None else request.max_gamma
    [policy] = parse_policies([request.policy_name], gammas=[gamma], max_gamma=most).values()
    rule = acceptance_rule(request.verification, request.lenience)
    sampling = request.sampling.at(request.temperature)
    drafted_by = draft_sampling(sampling, request.draft_temperature)
    fixed = request.policy_name == FIXED
    pair = loaded(request, [gamma] if fixed else [GAMMA, most])
    target, stopping = pair.target, pair.stopping
    [ids], [drafter_of] = pair.prompts, pair.drafters.values()
    subject = Subject(target, drafter_of(drafted_by), sampling, stopping, rule)
    if policy is None:
        opening_text(target, ids, stopping)  # refuses long prompts before costs are measured
        untimed = replace(subject, stopping=replace(stopping, stop_strings=None))
        policy = adaptive(untimed, [ids], Timing(seed=request.seed), max_gamma=most)
    text = speculative_session(subject, ids, policy, seeded(target.device, request.seed))
    return started(request, pair, text, rule)


def generate_beams(request: GenerateBeams) -> tuple[BeamSearch, list[str]]:
    """Returns the likeliest continuations of one prompt, as beams and as texts."""
    require_one_process("generate")
    loaded = load(request.models, request.text, prompt=request.prompt)
    [drafter_of] = loaded.drafters.values()
    drafter = drafter_of(Sampling(0.0))
    assert isinstance(drafter, ModelDrafter)  # the request refuses others
    [ids] = loaded.prompts
    stopping = loaded.stopping
    longest = len(loaded.target.beginning(ids)) + stopping.max_new_tokens
    for limit in (loaded.target.max_length, drafter.draft.max_length):
        if limit is not None and longest > limit:
            raise ValueError(
                f"prompt and new tokens must fit the {limit} positions of both models, got "
                f"{longest}"
            )
    search = beam_search(
        loaded.target,
        ids,
        search=BeamSettings(request.beams, stopping.max_new_tokens, frozenset(stopping.end_ids)),
        draft=drafter.draft,
        draft_width=request.draft_width,
        gamma=request.gamma,
    )
    decode: Any = loaded.tokenizer.decode
    return search, [decode(list(beam.tokens), skip_special_tokens=True) for beam in search.beams]
