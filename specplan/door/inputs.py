"""Models, prompts and engines as Python states them, for runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from engines.kind import EngineSettings
    from estimator.settings import ModelSettings, PromptSettings

Prompts = str | Path | Sequence[str]  # a file, folder or glob, or the prompts themselves


class EngineOptions(TypedDict, total=False):
    """The engine to run on, in place of specplan's own decoder: the options of `--engine`.

    engine: its name: llama.cpp, vllm, sglang, transformers, ...
    engine_command: shell command that starts it.
    draft_sampling: how it chooses draft tokens.
    concurrency: numbers of simultaneous requests.
    threads: threads of each model.
    servers: whether the servers of all γ run together or one after the other.
    """

    engine: str
    engine_command: str
    draft_sampling: Literal["argmax", "sampled"]
    concurrency: Sequence[int]
    threads: int
    servers: Literal["together", "in-turn"]


def require_known(stated: Mapping[str, object], settings: type) -> None:
    """Refuses, with a TypeError, a keyword that is not among the settings."""
    known = settings.__annotations__
    unknown = [name for name in stated if name not in known]
    if unknown:
        raise TypeError(f"unexpected keyword {unknown[0]!r}: must be one of {', '.join(known)}")


def engine_of(stated: EngineOptions) -> EngineSettings | None:
    """Returns the settings of an engine; None if none is named.

    Raises ValueError if settings of an engine are given without its name.
    """
    from engines.kind import EngineSettings

    require_known(stated, EngineOptions)
    if not stated:
        return None
    if "engine" not in stated:
        raise ValueError(f"{next(iter(stated))} must be given with an engine, got none")
    given: dict[str, Any] = {"concurrency": (1,), **stated}
    return EngineSettings(concurrencies=tuple(given.pop("concurrency")), **given)


def of_engine(
    engine: EngineSettings, target: str | None, draft: str | None, text: PromptSettings, seed: int
) -> dict[str, Any]:
    """Returns what every request for a run on an engine states."""
    from estimator.settings import TimingSettings

    return {
        "engine": engine,
        "text": text,
        "timing": TimingSettings(),
        "seed": seed,
        "target": target,
        "drafts": () if draft is None else (draft,),
    }


def models_of(target: str | None, draft: str | None) -> ModelSettings:
    """Returns the settings of a pair; None: the embedded model."""
    from estimator.settings import ModelSettings

    return ModelSettings(target=target, drafts=() if draft is None else (draft,))


@contextmanager
def source_of(prompts: Prompts | None, max_new_tokens: int) -> Iterator[PromptSettings]:
    """Yields the settings of prompts; a list of texts is a file while they are used."""
    from estimator.settings import PromptSettings
    from simulator.numerics.arguments import integer

    integer("max_new_tokens", max_new_tokens, at_least=1)
    if prompts is None:
        yield PromptSettings(max_new_tokens=max_new_tokens)
    elif isinstance(prompts, str | Path):
        yield PromptSettings(prompts=str(prompts), max_new_tokens=max_new_tokens)
    else:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "prompts.json"
            file.write_text(json.dumps(list(prompts)), encoding="utf-8")
            yield PromptSettings(
                prompts=str(file), num_prompts=len(prompts), max_new_tokens=max_new_tokens
            )
