"""Trains a small model to write what the large one writes (Kim et al. 2023, section 3.5.1)."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from estimator.draft_names.kind import ModelKind, parse_drafter
from estimator.loading.pairs import LoadedPair, load, one_draft
from estimator.progress import SILENT, Progress
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings
from reference.atomic import held
from reference.drafters.hierarchical import draft_model
from reference.models.cached_model import CachedModel
from reference.models.derived import FittedModel
from reference.speculative import Subject
from reference.training.alignment import Lesson, align, train_exits
from reference.training.checkpoint import publish
from reference.training.loop import Schedule, Training, require_equal_shares, this_process
from simulator.numerics.intervals import CONFIDENCE
from studies.bild import ONE_FALLBACK, ONE_ROLLBACK
from studies.bild.calibration import large_texts
from studies.bild.held_out import HeldOut, Share, held_out, with_as_many_calls
from studies.bild.request import warn_of_size
from studies.bild.thresholds import Fallback, Rollback


@dataclass(frozen=True, slots=True, kw_only=True)
class Align:
    """Settings of an alignment: the small model is trained on texts of the large one.

    loss: hard, soft or tv.
    held_out: number of prompts, at the end of the list, that measure the effect of training.
    fallback, rollback: thresholds of BiLD on the held-out prompts.
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


def unfinished_files(output: Path) -> tuple[Path, Path]:
    """Returns the files of an unfinished run: the large model's texts, and the checkpoint."""
    texts, checkpoint = (
        output.with_name(f"{output.name}.{ending}") for ending in ("texts.json", "checkpoint")
    )
    return texts, checkpoint


def align_draft(request: Align, progress: Progress = SILENT) -> dict[str, Any] | None:
    """Trains and writes the small model; returns measures before and after in the first process."""
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
        loaded, subject = _loaded(request, models)
        small = _trainable(subject, name)
        if process.is_main_process:
            warn_of_size(loaded, subject)
        prompts = loaded.prompts
        if len(prompts) <= request.held_out:
            raise ValueError(
                "a calibration set must have at least one text in addition to "
                f"{request.held_out} held out, got {len(prompts)} prompts in all"
            )
        progress.expect(len(prompts))
        with process.main_process_first():
            lessons = large_texts(
                subject, prompts, texts_file, seed=request.seed, progress=progress.step
            )
        judge = _judge(request, subject, lessons[-request.held_out :], progress)
        taught = lessons[: -request.held_out]
        before = judge(request.fallback)
        parsed = parse_drafter(name)
        exits = isinstance(parsed, ModelKind) and parsed.of_target
        large = loaded.target
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
        publish(request.output, learner.module, loaded.tokenizer, found, instead_of=unfinished)
    return found


def _loaded(request: Align, models: ModelSettings) -> tuple[LoadedPair, Subject]:
    sampling = request.sampling.at(request.temperature)
    loaded = load(models, request.text, sampling=request.sampling)
    [drafter_of] = loaded.drafters.values()
    return loaded, Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)


def _trainable(subject: Subject, name: str) -> CachedModel:
    """Returns the model to train, which may be inside a wrapper that fits its row width."""
    small = draft_model(subject.drafter)
    small = small.model if isinstance(small, FittedModel) else small
    if not isinstance(small, CachedModel):
        raise ValueError(f"draft must be a model to be trained, got {name}")
    return small


def _judge(
    request: Align, subject: Subject, judging: list[Lesson], progress: Progress
) -> Callable[[float], HeldOut]:
    """Returns a function that measures the small model, as trained so far, at a fallback."""
    small = draft_model(subject.drafter)
    assert small is not None

    def judge(threshold: float) -> HeldOut:
        progress.expect(len(judging))
        return held_out(
            subject,
            small,
            judging,
            fallback=threshold,
            rollback=request.rollback,
            seed=request.seed,
            progress=progress.step,
        )

    return judge


def _changes(before: HeldOut, judge: Callable[[float], HeldOut], fallback: float) -> dict[str, Any]:
    """Returns measures before and after, at the same fallback and at as many large calls."""
    after = judge(fallback)
    equal_fallback, equal = with_as_many_calls(before["fallbacks"].value, judge)
    changes = {name: compared(before[name], after[name]) for name in before}
    rollbacks = {name: compared(before[name], equal[name]) for name in ("fallbacks", "rollbacks")}
    return changes | {
        "confidence": CONFIDENCE,
        "as_many_calls": {"fallback": equal_fallback, **rollbacks},
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
