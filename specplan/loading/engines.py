"""From options to an engine, its prompts and what scores its texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engines.engine import Engine
from engines.kind import EngineKind, Models
from engines.registry import engine_kinds, names_of
from engines.servers.running import RunningPair
from engines.settings import EngineSettings
from engines.trials.runs import Prompts
from engines.trials.scoring import EngineScorer, LocalScorer, Scorer
from estimator.loading.prompts import prompt_ids
from estimator.runs.processes import require_one_process
from estimator.traces.traces import DraftSampling
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer, require_same_tokenizer
from specplan.options.engine_options import EngineOptions
from specplan.options.model_options import ModelOptions

EMBEDDED = "embedded"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class EnginePair:
    """An engine with its pair.

    prompts, other_prompts: what is predicted, and what prices are taken from.
    draft: as the user named it.
    """

    kind: EngineKind
    engine: Engine
    score: Scorer
    draft_sampling: DraftSampling
    prompts: Prompts
    other_prompts: Prompts
    target: str
    draft: str


@contextmanager
def engine_pair(
    options: ModelOptions, engine: EngineOptions, *, longest: int
) -> Iterator[EnginePair]:
    """Gives the engine that the options name; what is written for it is gone afterwards.

    Args:
      options: models and prompts.
      engine: which engine, and how.
      longest: the longest draft that is asked for.

    Raises:
      ValueError: with the option's name, rule and value.
    """
    require_one_process("--engine")
    kind = engine_kinds()[str(engine.engine)]
    target_name, draft_name = _names(options)
    with TemporaryDirectory(prefix="specplan-") as folder:
        target, draft = _folders(target_name, draft_name, Path(folder))
        tokenizer = load_tokenizer(target)
        require_same_tokenizer(
            tokenizer, load_tokenizer(draft), target_name=target_name, draft_name=draft_name
        )
        prompts = _prompts(options, tokenizer, target_name)
        half = (len(prompts) + 1) // 2
        positions = max(len(ids) for ids in prompts) + options.max_new_tokens + longest + 8
        made = _engine(kind, engine, Models(target, draft, Path(folder), positions))
        sampling = engine.draft_sampling
        if sampling is None:
            sampling = kind.draft_samplings[0]
        elif sampling not in kind.draft_samplings:
            raise ValueError(
                f"draft-sampling must be {' or '.join(kind.draft_samplings)} with {kind.name}, "
                f"got {sampling}"
            )
        yield EnginePair(
            kind,
            made,
            _scorer(kind, engine.laws, made, target, draft),
            "argmax" if sampling == "argmax" else "sampled",
            prompts[:half],
            prompts[half:],
            target_name,
            draft_name,
        )


def _names(options: ModelOptions) -> tuple[str, str]:
    """Returns the names of target and draft, a name or folder each."""
    target = EMBEDDED if options.target is None else options.target
    drafts = options.drafts
    if not drafts and target == EMBEDDED:
        drafts = (EMBEDDED,)
    if len(drafts) != 1:
        raise ValueError(f"draft must be given once with --engine, got {len(drafts)}")
    draft = drafts[0].removeprefix("hf:")
    if draft == EMBEDDED and target != EMBEDDED:
        raise ValueError(f"draft embedded needs the embedded target, got {target}")
    for name, given, neutral in (
        ("device-map", options.device_map, None),
        ("top-k", options.top_k, None),
        ("chat", options.chat, False),
        ("top-p", options.top_p, 1.0),
        ("min-p", options.min_p, 0.0),
        ("repetition-penalty", options.repetition_penalty, 1.0),
    ):
        if given != neutral:
            raise ValueError(f"{name} cannot be given with --engine, got {given}")
    return target, draft


def _folders(target: str, draft: str, folder: Path) -> tuple[str, str]:
    """Returns names or folders that an engine loads; the embedded draft gets its tokenizer's files.

    Engines look for a tokenizer in the draft's own folder.
    """
    if draft != EMBEDDED:
        return str(weights_folder("target")) if target == EMBEDDED else target, draft
    source, tokenizer = weights_folder("draft"), weights_folder("target")
    whole = folder / "draft"
    whole.mkdir()
    for path in [*source.iterdir(), *(tokenizer / name for name in TOKENIZER_FILES)]:
        (whole / path.name).symlink_to(path.resolve())
    return str(tokenizer), str(whole)


def _prompts(options: ModelOptions, tokenizer: Any, target: str) -> list[tuple[int, ...]]:
    """Returns ids, twice as many prompts as asked for: the second half is what prices come from."""
    twice = replace(options.text, num_prompts=2 * options.num_prompts)
    prompts = prompt_ids(twice, tokenizer, target)
    if len(prompts) < 2:
        raise ValueError(
            "prompts must be at least 2 with --engine, since prices come from other ones than "
            f"those predicted, got {len(prompts)}"
        )
    return [tuple(ids) for ids in prompts]


def _engine(kind: EngineKind, options: EngineOptions, models: Models) -> Engine:
    for name in ("synthetic", "engine_command", "threads"):
        if getattr(options, name) is not None and name not in kind.takes:
            owners = " or ".join(f"{each}'s" for each in _taking(name))
            raise ValueError(f"{name.replace('_', '-')} must be {owners}, got {kind.name}")
    if options.target_url is not None:
        if kind.connect is None:
            owners = " or ".join(f"{each}'s" for each in names_of(lambda each: each.connect))
            raise ValueError(f"a running server must be {owners}, got {kind.name}")
        return RunningPair(
            kind.connect, options.target_url, server=options.server, draft=options.draft_url
        )
    assert kind.start is not None   # the option offers no others
    return kind.start(
        models,
        EngineSettings(
            engine=kind.name, engine_command=options.engine_command, threads=options.threads
        ),
    )


def _taking(name: str) -> tuple[str, ...]:
    return names_of(lambda kind: name in kind.takes)


def _scorer(
    kind: EngineKind, laws: str | None, made: Engine, target: str, draft: str
) -> Scorer:
    if laws == "engine" and not kind.scores_texts:
        raise ValueError(f"laws must be local with {kind.name}, whose server scores no given text")
    if laws == "local" or not kind.scores_texts:
        return LocalScorer(target, draft)
    return EngineScorer(made)
