"""Runs of BiLD: a sweep over its thresholds, and one text."""

from collections.abc import Sequence
from dataclasses import replace

from estimator.generation import Started, loaded, started
from estimator.loading.pairs import LoadedPair, load
from estimator.progress import SILENT, Progress, notice
from estimator.prompts.files import whole_references
from estimator.settings import draft_sampling
from estimator.timing.arms import require_positions
from estimator.timing.precision import timings
from estimator.timing.threads import Threads, computing, require_one_process
from reference.drafters.model_drafter import ModelDrafter, draft_model
from reference.laws import seeded
from reference.models.architectures import transformers_module
from reference.speculative import Subject
from studies.bild.decoder import Fallback, Rollback, bild_session
from studies.bild.grid import arms_of, probes_of
from studies.bild.request import GenerateBild, ValidateBild
from studies.bild.sweep import sweep
from studies.bild.swept import Sweep


def validate_thresholds(
    request: ValidateBild, progress: Progress = SILENT
) -> tuple[list[Sweep], Threads]:
    """Returns a sweep for each draft at each temperature, and the CPU threads that were used."""
    require_one_process("validate")
    grid = request.grid
    arms = len(arms_of(grid, frozenset(), 1)) + len(probes_of(grid, frozenset())) + 2
    with computing(request.models.device, request.threads) as threads:
        pair = load(request.models, request.text, sampling=request.sampling)
        prompts = pair.prompts
        references = whole_references([text.reference for text in pair.texts[: len(prompts)]])
        samplings = [
            request.sampling.at(temperature) for temperature in dict.fromkeys(request.temperatures)
        ]
        subjects = [
            Subject(pair.target, drafter_of(sampling), sampling, pair.stopping)
            for drafter_of in pair.drafters.values()
            for sampling in samplings
        ]
        for subject in subjects:
            require_positions(subject, prompts)
            if isinstance(subject.drafter, ModelDrafter):
                warn_of_size(pair, subject)
        planned = arms * len(prompts) * request.timing.repeats
        progress.expect(len(subjects) * planned)
        every = timings(request, count=len(subjects), planned=planned, progress=progress)

        def text_of(ids: Sequence[int]) -> str:
            return str(pair.tokenizer.decode(ids, skip_special_tokens=True))

        sweeps = [
            sweep(subject, prompts, grid, timing, references=references, text_of=text_of)
            for timing, subject in zip(every, subjects, strict=True)
        ]
    return sweeps, threads


def warn_of_size(pair: LoadedPair, subject: Subject) -> None:
    """Warns if the small model has more weights than the large one."""
    small = draft_model(subject.drafter)
    module = None if small is None else transformers_module(small)
    large = pair.target.module
    if module is not None and module.num_parameters() > large.num_parameters():
        notice(
            f"the small model {subject.drafter.name} has {module.num_parameters():,} weights, more "
            f"than the large one's {large.num_parameters():,}"
        )


def generate_bild(request: GenerateBild) -> Started:
    """Returns a started session in which the two models continue the prompt."""
    most = request.max_draft
    policy = Fallback(request.fallback, most, request.certainty)
    rule = Rollback(request.rollback, request.distance)
    sampling = request.sampling.at(request.temperature)
    drafted_by = draft_sampling(sampling, request.draft_temperature)
    pair = loaded(request, [most])
    [ids], [drafter_of] = pair.prompts, pair.drafters.values()
    small = drafter_of(drafted_by)
    assert isinstance(small, ModelDrafter)  # the request refuses others
    subject = Subject(pair.target, small, sampling, pair.stopping, rule)
    policy = replace(policy, end_ids=pair.stopping.end_ids)
    text = bild_session(subject, ids, policy, seeded(pair.target.device, request.seed))
    return started(request, pair, text, rule)
