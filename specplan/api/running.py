"""Runs of models and servers from Python: `measure`, `validate`, `observe`, `tune`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from specplan.api.engine_options import (
    EngineOptions,
    Prompts,
    prompt_settings,
    require_known,
    settings_of,
)
from specplan.reports.bar import Bar

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from engines.trials.validation import EngineValidation
    from engines.tuning.tuned import Tuned
    from estimator.profiles.profile import Profile
    from estimator.validation.validation import Validation

__all__ = ["measure", "observe", "tune", "validate"]


def measure(
    target: str | None = None,
    draft: str | None = None,
    *,
    prompts: Prompts | None = None,
    max_new_tokens: int = 64,
    temperature: float = 1.0,
    max_gamma: int = 16,
    seed: int = 0,
    output: str | Path | None = None,
    **engine: Unpack[EngineOptions],
) -> Profile | None:
    """Measures acceptance and costs of a pair, as `specplan measure` does.

    Returns the profile; None in all but the first of several processes.

    Args:
      target: a Hugging Face name or folder; None: the small target that specplan contains.
      draft: a drafter as `--draft` names it; None: the small draft that specplan contains.
      prompts: texts, or a file, folder or glob of them; None: source files of Python's library.
      temperature: temperature of the target; 0 is greedy.
      max_gamma: longest draft whose cost is measured, in tokens.
      output: file for the profile, which `Recorded` reads; None: no file.
      engine: runs on this engine (llama.cpp, vllm, ...), in place of specplan's own decoder. Its
        settings are further keywords, listed in `EngineOptions`.

    Raises OSError, ValueError if a file or a setting cannot be used.
    """
    from simulator.numerics.arguments import integer

    integer("max_gamma", max_gamma, at_least=1)
    text = prompt_settings(prompts, max_new_tokens)
    with Bar("measure", "run") as bar:
        stated = settings_of(engine, target, draft, text, seed)
        stated |= {"temperature": temperature, "max_gamma": max_gamma}
        stated["output"] = None if output is None else Path(output)
        if engine:
            from engines.trials.measurement import measure as measure_engine
            from engines.trials.request import MeasureEngine

            return measure_engine(MeasureEngine(**stated), bar)[0]
        from estimator.profiles.measure import Measure, measure

        return measure(Measure(**stated), bar)


def validate(
    target: str | None = None,
    draft: str | None = None,
    *,
    prompts: Prompts | None = None,
    gammas: Sequence[int] = (1, 2, 4, 8),
    temperatures: Sequence[float] = (0.0, 1.0),
    max_new_tokens: int = 64,
    seed: int = 0,
    **engine: Unpack[EngineOptions],
) -> list[Validation | EngineValidation]:
    """Compares predicted with measured speed-ups, as `specplan validate` does.

    Returns one validation for each temperature; on an engine, a single one for all temperatures.
    Their `rows` contain predictions and measurements. For the other arguments see `measure`.

    gammas: draft lengths.
    temperatures: temperatures of the target; 0 is greedy.

    Raises OSError, ValueError if a file or a setting cannot be used.
    """
    from estimator.validation.validation import Validate, validations

    text = prompt_settings(prompts, max_new_tokens)
    with Bar("validate", "run") as bar:
        stated = settings_of(engine, target, draft, text, seed)
        stated |= {"gammas": tuple(gammas), "temperatures": tuple(temperatures)}
        if not engine:
            return list(validations(Validate(**stated), bar))
        from engines.trials.request import ValidateEngine
        from engines.trials.validation import validate as validate_engine

        return [validate_engine(ValidateEngine(**stated), bar)]


def observe(*sources: str, gamma: int | None = None) -> Observation:
    """Returns counts of drafts read from servers, logs or metrics, as `specplan observe` does.

    sources: URLs of running servers, or files of their logs, metrics and benches.
    gamma: drafted tokens per block; None: as the source states it.

    Raises OSError, ValueError if a source cannot be read.
    """
    from engines.sources import observe

    if not sources:
        raise ValueError("observe needs at least one source, got none")
    return observe(sources, gamma=gamma)


class SearchOptions(TypedDict, total=False):
    """Limits and settings of a search: options of `specplan tune`.

    worth: least expected gain in speed, in per cent, for which a run is made; 0.2 if not given.
    max_runs: largest number of runs per concurrency, without the baseline; 6 if not given.
    temperature: temperature of the target; 0, greedy, if not given.
    dry_run: whether the first runs are only planned.
    """

    worth: float
    max_runs: int
    temperature: float
    seed: int
    dry_run: bool


def tune(
    target: str | None = None,
    draft: str | None = None,
    *,
    server: str | None = None,
    prompts: Prompts | None = None,
    max_new_tokens: int = 64,
    concurrency: Sequence[int] = (1,),
    max_gamma: int = 16,
    output: str | Path | None = None,
    **search: Unpack[SearchOptions],
) -> Tuned:
    """Finds the best draft length on this machine in few runs, as `specplan tune` does.

    Returns the runs in `rows`, the advice for each concurrency in `advised`, and the server's
    flags. For the first arguments see `measure`, for `search` see `SearchOptions`.

    server: an engine to start, by its name for `--engine`, or the URL of a running server; None:
      specplan's own decoder.
    concurrency: numbers of simultaneous requests; each has its own search.
    max_gamma: the largest draft length to run.
    output: file of runs, which a later call continues; None: no file.

    Raises OSError, ValueError if a file, a server or a setting cannot be used.
    """
    from engines.sources import is_live
    from engines.tuning.request import TuneEngine, TuneOwn, TuneServer, Tuning
    from engines.tuning.tune import tune
    from estimator.settings import SamplingSettings, TimingSettings
    from simulator.numerics.arguments import integer

    require_known(search, SearchOptions)
    integer("max_gamma", max_gamma, at_least=1)
    integer("max_runs", search.get("max_runs", 1), at_least=1)
    text = prompt_settings(prompts, max_new_tokens)
    with Bar("tune", "text") as bar:
        how = Tuning(
            text=text,
            timing=TimingSettings(),
            concurrencies=tuple(concurrency),
            max_gamma=max_gamma,
            output=None if output is None else Path(output),
            **search,
        )
        if server is not None and is_live(server):
            if (target, draft) != (None, None):
                raise ValueError(f"target and draft must not be given with the server {server}")
            return tune(TuneServer(how=how, server=server), progress=bar)
        if server is not None:
            engine: EngineOptions = {"engine": server, "concurrency": concurrency}
            stated = settings_of(engine, target, draft, text, how.seed)
            return tune(TuneEngine(how=how, **stated), progress=bar)
        models = settings_of({}, target, draft, text, how.seed)["models"]
        return tune(TuneOwn(how=how, models=models, sampling=SamplingSettings()), progress=bar)
