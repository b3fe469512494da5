"""Runs of models and servers from Python: `measure`, `validate`, `observe`, `tune`, `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.kind import EngineSettings
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings, TimingSettings
from simulator.numerics.arguments import integer
from specplan.reports.bar import Bar

if TYPE_CHECKING:
    from engines.trials.validation import EngineValidation
    from engines.tuning.request import TuneEngine, TuneOwn, TuneServer, Tuning
    from estimator.profiles.profile import Profile
    from estimator.validation.validation import Validation
    from specplan.api.results import Compared, ObservedCounts, TunedRuns

__all__ = ["compare", "measure", "observe", "tune", "validate"]

# A file, folder or glob; the prompts themselves; or the settings, with the number of new tokens.
Prompts = str | Path | Sequence[str] | PromptSettings
# The names of a target and a draft; None: those that specplan contains.
Pair = tuple[str | None, str | None]


def measure(
    target: str | None = None,
    draft: str | None = None,
    *,
    prompts: Prompts | None = None,
    temperature: float = 1.0,
    max_gamma: int = 16,
    seed: int = 0,
    output: str | Path | None = None,
    engine: str | EngineSettings | None = None,
) -> Profile | None:
    """Measures acceptance and costs of a pair, as `specplan measure` does.

    Returns the profile; None in all but the first of several processes.

    Args:
      target: a Hugging Face name or folder; None: the small target that specplan contains.
      draft: a drafter as `--draft` names it; None: the small draft that specplan contains.
      prompts: texts, or a file, folder or glob of them; None: source files of Python's library.
        `PromptSettings` also has the number of prompts and of new tokens.
      temperature: temperature of the target; 0 is greedy.
      max_gamma: longest draft whose cost is measured, in tokens.
      output: file for the profile, which `Recorded` reads; None: no file.
      engine: runs on this engine (llama.cpp, vllm, ...), by its name or with its settings; None: on
        specplan's own decoder.

    Raises OSError, ValueError if a file or a setting cannot be used.
    """
    integer("max_gamma", max_gamma, at_least=1)
    with Bar("measure", "run") as bar:
        stated = _request(engine, (target, draft), _texts(prompts), seed)
        stated |= {"temperature": temperature, "max_gamma": max_gamma}
        stated["output"] = None if output is None else Path(output)
        if engine is not None:
            from engines.trials.measurement import measure as measure_engine
            from engines.trials.request import MeasureEngine

            return measure_engine(MeasureEngine(**stated), bar)[0]
        from estimator.requests import Measure

        request = Measure(**stated)  # refuses before PyTorch is loaded
        from estimator.profiles.measure import measure

        return measure(request, bar)


def validate(
    target: str | None = None,
    draft: str | None = None,
    *,
    prompts: Prompts | None = None,
    gammas: Sequence[int] = (1, 2, 4, 8),
    temperatures: Sequence[float] = (0.0, 1.0),
    seed: int = 0,
    engine: str | EngineSettings | None = None,
) -> list[Validation | EngineValidation]:
    """Compares predicted with measured speed-ups, as `specplan validate` does.

    Returns one validation for each temperature; on an engine, a single one for all temperatures.
    Their `rows` contain predictions and measurements. For the other arguments see `measure`.

    gammas: draft lengths.
    temperatures: temperatures of the target; 0 is greedy.

    Raises OSError, ValueError if a file or a setting cannot be used.
    """
    with Bar("validate", "run") as bar:
        stated = _request(engine, (target, draft), _texts(prompts), seed)
        stated |= {"gammas": tuple(gammas), "temperatures": tuple(temperatures)}
        if engine is None:
            from estimator.requests import Validate

            request = Validate(**stated)  # refuses before PyTorch is loaded
            from estimator.validation.validation import validations

            return list(validations(request, bar))
        from engines.trials.request import ValidateEngine
        from engines.trials.validation import validate as validate_engine

        return [validate_engine(ValidateEngine(**stated), bar)]


def observe(*sources: str, gamma: int | None = None) -> ObservedCounts:
    """Returns counts of drafts read from servers, logs or metrics, as `specplan observe` does.

    sources: URLs of running servers, or files of their logs, metrics and benches.
    gamma: drafted tokens per block; None: as the source states it.

    Raises OSError, ValueError if a source cannot be read.
    """
    from engines.sources import observe
    from specplan.api.results import ObservedCounts

    if not sources:
        raise ValueError("observe needs at least one source, got none")
    counted = observe(sources, gamma=gamma)
    return ObservedCounts(**{part.name: getattr(counted, part.name) for part in fields(counted)})


def compare(a: str | Path, b: str | Path) -> Compared:
    """Compares two profiles, or two validations, of the same prompts, as `specplan compare` does.

    a, b: files that `specplan measure -o` or `specplan validate -o` wrote.

    Raises OSError, ValueError if a file cannot be read, or the prompts differ.
    """
    from estimator.comparison import compare, read_measured
    from specplan.api.results import Compared

    compared = compare((read_measured(Path(a)), read_measured(Path(b))), (Path(a), Path(b)))
    return Compared(**{part.name: getattr(compared, part.name) for part in fields(compared)})


def tune(
    target: str | None = None,
    draft: str | None = None,
    *,
    server: str | EngineSettings | None = None,
    prompts: Prompts | None = None,
    search: Tuning | None = None,
) -> TunedRuns:
    """Finds the best draft length on this machine in few runs, as `specplan tune` does.

    Returns the runs in `rows`, the advice for each concurrency in `advised`, and the server's
    flags. For the first arguments see `measure`.

    server: an engine to start, by its name or with its settings, or the URL of a running server;
      None: specplan's own decoder.
    prompts: as in `measure`; None: the prompts of `search`.
    search: limits and settings of the search, and the file of runs; None: the defaults.

    Raises OSError, ValueError if a file, a server or a setting cannot be used.
    """
    from engines.tuning.request import Tuning
    from engines.tuning.tune import tune
    from specplan.api.results import TunedRuns

    how = Tuning() if search is None else search
    how = replace(
        how,
        text=how.text if prompts is None else _texts(prompts),
        output=None if how.output is None else Path(how.output),
    )
    with Bar("tune", "text") as bar:
        tuned = tune(_tuned(target, draft, server, how), progress=bar)
    return TunedRuns(**{name: getattr(tuned, name) for name in tuned.__struct_fields__})


def _tuned(
    target: str | None, draft: str | None, server: str | EngineSettings | None, how: Tuning
) -> TuneServer | TuneEngine | TuneOwn:
    """Returns the request of a search on a running server, an engine, or specplan's decoder."""
    from engines.sources import is_live
    from engines.tuning.request import TuneEngine, TuneOwn, TuneServer

    if isinstance(server, str) and is_live(server):
        if (target, draft) != (None, None):
            raise ValueError(f"target and draft must not be given with the server {server}")
        return TuneServer(how=how, server=server)
    stated = _request(server, (target, draft), how.text, how.seed)
    if server is not None:
        return TuneEngine(how=how, **stated)
    return TuneOwn(how=how, models=stated["models"], sampling=SamplingSettings())


def _texts(prompts: Prompts | None) -> PromptSettings:
    if isinstance(prompts, PromptSettings):
        return prompts
    if prompts is None or isinstance(prompts, str | Path):
        return PromptSettings(prompts=None if prompts is None else str(prompts))
    return PromptSettings(prompts=tuple(prompts), num_prompts=len(prompts))


def _request(
    engine: str | EngineSettings | None, pair: Pair, text: PromptSettings, seed: int
) -> dict[str, Any]:
    """Returns settings that requests share, on an engine or on specplan's own decoder."""
    target, draft = pair
    models: dict[str, Any] = {"target": target, "drafts": () if draft is None else (draft,)}
    if engine is None:
        return {"models": ModelSettings(**models), "text": text, "seed": seed}
    settings = EngineSettings(engine) if isinstance(engine, str) else engine
    return {"engine": settings, "timing": TimingSettings(), **models, "text": text, "seed": seed}
