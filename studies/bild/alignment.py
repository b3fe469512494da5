"""Trains a small model to write what the large one writes (Kim et al. 2023, section 3.5.1)."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from estimator.draft_names.kind import ModelKind, one_draft, parse_drafter
from estimator.loading.pairs import load
from estimator.progress import SILENT, Progress
from estimator.prompts.prompts import prompts_hash
from estimator.timing.arms import without_draft
from estimator.writing import write_whole
from reference.drafters.model_drafter import draft_model
from reference.files import held, read_json
from reference.laws import seeded
from reference.models.cached_model import CachedModel
from reference.models.model import FittedModel
from reference.speculative import Subject
from reference.training.alignment import Lesson, align, publish, train_exits
from reference.training.loop import Schedule, Training, require_equal_shares, this_process
from studies.bild.decoder import Rollback
from studies.bild.held_out import changes, held_out
from studies.bild.request import Align
from studies.bild.runs import warn_of_size

KEPT_EVERY = 16  # texts of the large model between writings of their file


def unfinished_files(output: Path) -> tuple[Path, Path]:
    """Returns the paths of an unfinished run: the large model's texts, and a checkpoint."""
    name = output.name
    return output.with_name(f"{name}.texts.json"), output.with_name(f"{name}.checkpoint")


def align_draft(request: Align, progress: Progress = SILENT) -> dict[str, Any] | None:
    """Trains a small model on texts of the large one, and writes the small model to a folder.

    Returns the settings, and acceptance rate, fallbacks and rollbacks on held-out prompts, before
    and after training. Every process except the first returns None.
    """
    rollback = Rollback(request.rollback)
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
        sampling = request.sampling.at(request.temperature)
        loaded = load(models, request.text, sampling=request.sampling)
        [drafter_of] = loaded.drafters.values()
        subject = Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
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
            lessons = large_texts(subject, prompts, texts_file, request.seed, progress.step)
        taught, judging = lessons[: -request.held_out], lessons[-request.held_out :]
        judge = partial(held_out, subject, judging, rollback, seed=request.seed, progress=progress)
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
        report = {
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
            **changes(before, judge, request.fallback),
            "output": str(request.output),
        }
        if not process.is_main_process:
            return None
        unfinished = (checkpoint, texts_file)
        publish(request.output, learner.module, loaded.tokenizer, report, instead_of=unfinished)
    return report


def _trainable(subject: Subject, name: str) -> CachedModel:
    """Returns the small model, without the wrapper that fits its logits to the vocabulary."""
    small = draft_model(subject.drafter)
    small = small.model if isinstance(small, FittedModel) else small
    if not isinstance(small, CachedModel):
        raise ValueError(f"draft must be a model to be trained, got {name}")
    return small


def large_texts(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    path: Path,
    seed: int,
    progress: Callable[[], object],
) -> list[Lesson]:
    """Returns the large model's continuation of each prompt: the calibration set.

    path: file with the finished texts, from which a run resumes; refused if it belongs to other
      prompts or settings.
    progress: called once per prompt, even if its text was finished by an earlier run.
    """
    settings = {
        "prompts": prompts_hash(prompts),
        "large": subject.target.name,
        "sampling": repr(subject.sampling),
        "max_new_tokens": subject.stopping.max_new_tokens,
        "seed": seed,
    }
    texts: list[list[int]] = []
    if path.exists():
        kept = read_json(path)
        if kept["settings"] != settings:
            raise ValueError(
                f"{path} must hold texts of these prompts and settings, got others; delete it to "
                "start over"
            )
        texts = kept["texts"]
    for number, prompt in enumerate(prompts):
        if number >= len(texts):
            generator = seeded(subject.target.device, seed, number)
            texts.append(list(without_draft(subject, prompt, generator).finished().tokens))
            if len(texts) % KEPT_EVERY == 0 or len(texts) == len(prompts):
                write_whole(path, json.dumps({"settings": settings, "texts": texts}).encode())
        progress()
    return [Lesson(tuple(prompt), tuple(text)) for prompt, text in zip(prompts, texts, strict=True)]
