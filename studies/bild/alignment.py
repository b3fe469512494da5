"""Trains a small model to write what the large one writes (Kim et al. 2023, section 3.5.1)."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from estimator.draft_names.kind import ModelKind
from estimator.draft_names.registry import parse_drafter
from estimator.loading.pairs import LoadedPair, load, one_draft
from estimator.progress import SILENT, Progress
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings
from reference.atomic import held
from reference.drafters.hierarchical import draft_model
from reference.models.cached_model import CachedModel
from reference.models.derived import FittedModel
from reference.models.model import Model
from reference.speculative import Subject
from reference.training.alignment import Lesson, align, train_exits
from reference.training.checkpoint import publish
from reference.training.loop import Training, require_equal_shares, this_process
from reference.training.schedule import Schedule
from studies.bild.calibration import large_texts
from studies.bild.held_out import HeldOut, Share, held_out, with_as_many_calls
from studies.bild.request import tell_of_size
from studies.bild.settings import ONE_FALLBACK, ONE_ROLLBACK
from studies.bild.thresholds import Fallback, Rollback

MEASURES = ("alpha", "fallbacks", "rollbacks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Align:
    """Settings of an alignment: the small model is trained on texts of the large one.

    loss: hard, soft or tv.
    held_out: number of prompts, at the end of the list, that are used only for judging.
    fallback, rollback: thresholds of BiLD for judging.

    Raises:
      ValueError: if a device map is given.
    """

    output: Path
    models: ModelSettings = field(default_factory=ModelSettings)
    text: PromptSettings = field(default_factory=PromptSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    loss: str = "hard"
    steps: int = 200
    batch: int = 16
    rate: float = 3e-4
    held_out: int = 16
    temperature: float = 0.0
    fallback: float = ONE_FALLBACK
    rollback: float = ONE_ROLLBACK
    seed: int = 0

    def __post_init__(self) -> None:
        if self.models.device_map is not None:
            raise ValueError(f"device_map cannot be given with align, got {self.models.device_map}")


@dataclass(frozen=True, slots=True)
class _Pair:
    """The model to train, and the pair that drafts with it."""

    loaded: LoadedPair
    subject: Subject
    name: str
    drafted_with: Model
    small: CachedModel


def unfinished_files(output: Path) -> tuple[Path, Path]:
    """Returns the files in which an unfinished run keeps the large model's texts and checkpoint."""
    texts, checkpoint = (
        output.with_name(f"{output.name}.{kind}") for kind in ("texts.json", "checkpoint")
    )
    return texts, checkpoint


def align_draft(request: Align, progress: Progress = SILENT) -> dict[str, Any] | None:
    """Trains the small model, writes it, and returns what changed; None in all but one process."""
    Fallback(request.fallback)
    Rollback(request.rollback)
    schedule = Schedule(request.steps, request.rate, warmup=max(request.steps // 10, 1))
    name = one_draft(request.models)
    texts_file, checkpoint = unfinished_files(request.output)
    process = this_process()
    require_equal_shares(request.batch, processes=process.num_processes)
    with ExitStack() as stack:
        if process.is_main_process:
            stack.enter_context(held(request.output))
        models = request.models
        if process.num_processes > 1:
            models = replace(models, device=process.device.type)
        pair = _loaded(request, models, name)
        if process.is_main_process:
            tell_of_size(pair.loaded, pair.subject)
        prompts = _enough(pair.loaded.prompts, request.held_out)
        progress.expect(len(prompts))
        with process.main_process_first():
            lessons = large_texts(
                pair.subject, prompts, texts_file, seed=request.seed, progress=progress.step
            )
        judge = _judge(request, pair, lessons[-request.held_out :], progress)
        taught = lessons[: -request.held_out]
        before = judge(request.fallback)
        parsed = parse_drafter(name)
        exits = isinstance(parsed, ModelKind) and parsed.of_target
        large, small = pair.loaded.target, pair.small
        learner, batch = large if exits else small, request.batch
        training = Training(f"align {learner.name}", schedule, checkpoint, request.seed)
        if exits:
            trained = train_exits(large, small, taught, training, batch=batch)
        else:
            trained = align(large, small, taught, training, batch=batch, loss=request.loss)
        found = {
            "target": large.name,
            "draft": name,
            "loss": "exits" if exits else request.loss,
            "steps": request.steps,
            "batch": request.batch,
            "texts": len(taught),
            "held_out": request.held_out,
            "temperature": request.temperature,
            "fallback": request.fallback,
            "rollback": request.rollback,
            "resumed_at_step": trained.resumed,
            "seconds": trained.seconds,
            **_changes(before, judge, request.fallback),
            "output": str(request.output),
        }
        if not process.is_main_process:
            return None
        unfinished = (checkpoint, texts_file)
        publish(request.output, learner.module, pair.loaded.tokenizer, found, instead_of=unfinished)
    return found


def _loaded(request: Align, models: ModelSettings, name: str) -> _Pair:
    sampling = request.sampling.at(request.temperature)
    loaded = load(models, request.text, sampling=request.sampling)
    [drafter_of] = loaded.drafters.values()
    subject = Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
    drafted_with = draft_model(subject.drafter)
    # A model with another row width is wrapped; the model inside the wrapper is trained.
    small = drafted_with.model if isinstance(drafted_with, FittedModel) else drafted_with
    if drafted_with is None or not isinstance(small, CachedModel):
        raise ValueError(f"draft must be a model to be trained, got {name}")
    return _Pair(loaded, subject, name, drafted_with, small)


def _enough(prompts: list[list[int]], judging: int) -> list[list[int]]:
    if len(prompts) <= judging:
        raise ValueError(
            f"a calibration set must have at least one text in addition to {judging} held out, got "
            f"{len(prompts)} prompts in all"
        )
    return prompts


def _judge(
    request: Align, pair: _Pair, judging: list[Lesson], progress: Progress
) -> Callable[[float], HeldOut]:
    """Returns a function that judges the small model in its present state, at a fallback."""

    def judge(threshold: float) -> HeldOut:
        progress.expect(len(judging))
        return held_out(
            pair.subject,
            pair.drafted_with,
            [lesson.prompt for lesson in judging],
            [lesson.output for lesson in judging],
            fallback=threshold,
            rollback=request.rollback,
            seed=request.seed,
            progress=progress.step,
        )

    return judge


def _changes(before: HeldOut, judge: Callable[[float], HeldOut], fallback: float) -> dict[str, Any]:
    """Returns measures before and after, at the same fallback and at as many large calls."""
    after = judge(fallback)
    equal_fallback, equal = with_as_many_calls(before.fallbacks.value, judge)

    def compared_with(now: HeldOut, measures: tuple[str, ...]) -> dict[str, Any]:
        return {name: compared(getattr(before, name), getattr(now, name)) for name in measures}

    return compared_with(after, MEASURES) | {
        "as_many_calls": {"fallback": equal_fallback, **compared_with(equal, MEASURES[1:])}
    }


def compared(before: Share, after: Share) -> dict[str, Any]:
    """Returns a share before and after training, and its change, each with an interval."""
    change = (after.value - before.value, *before.change(after))
    parts = {
        "before": (before.value, *before.interval()),
        "after": (after.value, *after.interval()),
        "change": change,
    }
    names = ("value", "low", "high")
    return {when: dict(zip(names, values, strict=True)) for when, values in parts.items()}
