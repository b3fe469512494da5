"""Prompts, models and engines as arguments of `measure`, `validate` and `tune`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from engines.kind import EngineSettings
from estimator.settings import ModelSettings, PromptSettings, TimingSettings
from simulator.numerics.arguments import integer

Prompts = str | Path | Sequence[str]  # a file, folder or glob, or the prompts themselves


class EngineOptions(TypedDict, total=False):
    """Options of an engine that runs in place of specplan's own decoder, as with `--engine`.

    engine: name of the engine: llama.cpp, vllm, sglang, transformers, ...
    engine_command: shell command that starts the engine.
    draft_sampling: argmax: the draft's likeliest token; sampled: a token drawn from the draft.
    concurrency: numbers of simultaneous requests to run, e.g. (1, 8).
    threads: number of CPU threads for each model.
    servers: whether the servers of all γ run together or one after the other.
    """

    engine: str
    engine_command: str
    draft_sampling: Literal["argmax", "sampled"]
    concurrency: Sequence[int]
    threads: int
    servers: Literal["together", "in-turn"]


def require_known(stated: Mapping[str, object], settings: type) -> None:
    """Raises TypeError if a keyword is not a field of the settings."""
    known = settings.__annotations__
    unknown = [name for name in stated if name not in known]
    if unknown:
        raise TypeError(f"unexpected keyword {unknown[0]!r}: must be one of {', '.join(known)}")


def settings_of(
    engine: EngineOptions, target: str | None, draft: str | None, text: PromptSettings, seed: int
) -> dict[str, Any]:
    """Returns keyword arguments of a run's request, on an engine or on specplan's own decoder."""
    require_known(engine, EngineOptions)
    drafts = () if draft is None else (draft,)
    if not engine:
        return {"models": ModelSettings(target=target, drafts=drafts), "text": text, "seed": seed}
    if "engine" not in engine:
        raise ValueError(f"{next(iter(engine))} must be given with an engine, got none")
    given: dict[str, Any] = {"concurrency": (1,), **engine}
    settings = EngineSettings(concurrencies=tuple(given.pop("concurrency")), **given)
    pair = {"target": target, "drafts": drafts, "text": text, "seed": seed}
    return {"engine": settings, "timing": TimingSettings(), **pair}


def prompt_settings(prompts: Prompts | None, max_new_tokens: int) -> PromptSettings:
    """Returns the settings of prompts: a file, folder or glob, the prompts themselves, or none."""
    tokens = integer("max_new_tokens", max_new_tokens, at_least=1)
    if prompts is None or isinstance(prompts, str | Path):
        source = None if prompts is None else str(prompts)
        return PromptSettings(prompts=source, max_new_tokens=tokens)
    listed = tuple(prompts)
    if not listed:
        raise ValueError("prompts must hold at least one prompt, got none")
    return PromptSettings(prompts=listed, num_prompts=len(listed), max_new_tokens=tokens)
