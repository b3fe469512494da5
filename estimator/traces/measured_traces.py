"""Traces of texts that the target generates, saved as each prompt is finished."""

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from estimator.prompts.prompts import prompts_hash
from estimator.timing.batched import Prompts, decode_batch
from estimator.timing.threads import ALONE, Processes
from estimator.traces.scoring import sampled_setting, trace_pair
from estimator.traces.trace_file import KeptTraces
from estimator.traces.traces import TracePair
from reference.drafters.model_drafter import draft_model
from reference.laws import seeded
from reference.models.architectures import transformers_module
from reference.speculative import Subject, plain_session

LIBRARIES = ("numpy", "torch", "transformers")
# Values compared of each weight, evenly spaced: further training changes all weights of a model.
VALUES = 256


@dataclass(frozen=True, slots=True)
class Tracing:
    """The settings that determine the sampled texts and their traces.

    max_gamma: the longest draft that replay can evaluate.
    batch_size: number of texts sampled at once. Each text is scored separately.
    origins: strings about the models' files, device and precision, which are part of `key`.
    ahead: tokens drafted from each block start to record confidence; see `scoring.trace`.
    """

    subject: Subject
    prompts: Prompts
    max_gamma: int
    seed: int
    batch_size: int = 1
    origins: tuple[str, ...] = ()
    ahead: int = 0

    @property
    def modules(self) -> list[Any]:
        """The transformers modules of target and draft; None for a draft without one."""
        models = [self.subject.target, draft_model(self.subject.drafter)]
        return [transformers_module(model) for model in models]

    @property
    def commits(self) -> list[str | None]:
        """The commit of the target's and the draft's hub repository; None for a folder."""
        configs = [None if module is None else module.config for module in self.modules]
        return [getattr(config, "_commit_hash", None) for config in configs]

    @property
    def key(self) -> str:
        """A hash of all settings and models that the traces depend on."""
        subject = self.subject
        parts = [
            subject.target.name,
            subject.drafter.name,
            self.commits,
            [version(name) for name in LIBRARIES],
            str(subject.sampling),
            str(sampled_setting(subject)),
            subject.stopping.max_new_tokens,
            sorted(subject.stopping.end_ids),
            prompts_hash(self.prompts),
            # Another batch size is another rounding, which may tip a draw.
            [self.max_gamma, self.seed, self.batch_size, self.ahead],
            self.origins,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def described(self) -> dict[str, str]:
        """Hashes of the prompts, the target, the draft and the settings, by these names."""
        names = ("target", "draft")
        return {
            "prompts": prompts_hash(self.prompts),
            **{
                name: weights_hash(module) for name, module in zip(names, self.modules, strict=True)
            },
            "settings": replace(self, origins=()).key[:16],
        }


def weights_hash(module: Any) -> str:
    """Returns a hash of the names, shapes, precisions and some values of a model's weights."""
    if module is None:
        return "no model"
    digest = hashlib.sha256()
    for name, weight in module.named_parameters():
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
        if not weight.is_meta:
            values = weight.detach().flatten()
            some = values[:: max(1, len(values) // VALUES)].contiguous().cpu()
            digest.update(some.view(torch.uint8).numpy().tobytes())
    return f"weights {digest.hexdigest()[:16]}"


def require_agreement(settings: Sequence[Mapping[str, str]]) -> None:
    """Raises ValueError if processes differ in `settings`, the `Tracing.described` of each."""
    for name, wanted in settings[0].items():
        for number, theirs in enumerate(settings):
            if theirs[name] != wanted:
                got = f"{wanted} in process 0 and {theirs[name]} in process {number}"
                raise ValueError(f"processes must agree on the {name}, got {got}")


def measure_traces(
    tracing: Tracing,
    *,
    path: Path | None = None,
    processes: Processes = ALONE,
    progress: Callable[[], object] = lambda: None,
) -> list[TracePair]:
    """Samples a text from the target for each prompt, and returns the traces of these texts.

    path: .npz file in which each finished prompt's traces are saved; None: traces are not saved.
    processes: processes that share the prompts. The traces do not depend on their number. The first
      process saves the traces, and all processes return them.
    """
    count, size = len(tracing.prompts), tracing.batch_size
    kept = None if path is None or not processes.first else KeptTraces(path, tracing.key)
    known = processes.gathered({} if kept is None else dict(kept.known))[0]
    for _ in known:
        progress()
    # The same prompts together as ever, so that their texts do not depend on what is known.
    batches = [range(first, min(first + size, count)) for first in range(0, count, size)]
    to_do = [batch for batch in batches if any(number not in known for number in batch)]
    for turn in range(0, len(to_do), processes.count):
        of_turn = to_do[turn : turn + processes.count]
        share = of_turn[processes.number] if processes.number < len(of_turn) else ()
        for number, traces in processes.shared(_traces(tracing, share, known)):
            known[number] = traces
            if kept is not None:
                kept.add(number, traces)
            progress()
    if kept is not None:
        kept.finish()
    return [known[number] for number in range(count)]


def _traces(
    tracing: Tracing, batch: Sequence[int], known: Container[int]
) -> Iterator[tuple[int, TracePair]]:
    """Yields index and traces of a batch's prompts that are not in `known`."""
    if not batch:
        return
    subject, prompts = tracing.subject, [tracing.prompts[number] for number in batch]
    generators = [seeded(subject.target.device, tracing.seed, number) for number in batch]
    how: dict[str, Any] = {"sampling": subject.sampling, "stopping": subject.stopping}
    if len(batch) > 1:
        texts = decode_batch(subject.target, prompts, generators=generators, **how)
    else:
        session = plain_session(subject.target, *prompts, generator=generators[0], **how)
        texts = [session.finished().tokens]
    lengths = {"max_gamma": tracing.max_gamma, "ahead": tracing.ahead}
    for number, prompt, tokens in zip(batch, prompts, texts, strict=True):
        if number not in known:
            yield number, trace_pair(subject, prompt, tokens, **lengths)
