"""Decodes one text by BiLD."""

from dataclasses import dataclass, field, replace

from estimator.generation.text import GenerateAlone, Started, stopping_at
from estimator.loading.pairs import one_draft
from estimator.settings import ModelSettings, draft_sampling
from reference.laws.sampling import seeded
from reference.speculative import Subject
from studies.bild.loop import bild_session
from studies.bild.settings import CERTAINTY, DISTANCE, ONE_FALLBACK, ONE_ROLLBACK
from studies.bild.sweep import drafting_model
from studies.bild.thresholds import PAPERS_MOST, Fallback, Rollback


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateBild(GenerateAlone):
    """Settings of a text: a small model writes while it is confident, a large one otherwise.

    draft_temperature: temperature of the small model; None: the large one's.
    max_gamma: most tokens that the small model writes in a row; None: the paper's 10.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    draft_temperature: float | None = None
    fallback: float = ONE_FALLBACK
    rollback: float = ONE_ROLLBACK
    certainty: str = CERTAINTY
    distance: str = DISTANCE
    max_gamma: int | None = None


def generate_bild(request: GenerateBild) -> Started:
    """Returns a session in which the two models continue a text."""
    most = PAPERS_MOST if request.max_gamma is None else request.max_gamma
    policy = Fallback(request.fallback, most, request.certainty)
    rule = Rollback(request.rollback, request.distance)
    sampling = request.sampling.at(request.temperature)
    drafted_by = draft_sampling(sampling, request.draft_temperature)
    one_draft(request.models)
    loaded = request.loaded([most])
    stopping = stopping_at(loaded, request.stop_strings)
    [ids] = loaded.prompts
    [drafter_of] = loaded.drafters.values()
    subject = Subject(
        loaded.target, drafting_model(drafter_of(drafted_by)), sampling, stopping, rule
    )
    policy = replace(policy, end_ids=stopping.end_ids)
    text = bild_session(subject, ids, policy, seeded(loaded.target.device, request.seed))
    return request.started(loaded, text, rule)
