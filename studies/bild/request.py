"""Requests of BiLD: a sweep over its thresholds, and one text."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from estimator.draft_names.kind import one_draft
from estimator.generation import GenerateAlone, Started
from estimator.loading.pairs import LoadedPair, load
from estimator.progress import SILENT, Progress, notice
from estimator.prompts.files import whole_references
from estimator.settings import ModelSettings, TimedPair, draft_sampling
from estimator.timing.arms import require_positions
from estimator.timing.precision import timings
from estimator.timing.threads import Threads, computing, require_one_process
from reference.drafters.model_drafter import ModelDrafter, draft_model
from reference.laws import seeded
from reference.models.architectures import transformers_module
from reference.speculative import Subject
from studies.bild import CERTAINTY, DISTANCE, ONE_FALLBACK, ONE_ROLLBACK
from studies.bild.decoder import PAPERS_MOST, Fallback, Rollback, bild_session
from studies.bild.grid import Grid
from studies.bild.sweep import drafting_model, sweep
from studies.bild.swept import Sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateBild(TimedPair):
    """A request for sweeps, which measure quality and latency of BiLD and of other decoders."""

    grid: Grid = field(default_factory=Grid)
    temperatures: tuple[float, ...] = (0.0,)


def validate_thresholds(
    request: ValidateBild, progress: Progress = SILENT
) -> tuple[list[Sweep], Threads]:
    """Returns a sweep for each draft at each temperature, and the CPU threads that were used."""
    require_one_process("validate")
    with computing(request.models.device, request.threads) as threads:
        loaded = load(request.models, request.text, sampling=request.sampling)
        grid, prompts = request.grid, loaded.prompts
        references = whole_references([each.reference for each in loaded.texts[: len(prompts)]])
        samplings = [request.sampling.at(each) for each in dict.fromkeys(request.temperatures)]
        subjects = [
            Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
            for drafter_of in loaded.drafters.values()
            for sampling in samplings
        ]
        for subject in subjects:
            require_positions(subject, prompts)
            if isinstance(subject.drafter, ModelDrafter):
                warn_of_size(loaded, subject)
        arms = len(grid.arms(frozenset(), 1)) + len(grid.probes(frozenset())) + 2
        planned = arms * len(prompts) * request.timing.repeats
        progress.expect(len(subjects) * planned)
        every = timings(request, count=len(subjects), planned=planned, progress=progress)

        def text_of(ids: Sequence[int]) -> str:
            return str(loaded.tokenizer.decode(ids, skip_special_tokens=True))

        sweeps = [
            sweep(subject, prompts, grid, timing, references=references, text_of=text_of)
            for timing, subject in zip(every, subjects, strict=True)
        ]
    return sweeps, threads


def warn_of_size(loaded: LoadedPair, subject: Subject) -> None:
    """Warns if the small model has more weights than the large one."""
    small = draft_model(subject.drafter)
    module = None if small is None else transformers_module(small)
    large = loaded.target.module
    if module is not None and module.num_parameters() > large.num_parameters():
        notice(
            f"the small model {subject.drafter.name} has {module.num_parameters():,} weights, more "
            f"than the large one's {large.num_parameters():,}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateBild(GenerateAlone):
    """A request to generate one text by BiLD: the small model writes while it is confident.

    draft_temperature: temperature of the small model; None: the large model's.
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
    """Returns a started session in which the two models continue the prompt."""
    most = PAPERS_MOST if request.max_gamma is None else request.max_gamma
    policy = Fallback(request.fallback, most, request.certainty)
    rule = Rollback(request.rollback, request.distance)
    sampling = request.sampling.at(request.temperature)
    drafted_by = draft_sampling(sampling, request.draft_temperature)
    one_draft(request.models)
    loaded = request.loaded([most])
    [ids], [drafter_of] = loaded.prompts, loaded.drafters.values()
    small = drafting_model(drafter_of(drafted_by))
    subject = Subject(loaded.target, small, sampling, loaded.stopping, rule)
    policy = replace(policy, end_ids=loaded.stopping.end_ids)
    text = bild_session(subject, ids, policy, seeded(loaded.target.device, request.seed))
    return request.started(loaded, text, rule)
