"""What `validate` and `measure` do with --engine: runs on an engine that others wrote."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engines.registry import engine_kinds
from specplan.options.engine_options import EngineOptions
from specplan.options.model_options import ModelOptions
from specplan.options.timing import DEFAULT_PRECISION
from specplan.reports.output import print_json, write_json

if TYPE_CHECKING:
    from engines.trials.validation import Validation


def validate_on_engine(
    options: ModelOptions,
    engine: EngineOptions,
    *,
    gammas: tuple[int, ...],
    temperatures: tuple[float, ...],
    repeats: int,
    seed: int,
    output: Path | None,
    as_json: bool,
    wide: bool,
    **others: Any,
) -> None:
    """Compares predicted with measured decoding on an engine, and audits what it accepts.

    Args:
      options, engine: models, prompts, and the engine.
      gammas, temperatures: of the rows.
      repeats, seed, output, as_json, wide: as validate has them.
      others: options of specplan's own decoder, which must be as they are by default.

    Raises:
      ValueError: with the option's name, rule and value.
    """
    from tqdm import tqdm

    from engines.trials.trial import Trial, priced_gammas
    from engines.trials.validation import validate
    from specplan.loading.engines import engine_pair

    _require_own(others)
    drafted = tuple(dict.fromkeys(gammas))
    if (engine.server is None) != (engine.target_url is None):
        raise ValueError("server and target-url must be given together, got one of them")
    if engine.server is not None and len(drafted) > 1:
        raise ValueError(f"gamma must be the server's own, one number, got {len(drafted)} of them")
    with engine_pair(options, engine, longest=max(drafted)) as pair:
        trial = Trial(
            kind=pair.kind,
            draft=pair.draft,
            prompts=pair.prompts,
            other_prompts=pair.other_prompts,
            gammas=drafted,
            priced_gammas=priced_gammas(drafted),
            temperatures=tuple(dict.fromkeys(temperatures)),
            concurrencies=tuple(dict.fromkeys(engine.concurrencies)),
            draft_sampling=pair.draft_sampling,
            max_new_tokens=options.max_new_tokens,
            repeats=repeats,
            seed=seed,
            synthetic=engine.synthetic,
            together=runs_together(engine),
        )
        with tqdm(
            total=trial.texts, desc="validate", unit="text", disable=not sys.stderr.isatty()
        ) as bar:
            validation = validate(
                pair.engine, trial, score=pair.score, progress=bar.update
            )
    result = validation_data(validation)
    if output is not None:
        write_json(result, output)
    if as_json:
        print_json(result)
        return
    from specplan.reports.engines import report

    click.echo(report(validation, prompts=len(trial.prompts), repeats=repeats, wide=wide))


def runs_together(engine: EngineOptions) -> bool:
    """Returns whether servers of all γ run at once: where not asked, where they are small."""
    if engine.servers is None:
        return not engine_kinds()[str(engine.engine)].in_turn
    return engine.servers == "together"


def _require_own(others: dict[str, Any]) -> None:
    """Refuses options that only specplan's own decoder knows, unless they say nothing.

    Raises:
      ValueError: naming the option.
    """
    neutral: dict[str, Sequence[Any]] = {
        "policy_names": [("fixed",), ["fixed"]],
        "lenience": [1.0],
        "verification": ["token"],
        "figure": [None],
        "compiling": ["off"],
        "precision": [DEFAULT_PRECISION],
        "decoder": ["speculative"],
        **{name: [None] for name in ("fallback", "rollback", "windows", "certainty", "distance")},
    }
    for name, values in neutral.items():
        if name in others and others[name] not in values:
            shown = "compile" if name == "compiling" else name.removesuffix("_names")
            raise ValueError(f"{shown} cannot be given with --engine, got {others[name]}")


def validation_data(validation: Validation) -> dict[str, Any]:
    """Returns rows, steps and summary as JSON knows them."""
    rows = [row.data() for row in validation.rows]
    return {
        "rows": rows,
        "steps": [
            {
                "temperature": temperature,
                "concurrency": concurrency,
                "baseline_ms": 1e3 * steps.baseline_seconds,
                "step_ms": {str(g): 1e3 * seconds for g, seconds in steps.seconds.items()},
                "line": steps.is_line,
                "line_error_percent": (
                    None if steps.line_error is None else 100 * steps.line_error
                ),
            }
            for (temperature, concurrency), steps in validation.steps.items()
        ],
        "summary": asdict(validation.summary),
    }
