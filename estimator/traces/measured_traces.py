"""Traces of texts that the target writes for them, kept as they are finished."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from estimator.draft_model import draft_model, transformers_module
from estimator.loading.prompts import prompts_hash
from estimator.runs.batched import decode_batch
from estimator.runs.processes import ALONE, Processes
from estimator.seeding import seeded
from estimator.traces.scoring import sampled_setting, trace_pair
from estimator.traces.trace_file import KeptTraces
from estimator.traces.traces import TracePair
from reference.generation import decode
from reference.speculative import Subject

LIBRARIES = ("numpy", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """What texts and traces depend on, beside the pair and the prompts.

    max_gamma: the longest draft that replay will be asked about.
    batch_size: how many texts are sampled at once; each is scored alone.
    origins: what tells models of one name apart (files, precision): kept traces of others are not
      used.
    """

    max_gamma: int
    seed: int
    batch_size: int = 1
    origins: tuple[str, ...] = ()


def measure_traces(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    settings: TraceSettings,
    *,
    path: Path | None,
    processes: Processes = ALONE,
    progress: Callable[[], object],
) -> list[TracePair]:
    """Returns the traces of a text sampled from the target for each prompt.

    Args:
      path: an .npz that keeps each finished prompt's traces; None keeps none.
      processes: among which the prompts are shared out. The first one keeps the traces, and all
        return them; what they are does not depend on how many processes there are.

    Raises:
      ValueError: if something else than traces stands at path.
    """
    key = traces_key(subject, prompts, settings)
    kept = None if path is None or not processes.first else KeptTraces(path, key)
    known = processes.gathered({} if kept is None else dict(kept.known))[0]
    for _ in known:
        progress()
    # The same prompts together as ever, so that their texts do not depend on what is known.
    batches = [
        range(first, min(first + settings.batch_size, len(prompts)))
        for first in range(0, len(prompts), settings.batch_size)
    ]
    to_do = [batch for batch in batches if any(number not in known for number in batch)]
    for turn in range(0, len(to_do), processes.count):
        of_turn = to_do[turn : turn + processes.count]
        own = of_turn[processes.number] if processes.number < len(of_turn) else ()
        missing = [number for number in own if number not in known]
        made = _traces(subject, prompts, settings, own, missing)
        for number, traces in processes.shared(made):
            known[number] = traces
            if kept is not None:
                kept.add(number, traces)
            progress()
    if kept is not None:
        kept.finish()
    return [known[number] for number in range(len(prompts))]


def _traces(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    settings: TraceSettings,
    batch: Sequence[int],
    missing: Sequence[int],
) -> Iterator[tuple[int, TracePair]]:
    """Yields the traces of those prompts of a batch that are missing, with their numbers."""
    if not batch:
        return
    for number, tokens in zip(batch, _texts(subject, prompts, batch, settings.seed), strict=True):
        if number in missing:
            yield number, trace_pair(
                subject, prompts[number], tokens, max_gamma=settings.max_gamma
            )


def _texts(
    subject: Subject, prompts: Sequence[Sequence[int]], numbers: Sequence[int], seed: int
) -> list[tuple[int, ...]]:
    """Returns the target's texts of the prompts with these numbers, sampled at once."""
    generators = [seeded(subject.target.device, seed, number) for number in numbers]
    how: dict[str, Any] = {"sampling": subject.sampling, "stopping": subject.stopping}
    if len(numbers) > 1:
        chosen = [prompts[number] for number in numbers]
        return decode_batch(subject.target, chosen, generators=generators, **how)
    [number], [generator] = numbers, generators
    return [decode(subject.target, prompts[number], generator=generator, **how).tokens]


def traces_key(
    subject: Subject, prompts: Sequence[Sequence[int]], settings: TraceSettings
) -> str:
    """Returns a hash of everything that the traces depend on."""
    modules = map(transformers_module, [subject.target, draft_model(subject.drafter)])
    parts = [
        subject.target.name,
        subject.drafter.name,
        # The commit of a hub repository.
        *(str(getattr(module.config, "_commit_hash", None)) for module in modules if module),
        *(version(name) for name in LIBRARIES),
        str(subject.sampling),
        str(sampled_setting(subject)),
        str(subject.stopping.max_new_tokens),
        str(sorted(subject.stopping.end_ids)),
        prompts_hash(prompts),
        str(settings.max_gamma),
        str(settings.seed),
        *settings.origins,
        # Another batch size is another rounding, which may tip a draw.
        str(settings.batch_size),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
