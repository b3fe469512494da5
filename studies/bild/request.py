"""The settings and the result of a sweep over BiLD's thresholds."""

from dataclasses import dataclass, field

from estimator.loading.pairs import LoadedPair, load
from estimator.progress import SILENT, Progress, notice
from estimator.prompts.files import whole_references
from estimator.settings import TimedPair
from estimator.timing.arms import require_positions
from estimator.timing.precision import timings
from estimator.timing.processes import require_one_process
from estimator.timing.threads import Threads, computing
from reference.drafters.hierarchical import draft_model
from reference.drafters.model_drafter import ModelDrafter
from reference.models.derived import transformers_module
from reference.speculative import Subject
from studies.bild.grid import Grid
from studies.bild.sweep import References, sweep
from studies.bild.swept import Sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateBild(TimedPair):
    """Settings of a sweep: quality and latency over thresholds, and of speculative decoding."""

    grid: Grid = field(default_factory=Grid)
    temperatures: tuple[float, ...] = (0.0,)


@dataclass(frozen=True, slots=True)
class Swept:
    """The sweeps of each draft at each temperature, the number of prompts, and the threads."""

    sweeps: tuple[Sweep, ...]
    prompts: int
    threads: Threads

    @property
    def repeats(self) -> int:
        """Smallest number of times that a run was timed."""
        return min(sweep.repeats for sweep in self.sweeps)

    @property
    def precision_percent(self) -> float | None:
        """Largest error of a speed-up due to the clock, in per cent; None for a single prompt."""
        every = [sweep.precision_percent for sweep in self.sweeps]
        known = [percent for percent in every if percent is not None]
        return max(known) if len(known) == len(every) else None


def validate_thresholds(request: ValidateBild, progress: Progress = SILENT) -> Swept:
    """Returns a sweep for each draft at each temperature."""
    require_one_process("validate")
    with computing(request.models.device, request.threads) as threads:
        sweeps, prompts = _sweeps(request, progress)
    return Swept(sweeps, prompts, threads)


def _sweeps(request: ValidateBild, progress: Progress) -> tuple[tuple[Sweep, ...], int]:
    grid = request.grid
    samplings = [request.sampling.at(each) for each in dict.fromkeys(request.temperatures)]
    loaded = load(request.models, request.text, sampling=request.sampling)
    whole = whole_references(loaded.references[: len(loaded.prompts)])
    references = (
        None
        if whole is None
        else References(
            whole, lambda ids: str(loaded.tokenizer.decode(ids, skip_special_tokens=True))
        )
    )
    subjects = [
        Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
        for drafter_of in loaded.drafters.values()
        for sampling in samplings
    ]
    for subject in subjects:
        require_positions(subject, loaded.prompts)
        if isinstance(subject.drafter, ModelDrafter):
            tell_of_size(loaded, subject)
    arms = len(grid.arms(frozenset(), 1)) + len(grid.probes(frozenset())) + 2
    planned = arms * len(loaded.prompts) * request.timing.repeats
    progress.expect(len(subjects) * planned)
    every = timings(request, count=len(subjects), planned=planned, progress=progress)
    sweeps = [
        sweep(subject, loaded.prompts, grid, timing, references=references)
        for timing, subject in zip(every, subjects, strict=True)
    ]
    return tuple(sweeps), len(loaded.prompts)


def tell_of_size(loaded: LoadedPair, subject: Subject) -> None:
    """Warns if the small model has more weights than the large one."""
    small = draft_model(subject.drafter)
    module = None if small is None else transformers_module(small)
    large = loaded.target.module
    if module is not None and module.num_parameters() > large.num_parameters():
        notice(
            f"the small model {subject.drafter.name} has {module.num_parameters():,} weights, more "
            f"than the large one's {large.num_parameters():,}"
        )
