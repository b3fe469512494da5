"""Models, prompts, engines, acceptances and costs as arguments of the Python functions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from engines.observing.observation import Observation
from estimator.profiles.profile import Profile
from specplan.door.stated import ObservedCounts, Runs, require_ranges
from specplan.options.inputs.counts import Lengths
from specplan.options.inputs.profile import OfProfile, ProfileAcceptance, ProfileFile
from specplan.options.inputs.times import OfRuns
from specplan.options.kinds import AcceptanceKind, CostKind
from specplan.options.runs import counts_of

if TYPE_CHECKING:
    from estimator.settings import PromptSettings

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
    from engines.kind import EngineSettings
    from estimator.settings import ModelSettings, TimingSettings

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


@contextmanager
def source_of(prompts: Prompts | None, max_new_tokens: int) -> Iterator[PromptSettings]:
    """Yields the prompt settings; prompts given as a list are written to a temporary file."""
    from estimator.settings import PromptSettings
    from simulator.numerics.arguments import integer

    integer("max_new_tokens", max_new_tokens, at_least=1)
    if prompts is None or isinstance(prompts, str | Path):
        source = None if prompts is None else str(prompts)
        yield PromptSettings(prompts=source, max_new_tokens=max_new_tokens)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.json"
        file.write_text(json.dumps(list(prompts)), encoding="utf-8")
        yield PromptSettings(
            prompts=str(file), num_prompts=len(prompts), max_new_tokens=max_new_tokens
        )


def both(
    acceptance: AcceptanceKind | OfRuns | Observation | Profile, cost: CostKind | Profile | None
) -> tuple[AcceptanceKind, CostKind]:
    """Returns acceptance and cost; if cost is None, an acceptance such as Runs gives both."""
    if isinstance(acceptance, Profile):
        acceptance = ProfileAcceptance(ProfileFile(acceptance))
    if isinstance(cost, Profile):
        cost = OfProfile(ProfileFile(cost))
    if isinstance(acceptance, Observation):
        acceptance, cost = _observed(acceptance, cost)
    if isinstance(acceptance, OfRuns):
        cost = acceptance if cost is None else cost
        acceptance = Lengths(runs=acceptance.runs)
    if cost is None and isinstance(acceptance, ProfileAcceptance):
        cost = OfProfile(acceptance.profile_path)
    if isinstance(cost, ProfileAcceptance):
        cost = OfProfile(cost.profile_path)
    if not isinstance(acceptance, AcceptanceKind):
        raise ValueError(f"acceptance must be Iid, ByPosition, ... or Runs, got {acceptance!r}")
    if not isinstance(cost, CostKind):
        raise ValueError(f"cost must be Ratio, Times, Roofline, Runs or Recorded, got {cost!r}")
    require_ranges(acceptance, cost)
    return acceptance, cost


def _observed(seen: Observation, cost: CostKind | None) -> tuple[AcceptanceKind, CostKind | None]:
    """Returns the observed acceptance and the cost, to whose runs the observed run is added."""
    from engines.observing.profiles import observed_run
    from simulator.cost.setting import DEFAULT_CONTEXT

    runs = (cost.runs or ()) if isinstance(cost, OfRuns) else ()
    if cost is None or isinstance(cost, OfRuns):
        run = observed_run(seen, context=DEFAULT_CONTEXT)
        if run is not None:
            cost = Runs((*runs, run))
    return ObservedCounts(seen, counts_of(runs)), cost


@contextmanager
def usage_as_value_error() -> Iterator[None]:
    """Turns the command line's usage errors into ValueErrors."""
    try:
        yield
    except click.UsageError as error:
        raise ValueError(error.format_message()) from None
