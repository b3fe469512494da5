"""Runs and servers from Python: `measure`, `validate`, `observe`, `traffic`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from specplan.door.pairing import both, profiled, usage_as_value_error
from specplan.options.costs.runs import OfRuns
from specplan.options.kinds import AcceptanceKind, CostKind
from specplan.reports.bar import Bar

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from estimator.profiles.profile import Profile
    from estimator.settings import ModelSettings, PromptSettings
    from estimator.validation.validation import Validation
    from simulator.traffic.answer import Traffic

__all__ = ["measure", "observe", "traffic", "validate"]
Prompts = str | Path | Sequence[str]  # a file, folder or glob, or the prompts themselves


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

    Returns:
      the profile; None in all but the first of several processes.

    Raises:
      OSError, ValueError: if a file or a setting cannot be used.
    """
    from estimator.profiles.measure import measure
    from estimator.profiles.request import Measure
    from simulator.numerics.arguments import integer

    integer("max_gamma", max_gamma, at_least=1)
    with source_of(prompts, max_new_tokens) as text, Bar("measure", "run") as bar:
        return measure(
            Measure(
                models=models_of(target, draft),
                text=text,
                temperature=temperature,
                max_gamma=max_gamma,
                seed=seed,
                output=None if output is None else Path(output),
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
) -> list[Validation]:
    """Compares predicted with measured speed-up: what `specplan validate` does.

    Args:
      target, draft, prompts, max_new_tokens, seed: see `measure`.
      gammas: draft lengths.
      temperatures: temperatures of the target; 0 is greedy.

    Returns:
      one validation for each temperature, whose `rows` hold predictions and measurements.

    Raises:
      OSError, ValueError: if a file or a setting cannot be used.
    """
    from estimator.validation.request import Validate, validations

    with source_of(prompts, max_new_tokens) as text, Bar("validate", "run") as bar:
        request = Validate(
            models=models_of(target, draft),
            text=text,
            gammas=tuple(gammas),
            temperatures=tuple(temperatures),
            seed=seed,
        )
        return list(validations(request, bar))


def observe(*sources: str, gamma: int | None = None) -> Observation:
    """Returns what servers, logs or metrics pages count: what `specplan observe` reads.

    Args:
      sources: URLs of running servers, or files of their logs, metrics and benches.
      gamma: drafted tokens per block; None: as the source states it.

    Raises:
      OSError, ValueError: if a source cannot be read.
    """
    from engines.sources import observe

    if not sources:
        raise ValueError("observe needs at least one source, got none")
    return observe(sources, gamma=gamma)


def traffic(
    acceptance: AcceptanceKind | OfRuns,
    cost: CostKind | None = None,
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

    Raises:
      OSError, ValueError: if a file or a number cannot be used.
    """
    from simulator.traffic.answer import answer
    from specplan.options import traffic_options as options
    from specplan.options.graphs import Graphs
    from specplan.options.traffic_request import requested

    with usage_as_value_error():
        accepted, costs = both(acceptance, cost)
        stated = targets and ",".join(f"{name}={ms}" for name, ms in targets.items())
        asked = requested(
            accepted,
            costs,
            options.Load(
                rate=(rate,) if isinstance(rate, int | float) else tuple(rate),
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                slo=options.latency_targets(None, None, stated or None),
            ),
            options.Batching(prompt_ms=prompt_ms),
            options.Simulation(simulate=simulate),
            options.Answer(),
            profiled(accepted, costs),
            Graphs(),
        )
        return answer(asked.request)


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
