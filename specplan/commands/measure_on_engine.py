"""What `measure` does with --engine: acceptance and prices of an engine that others wrote."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.commands.on_engine import runs_together
from specplan.options.engine_options import EngineOptions
from specplan.options.model_options import ModelOptions
from specplan.reports.output import folded, print_json
from specplan.reports.profile import profile_text

if TYPE_CHECKING:
    from engines.trials.profiling import Profiled
    from engines.trials.trial import Trial
    from estimator.profiles.profile import Setup
    from specplan.loading.engines import EnginePair

# Prices are taken at the smallest and the largest, and one between says how far a line is off.
MOST_PRICED = 8


def measure_on_engine(
    options: ModelOptions,
    engine: EngineOptions,
    *,
    compiling: str,
    verification: str,
    temperature: float,
    max_gamma: int,
    repeats: int,
    batch_size: int,
    batches: tuple[int, ...] | None,
    context: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measures acceptance and prices on an engine, into a profile that plans read.

    Args:
      options, engine: models, prompts, and the engine.
      temperature, max_gamma, repeats, seed, output, as_json: as measure has them.
      compiling, verification, batch_size, batches, context: of specplan's own decoder: off, token,
        1, none, and any.

    Raises:
      ValueError: with the option's name, rule and value.
    """
    from tqdm import tqdm

    from engines.trials.profiling import engine_profile, profile_on_engine
    from engines.trials.trial import Trial, priced_gammas
    from estimator.profiles.profile_file import profile_json, write_profile
    from estimator.traces.trace_file import require_place, traces_path
    from specplan.loading.engines import engine_pair

    _require(engine, batch_size)
    if compiling != "off":
        raise ValueError(f"compile cannot be given with --engine, got {compiling}")
    if verification != "token":
        raise ValueError(f"verification cannot be given with --engine, got {verification}")
    if batches is not None:
        raise ValueError("batch belongs to specplan's own decoder; with --engine, concurrency")
    lasting = output is not None and (output.is_file() or not output.exists())
    kept = traces_path(output) if output is not None and lasting else None
    if kept is not None:
        require_place(kept)
    longest = min(max_gamma, MOST_PRICED)
    priced = priced_gammas((*(g for g in (1, 2, 4) if g < longest), longest))
    with engine_pair(options, engine, longest=max_gamma) as pair:
        # Its server scores no given text, and a running target alone counts no drafts.
        counted = (
            pair.kind.acceptance == "counts" and engine.laws is None and engine.target_url is None
        )
        trial = Trial(
            kind=pair.kind,
            draft=pair.draft,
            prompts=pair.prompts,
            other_prompts=pair.other_prompts,
            gammas=(),
            priced_gammas=() if engine.target_url is not None else priced,
            temperatures=(temperature,),
            concurrencies=engine.concurrencies,
            draft_sampling=pair.draft_sampling,
            max_new_tokens=options.max_new_tokens,
            repeats=repeats,
            seed=seed,
            together=runs_together(engine),
        )
        total = trial.texts + (0 if trial.priced_gammas else len(trial.other_prompts))
        with tqdm(total=total, desc="measure", unit="text", disable=not sys.stderr.isatty()) as bar:
            profiled = profile_on_engine(
                pair.engine,
                trial,
                score=None if counted else pair.score,
                max_gamma=max_gamma,
                progress=bar.update,
            )
        profile = engine_profile(
            profiled,
            draft_sampling=pair.draft_sampling,
            max_gamma=max_gamma,
            repeats=repeats,
            setup=_setup(pair, trial, profiled, max_gamma),
        )
    if output is not None:
        write_profile(profile, output)
    if kept is not None and profiled.pairs:
        _keep(kept, profiled)
    if as_json:
        print_json(profile_json(profile))
        return
    click.echo(folded(profile_text(profile)))
    click.echo(folded(_notes(profiled, trial, counted=counted)))
    if output is not None:
        click.echo(f"\nWrote {output}; plan with it: specplan plan --profile {output}")


def _require(engine: EngineOptions, batch_size: int) -> None:
    """Refuses options that mean nothing here.

    Raises:
      ValueError: naming the option.
    """
    if batch_size != 1:
        raise ValueError(f"batch-size cannot be given with --engine, got {batch_size}")
    if engine.synthetic is not None:
        raise ValueError("synthetic belongs to validate, got it with measure")
    if engine.server is not None:
        raise ValueError("server belongs to validate: a running pair has one gamma, prices two")
    if len(engine.concurrencies) != 1:
        raise ValueError(
            "concurrency must be one number with measure, each a profile of its own, got "
            f"{len(engine.concurrencies)} of them"
        )
    if (engine.target_url is None) != (engine.draft_url is None):
        raise ValueError("target-url and draft-url must be given together, got one of them")


def _setup(pair: EnginePair, trial: Trial, profiled: Profiled, max_gamma: int) -> Setup:
    import platform
    from datetime import date
    from importlib.metadata import version

    from estimator.profiles.profile import Setup
    from estimator.prompts import prompts_hash

    argmax = pair.draft_sampling == "argmax"
    [(temperature, concurrency)] = trial.cases
    return Setup(
        target=pair.target,
        draft=pair.draft,
        sampling={"temperature": temperature},
        draft_temperature=0.0 if argmax else temperature,
        python=platform.python_version(),
        platform=platform.platform(),
        libraries={"specplan": version("specplan")},
        prompts_hash=prompts_hash(trial.prompts),
        max_new_tokens=trial.max_new_tokens,
        max_gamma=max_gamma,
        seed=trial.seed,
        date=date.today().isoformat(),
        engine=pair.kind.name,
        engine_version=profiled.version,
        flags=(
            *pair.engine.flags,
            f"concurrency={concurrency}",
            *(() if trial.priced_gammas else ("prices=target and draft alone",)),
        ),
    )


def _keep(path: Path, profiled: Profiled) -> None:
    """Writes the traces beside the profile."""
    from estimator.traces.trace_arrays import pack
    from estimator.writing import write_whole
    from ngram.formats.sealed_arrays import sealed

    write_whole(path, sealed(pack(dict(enumerate(profiled.pairs)), "engine")))


def _notes(profiled: Profiled, trial: Trial, *, counted: bool) -> str:
    """Returns where acceptance and prices come from."""
    if counted:
        where = (
            "Acceptance is what the engine counted itself at gamma "
            f"{trial.priced_gammas[-1]}, since its server scores no given text (--laws local: by "
            "this machine's own passes)."
        )
    else:
        where = "Acceptance is of two log-probabilities for each token of the target's own texts."
    if not trial.priced_gammas:
        prices = (
            "Prices are of target and draft served alone: verification is taken to be free, since "
            "what a pass over several tokens takes does not show from outside. Without the URLs, "
            "whole steps are priced."
        )
    elif profiled.line_error is None:
        prices = "Prices are of other prompts."
    else:
        prices = (
            f"Prices are of other prompts, at gamma {', '.join(map(str, trial.priced_gammas))}: a "
            f"line misses the middle one by {100 * profiled.line_error:+.1f} %. c is what one more "
            "drafted token adds to a step."
        )
    return f"{where}\n{prices}"
