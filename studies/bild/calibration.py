"""The calibration set: texts of the large model, saved as they are written."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from estimator.prompts.prompts import prompts_hash
from estimator.timing.arms import without_draft
from estimator.writing import write_whole
from reference.laws import seeded
from reference.reading import read_json
from reference.speculative import Subject
from reference.training.alignment import Lesson

KEPT_EVERY = 16


def large_texts(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    path: Path,
    *,
    seed: int,
    progress: Callable[[], object],
) -> list[Lesson]:
    """Returns the large model's continuation of each prompt.

    Args:
      prompts: ids, at least one prompt.
      path: file with the finished texts; resumed if it has the same prompts and settings.
      progress: called for each prompt, even if it was finished earlier.

    Raises ValueError if there is no prompt, or path holds texts of other prompts or settings.
    """
    if not prompts:
        raise ValueError("a calibration set must have at least one text, got none")
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
    for _ in texts:
        progress()
    for number in range(len(texts), len(prompts)):
        generator = seeded(subject.target.device, seed, number)
        run = without_draft(subject, prompts[number], generator).finished()
        texts.append(list(run.tokens))
        if len(texts) % KEPT_EVERY == 0 or len(texts) == len(prompts):
            write_whole(path, json.dumps({"settings": settings, "texts": texts}).encode())
        progress()
    return [Lesson(tuple(prompt), tuple(text)) for prompt, text in zip(prompts, texts, strict=True)]
