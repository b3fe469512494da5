"""Runs and servers from Python: `measure`, `validate`, `observe`, `traffic`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from specplan.door.inputs import EngineOptions, Prompts, engine_of, models_of, of_engine, source_of
from specplan.door.pairing import both, profiled, usage_as_value_error
from specplan.options.costs.runs import OfRuns
from specplan.options.kinds import AcceptanceKind, CostKind
from specplan.reports.bar import Bar

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from engines.trials.validation import EngineValidation
    from estimator.profiles.profile import Profile
    from estimator.validation.validation import Validation
    from simulator.traffic.answer import Traffic

__all__ = ["measure", "observe", "traffic", "validate"]


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

    Args:
      target: a Hugging Face name or folder; None: the embedded pair.
      draft: a drafter as `--draft` names it; None: the embedded draft.
      prompts: texts, or a file, folder or glob of them; None: library sources.
      max_new_tokens: new tokens after each prompt.
      temperature: temperature of the target; 0 is greedy.
      max_gamma: longest draft to price.
      seed: seed of the texts.
      output: file for the profile, which `Recorded` reads; None: no file.
      engine: runs on this engine (llama.cpp, vllm, ...), in place of specplan's own decoder;
        `specplan.door.inputs.EngineOptions` lists its settings, keywords too.

    Returns:
      the profile; None in all but the first of several processes.

    Raises OSError, ValueError if a file or a setting cannot be used.
    """
    from simulator.numerics.arguments import integer

    integer("max_gamma", max_gamma, at_least=1)
    found, path = engine_of(engine), None if output is None else Path(output)
    with source_of(prompts, max_new_tokens) as text, Bar("measure", "run") as bar:
        if found is not None:
            from engines.trials.measurement import measure as measure_engine
            from engines.trials.request import MeasureEngine

            common = of_engine(found, target, draft, text, seed)
            asked = MeasureEngine(
                **common, temperature=temperature, max_gamma=max_gamma, output=path
            )
            return measure_engine(asked, bar)[0]
        from estimator.profiles.measure import measure
        from estimator.profiles.request import Measure

        return measure(
            Measure(
                models=models_of(target, draft),
                text=text,
                temperature=temperature,
                max_gamma=max_gamma,
                seed=seed,
                output=path,
            ),
            bar,
        )


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
    """Compares predicted with measured speed-up: what `specplan validate` does.

    Args:
      target, draft, prompts, max_new_tokens, seed, engine: see `measure`.
      gammas: draft lengths.
      temperatures: temperatures of the target; 0 is greedy.

    Returns:
      one validation for each temperature, or a single one on an engine, whose `rows` hold
      predictions and measurements.

    Raises OSError, ValueError if a file or a setting cannot be used.
    """
    from estimator.validation.request import Validate, validations

    found = engine_of(engine)
    with source_of(prompts, max_new_tokens) as text, Bar("validate", "run") as bar:
        lengths, heats = tuple(gammas), tuple(temperatures)
        if found is not None:
            from engines.trials.request import ValidateEngine
            from engines.trials.validation import validate as validate_engine

            common = of_engine(found, target, draft, text, seed)
            return [
                validate_engine(ValidateEngine(**common, gammas=lengths, temperatures=heats), bar)
            ]
        return list(
            validations(
                Validate(
                    models=models_of(target, draft),
                    text=text,
                    gammas=lengths,
                    temperatures=heats,
                    seed=seed,
                ),
                bar,
            )
        )


def observe(*sources: str, gamma: int | None = None) -> Observation:
    """Returns what servers, logs or metrics pages count: what `specplan observe` reads.

    Args:
      sources: URLs of running servers, or files of their logs, metrics and benches.
      gamma: drafted tokens per block; None: as the source states it.

    Raises OSError, ValueError if a source cannot be read.
    """
    from engines.sources import observe

    if not sources:
        raise ValueError("observe needs at least one source, got none")
    return observe(sources, gamma=gamma)


def traffic(
    acceptance: AcceptanceKind | OfRuns | Profile,
    cost: CostKind | Profile | None = None,
    *,
    rate: float | Sequence[float],
    prompt_tokens: float,
    output_tokens: float,
    prompt_ms: float | None = None,
    targets: Mapping[str, float] | None = None,
    simulate: bool = False,
) -> Traffic:
    """Returns the effect of speculation on a server under load: what `specplan traffic` computes.

    Args:
      acceptance, cost: see `plan`.
      rate: requests per second, one number or several.
      prompt_tokens, output_tokens: mean lengths of a request.
      prompt_ms: time of reading one prompt; None: by the roofline.
      targets: latency targets in milliseconds, by name: ttft, tpot.
      simulate: whether arrivals are simulated, too.

    Raises OSError, ValueError if a file or a number cannot be used.
    """
    from simulator.traffic.answer import answer
    from specplan.door.traffic_request import requested
    from specplan.options import traffic_options as options
    from specplan.options.graphs import Graphs

    with usage_as_value_error():
        accepted, costs = both(acceptance, cost)
        stated = targets and ",".join(f"{name}={ms}" for name, ms in targets.items())
        asked = requested(
            accepted,
            costs,
            options.Arrivals(
                rate=(rate,) if isinstance(rate, int | float) else tuple(rate),
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                slo=options.latency_targets(None, None, stated) if stated else None,
            ),
            options.Batching(prompt_ms=prompt_ms),
            options.Simulation(simulate=simulate),
            options.TrafficAnswer(),
            profiled(accepted, costs),
            Graphs(),
        )
        return answer(asked.request)
